//! Which allocation area has the most free blocks.

/// Scores of all areas and a tournament over them: the winner is known at once, a changed score costs one match
/// a level, O(log areas).
#[derive(Debug, Clone)]
pub(crate) struct Emptiest {
    areas: u32,
    /// Scores from `leaves` on, padded with zeros to a power of two; `winners[n]` is the better of its two
    /// children, down to `winners[1]`, the whole tournament's. Each entry is an area.
    leaves: u32,
    scores: Vec<u32>,
    winners: Vec<u32>,
}

impl Emptiest {
    pub(crate) fn new(scores: impl Iterator<Item = u32>) -> Self {
        let mut scores: Vec<u32> = scores.collect();
        let areas = scores.len() as u32;
        let leaves = areas.max(2).next_power_of_two();
        scores.resize(leaves as usize, 0);
        let mut tournament = Self { areas, leaves, scores, winners: vec![0; leaves as usize] };
        for node in (1..leaves).rev() {
            tournament.winners[node as usize] = tournament.match_at(node);
        }
        tournament
    }

    pub(crate) fn len(&self) -> u32 {
        self.areas
    }

    pub(crate) fn score(&self, area: u32) -> u32 {
        self.scores[area as usize]
    }

    pub(crate) fn emptiest(&self) -> (u32, u32) {
        let area = self.winners[1];
        (area, self.score(area))
    }

    pub(crate) fn add(&mut self, area: u32, blocks: u32) {
        self.scores[area as usize] += blocks;
        self.replay(area);
    }

    pub(crate) fn subtract(&mut self, area: u32, blocks: u32) {
        self.scores[area as usize] -= blocks;
        self.replay(area);
    }

    fn replay(&mut self, area: u32) {
        let mut node = (self.leaves + area) / 2;
        while node >= 1 {
            self.winners[node as usize] = self.match_at(node);
            node /= 2;
        }
    }

    /// The better child of `node`; of equals the lower area, so that empty space is filled from the outer edge.
    fn match_at(&self, node: u32) -> u32 {
        let [left, right] = [node * 2, node * 2 + 1].map(|child| {
            if child >= self.leaves { child - self.leaves } else { self.winners[child as usize] }
        });
        if self.scores[right as usize] > self.scores[left as usize] { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_winner_is_the_lowest_area_with_the_highest_score(
            scores in prop::collection::vec(0u32..50, 1..70),
            changes in prop::collection::vec((0usize..70, 0u32..50), 0..100),
        ) {
            let mut scores = scores;
            let mut tournament = Emptiest::new(scores.iter().copied());
            for (area, score) in changes {
                let area = area % scores.len();
                if score > scores[area] {
                    tournament.add(area as u32, score - scores[area]);
                } else {
                    tournament.subtract(area as u32, scores[area] - score);
                }
                scores[area] = score;
                let best = *scores.iter().max().unwrap();
                let lowest = scores.iter().position(|score| *score == best).unwrap();
                prop_assert_eq!(tournament.emptiest(), (lowest as u32, best));
            }
        }
    }
}
