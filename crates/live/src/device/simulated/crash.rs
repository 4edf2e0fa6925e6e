//! What a power loss does to writes that are not durable.

use std::ops::AddAssign;

use strewn_base::Rng;

/// The fate of the writes that were not durable, or in flight, at a power loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrashCounts {
    /// Writes kept in full.
    pub kept: u64,
    /// Writes lost in full.
    pub lost: u64,
    /// Torn writes: only some of their sectors are kept.
    pub torn: u64,
}

impl CrashCounts {
    pub(super) fn add(&mut self, fate: &WriteFate) {
        match fate {
            WriteFate::Kept => self.kept += 1,
            WriteFate::Lost => self.lost += 1,
            WriteFate::Torn(_) => self.torn += 1,
        }
    }
}

impl AddAssign for CrashCounts {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.lost += other.lost;
        self.torn += other.torn;
    }
}

pub(super) enum WriteFate {
    Kept,
    Lost,
    Torn(Tear),
}

/// Which sectors of a torn write are kept.
pub(super) enum Tear {
    Before(u64),
    From(u64),
    Any,
}

impl Tear {
    pub(super) fn contains(&self, sector: u64, rng: &mut Rng) -> bool {
        match self {
            Self::Before(end) => sector < *end,
            Self::From(start) => sector >= *start,
            Self::Any => rng.bits() >> 63 == 0,
        }
    }
}

/// The severity of one power loss. If all were alike, nearly all would lose some of many writes, and cases that keep
/// all but one, or only one, would hardly ever occur.
pub(super) struct CrashSeverity {
    kept_of_8: u64,
    torn_of_8: u64,
}

impl CrashSeverity {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        Self { kept_of_8: rng.below(9), torn_of_8: rng.below(9) }
    }

    pub(super) fn fate(&self, sectors: u64, rng: &mut Rng) -> WriteFate {
        if rng.below(8) < self.kept_of_8 {
            return WriteFate::Kept;
        }
        if rng.below(8) >= self.torn_of_8 {
            return WriteFate::Lost;
        }
        let cut = 1 + rng.below(sectors - 1);
        WriteFate::Torn(match rng.below(4) {
            0 => Tear::Before(cut),
            1 => Tear::From(cut),
            _ => Tear::Any,
        })
    }
}
