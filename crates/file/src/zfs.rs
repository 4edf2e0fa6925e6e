//! Files of a mounted ZFS, which zdb finds in the devices of the pool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::FileError;
use crate::extent::{Extent, Place};
use crate::source::{ListedFile, pool_layout, sync_pool, zdb_extents, zdb_objects};
use crate::space::{AddressSpace, Mount, PoolLayout, System};

/// A pool that files were found on.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Its vdevs, or why zdb does not tell them.
    layout: Result<PoolLayout, String>,
    space: Arc<AddressSpace>,
    /// What zdb has told of several objects at once, by dataset and object, until it is asked for.
    ahead: Mutex<HashMap<(String, u64), Listed>>,
}

/// A file as zdb lists it.
#[derive(Debug)]
struct Listed {
    file: ListedFile,
    extents: Vec<Extent>,
    notes: Vec<String>,
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

/// Has the pool of `dataset` write what is in memory. Returns why it does not.
fn sync_notes(dataset: &str) -> Vec<String> {
    let synced = sync_pool(pool_of_dataset(dataset));
    synced.err().map(|error| format!("not synced: {error}")).into_iter().collect()
}

impl Pool {
    /// Asks zdb for the vdevs of the pool that `mount` is a dataset of.
    pub(crate) fn find(system: &System, mount: &Mount) -> Self {
        let layout = pool_layout(&mount.source).map_err(|error| error.to_string());
        let space = match &layout {
            Ok(layout) => system.pool_space(layout),
            Err(reason) => AddressSpace::untranslated(mount.kind.name(), reason.clone()),
        };
        Self { layout, space: Arc::new(space), ahead: Mutex::default() }
    }

    pub(crate) fn space(&self) -> &Arc<AddressSpace> {
        &self.space
    }

    /// Asks one zdb for the blocks of `objects` of `dataset`, and keeps what it tells for [`extents`](Self::extents).
    /// Those that it does not tell, such as those behind one that is gone, are asked for one by one then.
    pub(crate) fn look_ahead(&self, dataset: &str, objects: &[u64], sync: bool) {
        let Ok(layout) = &self.layout else { return };
        let notes = if sync { sync_notes(dataset) } else { Vec::new() };
        let Ok(mut list) = zdb_objects(dataset, objects, Some(layout.clone())) else { return };
        while let Ok(Some(file)) = list.next_file() {
            let Some(object) = list.object() else { continue };
            let Ok(extents) = list.extents().collect::<Result<Vec<Extent>, _>>() else { return };
            let listed = Listed { file, extents, notes: notes.clone() };
            let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
            ahead.insert((dataset.to_owned(), object), listed);
        }
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
        let known = {
            let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
            ahead.remove(&(dataset.to_owned(), object))
        };
        let read = || -> Result<_, FileError> {
            let notes = if sync { sync_notes(dataset) } else { Vec::new() };
            let mut list = zdb_extents(dataset, object, Some(layout.clone()))?;
            let Some(file) = list.next_file()? else { return Ok(None) };
            let extents = list.extents().collect::<Result<Vec<Extent>, _>>()?;
            Ok(Some(Listed { file, extents, notes }))
        };
        let found = match known {
            Some(known) => Some(known),
            None => read().map_err(|error| error.to_string())?,
        };
        let Some(Listed { file, extents, mut notes }) = found else {
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
