//! The address space of a ZFS pool, from the configuration that zdb prints.

use std::fs;
use std::path::Path;

use super::{AddressSpace, Device, LocatedDevice, PoolLayout, System, VdevKind, VdevShape};

impl AddressSpace {
    /// The address space of a pool of another machine: its devices are known by their paths only.
    #[must_use]
    pub fn of_pool(pool: &PoolLayout) -> Self {
        Self::of_pool_with(pool, |path| named_device(path).into())
    }

    /// The address space of a pool whose devices `locate` finds by their paths. If a vdev is not supported, all
    /// addresses stay as they are: files that are not on that vdev cannot be told beforehand.
    fn of_pool_with(pool: &PoolLayout, mut locate: impl FnMut(&str) -> LocatedDevice) -> Self {
        let unsupported = pool.vdevs.iter().find_map(|vdev| match &vdev.shape.kind {
            VdevKind::Unsupported(why) => Some(format!("vdev {} is {why}", vdev.id)),
            _ => None,
        });
        let volumes = pool.vdevs.last().map_or(0, |vdev| usize::from(vdev.id) + 1);
        if let Some(reason) = unsupported {
            let names = (0..volumes).map(|volume| format!("{} vdev {volume}", pool.name));
            return Self::untranslated_volumes(names, reason);
        }
        // A number that no vdev has is as one without devices.
        let hole = VdevShape { kind: VdevKind::Hole, ashift: 0, children: 0 };
        let mut vdevs = vec![(hole, Vec::new()); volumes];
        for vdev in &pool.vdevs {
            let devices = vdev.devices.iter().map(|path| locate(path)).collect();
            vdevs[usize::from(vdev.id)] = (vdev.shape.clone(), devices);
        }
        Self::pool(vdevs)
    }
}

impl System {
    /// The address space of a pool of this machine. Its devices are partitions, disks, or files; one that is not there
    /// is known by its path. If a vdev is of a kind that Strewn does not know, addresses stay as they are, and
    /// [`AddressSpace::untranslated_reason`] says why.
    #[must_use]
    pub fn pool_space(&self, pool: &PoolLayout) -> AddressSpace {
        AddressSpace::of_pool_with(pool, |path| self.device_at(path))
    }

    /// The block device or the file at `path`.
    pub fn device_at(&self, path: &str) -> LocatedDevice {
        let local = self.path(path);
        if let Some(found) = block_number(&local).and_then(|number| self.device(number).ok()) {
            return found;
        }
        match fs::metadata(&local) {
            Ok(metadata) if metadata.is_file() => self.file_device(path, metadata.len()).into(),
            _ => named_device(path).into(),
        }
    }
}

/// A device of which only the path is known.
fn named_device(path: &str) -> Device {
    Device { name: path.to_owned(), ..Device::default() }
}

/// Major and minor number of the block device at `path`.
#[cfg(target_os = "linux")]
fn block_number(path: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let metadata = fs::metadata(path).ok()?;
    let number = metadata.rdev();
    let is_block = metadata.file_type().is_block_device();
    is_block.then(|| (rustix::fs::major(number), rustix::fs::minor(number)))
}

#[cfg(not(target_os = "linux"))]
fn block_number(_path: &Path) -> Option<(u32, u32)> {
    None
}
