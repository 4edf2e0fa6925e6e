//! Which blocks of the LUNs differ from what is on the spindles, and why.

use strewn_alloc::SummaryBitmap;

/// A consistency point begins when more blocks than this are unmapped: 1 GiB. They take no room in the cache.
const MOST_UNMAPPED: u64 = 1 << 18;

/// The blocks of the LUNs that the next consistency point writes or unmaps.
#[derive(Debug)]
pub(crate) struct DirtyBlocks {
    dirty: SummaryBitmap,
    /// Those that are dirty only because they are being relocated; `None` if nothing ever is.
    relocated: Option<SummaryBitmap>,
    /// Blocks that were unmapped and not written since; `None` in a format that unmaps nothing. The next consistency
    /// point takes their places from them. Until then they read as zeros; those in the cache contain zeros.
    unmapped: Option<SummaryBitmap>,
    /// Blocks that a host has written since the array was created, and a consistency point has taken.
    rewritten: SummaryBitmap,
}

impl DirtyBlocks {
    /// No dirty blocks, of `blocks`.
    pub(crate) fn new(blocks: u32, unmaps: bool) -> Self {
        let empty = || SummaryBitmap::new(blocks.into());
        Self { dirty: empty(), relocated: None, unmapped: unmaps.then(empty), rewritten: empty() }
    }

    /// From now on, blocks may be dirty only because they are relocated.
    pub(crate) fn begin_relocating(&mut self) {
        self.relocated = Some(SummaryBitmap::new(self.dirty.len()));
    }

    pub(crate) fn blocks(&self) -> &SummaryBitmap {
        &self.dirty
    }

    #[inline]
    pub(crate) fn contains(&self, block: u32) -> bool {
        self.dirty.contains(block.into())
    }

    #[inline]
    pub(crate) fn prefetch(&self, block: u32) {
        self.dirty.prefetch(block.into());
    }

    /// A host has written `block`.
    #[inline(always)]
    pub(crate) fn on_written(&mut self, block: u32, newly_dirty: bool) {
        if newly_dirty {
            self.dirty.insert(block.into());
        } else if let Some(relocated) = &mut self.relocated {
            relocated.remove(block.into());
        }
        if let Some(unmapped) = &mut self.unmapped {
            unmapped.remove(block.into());
        }
    }

    /// `block` is to be relocated.
    pub(crate) fn on_relocated(&mut self, block: u32) {
        self.dirty.insert(block.into());
        if let Some(relocated) = &mut self.relocated {
            relocated.insert(block.into());
        }
    }

    /// A host has unmapped `block`.
    ///
    /// # Panics
    /// If the format unmaps nothing.
    pub(crate) fn on_unmapped(&mut self, block: u32) {
        let Some(unmapped) = &mut self.unmapped else {
            unreachable!("only the durable format unmaps blocks")
        };
        unmapped.insert(block.into());
        self.dirty.remove(block.into());
        if let Some(relocated) = &mut self.relocated {
            relocated.remove(block.into());
        }
    }

    /// Whether blocks can be unmapped at all.
    #[inline(always)]
    pub(crate) fn unmaps(&self) -> bool {
        self.unmapped.is_some()
    }

    /// Whether `block` has been unmapped since the last consistency point began, and not written since.
    #[inline(always)]
    pub(crate) fn is_unmapped(&self, block: u32) -> bool {
        self.unmapped.as_ref().is_some_and(|unmapped| unmapped.contains(block.into()))
    }

    #[inline(always)]
    pub(crate) fn is_much_unmapped(&self) -> bool {
        self.unmapped.as_ref().is_some_and(|unmapped| unmapped.count() > MOST_UNMAPPED)
    }

    /// Number of blocks that are dirty only because they are being relocated.
    pub(crate) fn relocated(&self) -> u64 {
        self.relocated.as_ref().map_or(0, SummaryBitmap::count)
    }

    /// Number of blocks of `keys` that hosts have rewritten.
    pub(crate) fn rewritten(&self, keys: std::ops::Range<u32>) -> u64 {
        self.rewritten.count_range(keys.start.into()..keys.end.into())
    }

    /// Whether nothing is dirty or unmapped.
    pub(crate) fn is_clean(&self) -> bool {
        self.dirty.is_empty() && self.unmapped.as_ref().is_none_or(SummaryBitmap::is_empty)
    }

    /// Takes out all unmapped blocks, in ascending order.
    pub(crate) fn take_unmapped(&mut self) -> Vec<u32> {
        self.unmapped.as_mut().map(drain).unwrap_or_default()
    }

    /// Takes out all dirty blocks, in ascending order.
    pub(crate) fn take_dirty(&mut self) -> Vec<u32> {
        drain(&mut self.dirty)
    }

    /// A consistency point takes `block`: it counts as rewritten, unless it is only relocated. `coming` is a block that
    /// will follow soon.
    #[inline(always)]
    pub(crate) fn note_rewritten(&mut self, block: u32, coming: Option<u32>) {
        if let Some(coming) = coming {
            self.rewritten.prefetch(coming.into());
        }
        if !self.relocated.as_ref().is_some_and(|relocated| relocated.contains(block.into())) {
            self.rewritten.insert(block.into());
        }
    }

    /// A consistency point has taken all that is dirty.
    pub(crate) fn reset_relocated(&mut self) {
        if let Some(relocated) = &mut self.relocated {
            relocated.clear();
        }
    }
}

fn drain(blocks: &mut SummaryBitmap) -> Vec<u32> {
    let mut drained = Vec::with_capacity(blocks.count() as usize);
    blocks.drain(|block| drained.push(block as u32));
    drained
}

strewn_base::saved_state! {
    impl for DirtyBlocks {
        parts: dirty, relocated, unmapped, rewritten;
        values:;
        built:;
    }
}
