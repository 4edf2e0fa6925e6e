//! Which waiting changes are superseded: their client is gone, and another has changed the same sectors since.
//!
//! A client that loses its connection connects again, or another takes its place; it repeats what was not answered, and
//! writes on. If the first connection's requests were carried out after that, they would undo it. They may still come:
//! from the turns, or from the socket's buffer.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use strewn_base::overlap;

use crate::engine::TargetId;
use crate::nbd::Requester;

/// Number of changes remembered. A client that was not seen connected since the first of these is looked at.
const REMEMBERED: usize = 256;

/// The last changes that were begun, and when each client was last seen connected.
#[derive(Default)]
pub(super) struct RecentChanges {
    /// Oldest first.
    changes: VecDeque<BegunChange>,
    /// How many changes were begun in all.
    count: u64,
    /// The count when a client, by its number, was last seen connected.
    seen: BTreeMap<u64, u64>,
}

struct BegunChange {
    client: u64,
    target: TargetId,
    sectors: Range<u64>,
}

impl RecentChanges {
    /// Begins a change, unless its client is gone and another client may have changed the sectors since the client was
    /// last seen connected. Returns whether it begins.
    pub(super) fn begin(
        &mut self,
        requester: &Requester,
        target: TargetId,
        sectors: Range<u64>,
    ) -> bool {
        let client = requester.number();
        let first = self.count - self.changes.len() as u64;
        let since = self.seen.get(&client).copied().unwrap_or(0);
        let is_of_other = |change: &BegunChange| change.client != client;
        let overlaps =
            |change: &BegunChange| change.target == target && overlap(&change.sectors, &sectors);
        let mut later = self.changes.iter().skip(since.saturating_sub(first) as usize);
        let mut has_others = since < first;
        let may_be_superseded = since < first
            || later.any(|change| {
                has_others |= is_of_other(change);
                is_of_other(change) && overlaps(change)
            });
        if may_be_superseded && !requester.is_connected() {
            return false;
        }
        if self.changes.len() == REMEMBERED {
            self.changes.pop_front();
        }
        self.changes.push_back(BegunChange { client, target, sectors });
        self.count += 1;
        if may_be_superseded || !has_others {
            self.saw(client);
        }
        true
    }

    /// Notes that a client is connected, or that no other has changed anything since it was.
    fn saw(&mut self, client: u64) {
        self.seen.insert(client, self.count);
        if self.seen.len() > REMEMBERED {
            let first = self.count - self.changes.len() as u64;
            self.seen.retain(|_, count| *count >= first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LUN: TargetId = TargetId::FIRST_LUN;

    #[test]
    fn a_change_of_a_client_that_is_gone_does_not_follow_a_change_of_another() {
        let (mut changes, gone, other) =
            (RecentChanges::default(), Requester::new(), Requester::new());
        assert!(changes.begin(&gone, LUN, 0..8));
        assert!(changes.begin(&other, LUN, 8..16));
        gone.leave();
        assert!(changes.begin(&gone, LUN, 0..8), "nobody else has changed them");
        assert!(changes.begin(&gone, TargetId(2), 8..16), "another target");
        assert!(!changes.begin(&gone, LUN, 15..17));
        assert!(changes.begin(&other, LUN, 0..8));
        assert!(!changes.begin(&gone, LUN, 0..8));
    }

    #[test]
    fn a_client_that_is_connected_may_change_what_others_changed() {
        let (mut changes, one, other) =
            (RecentChanges::default(), Requester::new(), Requester::new());
        for _ in 0..3 {
            assert!(changes.begin(&one, LUN, 0..8));
            assert!(changes.begin(&other, LUN, 0..8));
        }
    }

    #[test]
    fn what_is_no_longer_remembered_counts_as_an_overlap() {
        let (mut changes, gone, other) =
            (RecentChanges::default(), Requester::new(), Requester::new());
        assert!(changes.begin(&gone, LUN, 0..8));
        assert!(changes.begin(&other, LUN, 0..8));
        for _ in 0..REMEMBERED {
            assert!(changes.begin(&other, LUN, 100..101));
        }
        gone.leave();
        assert!(!changes.begin(&gone, LUN, 0..8));
        let late = Requester::new();
        late.leave();
        assert!(!changes.begin(&late, LUN, 0..8), "one that was never seen");
    }

    #[test]
    fn clients_are_not_remembered_for_ever() {
        let mut changes = RecentChanges::default();
        for _ in 0..10 * REMEMBERED {
            assert!(changes.begin(&Requester::new(), LUN, 0..8));
        }
        assert!(changes.seen.len() <= REMEMBERED + 1);
    }
}
