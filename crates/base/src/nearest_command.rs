//! The command of a drive's queue that its heads reach soonest, eight commands at a time where the processor can.
//!
//! A drive that schedules by positioning time looks at every command that it has admitted, before each. That is a third
//! of what a simulation of an array costs, and the same few operations for each command: so it is done on vectors
//! (AVX2). [`soonest`] falls back to a loop, which gives the same answer.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code))]

/// Commands of a vector. Lists of [`Starts`] have room for whole ones.
pub const LANES: usize = 8;
/// Most commands: one bit each.
pub const MOST: usize = 32;
/// Bits of a track below its cylinder.
pub const HEAD_BITS: u32 = 8;

/// Where commands start, and in which direction: a list of each, as long as the others, to a multiple of [`LANES`].
/// What is behind the last command may be anything.
#[derive(Clone, Copy, Debug)]
pub struct Starts<'a> {
    /// Cylinder and head, the cylinder above [`HEAD_BITS`] bits.
    pub tracks: &'a [u32],
    /// Angle in ticks, less than a turn.
    pub angles: &'a [u32],
    /// 0 for a read, 1 for a write.
    pub directions: &'a [u32],
}

/// Where the heads are, and what it takes to move them.
#[derive(Clone, Copy, Debug)]
pub struct HeadsAt<'a> {
    /// Cylinder and head.
    pub track: u32,
    /// Angle in ticks.
    pub angle: u32,
    /// Ticks before the arm moves: for a read, and for a write.
    pub overheads: [u32; 2],
    /// Ticks to move by a number of cylinders, the head switch first. Not empty.
    pub seek_ticks: &'a [u32],
    /// Ticks of a turn less one; a turn is a power of two.
    pub turn_mask: u32,
}

/// Returns the commands, one bit each, that the heads reach soonest, of the first `count`. Seeks beyond the table take
/// as long as its longest.
///
/// ```
/// use strewn_base::nearest_command::{HeadsAt, Starts, soonest};
///
/// let heads = HeadsAt {
///     track: 0,
///     angle: 0,
///     overheads: [10, 10],
///     seek_ticks: &[5, 40, 60],
///     turn_mask: 1023,
/// };
/// // One on the next cylinder that is reached right after the seek, one on this track that has just passed.
/// let mut tracks = [0; 8];
/// tracks[0] = 1 << 8;
/// let mut angles = [0; 8];
/// (angles[0], angles[1]) = (60, 9);
/// let starts = Starts { tracks: &tracks, angles: &angles, directions: &[0; 8] };
/// assert_eq!(soonest(2, starts, heads), 0b01);
/// ```
///
/// # Panics
///
/// If there is no command, there are more than [`MOST`], a list is too short or the table of seeks is empty.
#[inline(always)]
#[must_use]
pub fn soonest(count: usize, starts: Starts<'_>, heads: HeadsAt<'_>) -> u32 {
    let Starts { tracks, angles, directions } = starts;
    let places = count.next_multiple_of(LANES);
    let is_long = |list: &[u32]| list.len() >= places;
    assert!(
        (1..=MOST).contains(&count)
            && is_long(tracks)
            && is_long(angles)
            && is_long(directions)
            && !heads.seek_ticks.is_empty()
    );
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, and the lists have whole vectors of commands.
        return unsafe { vectors::soonest(count, starts, heads) };
    }
    one_by_one(count, starts, heads)
}

/// The same, one command after another.
fn one_by_one(count: usize, starts: Starts<'_>, heads: HeadsAt<'_>) -> u32 {
    let cost = |at: usize| {
        let track = starts.tracks[at];
        let cylinders = (track >> HEAD_BITS).abs_diff(heads.track >> HEAD_BITS) as usize;
        let seek = match track == heads.track {
            true => 0,
            false => heads.seek_ticks[cylinders.min(heads.seek_ticks.len() - 1)],
        };
        let before = heads.overheads[usize::from(starts.directions[at] != 0)].wrapping_add(seek);
        let passed = heads.angle.wrapping_add(before);
        before.wrapping_add(starts.angles[at].wrapping_sub(passed) & heads.turn_mask)
    };
    let least = (0..count).map(cost).min().unwrap_or_default();
    (0..count).filter(|at| cost(*at) == least).fold(0, |found, at| found | 1 << at)
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::{HEAD_BITS, HeadsAt, LANES, MOST, Starts};
    use std::arch::x86_64::{
        __m256i, _mm256_abs_epi32, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256,
        _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_i32gather_epi32,
        _mm256_loadu_si256, _mm256_min_epu32, _mm256_movemask_ps, _mm256_or_si256,
        _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256,
        _mm256_shuffle_epi32, _mm256_srli_epi32, _mm256_sub_epi32,
    };

    /// Vectors of the most commands.
    const MOST_VECTORS: usize = MOST / LANES;

    /// # Safety
    ///
    /// The processor has AVX2, and the lists of starts have `count` entries to a multiple of [`LANES`], of which there
    /// are [`MOST`] at most; the table of seeks is not empty.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn soonest(count: usize, starts: Starts<'_>, heads: HeadsAt<'_>) -> u32 {
        let all = |value: u32| _mm256_set1_epi32(value.cast_signed());
        let zero = _mm256_setzero_si256();
        let [read, write] = heads.overheads.map(all);
        let more = _mm256_sub_epi32(write, read);
        let (track, angle) = (all(heads.track), all(heads.angle));
        let here = all(heads.track >> HEAD_BITS);
        let longest = all(u32::try_from(heads.seek_ticks.len() - 1).unwrap_or(u32::MAX));
        let turn = all(heads.turn_mask);
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let mut costs = [all(u32::MAX); MOST_VECTORS];
        let mut least = all(u32::MAX);
        for (vector, cost) in costs.iter_mut().enumerate().take(count.div_ceil(LANES)) {
            let at = vector * LANES;
            let load = |list: &[u32]| -> __m256i {
                // SAFETY: the list has whole vectors up to `count`.
                unsafe { _mm256_loadu_si256(list.as_ptr().add(at).cast()) }
            };
            let tracks = load(starts.tracks);
            let cylinders = _mm256_srli_epi32::<{ HEAD_BITS.cast_signed() }>(tracks);
            let distance = _mm256_abs_epi32(_mm256_sub_epi32(cylinders, here));
            let distance = _mm256_min_epu32(distance, longest);
            // SAFETY: no distance is beyond the last entry of the table.
            let seek =
                unsafe { _mm256_i32gather_epi32::<4>(heads.seek_ticks.as_ptr().cast(), distance) };
            let seek = _mm256_andnot_si256(_mm256_cmpeq_epi32(tracks, track), seek);
            let is_read = _mm256_cmpeq_epi32(load(starts.directions), zero);
            let overhead = _mm256_add_epi32(read, _mm256_andnot_si256(is_read, more));
            let before = _mm256_add_epi32(overhead, seek);
            let passed = _mm256_add_epi32(angle, before);
            let rotation = _mm256_and_si256(_mm256_sub_epi32(load(starts.angles), passed), turn);
            let last = u32::try_from((count - at - 1).min(LANES)).unwrap_or_default();
            let beyond = _mm256_cmpgt_epi32(lanes, all(last));
            *cost = _mm256_or_si256(_mm256_add_epi32(before, rotation), beyond);
            least = _mm256_min_epu32(least, *cost);
        }
        least = _mm256_min_epu32(least, _mm256_permute2x128_si256::<1>(least, least));
        least = _mm256_min_epu32(least, _mm256_shuffle_epi32::<0b01_00_11_10>(least));
        least = _mm256_min_epu32(least, _mm256_shuffle_epi32::<0b10_11_00_01>(least));
        let found = costs.iter().enumerate().map(|(vector, cost)| {
            let equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(*cost, least));
            _mm256_movemask_ps(equal).cast_unsigned() << (vector * LANES)
        });
        found.fold(0, |all, of_vector| all | of_vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number below `below` that follows from the state.
    fn next(state: &mut u64, below: u32) -> u32 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*state >> 33) % u64::from(below)) as u32
    }

    #[test]
    fn vectors_and_the_loop_find_the_same_in_random_queues() {
        let seed = std::env::var("STREWN_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(1_u64);
        let mut state = seed;
        for case in 0..100_000 {
            let count = next(&mut state, MOST as u32) as usize + 1;
            let places = count.next_multiple_of(LANES);
            // Few values, so that equal costs are frequent; or all of them.
            let few = next(&mut state, 2) == 0;
            let cylinders = if few { 3 } else { 200_000 };
            let turn = if few { 4 } else { 1 << 20 };
            let mut list =
                |below: u32| -> Vec<u32> { (0..places).map(|_| next(&mut state, below)).collect() };
            let tracks: Vec<u32> =
                list(cylinders * 4).iter().map(|at| (at % 4) | ((at / 4) << 8)).collect();
            let (angles, directions) = (list(turn), list(2));
            let longest = list(cylinders)[0] as usize + 1;
            let seek_ticks: Vec<u32> = (0..longest as u32).map(|at| at / 2).collect();
            let heads = HeadsAt {
                track: tracks[list(places as u32)[0] as usize],
                angle: list(turn)[0],
                overheads: [list(2)[0], list(3)[0]],
                seek_ticks: &seek_ticks,
                turn_mask: turn - 1,
            };
            let starts = Starts { tracks: &tracks, angles: &angles, directions: &directions };
            assert_eq!(
                soonest(count, starts, heads),
                one_by_one(count, starts, heads),
                "STREWN_SEED={seed}, case {case}: {starts:?} {heads:?}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "assertion")]
    fn lists_that_are_too_short_are_refused() {
        let starts = Starts { tracks: &[0; 8], angles: &[0; 8], directions: &[0; 8] };
        let heads =
            HeadsAt { track: 0, angle: 0, overheads: [0; 2], seek_ticks: &[0], turn_mask: 1 };
        let _ = soonest(9, starts, heads);
    }
}
