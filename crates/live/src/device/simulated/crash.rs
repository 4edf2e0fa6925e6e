//! What a loss of power does to writes that are not safe.

use std::ops::AddAssign;

use strewn_base::Rng;

/// What became of the writes that were pending or under way when the power went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrashCounts {
    /// All of them are there.
    pub kept: u64,
    /// Nothing of them is there.
    pub lost: u64,
    /// Some of their sectors are there.
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

/// Which sectors of a torn write are there.
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

/// How harsh one loss of power is. Were all alike, nearly all would lose some of many writes, and those that keep all
/// but one, or one alone, would hardly ever be seen.
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
