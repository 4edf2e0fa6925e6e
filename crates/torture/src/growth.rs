//! The parity groups that an array gets between two incarnations.

use strewn_base::Rng;
use strewn_raid::{Parity, ParityGroup};

use crate::rng::SpreadDraws;
use strewn_live::configuration::{ArrayConfig, LayoutName};

/// A parity group that an array gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    /// It gets it after this incarnation.
    pub(crate) after: u64,
    pub(crate) group: ParityGroup,
}

impl Growth {
    /// Draws the groups that an array gets. Each may lose as many spindles as the first one.
    pub(crate) fn draw(
        rng: &mut Rng,
        layout: LayoutName,
        config: &ArrayConfig,
        incarnations: u64,
    ) -> Vec<Self> {
        let ArrayConfig::WriteAnywhere(config) = config else { return Vec::new() };
        let count = if rng.one_in(3) { rng.within(1..3) } else { 0 };
        let mut all: Vec<Self> = Vec::new();
        for _ in 0..count {
            let parity = *rng.pick(&[layout.parity().unwrap_or(Parity::RaidDp), Parity::RaidDp]);
            // Of any size, down to one allocation area.
            let area_stripes = config.shape.area_stripes.max(64);
            let blocks = area_stripes * rng.spread(1..9);
            let group = ParityGroup::new(parity, rng.within(1..8) as u16, blocks);
            let after = rng.within(0..incarnations);
            all.extend(group.ok().map(|group| Self { after, group }));
        }
        all
    }
}
