//! Distributions: where random accesses go.

use crate::random_map::RandomMap;
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_base::{Rng, SECTOR_BYTES};

/// Where random accesses go within a region.
///
/// A place is a multiple of the alignment, counted from the beginning of the region.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Any byte, rounded up to the alignment, as Iometer draws. An access that would end past the
    /// region goes to its beginning, which this slightly favours.
    #[default]
    AnyByte,
    /// Any place, all equally likely.
    Uniform,
    /// Every place once before any repeats, as fio does without `norandommap`: if the place drawn
    /// has been used, the next unused one is taken. Costs a bit for each place of the smallest
    /// alignment.
    EachOnce,
    /// Zipf's law: the place of rank `k` is drawn in proportion to `1 / k^theta`. Ranks are scattered
    /// over the region, so that the hottest places are not neighbours.
    Zipf {
        /// The exponent, above 0.
        theta: f64,
        /// Where rank 1 lies, as a fraction of the region; at random if `None`.
        centre: Option<f64>,
    },
    /// fio's Pareto distribution: rank `u^(log h / log (1 - h))` of all for a uniform `u`, so that
    /// `1 - h` of the accesses go to `h` of the places. Ranks are scattered as Zipf's are.
    Pareto {
        /// `h`, between 0 and 1.
        power: f64,
        /// Where the first rank lies, as a fraction of the region; at random if `None`.
        centre: Option<f64>,
    },
    /// A normal distribution (the sum of twelve uniform draws) that wraps around at the ends.
    Normal {
        /// The standard deviation in percent of the region.
        deviation_percent: f64,
        /// The mean, as a fraction of the region.
        centre: f64,
    },
    /// Consecutive zones from the start of the region, each uniform.
    Zoned(Vec<ZoneShare>),
}

/// A zone of a region, and its share of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZoneShare {
    /// The percentage of accesses that go there.
    pub percent_of_accesses: u8,
    /// The length of the zone in sectors.
    pub sectors: u64,
}

/// A distribution over the sectors of a region, ready to be drawn from.
#[derive(Clone, Debug)]
pub(crate) enum RandomPlaces {
    AnyByte,
    Uniform,
    EachOnce(RandomMap),
    Zipf(Zipf, Scatter),
    Pareto { exponent: f64, scatter: Scatter },
    Normal { deviation_sectors: f64, mean_sector: f64 },
    Zoned(Vec<Zone>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone {
    /// The sum of the percentages up to and including this one.
    below_percent: u64,
    first_sector: u64,
    sectors: u64,
}

impl RandomPlaces {
    /// Prepares the distribution. `unit_sectors` is the smallest alignment: the size of a place that has a rank.
    pub(crate) fn new(
        distribution: &Distribution,
        region_sectors: u64,
        unit_sectors: u64,
        rng: &mut Rng,
    ) -> Self {
        let units = (region_sectors / unit_sectors).max(1);
        match distribution {
            Distribution::AnyByte => Self::AnyByte,
            Distribution::Uniform => Self::Uniform,
            Distribution::EachOnce => Self::EachOnce(RandomMap::new(units)),
            Distribution::Zipf { theta, centre } => {
                Self::Zipf(Zipf::new(units, *theta), Scatter::new(units, *centre, rng))
            }
            Distribution::Pareto { power, centre } => Self::Pareto {
                exponent: libm::log(*power) / libm::log(1.0 - power),
                scatter: Scatter::new(units, *centre, rng),
            },
            Distribution::Normal { deviation_percent, centre } => Self::Normal {
                deviation_sectors: region_sectors as f64 * deviation_percent / 100.0,
                mean_sector: region_sectors as f64 * centre,
            },
            Distribution::Zoned(shares) => {
                let (mut below_percent, mut first_sector) = (0, 0);
                let zone = |share: &ZoneShare| {
                    below_percent += u64::from(share.percent_of_accesses);
                    let zone = Zone { below_percent, first_sector, sectors: share.sectors };
                    first_sector += share.sectors;
                    zone
                };
                Self::Zoned(shares.iter().map(zone).collect())
            }
        }
    }

    /// Draws a sector to begin at, a multiple of `alignment_sectors`. The caller moves an access that would end past
    /// `region_sectors`, which happens with [`RandomPlaces::AnyByte`] only.
    pub(crate) fn draw(
        &mut self,
        rng: &mut Rng,
        region_sectors: u64,
        sectors: u64,
        alignment_sectors: u64,
        unit_sectors: u64,
    ) -> u64 {
        // The last sector at which the access still fits.
        let last = (region_sectors - sectors) / alignment_sectors * alignment_sectors;
        let fitting = |sector: u64| (sector / alignment_sectors * alignment_sectors).min(last);
        match self {
            Self::AnyByte => {
                let byte = rng.below(region_sectors * SECTOR_BYTES);
                byte.div_ceil(SECTOR_BYTES).next_multiple_of(alignment_sectors)
            }
            Self::Uniform => rng.below(last / alignment_sectors + 1) * alignment_sectors,
            Self::EachOnce(map) => {
                let drawn = rng.below(last / unit_sectors + 1);
                fitting(map.take(drawn, sectors.div_ceil(unit_sectors)) * unit_sectors)
            }
            Self::Zipf(zipf, scatter) => {
                let rank = zipf.rank(rng);
                fitting(scatter.place_of(rank) * unit_sectors)
            }
            Self::Pareto { exponent, scatter } => {
                let share = libm::pow(rng.unit(), *exponent);
                let rank = ((scatter.places - 1) as f64 * share) as u64;
                fitting(scatter.place_of(rank.min(scatter.places - 1)) * unit_sectors)
            }
            Self::Normal { deviation_sectors, mean_sector } => {
                // Variance 1 and mean 0.
                let standard = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                let sector = *mean_sector + *deviation_sectors * standard;
                let region = region_sectors as f64;
                let wrapped = sector - region * libm::floor(sector / region);
                fitting((wrapped as u64).min(region_sectors - 1))
            }
            Self::Zoned(zones) => {
                let percent = rng.below(100);
                let found = zones.iter().find(|zone| percent < zone.below_percent);
                let Some(zone) = found else { return 0 };
                // Whole places of the zone. A zone shorter than one place has one, at its beginning.
                let places = (zone.sectors / alignment_sectors).max(1);
                fitting(zone.first_sector + rng.below(places) * alignment_sectors)
            }
        }
    }
}

/// Scatters ranks over places, one to one: multiplies by a number near the golden section of the number of places that
/// shares no factor with it.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    places: u64,
    multiplier: u64,
    first: u64,
}

impl Scatter {
    fn new(places: u64, centre: Option<f64>, rng: &mut Rng) -> Self {
        let first = match centre {
            Some(centre) => ((places as f64 * centre) as u64).min(places - 1),
            None => rng.below(places),
        };
        // 0.618 of them: neighbouring ranks lie far apart, at any scale.
        let golden = (u128::from(places) * 0x9E37_79B9_7F4A_7C15_u128) >> 64;
        let mut multiplier = (golden as u64).max(1);
        while greatest_common_divisor(multiplier, places) != 1 {
            multiplier += 1;
        }
        Self { places, multiplier, first }
    }

    /// Returns the place of `rank`, counted from 0.
    fn place_of(&self, rank: u64) -> u64 {
        let product = u128::from(rank) * u128::from(self.multiplier) + u128::from(self.first);
        (product % u128::from(self.places)) as u64
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Ranks by Zipf's law, exactly and without a table: rejection-inversion (Hörmann and Derflinger
/// 1996, "Rejection-inversion to generate variates from monotone discrete distributions").
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    ranks: f64,
    theta: f64,
    integral_of_first: f64,
    integral_of_last: f64,
    always_below: f64,
}

impl Zipf {
    fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Self {
            ranks: ranks as f64,
            theta,
            integral_of_first: 0.0,
            integral_of_last: 0.0,
            always_below: 0.0,
        };
        zipf.integral_of_first = zipf.integral(1.5) - 1.0;
        zipf.integral_of_last = zipf.integral(zipf.ranks + 0.5);
        zipf.always_below = 2.0 - zipf.inverse_integral(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws a rank, counted from 0.
    fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let span = self.integral_of_first - self.integral_of_last;
            let area = self.integral_of_last + rng.unit() * span;
            let x = self.inverse_integral(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.ranks);
            let is_below = rank - x <= self.always_below;
            if is_below || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// Returns `x^-theta`.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Returns the integral of the density from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.theta) * log;
        // (e^t - 1) / t, also near t = 0.
        let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
        ratio * log
    }

    fn inverse_integral(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.theta)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
        libm::exp(ratio * area)
    }
}

/// Only a distribution that remembers what it drew has state.
impl SavedState for RandomPlaces {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        match self {
            Self::EachOnce(drawn) => drawn.save(to),
            _ => Ok(()),
        }
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        match self {
            Self::EachOnce(drawn) => drawn.restore(from),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ranks_are_strewn_one_to_one() {
        let mut rng = Rng::new(1);
        for places in [1, 2, 3, 97, 1000, 1 << 16] {
            let scatter = Scatter::new(places, None, &mut rng);
            let seen: HashSet<u64> = (0..places).map(|rank| scatter.place_of(rank)).collect();
            assert_eq!(seen.len() as u64, places);
        }
        let centred = Scatter::new(1000, Some(0.25), &mut rng);
        assert_eq!(centred.place_of(0), 250);
        assert!(centred.place_of(1).abs_diff(250) > 300);
    }

    /// Each of the first ranks has the share that the law gives it.
    #[test]
    fn zipf_has_its_shares() {
        for (ranks, theta) in [(1000, 0.9), (50, 1.0), (65_536, 1.2), (2, 0.5)] {
            let zipf = Zipf::new(ranks, theta);
            let mut rng = Rng::new(3);
            let mut counts = vec![0_u32; ranks as usize];
            const DRAWN: u32 = 400_000;
            for _ in 0..DRAWN {
                counts[zipf.rank(&mut rng) as usize] += 1;
            }
            let sum: f64 = (1..=ranks).map(|rank| (rank as f64).powf(-theta)).sum();
            for rank in [1, 2, 3, 10_u32] {
                let Some(count) = counts.get(rank as usize - 1) else { continue };
                let share = f64::from(rank).powf(-theta) / sum;
                let expected = share * f64::from(DRAWN);
                let off = (f64::from(*count) - expected).abs();
                assert!(off < 5.0 * expected.sqrt(), "{ranks} {theta} {rank}: {count} {expected}");
            }
        }
    }
}
