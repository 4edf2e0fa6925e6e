//! A list of buffers in the order of their last uses.

/// Keys, or links, in a cache line.
pub(super) const PLACES_PER_LINE: u32 = 16;

/// Places in which buffers lie in the order of their last uses: a ring.
#[derive(Debug)]
pub(super) struct List {
    /// Number of the first of its places.
    pub(super) first: u32,
    /// Places less one: a power of two of them.
    pub(super) mask: u32,
    /// The turn of the oldest use and of the next one. Turns come round to old ones after four billion uses.
    pub(super) oldest: u32,
    pub(super) next: u32,
}

impl List {
    /// A list with at least so many places.
    pub(super) fn new(first: u32, places: usize) -> Self {
        let places = (places.next_power_of_two() as u32).max(PLACES_PER_LINE);
        Self { first, mask: places - 1, oldest: 0, next: 0 }
    }

    /// One more than the last place.
    pub(super) fn end(&self) -> u32 {
        self.first + self.mask + 1
    }

    #[inline]
    pub(super) fn place(&self, turn: u32) -> u32 {
        self.first + (turn & self.mask)
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.next.wrapping_sub(self.oldest) > self.mask
    }
}

strewn_base::saved_state! {
    impl for List {
        parts:;
        values: oldest, next;
        built: first, mask;
    }
}
