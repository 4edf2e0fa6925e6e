//! Snapshots by dead lists, for any kind of block.

use std::iter::once;

use crate::SnapshotId;
use strewn_base::state::SavedValue;

/// The snapshots of something that is written copy on write, and the blocks that only they hold.
///
/// Time is counted in snapshots. A block's birth is the time when it was written, so a snapshot holds every block that
/// was in use when it was taken, and all of those were born by then. A block that leaves the active image is free if it
/// was born after the latest snapshot. Otherwise it goes on the active image's *dead list*. A snapshot takes over the
/// list, and the active image begins a new one. So each block that only snapshots hold is on one list: that of the
/// first image (a snapshot, or the active one) without it. Its birth tells the earliest snapshot that holds it, and
/// there is no map of what a snapshot holds (ZFS; Ahrens, "Is It Magic? Snapshots and Dead Lists", 2005 on).
///
/// `E` is what the owner knows of a block, `S` what a snapshot has besides its list.
///
/// ```
/// use strewn_volume::DeadLists;
///
/// // Blocks are their births here.
/// let mut lists: DeadLists<u32> = DeadLists::default();
/// let old = lists.time();
/// let first = lists.take(());
/// let new = lists.time();
/// assert_eq!(lists.leave(old, old), None, "the snapshot holds it");
/// assert_eq!(lists.leave(new, new), Some(new), "nothing holds it");
///
/// let mut deletion = lists.delete(first).unwrap();
/// let mut freed = Vec::new();
/// while lists.delete_step(&mut deletion, 1, |birth| *birth, |block| freed.push(block)).1.is_none() {}
/// assert_eq!(freed, [old]);
/// ```
#[derive(Debug, Clone, SavedValue)]
pub struct DeadLists<E, S = ()> {
    /// Oldest first.
    snapshots: Vec<Snapshot<E, S>>,
    /// Blocks that the latest snapshot has and the active image has not.
    pub(crate) active: Vec<E>,
    /// Blocks on all lists.
    pub(crate) blocks: u64,
    time: u32,
    /// The time of the latest snapshot that is not being deleted.
    kept_since: Option<u32>,
}

#[derive(Debug, Clone, SavedValue)]
struct Snapshot<E, S> {
    time: u32,
    /// Blocks that the previous snapshot has and this one has not.
    dead: Vec<E>,
    is_deleted: bool,
    contents: S,
}

/// The deletion of a snapshot, done in steps by [`DeadLists::delete_step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct SnapshotDeletion {
    snapshot: SnapshotId,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
enum Stage {
    /// Frees the blocks that only the snapshot held: from here on in the dead list of the image after it.
    FreeHeld { next: usize },
    /// Appends the snapshot's dead list to that of the image after it.
    JoinLists,
}

impl SnapshotDeletion {
    /// The deletion of `snapshot` from its beginning.
    fn of(snapshot: SnapshotId) -> Self {
        Self { snapshot, stage: Stage::FreeHeld { next: 0 } }
    }

    pub(crate) fn snapshot(&self) -> SnapshotId {
        self.snapshot
    }
}

impl<E, S> Default for DeadLists<E, S> {
    /// No snapshots, at time 1.
    fn default() -> Self {
        Self { snapshots: Vec::new(), active: Vec::new(), blocks: 0, time: 1, kept_since: None }
    }
}

impl<E, S> DeadLists<E, S> {
    /// The birth of blocks written now, and the number of the next snapshot.
    #[inline]
    #[must_use]
    pub fn time(&self) -> u32 {
        self.time
    }

    /// Blocks that only snapshots hold, including snapshots being deleted.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Takes a snapshot of the active image. O(1).
    pub fn take(&mut self, contents: S) -> SnapshotId {
        let time = self.time;
        let dead = std::mem::take(&mut self.active);
        self.snapshots.push(Snapshot { time, dead, is_deleted: false, contents });
        self.kept_since = Some(time);
        self.time += 1;
        SnapshotId(time)
    }

    /// A block born at `birth` leaves the active image. Returns it if no snapshot holds it, so that it is free.
    #[inline]
    pub fn leave(&mut self, birth: u32, block: E) -> Option<E> {
        if Some(birth) > self.kept_since {
            return Some(block);
        }
        self.active.push(block);
        self.blocks += 1;
        None
    }

    /// The snapshots, oldest first, except those being deleted.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = (SnapshotId, &S)> {
        let kept = self.snapshots.iter().filter(|snapshot| !snapshot.is_deleted);
        kept.map(|snapshot| (SnapshotId(snapshot.time), &snapshot.contents))
    }

    /// What `snapshot` has besides its list; `None` if there is no such snapshot, or it is being deleted.
    #[must_use]
    pub fn get(&self, snapshot: SnapshotId) -> Option<&S> {
        let found = &self.snapshots[self.index_of(snapshot)?];
        (!found.is_deleted).then_some(&found.contents)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, snapshot: SnapshotId) -> Option<&mut S> {
        let index = self.index_of(snapshot)?;
        let found = &mut self.snapshots[index];
        (!found.is_deleted).then_some(&mut found.contents)
    }

    /// Deletes `snapshot`. It disappears at once; [`delete_step`](Self::delete_step) frees what only it held. `None` if
    /// there is no such snapshot.
    pub fn delete(&mut self, snapshot: SnapshotId) -> Option<SnapshotDeletion> {
        let index = self.index_of(snapshot)?;
        if std::mem::replace(&mut self.snapshots[index].is_deleted, true) {
            return None;
        }
        self.kept_since = self.kept_before(self.snapshots.len());
        Some(SnapshotDeletion::of(snapshot))
    }

    /// Continues the deletion of a snapshot: visits at most `most` entries of dead lists, and calls `free` with each
    /// block that nothing holds any more. Returns the work done, and when the deletion is complete, what the snapshot
    /// had besides its list.
    ///
    /// Deletions of several snapshots may be under way; one is completed before the next is continued.
    ///
    /// # Panics
    /// If the deletion was complete before.
    pub fn delete_step(
        &mut self,
        deletion: &mut SnapshotDeletion,
        most: u64,
        birth_of: impl Fn(&E) -> u32,
        mut free: impl FnMut(E),
    ) -> (u64, Option<S>) {
        let Some(index) = self.index_of(deletion.snapshot) else {
            panic!("{} was deleted before", deletion.snapshot)
        };
        match deletion.stage {
            Stage::FreeHeld { mut next } => {
                let kept_before = self.kept_before(index);
                let list = match self.snapshots.get_mut(index + 1) {
                    Some(after) => &mut after.dead,
                    None => &mut self.active,
                };
                let mut used = 0;
                while used < most {
                    used += 1;
                    let Some(block) = list.get(next) else {
                        if list.len() < list.capacity() / 2 {
                            list.shrink_to_fit();
                        }
                        deletion.stage = Stage::JoinLists;
                        return (used, None);
                    };
                    if Some(birth_of(block)) > kept_before {
                        free(list.swap_remove(next));
                        self.blocks -= 1;
                    } else {
                        next += 1;
                    }
                }
                deletion.stage = Stage::FreeHeld { next };
                (used, None)
            }
            Stage::JoinLists => {
                let list = &mut self.snapshots[index].dead;
                let keep = list.len().saturating_sub(most as usize);
                let joined = list.split_off(keep);
                let used = joined.len() as u64 + 1;
                match self.snapshots.get_mut(index + 1) {
                    Some(after) => after.dead.extend(joined),
                    None => self.active.extend(joined),
                }
                let gone = (keep == 0).then(|| self.snapshots.remove(index).contents);
                (used, gone)
            }
        }
    }

    /// How many blocks the deletion of `snapshot` frees; `None` if there is no such snapshot. O(blocks dropped between
    /// it and the next snapshot).
    #[must_use]
    pub fn held_by_alone(&self, snapshot: SnapshotId, birth_of: impl Fn(&E) -> u32) -> Option<u64> {
        self.get(snapshot)?;
        let index = self.index_of(snapshot)?;
        let kept_before = self.kept_before(index);
        // The lists of snapshots being deleted have not been joined to the next list yet.
        let later = self.snapshots[index + 1..].iter();
        let doomed = later.take_while(|later| later.is_deleted).count();
        let lists = self.images().skip(index + 1).take(doomed + 1);
        let births = lists.flat_map(|(_, list)| list).map(birth_of);
        let held = births.filter(|birth| Some(*birth) > kept_before && *birth <= snapshot.0);
        Some(held.count() as u64)
    }

    /// Each image, the active one last: the snapshot before it, and its dead list, whose blocks that snapshot holds.
    pub(crate) fn images(&self) -> impl Iterator<Item = (Option<SnapshotId>, &Vec<E>)> {
        let snapshots = self.snapshots.iter();
        let ids = snapshots.clone().map(|snapshot| Some(SnapshotId(snapshot.time)));
        let lists = snapshots.map(|snapshot| &snapshot.dead).chain(once(&self.active));
        once(None).chain(ids).zip(lists)
    }

    /// All snapshots, oldest first, including those being deleted, each with whether it is being deleted.
    pub(crate) fn all(&self) -> impl Iterator<Item = (SnapshotId, bool, &S)> {
        let all = self.snapshots.iter();
        all.map(|one| (SnapshotId(one.time), one.is_deleted, &one.contents))
    }

    /// The same from `time` on.
    pub(crate) fn all_from(&self, time: u64) -> impl Iterator<Item = (SnapshotId, &S)> {
        let first = self.snapshots.partition_point(|one| u64::from(one.time) < time);
        self.snapshots[first..].iter().map(|one| (SnapshotId(one.time), &one.contents))
    }

    /// Snapshots as read from storage, by ascending time, without blocks, at `time`. Those being deleted are deleted
    /// again from the beginning.
    pub(crate) fn restored(
        time: u32,
        snapshots: impl IntoIterator<Item = (u32, bool, S)>,
    ) -> (Self, Vec<SnapshotDeletion>) {
        let snapshots = snapshots.into_iter().map(|(time, is_deleted, contents)| Snapshot {
            time,
            dead: Vec::new(),
            is_deleted,
            contents,
        });
        let mut lists = Self { snapshots: snapshots.collect(), time, ..Self::default() };
        lists.kept_since = lists.kept_before(lists.snapshots.len());
        let doomed = lists.all().filter(|(_, is_deleted, _)| *is_deleted);
        let deletions = doomed.map(|(snapshot, ..)| SnapshotDeletion::of(snapshot)).collect();
        (lists, deletions)
    }

    /// Puts a block, which left the active image at `death`, on the list of the first image without it. Returns whether
    /// the image before has it.
    pub(crate) fn restore(&mut self, birth: u32, death: u32, block: E) -> bool {
        let image = self.snapshots.partition_point(|snapshot| snapshot.time < death);
        let before = image.checked_sub(1).map(|before| self.snapshots[before].time);
        if before.is_none_or(|before| birth > before) || death > self.time {
            return false;
        }
        match self.snapshots.get_mut(image) {
            Some(snapshot) => snapshot.dead.push(block),
            None => self.active.push(block),
        }
        self.blocks += 1;
        true
    }

    /// What all snapshots have besides their lists.
    pub(crate) fn into_contents(self) -> impl Iterator<Item = S> {
        self.snapshots.into_iter().map(|snapshot| snapshot.contents)
    }

    /// Takes back all but the first `keep` blocks that left the active image since the latest snapshot.
    pub(crate) fn take_back(&mut self, keep: usize) {
        self.blocks -= (self.active.len() - keep) as u64;
        self.active.truncate(keep);
    }

    /// The index of a snapshot, including one being deleted.
    fn index_of(&self, snapshot: SnapshotId) -> Option<usize> {
        self.snapshots.binary_search_by_key(&snapshot.0, |snapshot| snapshot.time).ok()
    }

    /// The time of the latest snapshot before the image at `index` that is not being deleted.
    fn kept_before(&self, index: usize) -> Option<u32> {
        let before = self.snapshots[..index].iter().rev();
        before.clone().find(|snapshot| !snapshot.is_deleted).map(|snapshot| snapshot.time)
    }
}
