//! One volume: its files, its snapshots, its container map.

use std::sync::Arc;

use strewn_raid::Vbn;

use super::container::{Container, Entry, Local};
use super::names::{FILE_ATTRIBUTE_BYTES, Slot, SnapshotId, StoredAs, VirtualVbn, VolumeId};
use super::tree::Tree;
use crate::dead_lists::DeadLists;

/// A file as the inode file holds it.
#[derive(Debug, Clone)]
pub(crate) struct Inode {
    pub(crate) blocks: Tree<Slot>,
    /// Mapped blocks.
    pub(crate) mapped: u64,
    /// In bytes, as the application says.
    pub(crate) length: u64,
    pub(crate) attributes: [u8; FILE_ATTRIBUTE_BYTES],
    pub(crate) stored_as: StoredAs,
}

impl Default for Inode {
    fn default() -> Self {
        Self {
            blocks: Tree::default(),
            mapped: 0,
            length: 0,
            attributes: [0; FILE_ATTRIBUTE_BYTES],
            stored_as: StoredAs::default(),
        }
    }
}

/// The inode file: each file of an image by its number.
pub(crate) type Files = Tree<Arc<Inode>>;

/// A flexible volume. Each block that it owns is in its active image or on exactly one dead list.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) container: Container,
    pub(crate) name: Option<Arc<str>>,
    /// The snapshot it was cloned from.
    pub(crate) origin: Option<(VolumeId, SnapshotId)>,
    pub(crate) files: Files,
    pub(crate) next_file: u64,
    /// Mapped blocks of the active image, including inherited ones.
    pub(crate) mapped: u64,
    /// The snapshots, and the owned blocks that only they hold.
    pub(crate) snapshots: DeadLists<Local, Snapshot>,
    /// Free blocks reserved for it.
    pub(crate) reserved: u64,
    pub(crate) is_destroyed: bool,
    /// The number of its destruction ([`TeardownJob`](super::teardown::TeardownJob)); 0 without one.
    pub(crate) destruction: u64,
    /// How to undo the changes of the open consistency point.
    pub(crate) undo: Option<Undo>,
}

/// A snapshot: the root of the inode file as it was.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) files: Files,
    pub(crate) mapped: u64,
    pub(crate) clones: u32,
    /// The number of its deletion ([`TeardownJob`](super::teardown::TeardownJob)); 0 without one.
    pub(crate) deletion: u64,
}

/// A volume as the last commit left it, and what has changed in its container map since.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) files: Files,
    pub(crate) next_file: u64,
    pub(crate) mapped: u64,
    pub(crate) reserved: u64,
    pub(crate) dead: usize,
    pub(crate) written: Vec<Local>,
    pub(crate) moved: Vec<(Local, Vbn)>,
    pub(crate) freed: Vec<(Local, Entry)>,
}

impl Volume {
    pub(crate) fn new(container: Container) -> Self {
        Self {
            container,
            name: None,
            origin: None,
            files: Files::default(),
            next_file: 0,
            mapped: 0,
            snapshots: DeadLists::default(),
            reserved: 0,
            is_destroyed: false,
            destruction: 0,
            undo: None,
        }
    }

    /// Records the state as of the last commit, if this is the first change in the open consistency point.
    pub(crate) fn touch(&mut self) -> &mut Undo {
        self.undo.get_or_insert_with(|| {
            self.container.begin();
            Undo {
                files: self.files.clone(),
                next_file: self.next_file,
                mapped: self.mapped,
                reserved: self.reserved,
                dead: self.snapshots.active.len(),
                written: Vec::new(),
                moved: Vec::new(),
                freed: Vec::new(),
            }
        })
    }

    /// Drops `number` from the active image, whose maps no longer have it. Returns the VBN of the block if nothing else
    /// holds it.
    pub(crate) fn block_dies(&mut self, number: VirtualVbn) -> Option<Vbn> {
        // An inherited block belongs to the origin.
        let local = self.container.local(number)?;
        let entry = self.container.get(local)?;
        let Some(local) = self.snapshots.leave(entry.birth(), local) else {
            self.container.set_death(local, self.snapshots.time());
            return None;
        };
        self.container.remove(local);
        self.container.free_number(local);
        if let Some(undo) = &mut self.undo {
            undo.freed.push((local, entry));
        }
        Some(entry.vbn())
    }

    /// Commits the changes of the open consistency point. Returns the files as the last commit left them.
    pub(crate) fn commit(&mut self) -> Files {
        let Some(undo) = self.undo.take() else {
            if self.container.has_freed() {
                // Between consistency points.
                self.container.begin();
                self.container.commit(std::iter::empty());
            }
            return Files::default();
        };
        let moved = undo.moved.into_iter().map(|(local, _)| local);
        self.container.commit(undo.written.into_iter().chain(moved));
        undo.files
    }

    /// Undoes the changes of the open consistency point. Returns how many reserved blocks it had used, and the files
    /// that it leaves.
    pub(crate) fn abandon(&mut self) -> (u64, Files) {
        let Some(undo) = self.undo.take() else { return (0, Files::default()) };
        let files = std::mem::replace(&mut self.files, undo.files);
        self.next_file = undo.next_file;
        self.mapped = undo.mapped;
        for local in &self.snapshots.active[undo.dead..] {
            self.container.set_death(*local, 0);
        }
        self.snapshots.take_back(undo.dead);
        for (local, entry) in undo.freed {
            self.container.put(local, entry);
        }
        for (local, vbn) in undo.moved {
            if let Some(entry) = self.container.get(local) {
                self.container.put(local, entry.back_at(vbn));
            }
        }
        for local in undo.written {
            self.container.remove(local);
        }
        self.container.abandon();
        let returned = undo.reserved - self.reserved;
        self.reserved = undo.reserved;
        (returned, files)
    }
}
