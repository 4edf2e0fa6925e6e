//! The drive's time, from its measurements: the outermost zone of the Cheetah 15K.5 as its profile lists it.

use strewn_array::ProcessorCosts;
use strewn_array::in_place::Raid0Layout;
use strewn_spindle::Profile;

use super::*;

pub const REVOLUTION_MS: f64 = 60_000.0 / 15_020.0;
pub const SECTORS_PER_TRACK: f64 = 1200.0;
/// From the end of a track to the beginning of the next, 0.14167 of a revolution.
pub const TRACK_SKEW_MS: f64 = 0.14167 * REVOLUTION_MS;
/// Before a write that follows a write.
pub const WRITE_OVERHEAD_MS: f64 = 0.22798;
/// Cylinders that a head covers before the next has its turn, back over the same cylinders.
const BAND_CYLINDERS: u64 = 65;
const HEADS: u64 = 4;
/// Sectors of the outermost zone.
const ZONE_SECTORS: u64 = 37_387_200;

/// Time under the head: the sectors, and the skews of the tracks that they cross on average.
pub fn transfer_ms(sectors: f64) -> f64 {
    sectors / SECTORS_PER_TRACK * (REVOLUTION_MS + TRACK_SKEW_MS)
}

/// Half a turn: the mean wait for a sector that the drive does not know in advance.
pub const HALF_TURN_MS: f64 = REVOLUTION_MS / 2.0;

/// The cylinder of a sector: heads go over a band one after the other, to and fro.
fn cylinder_of(lba: u64) -> u64 {
    let track = lba / SECTORS_PER_TRACK as u64;
    let (band, in_band) = (track / (BAND_CYLINDERS * HEADS), track % (BAND_CYLINDERS * HEADS));
    let (head, at) = (in_band / BAND_CYLINDERS, in_band % BAND_CYLINDERS);
    band * BAND_CYLINDERS + if head % 2 == 0 { at } else { BAND_CYLINDERS - 1 - at }
}

/// Linear between the measured points.
fn seek_ms(points: &[(u32, f64)], cylinders: u64) -> f64 {
    let after = points.partition_point(|(distance, _)| u64::from(*distance) < cylinders);
    let (to, to_ms) = points[after];
    if u64::from(to) == cylinders || after == 0 {
        return to_ms;
    }
    let (from, from_ms) = points[after - 1];
    let share = (cylinders as f64 - f64::from(from)) / f64::from(to - from);
    from_ms + share * (to_ms - from_ms)
}

/// A linear congruential generator: anything that scatters pairs evenly will do.
struct Scatter(u64);

impl Scatter {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

#[test]
fn one_outstanding_read_takes_a_mean_seek_and_half_a_turn() {
    let profile = Profile::shipped(DRIVE).unwrap();
    for file_bytes in [GIB, 16 * GIB] {
        let file_blocks = file_bytes / (4 * KIB);
        assert!(file_blocks * 8 < ZONE_SECTORS);
        let mut scatter = Scatter(1);
        let pairs = 200_000;
        let mut draw = || cylinder_of(scatter.below(file_blocks) * 8);
        let seeks: f64 = (0..pairs)
            .map(|_| match draw().abs_diff(draw()) {
                // Another head of the same cylinder, or none.
                0 => 0.0,
                cylinders => seek_ms(&profile.seek, cylinders),
            })
            .sum();
        // No overhead between two reads. Eight sectors of a track.
        let expected_ms = seeks / f64::from(pairs) + HALF_TURN_MS + 8.0 / 1200.0 * REVOLUTION_MS;
        // One spindle without parity, so a LUN's sector is the spindle's.
        let layout = Raid0Layout::new(1, 128 * KIB, 2 * MIB, DRIVE_BYTES).unwrap();
        let array = array_in_place(in_place(layout.into(), file_bytes, ProcessorCosts::default()));
        let load = Load { outstanding: 1, ..RANDOM_READS };
        let segment = last(run(array, load, file_bytes, &[120]));
        let mean_ms = segment.response.mean_ns / 1e6;
        assert_near("response, ms", mean_ms, expected_ms, 0.01);
    }
}

#[test]
fn more_outstanding_is_never_slower() {
    let rates = |operations_per_second: &dyn Fn(u32) -> f64| {
        let rates: Vec<f64> = [1, 2, 4, 8, 16, 32, 64].map(operations_per_second).to_vec();
        println!("{rates:?} operations a second");
        // Chance moves a rate of some 10,000 operations by a percent.
        assert!(rates.windows(2).all(|pair| pair[1] > 0.99 * pair[0]), "{rates:?}");
        assert!(rates[3] > 2.0 * rates[0], "eight commands are served in better order: {rates:?}");
    };
    rates(&|outstanding| {
        let array = array_in_place(in_place(vraid_5(5), 4 * GIB, FREE));
        let segment = last(run(array, Load { outstanding, ..RANDOM_READS }, 4 * GIB, &[20]));
        per_second(segment.operations, &segment)
    });
    rates(&|outstanding| {
        let config = write_anywhere((Parity::Raid4, 4), 1 << 20, blocks(4 * GIB), FREE);
        let load = Load { outstanding, ..RANDOM_READS };
        let segment = last(run(array_anywhere(config), load, 4 * GIB, &[20]));
        per_second(segment.operations, &segment)
    });
}
