//! Which places of a region have been drawn.

/// A bit for each place, and a summary bit for each 64 that have all been drawn.
#[derive(Clone, Debug)]
pub(crate) struct RandomMap {
    places: u64,
    free: u64,
    taken: Vec<u64>,
    full: Vec<u64>,
}

impl RandomMap {
    pub(crate) fn new(places: u64) -> Self {
        let words = places.div_ceil(64);
        let mut map = Self {
            places,
            free: 0,
            taken: vec![0; words as usize],
            full: vec![0; words.div_ceil(64) as usize],
        };
        map.clear();
        map
    }

    fn clear(&mut self) {
        self.taken.fill(0);
        self.full.fill(0);
        self.free = self.places;
        // Bits past the end count as drawn.
        let last_places = self.places % 64;
        if let Some(last) = self.taken.last_mut().filter(|_| last_places > 0) {
            *last = u64::MAX << last_places;
        }
        let last_words = self.taken.len() % 64;
        if let Some(last) = self.full.last_mut().filter(|_| last_words > 0) {
            *last = u64::MAX << last_words;
        }
    }

    /// Takes the first place at or after `drawn` that has not been drawn, wrapping around at the
    /// end, and the `count - 1` places after it. Once all have been drawn, it starts over.
    pub(crate) fn take(&mut self, drawn: u64, count: u64) -> u64 {
        if self.free == 0 {
            self.clear();
        }
        let place = self.next_free(drawn).or_else(|| self.next_free(0)).unwrap_or(drawn);
        for place in place..(place + count).min(self.places) {
            self.set(place);
        }
        place
    }

    fn set(&mut self, place: u64) {
        let (word, bit) = ((place / 64) as usize, 1 << (place % 64));
        if self.taken[word] & bit == 0 {
            self.taken[word] |= bit;
            self.free -= 1;
            if self.taken[word] == u64::MAX {
                self.full[word / 64] |= 1 << (word % 64);
            }
        }
    }

    fn next_free(&self, from: u64) -> Option<u64> {
        let word = (from / 64) as usize;
        let here = !self.taken[word] & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word as u64 * 64 + u64::from(here.trailing_zeros()));
        }
        let after = word + 1;
        let mut above = after / 64;
        let mut words = !self.full.get(above)? & (u64::MAX << (after % 64));
        while words == 0 {
            above += 1;
            words = !*self.full.get(above)?;
        }
        let word = above * 64 + words.trailing_zeros() as usize;
        Some(word as u64 * 64 + u64::from((!self.taken[word]).trailing_zeros()))
    }
}

strewn_base::saved_state! {
    impl for RandomMap {
        parts: taken, full;
        values: free;
        built: places;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use strewn_base::Rng;

    #[test]
    fn every_place_comes_up_once_before_any_does_again() {
        for places in [1, 63, 64, 65, 4096, 5000] {
            let (mut map, mut rng) = (RandomMap::new(places), Rng::new(places));
            for _pass in 0..3 {
                let mut take = || map.take(rng.below(places), 1);
                let seen: HashSet<u64> = (0..places).map(|_| take()).collect();
                assert_eq!(seen.len() as u64, places);
            }
        }
    }
}
