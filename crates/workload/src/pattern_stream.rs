//! The stream of accesses drawn from a pattern.

use crate::distribution::RandomPlaces;
use crate::sectors::sectors_in;
use crate::{Access, Direction, Pattern, PatternLine, Sequence, WorkloadError};
use strewn_base::Rng;

/// An access, and the delay before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacedAccess {
    /// The access.
    pub access: Access,
    /// How long the host waits before it issues the access, in nanoseconds from when it could have.
    pub delay_ns: u64,
}

/// An endless, repeatable stream of accesses drawn from a [`Pattern`].
///
/// A pattern made from an [`AccessSpecification`](crate::AccessSpecification) gives the same accesses as its
/// [`AccessStream`](crate::AccessStream), seed for seed.
#[derive(Clone, Debug)]
pub struct PatternStream {
    rng: Rng,
    lines: Vec<Line>,
    weights: u64,
    region_first_sector: u64,
    region_sectors: u64,
    /// The smallest alignment.
    unit_sectors: u64,
    /// One for reads, one for writes; a single one if both have the same distribution.
    places: Vec<RandomPlaces>,
    /// Where a sequential access begins: for reads, then for writes; or one for both.
    next_sector: Vec<u64>,
    /// The line of the current burst, and the accesses left in it.
    line: usize,
    left_of_burst: u32,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// The sum of the weights up to and including this one.
    below: u64,
    sectors: u64,
    alignment_sectors: u64,
    line: PatternLine,
}

impl PatternStream {
    /// Creates a stream of `pattern` over the `region_sectors` sectors that start at `region_first_sector`, repeatable
    /// by `seed`.
    ///
    /// # Errors
    ///
    /// [`WorkloadError`] if a line is out of range, or if the region is smaller than an access or so
    /// large that its bytes overflow.
    pub fn new(
        pattern: &Pattern,
        region_first_sector: u64,
        region_sectors: u64,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        pattern.check()?;
        let drawn = || pattern.lines.iter().filter(|line| line.weight > 0);
        let largest_bytes = drawn().map(|line| line.bytes).max().unwrap_or(0);
        WorkloadError::check_region(
            &pattern.name,
            largest_bytes,
            region_first_sector,
            region_sectors,
        )?;
        let sectors = |bytes: u32| u64::from(sectors_in(bytes));
        let mut below = 0;
        let line = |line: &PatternLine| {
            below += u64::from(line.weight);
            let alignment_sectors = sectors(line.alignment_bytes);
            Line { below, sectors: sectors(line.bytes), alignment_sectors, line: *line }
        };
        let lines: Vec<Line> = drawn().map(line).collect();
        let unit_sectors = lines.iter().map(|line| line.alignment_sectors).min().unwrap_or(1);
        let mut rng = Rng::new(seed);
        let [reads, writes] = &pattern.distributions;
        let distributions = if reads == writes { vec![reads] } else { vec![reads, writes] };
        let mut place =
            |distribution| RandomPlaces::new(distribution, region_sectors, unit_sectors, &mut rng);
        let places = distributions.into_iter().map(&mut place).collect();
        let next_sector = match pattern.sequence {
            Sequence::AnyAccess => vec![0],
            Sequence::SameDirection => vec![0, 0],
        };
        Ok(Self {
            rng,
            weights: below,
            lines,
            region_first_sector,
            region_sectors,
            unit_sectors,
            places,
            next_sector,
            line: 0,
            left_of_burst: 0,
        })
    }

    /// Draws the next access. The first of each burst has the delay of its line.
    pub fn next_access(&mut self) -> PacedAccess {
        let mut delay_ns = 0;
        if self.left_of_burst == 0 {
            let number = self.rng.below(self.weights);
            self.line = self.lines.partition_point(|line| line.below <= number);
            let line = &self.lines[self.line].line;
            self.left_of_burst = line.burst_accesses.max(1);
            delay_ns = line.delay_ns;
        }
        self.left_of_burst -= 1;
        let line = self.lines[self.line].line;
        let direction = if self.rng.chance(line.read_percent.into(), 100) {
            Direction::Read
        } else {
            Direction::Write
        };
        PacedAccess { access: self.draw(self.line, direction), delay_ns }
    }

    /// Draws the next access of one direction, by the lines that are of that direction alone. A burst and its delay are
    /// left out. `None` if there is no such line.
    pub fn next_access_of(&mut self, direction: Direction) -> Option<Access> {
        let sum = weights_of(&self.lines, direction).sum();
        if sum == 0 {
            return None;
        }
        let mut number = self.rng.below(sum);
        let index = weights_of(&self.lines, direction).position(|weight| {
            let is_drawn = number < weight;
            number = number.saturating_sub(weight);
            is_drawn
        })?;
        Some(self.draw(index, direction))
    }

    /// Draws the place of an access by the line at `index`.
    fn draw(&mut self, index: usize, direction: Direction) -> Access {
        let Line { sectors, alignment_sectors, line, .. } = self.lines[index];
        let of = |count: usize| (direction as usize).min(count - 1);
        let (places, next) = (of(self.places.len()), of(self.next_sector.len()));
        let sector = if self.rng.chance(line.random_percent.into(), 100) {
            self.places[places].draw(
                &mut self.rng,
                self.region_sectors,
                sectors,
                alignment_sectors,
                self.unit_sectors,
            )
        } else {
            self.next_sector[next].next_multiple_of(alignment_sectors)
        };
        let sector = if sector + sectors > self.region_sectors { 0 } else { sector };
        self.next_sector[next] = sector + sectors;
        let sector = self.region_first_sector + sector;
        Access { sector, sectors: sectors as u32, direction }
    }
}

/// Returns the weight of each line for accesses of one direction: 0 for those that are not of that direction alone.
fn weights_of(lines: &[Line], direction: Direction) -> impl Iterator<Item = u64> {
    let read_percent = if direction == Direction::Read { 100 } else { 0 };
    let mut below = 0;
    lines.iter().map(move |line| {
        let weight = line.below - std::mem::replace(&mut below, line.below);
        if line.line.read_percent == read_percent { weight } else { 0 }
    })
}

strewn_base::saved_state! {
    impl for PatternStream {
        parts: places;
        values: rng, next_sector, line, left_of_burst;
        built: lines, weights, region_first_sector, region_sectors, unit_sectors;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessLine, AccessSpecification, AccessStream, Distribution};

    const SECTORS: u64 = 1 << 20;

    const LINE: PatternLine = PatternLine {
        bytes: 4096,
        weight: 1,
        read_percent: 100,
        random_percent: 100,
        alignment_bytes: 4096,
        burst_accesses: 1,
        delay_ns: 0,
    };

    fn pattern(lines: Vec<PatternLine>, distribution: Distribution) -> Pattern {
        let distributions = [distribution.clone(), distribution];
        Pattern { name: "p".into(), lines, distributions, sequence: Sequence::AnyAccess }
    }

    /// This is why a plain specification may be run by the plain stream.
    #[test]
    fn a_plain_pattern_draws_what_its_specification_draws() {
        let line = |bytes, percent_of_accesses, read_percent, random_percent| AccessLine {
            bytes,
            percent_of_accesses,
            read_percent,
            random_percent,
        };
        let mixed = vec![line(512, 20, 67, 30), line(8192, 80, 0, 100), line(1536, 0, 1, 1)];
        for specification in [
            AccessSpecification::shipped("file-server").unwrap(),
            AccessSpecification::new("mixed", mixed.clone(), 512).unwrap(),
            AccessSpecification::new("mixed", mixed, 1536).unwrap(),
        ] {
            let pattern = Pattern::from(&specification);
            assert_eq!(pattern.as_specification(), Some(specification.clone()));
            let mut plain = AccessStream::new(&specification, 100, SECTORS, 9).unwrap();
            let mut general = PatternStream::new(&pattern, 100, SECTORS, 9).unwrap();
            for _ in 0..10_000 {
                let drawn = general.next_access();
                assert_eq!((drawn.access, drawn.delay_ns), (plain.next_access(), 0));
            }
        }
    }

    #[test]
    fn a_burst_keeps_its_line_and_begins_with_its_delay() {
        let lines = vec![
            PatternLine { burst_accesses: 3, delay_ns: 5, ..LINE },
            PatternLine { bytes: 8192, burst_accesses: 2, delay_ns: 7, ..LINE },
        ];
        let mut stream =
            PatternStream::new(&pattern(lines, Distribution::Uniform), 0, SECTORS, 1).unwrap();
        for _ in 0..1000 {
            let first = stream.next_access();
            let (rest, delay_ns) = if first.access.sectors == 8 { (2, 5) } else { (1, 7) };
            assert_eq!(first.delay_ns, delay_ns);
            for _ in 0..rest {
                let next = stream.next_access();
                assert_eq!((next.access.sectors, next.delay_ns), (first.access.sectors, 0));
            }
        }
    }

    #[test]
    fn accesses_of_one_direction_keep_the_weights_of_their_lines() {
        let lines = vec![
            PatternLine { weight: 30, ..LINE },
            PatternLine { bytes: 8192, weight: 50, read_percent: 0, ..LINE },
            PatternLine { bytes: 16_384, weight: 10, ..LINE },
            PatternLine { bytes: 32_768, weight: 90, read_percent: 50, ..LINE },
        ];
        let pattern = pattern(lines, Distribution::Uniform);
        let mut stream = PatternStream::new(&pattern, 0, SECTORS, 1).unwrap();
        let mut large = 0;
        for _ in 0..4000 {
            let read = stream.next_access_of(Direction::Read).unwrap();
            assert!(read.direction == Direction::Read && [8, 32].contains(&read.sectors));
            large += u32::from(read.sectors == 32);
            let write = stream.next_access_of(Direction::Write).unwrap();
            assert_eq!((write.direction, write.sectors), (Direction::Write, 16));
        }
        // A quarter of 4000, within five standard deviations.
        assert!((863..=1137).contains(&large), "{large}");
        let reads = Pattern { lines: vec![LINE], ..pattern };
        let mut stream = PatternStream::new(&reads, 0, SECTORS, 1).unwrap();
        assert_eq!(stream.next_access_of(Direction::Write), None);
    }

    #[test]
    fn every_distribution_stays_in_the_region_and_aligned() {
        let zones = vec![
            ZoneShare { percent_of_accesses: 60, sectors: SECTORS / 10 },
            ZoneShare { percent_of_accesses: 40, sectors: SECTORS - SECTORS / 10 },
        ];
        for distribution in [
            Distribution::AnyByte,
            Distribution::Uniform,
            Distribution::EachOnce,
            Distribution::Zipf { theta: 1.2, centre: None },
            Distribution::Pareto { power: 0.2, centre: None },
            Distribution::Normal { deviation_percent: 30.0, centre: 0.9 },
            Distribution::Zoned(zones),
        ] {
            let large = PatternLine { bytes: 1 << 16, weight: 2, alignment_bytes: 1 << 13, ..LINE };
            let pattern = pattern(vec![LINE, large], distribution.clone());
            let mut stream = PatternStream::new(&pattern, 64, SECTORS - 7, 5).unwrap();
            for _ in 0..20_000 {
                let access = stream.next_access().access;
                let sector = access.sector - 64;
                assert!(sector + u64::from(access.sectors) <= SECTORS - 7, "{distribution:?}");
                let alignment = if access.sectors == 8 { 8 } else { 16 };
                assert_eq!(sector % alignment, 0, "{distribution:?}");
            }
        }
    }

    #[test]
    fn zones_have_their_shares_and_a_normal_distribution_its_deviation() {
        let zones = vec![
            ZoneShare { percent_of_accesses: 60, sectors: SECTORS / 8 },
            ZoneShare { percent_of_accesses: 10, sectors: SECTORS / 8 },
            ZoneShare { percent_of_accesses: 30, sectors: SECTORS / 4 * 3 },
        ];
        let mut stream =
            PatternStream::new(&pattern(vec![LINE], Distribution::Zoned(zones)), 0, SECTORS, 1)
                .unwrap();
        let mut counts = [0; 8];
        (0..100_000).for_each(|_| {
            counts[(stream.next_access().access.sector * 8 / SECTORS) as usize] += 1;
        });
        assert!((59_000..61_000).contains(&counts[0]), "{counts:?}");
        assert!((9_500..10_500).contains(&counts[1]), "{counts:?}");
        assert!(counts[2..].iter().all(|count| (4_700..5_300).contains(count)), "{counts:?}");

        let normal = Distribution::Normal { deviation_percent: 10.0, centre: 0.5 };
        let mut stream = PatternStream::new(&pattern(vec![LINE], normal), 0, SECTORS, 1).unwrap();
        let mut variance = 0.0;
        for _ in 0..100_000 {
            let place = stream.next_access().access.sector as f64 / SECTORS as f64;
            variance += (place - 0.5).powi(2) / 100_000.0;
        }
        assert!((0.099..0.101).contains(&variance.sqrt()), "{variance}");
    }

    #[test]
    fn pareto_sends_four_fifths_of_the_accesses_to_a_fifth_of_the_places() {
        let pareto = Distribution::Pareto { power: 0.2, centre: None };
        let mut stream = PatternStream::new(&pattern(vec![LINE], pareto), 0, 8 * 1000, 1).unwrap();
        let mut counts = vec![0_u32; 1000];
        for _ in 0..200_000 {
            counts[(stream.next_access().access.sector / 8) as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u32 = counts[..200].iter().sum();
        assert!((157_000..163_000).contains(&hot), "{hot}");
    }

    #[test]
    fn reads_and_writes_may_each_go_their_own_way() {
        let sequential = PatternLine { read_percent: 50, random_percent: 0, ..LINE };
        let both = Pattern {
            sequence: Sequence::SameDirection,
            ..pattern(vec![sequential], Distribution::Uniform)
        };
        let mut stream = PatternStream::new(&both, 0, SECTORS, 1).unwrap();
        let mut next = [0, 0];
        for _ in 0..1000 {
            let access = stream.next_access().access;
            let next = &mut next[access.direction as usize];
            assert_eq!(access.sector, *next);
            *next += 8;
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |lines: Vec<PatternLine>, distribution, sectors| {
            let pattern = pattern(lines, distribution);
            PatternStream::new(&pattern, 0, sectors, 1).unwrap_err().to_string()
        };
        let uniform = || Distribution::Uniform;
        assert_eq!(
            refused(vec![LINE, PatternLine { bytes: 100, ..LINE }], uniform(), SECTORS),
            "line 2 of \"p\": bytes must be a positive multiple of 512, not 100"
        );
        assert!(
            refused(vec![PatternLine { weight: 0, ..LINE }], uniform(), SECTORS)
                .contains("no accesses")
        );
        assert!(refused(vec![LINE], uniform(), 7).contains("cannot hold them"));
        let power = Distribution::Pareto { power: 1.0, centre: None };
        assert!(refused(vec![LINE], power, SECTORS).contains("the power"));
    }

    use crate::distribution::ZoneShare;
}
