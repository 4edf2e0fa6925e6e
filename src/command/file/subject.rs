//! What is looked at: a file of this machine, the disk in an image, a file of a saved list.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use strewn::file::{
    AddressSpace, Device, Extent, ExtentListReader, FileError, FoundBy, ImageFormat, LayerExtents,
    ListDialect, LogicalVolume, LookedAt, Looker, Place, WritePolicy, compose, image_layers,
    map_image, names_other_files,
};

use super::volumes;

/// The extents of a subject, for a pass over them.
pub(super) type Extents<'a> = Box<dyn Iterator<Item = Result<Extent, FileError>> + 'a>;

/// A file, or what is laid out like one.
pub(super) struct Subject {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) allocated_bytes: Option<u64>,
    pub(super) block_bytes: u64,
    /// Kind of file system.
    pub(super) file_system: String,
    /// Bytes of the file system.
    pub(super) whole_bytes: Option<u64>,
    pub(super) is_copy_on_write: bool,
    pub(super) space: Arc<AddressSpace>,
    pub(super) source: &'static str,
    /// Bytes that are compressed in an image and have no known place.
    pub(super) unplaced_compressed_bytes: u64,
    pub(super) notes: Vec<String>,
    origin: SubjectOrigin,
}

/// A disk image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Image {
    /// All of it is in its file.
    Alone,
    /// It names files that have more of it.
    NamesOthers,
}

enum SubjectOrigin {
    /// Its extents are asked for at each pass.
    Open(Box<LookedAt>),
    /// Its extents were collected.
    Collected(Vec<Extent>),
}

/// A path as text: bytes that are no UTF-8 as `\\xff`, so that two files have two names.
pub(super) fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

impl Subject {
    /// Opens the file at `path`.
    pub(super) fn open(looker: &Looker, path: &Path) -> Result<Self, FileError> {
        Ok(Self::of(path, looker.open(path)?))
    }

    /// Opens a file that was found in a directory.
    pub(super) fn open_found(looker: &Looker, path: &Path) -> Result<Self, FileError> {
        Ok(Self::of(path, looker.open_found(path)?))
    }

    fn of(path: &Path, looked: LookedAt) -> Self {
        let file_system = looked.file_system();
        Self {
            path: path_text(path),
            bytes: looked.bytes(),
            allocated_bytes: Some(looked.allocated_bytes()),
            block_bytes: looked.block_bytes(),
            file_system: file_system.mount.kind.name().to_owned(),
            whole_bytes: file_system.bytes,
            is_copy_on_write: file_system.mount.kind.is_copy_on_write(),
            space: Arc::clone(&file_system.space),
            source: looked.found_by().name(),
            unplaced_compressed_bytes: 0,
            notes: looked.notes(),
            origin: SubjectOrigin::Open(Box::new(looked)),
        }
    }

    /// A file of these extents on a device of `device_bytes`, which is not there.
    pub(super) fn imagined(path: String, extents: Vec<Extent>, device_bytes: Option<u64>) -> Self {
        let device = Device { name: path.clone(), bytes: device_bytes, ..Device::default() };
        Self {
            path,
            bytes: extents.last().map_or(0, Extent::end),
            allocated_bytes: None,
            block_bytes: 4096,
            file_system: "imagined".to_owned(),
            whole_bytes: device_bytes,
            is_copy_on_write: false,
            space: Arc::new(AddressSpace::direct(vec![device])),
            source: "list",
            unplaced_compressed_bytes: 0,
            notes: Vec::new(),
            origin: SubjectOrigin::Collected(extents),
        }
    }

    /// Its extents, in order. May be called again, for another pass.
    pub(super) fn extents(&self) -> Extents<'_> {
        match &self.origin {
            SubjectOrigin::Open(looked) => looked.extents(),
            SubjectOrigin::Collected(extents) => Box::new(extents.iter().copied().map(Ok)),
        }
    }

    /// What the file system does with a write to the file, and the same in words.
    pub(super) fn write_policy(&self) -> (WritePolicy, String) {
        let kind = &self.file_system;
        match &self.origin {
            SubjectOrigin::Open(looked) if self.is_copy_on_write && looked.is_overwritten() => (
                WritePolicy::InPlace,
                format!(
                    "the file has copy-on-write off: {kind} overwrites it, except what is shared"
                ),
            ),
            _ if self.is_copy_on_write => (
                WritePolicy::WriteAnywhere,
                format!("{kind} writes to free space, taken to be contiguous behind the file"),
            ),
            _ => (
                WritePolicy::InPlace,
                format!("{kind} overwrites in place, except what is shared or has no place yet"),
            ),
        }
    }

    /// Whether it changed since it was opened.
    pub(super) fn has_changed(&self) -> bool {
        match &self.origin {
            SubjectOrigin::Open(looked) => looked.has_changed(),
            SubjectOrigin::Collected(_) => false,
        }
    }

    /// What is inside, if it is a disk image of a virtual machine that has a map of its own.
    pub(super) fn image(&self) -> Option<Image> {
        let SubjectOrigin::Open(looked) = &self.origin else { return None };
        if looked.found_by() == FoundBy::Seek {
            return None;
        }
        let mut first = [0; 512];
        // A file that cannot be read is not recognised; its extents were told all the same.
        let mut read = 0;
        let mut file = looked.file();
        while read < first.len() {
            match file.read(&mut first[read..]) {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
        ImageFormat::recognise(&first[..read])?;
        Some(match names_other_files(&first[..read]) {
            true => Image::NamesOthers,
            false => Image::Alone,
        })
    }

    /// The disk inside the disk image at `image`: where its blocks lie on the device of the image.
    pub(super) fn inside(&self, image: &Path, looker: &Looker) -> Result<Self, FileError> {
        let layers = image_layers(image)?;
        let Some(first) = layers.first() else {
            return Err(FileError::input(
                format!("{}: qemu-img knows of no image in it", self.path),
                "check it with qemu-img info",
            ));
        };
        let mut notes = self.notes.clone();
        let mut of_layers = Vec::new();
        for layer in &layers {
            let data = layer.data_path.as_deref().map(|path| Self::open(looker, path));
            let extents = match data {
                // Addresses of another file system are of another device.
                Some(Ok(data)) if Arc::ptr_eq(&data.space, &self.space) => {
                    Some(data.extents().collect::<Result<LayerExtents, _>>()?)
                }
                Some(Ok(data)) => {
                    notes.push(format!("{} is on another file system, and left out", data.path));
                    None
                }
                Some(Err(error)) => {
                    notes.push(format!("left out: {error}"));
                    None
                }
                None => {
                    notes.push(format!(
                        "{} has several data files, and is left out",
                        layer.path.display()
                    ));
                    None
                }
            };
            of_layers.push(extents);
        }
        let mut composed = compose(map_image(image)?, of_layers);
        let extents = composed.by_ref().collect::<Result<Vec<_>, _>>()?;
        let unplaced_compressed_bytes = composed.unplaced_compressed_bytes();
        if unplaced_compressed_bytes > 0 {
            notes.push(format!(
                "{} are compressed clusters: qemu-img does not say where they lie",
                strewn::results::about_bytes(unplaced_compressed_bytes)
            ));
        }
        Ok(Self {
            path: format!("{} (disk inside)", self.path),
            bytes: first.guest_bytes,
            allocated_bytes: None,
            block_bytes: first
                .cluster_bytes
                .map_or(self.block_bytes, |bytes| bytes.min(self.block_bytes)),
            file_system: self.file_system.clone(),
            whole_bytes: self.whole_bytes,
            is_copy_on_write: self.is_copy_on_write,
            space: Arc::clone(&self.space),
            source: "qemu-img",
            unplaced_compressed_bytes,
            notes,
            origin: SubjectOrigin::Collected(extents),
        })
    }

    /// The files of a saved list.
    pub(super) fn listed(path: &Path) -> Result<Vec<Self>, FileError> {
        let shown = path.display().to_string();
        if path == Path::new("-") {
            return Self::of_list(Box::new(std::io::stdin().lock()), "standard input");
        }
        let opened = File::open(path).map_err(|error| FileError::io(shown.clone(), error))?;
        if opened.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(FileError::input(
                format!("{shown} is a directory"),
                "give a list of extents, such as --save-extents or filefrag -v writes",
            ));
        }
        Self::of_list(Box::new(BufReader::new(opened)), &shown)
    }

    /// A logical volume, whose segments are its extents.
    pub(super) fn of_volume(volume: LogicalVolume) -> Self {
        Self {
            path: volume.name,
            bytes: volume.bytes,
            allocated_bytes: None,
            block_bytes: 4096,
            file_system: "lvm".to_owned(),
            whole_bytes: None,
            is_copy_on_write: false,
            space: Arc::new(volume.space),
            source: "lvs",
            unplaced_compressed_bytes: 0,
            notes: volume.notes,
            origin: SubjectOrigin::Collected(volume.extents),
        }
    }

    fn of_list(mut reader: Box<dyn BufRead>, shown: &str) -> Result<Vec<Self>, FileError> {
        if volumes::begins_listing(&mut reader) {
            return volumes::of_list(reader, shown);
        }
        let mut list = ExtentListReader::new(reader, shown);
        let mut subjects = Vec::new();
        while let Some(file) = list.next_file()? {
            let extents = list.extents().collect::<Result<Vec<Extent>, _>>()?;
            let end = extents.last().map_or(0, Extent::end);
            let path = file.path.clone().unwrap_or_else(|| shown.to_owned());
            let volumes = extents.iter().filter_map(|extent| extent.place.address());
            let volumes = volumes.map(|at| usize::from(at.volume) + 1).max().unwrap_or(1);
            let device = |number| Device {
                name: if volumes == 1 {
                    "the device of the list".to_owned()
                } else {
                    format!("volume {number}")
                },
                bytes: file.device_bytes,
                rotational: None,
                stack: Vec::new(),
                queue: None,
            };
            let space = match list.pool() {
                Some(pool) => AddressSpace::of_pool(pool),
                None => AddressSpace::direct((0..volumes).map(device).collect()),
            };
            let mut notes = Vec::new();
            let has_no_place = |extent: &&Extent| extent.place == Place::Unknown;
            let unplaced = extents.iter().filter(has_no_place).map(|extent| extent.bytes).sum();
            let is = |what: fn(ListDialect) -> bool| list.dialect().is_some_and(what);
            if unplaced > 0 && is(ListDialect::is_of_kernel) {
                notes.push(format!(
                    "{} have no place yet: have them written out first (sync), and list the file again, or look at it with \
                     --sync",
                    strewn::results::about_bytes(unplaced)
                ));
            }
            if let Some(reason) = space.untranslated_reason() {
                notes.push(format!("addresses are not those of a device: {reason}"));
            } else if is(ListDialect::is_copy_on_write) && list.pool().is_none() {
                notes.push(
                    "each vdev counts as one device: to tell its devices, put the output of zdb -C \
                     POOL before that of zdb -ddddd"
                        .to_owned(),
                );
            }
            // filefrag counts in a unit that is its user's choice (-b); a file system's blocks are of 4 KiB, unless
            // extents are of less or lie between them.
            let whole = |extent: &Extent| {
                let address = extent.place.address().map_or(0, |at| at.byte);
                (extent.offset | extent.bytes | address).is_multiple_of(4096)
            };
            let given = file.block_bytes.unwrap_or(4096).clamp(512, 1 << 24);
            let in_units = is(ListDialect::counts_in_units) && given < 4096;
            let block_bytes = if in_units && extents.iter().all(whole) { 4096 } else { given };
            if file.block_bytes.is_none()
                && list.dialect().is_some_and(|of| of.as_str() == "fsutil")
            {
                notes.push(
                    "clusters are taken to be of 4 KiB: put the output of fsutil fsinfo ntfsinfo VOLUME: before that of \
                     queryExtents"
                        .to_owned(),
                );
            }
            let missing = file.file_bytes.unwrap_or(end).saturating_sub(end);
            if missing >= block_bytes {
                notes.push(format!(
                    "the list ends {} before the file: taken as a hole, unless the list was cut off",
                    strewn::results::about_bytes(missing)
                ));
            }
            subjects.push(Self {
                path,
                bytes: file.file_bytes.unwrap_or(end),
                allocated_bytes: None,
                block_bytes,
                file_system: list
                    .dialect()
                    .and_then(ListDialect::file_system)
                    .unwrap_or("saved list")
                    .to_owned(),
                whole_bytes: file.device_bytes,
                is_copy_on_write: is(ListDialect::is_copy_on_write),
                space: Arc::new(space),
                source: "list",
                unplaced_compressed_bytes: 0,
                notes,
                origin: SubjectOrigin::Collected(extents),
            });
        }
        if subjects.is_empty() {
            return Err(FileError::input(
                format!("{shown} lists no file"),
                "give a list of extents, such as --save-extents or filefrag -v writes",
            ));
        }
        Ok(subjects)
    }
}
