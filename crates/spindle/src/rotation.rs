//! The platter's angle as a function of time, without drift.
//!
//! An [`Angle`] is a whole number of ticks, 2²⁰ to a revolution. The distance from one angle to the next is therefore a
//! subtraction and a mask, with no special case where the revolution wraps. At 15,020 rpm a tick is 3.8 ns.

use strewn_base::state::SavedValue;

/// Ticks in one revolution.
pub const TICKS_PER_REVOLUTION: u32 = 1 << ANGLE_BITS;

const ANGLE_BITS: u32 = 20;
const ANGLE_MASK: u32 = TICKS_PER_REVOLUTION - 1;

/// A delay in a profile is shorter than this, and a spindle turns no faster: overhead, seek and rotation in ticks then
/// stay below 2³¹, which the queue relies on.
pub(crate) const MAX_DELAY_MS: f64 = 100.0;
pub(crate) const MAX_RPM: u32 = 100_000;

/// Fractional bits of [`Rotation::ns_per_tick`].
const NS_FRACTION_BITS: u32 = 40;

/// A rotational position: ticks from the start of LBA 0, `0..TICKS_PER_REVOLUTION`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct Angle(u32);

impl Angle {
    /// The angle from a fraction in 1/2³² revolutions, rounded down to a tick.
    #[inline]
    pub(crate) const fn from_fraction(fraction: u32) -> Self {
        Self(fraction >> (32 - ANGLE_BITS))
    }

    /// Ticks past zero, less than [`TICKS_PER_REVOLUTION`].
    #[inline]
    pub const fn ticks(self) -> u32 {
        self.0
    }

    /// Fraction of a revolution past zero, `0.0..1.0`.
    pub fn revolutions(self) -> f64 {
        f64::from(self.0) / f64::from(TICKS_PER_REVOLUTION)
    }

    /// The angle under the head `ticks` later.
    #[inline]
    pub const fn after(self, ticks: u32) -> Self {
        Self(self.0.wrapping_add(ticks) & ANGLE_MASK)
    }

    /// Ticks until `target` is under a head that is here now: less than a revolution.
    #[inline]
    pub(crate) const fn ticks_until(self, target: Self) -> u32 {
        target.0.wrapping_sub(self.0) & ANGLE_MASK
    }
}

/// Revolutions in units of 2⁻³², for skews. Whole revolutions drop out.
pub(crate) fn revolutions_to_fraction(revolutions: f64) -> u32 {
    let turn = 2f64.powi(32);
    (revolutions.rem_euclid(1.0) * turn).round() as u64 as u32
}

/// The conversion between nanoseconds, ticks and angle at one speed of rotation.
///
/// Both constants are rounded down, never to nearest. A transfer then ends no later than the tick at which the next
/// sector starts, so sequential commands lose no revolution. The cost is a drift of less than 2⁻⁶⁴ revolution per
/// nanosecond: 7 ns after nine hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Revolutions per nanosecond, in units of 2⁻⁶⁴.
    turns_per_ns: u64,
    /// Nanoseconds per tick, in units of 2⁻⁴⁰.
    ns_per_tick: u64,
}

impl Rotation {
    /// The rotation of a spindle at `rpm` revolutions per minute; `rpm` is at least 1.
    pub(crate) fn new(rpm: u32) -> Self {
        const NS_PER_MINUTE: u128 = 60_000_000_000;
        let rpm = u128::from(rpm);
        let turns_per_ns = ((rpm << 64) / NS_PER_MINUTE) as u64;
        let ns_per_tick = ((NS_PER_MINUTE << (NS_FRACTION_BITS - ANGLE_BITS)) / rpm) as u64;
        Self { turns_per_ns, ns_per_tick }
    }

    /// The angle under the heads `at_ns` nanoseconds after time zero, when it was zero.
    #[inline]
    pub(crate) const fn angle_at(&self, at_ns: u64) -> Angle {
        // The product modulo 2⁶⁴ is the fraction of the turn: whole revolutions overflow away.
        Angle((at_ns.wrapping_mul(self.turns_per_ns) >> (64 - ANGLE_BITS)) as u32)
    }

    /// Nanoseconds in `ticks`, rounded down.
    #[inline]
    pub const fn ns(&self, ticks: u64) -> u64 {
        ((ticks as u128 * self.ns_per_tick as u128) >> NS_FRACTION_BITS) as u64
    }

    /// Ticks nearest to `ms` milliseconds.
    pub(crate) fn ticks_from_ms(&self, ms: f64) -> u32 {
        let ns_per_tick = self.ns_per_tick as f64 / 2f64.powi(NS_FRACTION_BITS as i32);
        (ms * 1e6 / ns_per_tick).round() as u32
    }

    /// Ticks in a nanosecond, in units of 2⁻³².
    #[inline]
    pub(crate) const fn ticks_q32_per_ns(&self) -> u64 {
        self.turns_per_ns >> (64 - ANGLE_BITS - 32)
    }

    /// Time of one revolution in milliseconds.
    pub fn revolution_ms(&self) -> f64 {
        let ns_per_tick = self.ns_per_tick as f64 / 2f64.powi(NS_FRACTION_BITS as i32);
        ns_per_tick * f64::from(TICKS_PER_REVOLUTION) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_revolution_of_15020_rpm() {
        let rotation = Rotation::new(15_020);
        assert!((rotation.revolution_ms() - 3.994_673_768_3).abs() < 1e-9);
        assert_eq!(rotation.ns(u64::from(TICKS_PER_REVOLUTION)), 3_994_673);
    }

    #[test]
    fn the_angle_after_nine_hours_is_within_ten_nanoseconds() {
        let rotation = Rotation::new(15_020);
        // Nine hours are a whole number of revolutions: 540 minutes of 15,020.
        let nine_hours_ns = 9 * 3_600_000_000_000_u64;
        let behind = rotation.angle_at(nine_hours_ns).ticks_until(Angle(0));
        assert!(rotation.ns(u64::from(behind)) < 10, "{behind} ticks behind");
    }

    #[test]
    fn distances_wrap_at_the_turn() {
        let late = Angle(TICKS_PER_REVOLUTION - 3);
        assert_eq!(late.ticks_until(Angle(4)), 7);
        assert_eq!(late.after(7), Angle(4));
        assert_eq!(late.ticks_until(late), 0);
    }

    #[test]
    fn time_never_runs_ahead_of_the_ticks_it_was_made_of() {
        let rotation = Rotation::new(15_020);
        for start_ns in [0, 1, 17, 999_999_937, 32_000_000_000_003] {
            for ticks in (0..TICKS_PER_REVOLUTION).step_by(997) {
                let expected = rotation.angle_at(start_ns).after(ticks);
                let reached = rotation.angle_at(start_ns + rotation.ns(u64::from(ticks)));
                assert!(reached.ticks_until(expected) <= 1, "at {start_ns} after {ticks}");
            }
        }
    }
}
