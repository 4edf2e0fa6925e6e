//! A tournament of areas.

/// The winner of each match of a knock-out tournament: the area with more free blocks, or the lower one on a tie, so
/// that empty space is filled from the outer edge.
#[derive(Debug, Clone)]
pub(super) struct Tournament {
    /// `winners[1]` is the whole tournament's, `winners[n]` the better of `2n` and `2n + 1`, areas themselves from
    /// `winners.len()` on.
    winners: Vec<u32>,
    areas: u32,
}

impl Tournament {
    pub(super) fn new(scores: &[u32]) -> Self {
        let areas = scores.len() as u32;
        let matches = areas.max(2).next_power_of_two();
        let mut tournament = Self { winners: vec![0; matches as usize], areas };
        tournament.replay_all(|area| scores[area as usize]);
        tournament
    }

    /// The area with the highest score, and the score.
    pub(super) fn winner(&self, score: impl Fn(u32) -> u32) -> (u32, u32) {
        (self.winners[1], score(self.winners[1]))
    }

    /// Plays the matches of `areas` again.
    pub(super) fn replay(&mut self, areas: &[u32], score: impl Fn(u32) -> u32) {
        let depth = self.winners.len().ilog2();
        // Past this many areas, replaying all matches is cheaper than climbing from each.
        if areas.len() as u64 * u64::from(depth) > self.winners.len() as u64 {
            return self.replay_all(score);
        }
        for area in areas {
            let mut node = (self.winners.len() as u32 + area) / 2;
            while node >= 1 {
                self.winners[node as usize] = self.match_at(node, &score);
                node /= 2;
            }
        }
    }

    fn replay_all(&mut self, score: impl Fn(u32) -> u32) {
        for node in (1..self.winners.len() as u32).rev() {
            self.winners[node as usize] = self.match_at(node, &score);
        }
    }

    #[inline]
    fn match_at(&self, node: u32, score: impl Fn(u32) -> u32) -> u32 {
        let leaves = self.winners.len() as u32;
        let [left, right] = [node * 2, node * 2 + 1].map(|child| {
            if child >= leaves { child - leaves } else { self.winners[child as usize] }
        });
        // There is no area to the right of the last: the left one wins.
        if right < self.areas && score(right) > score(left) { right } else { left }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.winners.len() as u64 * 4
    }
}

strewn_base::saved_state! {
    impl for Tournament {
        parts: winners;
        values:;
        built: areas;
    }
}
