//! Files of a mounted ZFS, which zdb finds in the devices of the pool.

use std::sync::Arc;

use crate::error::FileError;
use crate::extent::{Extent, Place};
use crate::source::{pool_layout, sync_pool, zdb_extents};
use crate::space::{AddressSpace, Mount, PoolLayout, System};

/// A pool that files were found on.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Its vdevs, or why zdb does not tell them.
    layout: Result<PoolLayout, String>,
    space: Arc<AddressSpace>,
}

/// What zdb tells of a file.
#[derive(Debug)]
pub(crate) struct ObjectExtents {
    /// The extents, in the order of the file.
    pub(crate) extents: Vec<Extent>,
    /// Bytes of the file's blocks: its record size.
    pub(crate) block_bytes: Option<u64>,
    /// What falls short.
    pub(crate) notes: Vec<String>,
}

/// The pool of a dataset or of a snapshot.
pub(crate) fn pool_of_dataset(dataset: &str) -> &str {
    dataset.split(['/', '@']).next().unwrap_or(dataset)
}

impl Pool {
    /// Asks zdb for the vdevs of the pool that `mount` is a dataset of.
    pub(crate) fn find(system: &System, mount: &Mount) -> Self {
        let layout = pool_layout(&mount.source).map_err(|error| error.to_string());
        let space = match &layout {
            Ok(layout) => system.pool_space(layout),
            Err(reason) => AddressSpace::untranslated(mount.kind.name(), reason.clone()),
        };
        Self { layout, space: Arc::new(space) }
    }

    pub(crate) fn space(&self) -> &Arc<AddressSpace> {
        &self.space
    }

    /// Asks zdb for the blocks of object `object` of `dataset`, which is a file of `file_bytes`. With `sync`, what is
    /// in memory is written first.
    ///
    /// # Errors
    /// Why zdb does not tell.
    pub(crate) fn extents(
        &self,
        dataset: &str,
        object: u64,
        file_bytes: u64,
        sync: bool,
    ) -> Result<ObjectExtents, String> {
        let layout = self.layout.as_ref().map_err(String::clone)?;
        let mut notes = Vec::new();
        if sync && let Err(error) = sync_pool(pool_of_dataset(dataset)) {
            notes.push(format!("not synced: {error}"));
        }
        let read = || -> Result<_, FileError> {
            let mut list = zdb_extents(dataset, object, Some(layout.clone()))?;
            let Some(file) = list.next_file()? else { return Ok(None) };
            let extents = list.extents().collect::<Result<Vec<Extent>, _>>()?;
            Ok(Some((file, extents)))
        };
        let found = read().map_err(|error| error.to_string())?;
        let Some((file, extents)) = found else {
            return Err(format!("zdb prints nothing of object {object} of {dataset}"));
        };
        notes.push(
            "zdb reads the last committed transaction group: writes of the last seconds may be \
             missing; blocks shared with snapshots, clones or by deduplication are not marked"
                .to_owned(),
        );
        if file.file_bytes.is_some_and(|bytes| bytes != file_bytes) {
            notes.push(
                "the committed size differs from the file's: give --sync, or wait for the next \
                 transaction group"
                    .to_owned(),
            );
        }
        let gangs = extents.iter().filter(|extent| extent.place == Place::Unknown).count();
        if gangs > 0 {
            notes.push(format!("{gangs} gang blocks lie in several places that zdb does not list"));
        }
        Ok(ObjectExtents { extents, block_bytes: file.block_bytes, notes })
    }
}
