//! One cable: two directions, each a stage that serves in order.

use crate::wire_time::byte_time;
use crate::wire_time::wire_ns;
use std::collections::VecDeque;

use crate::Toward;
use crate::frames::{Frames, RUNS};
use crate::outages::Outages;
use crate::profile::LinkProfile;
use strewn_base::Calendar;
use strewn_base::state::SavedValue;

/// When the frames of a run arrive somewhere, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunTimes {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// A train on its way: when its frames are complete at the place that it has reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress<const MOST: usize> {
    /// When each run left the last link. `MOST` is their number if it is less than [`RUNS`].
    runs: [RunTimes; MOST],
    /// How much later it reaches this place.
    pub(crate) later_ns: u64,
    /// The end of a train whose last PDU was stored before this link, if that is later than what `runs` say.
    pub(crate) last_stored_ns: u64,
}

impl<const MOST: usize> Progress<MOST> {
    /// All frames ready between `first_ns` and `last_ns`.
    #[inline]
    pub(crate) fn ready(first_ns: u64, last_ns: u64) -> Self {
        let mut runs = [RunTimes { first_ns: last_ns, last_ns }; MOST];
        runs[0].first_ns = first_ns;
        Self { runs, later_ns: 0, last_stored_ns: 0 }
    }

    /// When the first frame is here.
    #[inline]
    pub(crate) fn first_ns(&self) -> u64 {
        self.runs[0].first_ns + self.later_ns
    }

    /// When the last one of `frames` is here.
    #[inline]
    pub(crate) fn last_ns(&self, frames: &Frames) -> u64 {
        self.runs[Self::last_run(frames)].last_ns + self.later_ns
    }

    #[inline(always)]
    fn last_run(frames: &Frames) -> usize {
        if MOST < RUNS { MOST - 1 } else { frames.runs().len().saturating_sub(1) }
    }

    /// Frames are passed on when they begin to arrive, not when they have arrived.
    pub(crate) fn begin_with_headers(&mut self, frames: &Frames) {
        for (run, frames) in self.runs.iter_mut().zip(frames.runs()) {
            run.first_ns -= frames.frame_ns;
            run.last_ns -= frames.frame_ns;
        }
    }
}

/// What one direction of a link has carried.
#[derive(Clone, Debug, Default, PartialEq, Eq, SavedValue)]
struct LinkDirection {
    calendar: Calendar,
    /// What rounding has left out of the calendar so far, in units of 2^-32 ns: the rate is exact in the long run.
    rest: u64,
    wire_bytes: u64,
    frames: u64,
    /// If buffer credits bind: when those that are out come back, as many as there are at most.
    credits_back_ns: VecDeque<u64>,
}

/// A link of a [`Network`](crate::Network): full duplex, with a profile, and perhaps with times at which it is down.
#[derive(Clone, Debug, PartialEq, Eq, SavedValue)]
pub struct Link {
    profile: LinkProfile,
    full_frame_ns: u64,
    /// Nanoseconds per byte on the wire, in units of 2^-32.
    byte_time: u64,
    /// Buffer credits, if they bind.
    credits: Option<Credits>,
    directions: [LinkDirection; 2],
    pub(crate) outages: Outages,
}

/// Buffer credits that bind: there are fewer than cover the time until the first one comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
struct Credits {
    count: usize,
    /// From the end of a frame until its credit is back: to the far end, and back.
    returns_after_ns: u64,
}

impl Link {
    /// A link like `profile`, whose rate is not 0.
    pub(crate) fn new(profile: LinkProfile) -> Self {
        let byte_time = byte_time(profile.bits_per_second);
        let mut link = Self {
            byte_time,
            full_frame_ns: 0,
            credits: None,
            directions: Default::default(),
            outages: Outages::default(),
            profile,
        };
        link.full_frame_ns = link.serialization_ns(link.profile.full_frame_bytes());
        link.credits = link.binding_credits();
        link
    }

    /// What kind of link it is.
    #[must_use]
    pub fn profile(&self) -> &LinkProfile {
        &self.profile
    }

    /// Nanoseconds before `until_ns` in which one direction was in use, or waited for buffer credits.
    ///
    /// Exact if `until_ns` is now or later. Far in the past, idle times that have been forgotten count as busy.
    #[must_use]
    pub fn busy_ns(&self, toward: Toward, until_ns: u64) -> u64 {
        self.directions[toward as usize].calendar.busy_ns(until_ns)
    }

    /// Bytes that one direction has carried, with all headers and gaps, including what was booked ahead and what was
    /// lost on the way.
    #[must_use]
    pub fn wire_bytes(&self, toward: Toward) -> u64 {
        self.directions[toward as usize].wire_bytes
    }

    /// Bytes that one direction has carried before `until_ns`, which is now or later.
    #[must_use]
    pub fn wire_bytes_until(&self, toward: Toward, until_ns: u64) -> u64 {
        let LinkDirection { calendar, wire_bytes, .. } = &self.directions[toward as usize];
        if calendar.booked_after_ns(until_ns) == 0 {
            return *wire_bytes;
        }
        let carried = (u128::from(calendar.busy_ns(until_ns)) << 32) / u128::from(self.byte_time);
        carried.min((*wire_bytes).into()) as u64
    }

    /// Frames that one direction has carried, counted like [`wire_bytes`](Self::wire_bytes).
    #[must_use]
    pub fn frames(&self, toward: Toward) -> u64 {
        self.directions[toward as usize].frames
    }

    /// When a train that arrives at `at_ns` could begin to leave.
    #[must_use]
    pub fn free_ns(&self, toward: Toward, at_ns: u64) -> u64 {
        self.directions[toward as usize].calendar.start_of_work_at(at_ns)
    }

    /// Nanoseconds that `bytes` take on the wire, rounded to the nearest.
    #[inline]
    #[must_use]
    pub fn serialization_ns(&self, bytes: u64) -> u64 {
        wire_ns(bytes, self.byte_time)
    }

    /// Nanoseconds per byte, in units of 2^-32.
    #[inline]
    pub(crate) fn byte_time(&self) -> u64 {
        self.byte_time
    }

    /// Nanoseconds of a full frame on the wire.
    #[inline]
    pub(crate) fn full_frame_ns(&self) -> u64 {
        self.full_frame_ns
    }

    /// Carries `frames`, whose times are those on its rate, which arrive at its near end as `progress` says, and moves
    /// `progress` to its far end. Returns when the first frame begins to leave, or when the train is lost.
    ///
    /// Within a run, frames arrive at intervals that do not shrink, so only the first and the last one can make the
    /// last one late: it leaves when the link has sent everything before it, or one frame after its own arrival.
    #[inline(always)]
    pub(crate) fn carry<const MOST: usize>(
        &mut self,
        now_ns: u64,
        toward: Toward,
        frames: &Frames,
        progress: &mut Progress<MOST>,
    ) -> Result<u64, u64> {
        let arrival_ns = progress.first_ns();
        if let Some(since_ns) = self.outages.first_between(arrival_ns, arrival_ns + 1) {
            return Err(since_ns);
        }
        debug_assert_eq!(frames.byte_time, self.byte_time, "times at another rate");
        let state = &mut self.directions[toward as usize];
        state.wire_bytes += frames.wire_bytes();
        state.frames += frames.count();
        let work =
            u128::from(frames.wire_bytes()) * u128::from(self.byte_time) + u128::from(state.rest);
        state.rest = work as u64 & 0xffff_ffff;
        let work_ns = (work >> 32) as u64;
        if let Some(credits) = self.credits {
            return self.carry_by_credits(credits, now_ns, toward, frames, progress);
        }
        let booking = state.calendar.book(now_ns, arrival_ns, work_ns);
        let mut left_ns = booking.start_ns;
        let later_ns = progress.later_ns;
        let least_last_ns = booking.finish_ns.max(progress.last_stored_ns);
        for (run, frames) in progress.runs.iter_mut().zip(frames.first_runs::<MOST>()) {
            let start_ns = left_ns.max(run.first_ns + later_ns);
            let last_arrival_ns = run.last_ns + later_ns;
            left_ns = (start_ns + frames.run_ns).max(last_arrival_ns + frames.frame_ns);
            *run = RunTimes { first_ns: start_ns + frames.frame_ns, last_ns: left_ns };
        }
        self.finish_train(frames, progress, booking.start_ns, least_last_ns)
    }

    /// As [`carry`](Self::carry), frame by frame: each one waits for a credit.
    #[cold]
    fn carry_by_credits<const MOST: usize>(
        &mut self,
        credits: Credits,
        now_ns: u64,
        toward: Toward,
        frames: &Frames,
        progress: &mut Progress<MOST>,
    ) -> Result<u64, u64> {
        let LinkDirection { calendar, credits_back_ns, .. } = &mut self.directions[toward as usize];
        let (later_ns, arrival_ns) = (progress.later_ns, progress.first_ns());
        let mut left_ns = calendar.start_of_work_at(arrival_ns);
        let mut first_start_ns = None;
        for (times, run) in progress.runs.iter_mut().zip(frames.first_runs::<MOST>()) {
            let (first_ns, last_ns) = (times.first_ns + later_ns, times.last_ns + later_ns);
            for frame in 0..run.count {
                // They arrive at equal intervals.
                let arrives_ns = first_ns + (last_ns - first_ns) * frame / (run.count - 1).max(1);
                let credit_ns = match credits_back_ns.len() < credits.count {
                    true => 0,
                    false => credits_back_ns.pop_front().unwrap_or_default(),
                };
                let start_ns = left_ns.max(arrives_ns).max(credit_ns);
                first_start_ns.get_or_insert(start_ns);
                left_ns = start_ns + run.frame_ns;
                credits_back_ns.push_back(left_ns + credits.returns_after_ns);
                if frame == 0 {
                    times.first_ns = left_ns;
                }
            }
            times.last_ns = left_ns;
        }
        // The time that it waits for credits is nobody else's.
        let start_ns = first_start_ns.unwrap_or(left_ns);
        let booking = calendar.book(now_ns, start_ns, left_ns - start_ns);
        let least_last_ns = booking.finish_ns.max(progress.last_stored_ns);
        self.finish_train(frames, progress, booking.start_ns, least_last_ns)
    }

    /// A train leaves, its last frame not before `least_last_ns`. Returns `start_ns`, or when the train is lost.
    #[inline(always)]
    fn finish_train<const MOST: usize>(
        &self,
        frames: &Frames,
        progress: &mut Progress<MOST>,
        start_ns: u64,
        least_last_ns: u64,
    ) -> Result<u64, u64> {
        let last = &mut progress.runs[Progress::<MOST>::last_run(frames)];
        last.last_ns = last.last_ns.max(least_last_ns);
        let last_ns = last.last_ns + self.profile.propagation_ns;
        progress.last_stored_ns = 0;
        progress.later_ns = self.profile.propagation_ns;
        match self.outages.first_between(start_ns, last_ns) {
            Some(since_ns) => Err(since_ns),
            None => Ok(start_ns),
        }
    }

    /// Credits bind where the time that all of them cover is shorter than the time until the first one comes back: a
    /// frame, and propagation there and back.
    fn binding_credits(&self) -> Option<Credits> {
        let count = u64::from(self.profile.buffer_credits?.max(1));
        let frame_ns = self.full_frame_ns();
        let returns_after_ns = 2 * self.profile.propagation_ns;
        (count * frame_ns < frame_ns + returns_after_ns)
            .then_some(Credits { count: count as usize, returns_after_ns })
    }
}
