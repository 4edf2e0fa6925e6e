//! TCP, where it costs time: segment headers, windows, slow start, retransmission.

use strewn_base::state::SavedValue;

use crate::wire_time::byte_time;

/// Bytes of the headers of IPv4 and TCP (RFC 791, RFC 9293).
const HEADERS: u32 = 20 + 20;
/// Bytes of the timestamps option, padded (RFC 7323, appendix A).
const TIMESTAMPS: u32 = 12;
/// The largest window without scaling (RFC 9293, 3.1).
const UNSCALED_WINDOW: u64 = 65_535;

/// How many bytes a new connection may send before the first acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum InitialWindow {
    /// 2 to 4 segments: RFC 5681, 3.1, and RFC 3390.
    Rfc3390,
    /// 10 segments: RFC 6928, Linux since 2.6.39.
    Rfc6928,
}

/// What an idle connection keeps of its congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum IdleRestart {
    /// All of it: Linux with `tcp_slow_start_after_idle = 0`.
    Keeps,
    /// The initial window, after an idle time of one retransmission timeout: RFC 5681, 4.1.
    Rfc5681,
    /// Half for each retransmission timeout, at least the initial window: RFC 2861, 3; Linux by default.
    Rfc2861,
}

/// How a connection's congestion window begins and grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct SlowStart {
    /// Its first value.
    pub initial_window: InitialWindow,
    /// Its value after an idle time.
    pub idle_restart: IdleRestart,
}

/// A TCP connection's settings, the same in both directions.
///
/// Acknowledgements are free: a bulk transfer's take 2.7 % of the opposite direction, and delaying them does not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct TcpOptions {
    /// Whether segments carry timestamps (RFC 7323): 12 bytes. Linux does, Windows does not by default.
    pub timestamps: bool,
    /// The advertised receive window, in bytes.
    pub window_bytes: u64,
    /// Whether the window may exceed 65,535 bytes (RFC 7323).
    pub window_scaling: bool,
    /// The congestion window; `None` for a connection that opened it long ago and never loses a segment.
    pub slow_start: Option<SlowStart>,
    /// The shortest retransmission timeout, in nanoseconds. RFC 6298 says 1 s, Linux 200 ms.
    pub minimum_timeout_ns: u64,
    /// The longest retransmission timeout, in nanoseconds. Linux: 120 s (`TCP_RTO_MAX`).
    pub maximum_timeout_ns: u64,
    /// Retransmissions before the connection breaks. Linux: 15 (`tcp_retries2`).
    pub retransmissions: u32,
}

impl Default for TcpOptions {
    /// Linux on both ends: timestamps, a scaled window of 4 MiB, no slow start, timeouts from 200 ms.
    fn default() -> Self {
        Self {
            timestamps: true,
            window_bytes: 4 << 20,
            window_scaling: true,
            slow_start: None,
            minimum_timeout_ns: 200_000_000,
            maximum_timeout_ns: 120_000_000_000,
            retransmissions: 15,
        }
    }
}

impl TcpOptions {
    /// Bytes of IP's and TCP's headers in each segment.
    #[must_use]
    pub const fn header_bytes(&self) -> u32 {
        if self.timestamps { HEADERS + TIMESTAMPS } else { HEADERS }
    }

    /// The largest window that can be advertised, in bytes.
    #[must_use]
    pub(crate) const fn receive_window_bytes(&self) -> u64 {
        if self.window_scaling || self.window_bytes < UNSCALED_WINDOW {
            self.window_bytes
        } else {
            UNSCALED_WINDOW
        }
    }

    /// The retransmission timeout where the round-trip time does not vary (RFC 6298, 2.3 and 2.4), in nanoseconds.
    pub(crate) fn timeout_ns(&self, route: &Route) -> u64 {
        self.minimum_timeout_ns.max(route.round_trip_ns).min(self.maximum_timeout_ns)
    }
}

/// What TCP needs to know of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, SavedValue)]
pub(crate) struct Route {
    /// From the first byte of a full segment to its acknowledgement, on idle links.
    pub(crate) round_trip_ns: u64,
    /// Payload that the slowest link carries in a second.
    pub(crate) bytes_per_second: u64,
    /// Payload that the slowest link carries in a round trip: a window at least as large does not bind.
    pub(crate) bandwidth_delay_bytes: u64,
    /// Payload of a full segment.
    pub(crate) segment_bytes: u64,
}

/// One direction of a connection, as its sender knows it.
///
/// A sender that is held up by its window sends in rounds of one round trip: a window's worth of data, then as much
/// again when the acknowledgements come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, SavedValue)]
pub(crate) struct Sender {
    /// `u64::MAX` if it is not modelled.
    congestion_window_bytes: u64,
    slow_start_threshold_bytes: u64,
    round_start_ns: u64,
    round_bytes: u64,
    last_sent_ns: u64,
}

impl Sender {
    pub(crate) fn new(settings: &TcpOptions, route: &Route) -> Self {
        Self {
            congestion_window_bytes: settings
                .slow_start
                .map_or(u64::MAX, |slow_start| slow_start.initial_window.bytes(route)),
            slow_start_threshold_bytes: u64::MAX,
            ..Self::default()
        }
    }

    /// When the last of `bytes` that are ready at `now_ns` may leave; the first ones leave at once, or when the window
    /// allows.
    #[inline]
    pub(crate) fn release(
        &mut self,
        now_ns: u64,
        bytes: u64,
        settings: &TcpOptions,
        route: &Route,
    ) -> Released {
        if let Some(slow_start) = settings.slow_start {
            self.restart_after_idle(now_ns, slow_start, settings, route);
        }
        let window_bytes = self.window_bytes(settings);
        let released = if window_bytes >= route.bandwidth_delay_bytes {
            Released { first_ns: now_ns, last_ns: now_ns }
        } else {
            self.release_by_window(now_ns, bytes, settings, route)
        };
        self.last_sent_ns = released.last_ns;
        released
    }

    /// A segment was lost, and its timer has run out (RFC 5681, 3.1).
    pub(crate) fn on_timeout(&mut self, route: &Route) {
        if self.congestion_window_bytes == u64::MAX {
            return;
        }
        let in_flight_bytes = self.congestion_window_bytes.min(route.bandwidth_delay_bytes);
        self.slow_start_threshold_bytes = (in_flight_bytes / 2).max(2 * route.segment_bytes);
        self.congestion_window_bytes = route.segment_bytes;
        self.round_bytes = 0;
    }

    #[inline]
    fn window_bytes(&self, settings: &TcpOptions) -> u64 {
        self.congestion_window_bytes.min(settings.receive_window_bytes())
    }

    #[cold]
    fn release_by_window(
        &mut self,
        now_ns: u64,
        bytes: u64,
        settings: &TcpOptions,
        route: &Route,
    ) -> Released {
        if now_ns >= self.round_start_ns + route.round_trip_ns {
            self.grow(route);
            self.round_start_ns = now_ns;
        }
        let mut first_ns = None;
        let mut left_bytes = bytes;
        loop {
            let window_bytes = self.window_bytes(settings);
            let start_ns = self.round_start_ns.max(now_ns);
            let sent_bytes = left_bytes.min(window_bytes.saturating_sub(self.round_bytes));
            if sent_bytes > 0 {
                first_ns.get_or_insert(start_ns);
            }
            self.round_bytes += sent_bytes;
            left_bytes -= sent_bytes;
            let opened = window_bytes >= route.bandwidth_delay_bytes;
            if left_bytes == 0 || opened {
                // Acknowledgements come at the slowest link's pace, and data leaves at theirs.
                let paced_bytes = (sent_bytes + if opened { left_bytes } else { 0 })
                    .saturating_sub(route.segment_bytes);
                let pace_ns = if start_ns > now_ns { route.payload_ns(paced_bytes) } else { 0 };
                return Released {
                    first_ns: first_ns.unwrap_or(start_ns),
                    last_ns: start_ns + pace_ns,
                };
            }
            self.round_start_ns += route.round_trip_ns;
            first_ns.get_or_insert(self.round_start_ns);
            if self.congestion_window_bytes >= settings.receive_window_bytes() {
                // The window is the same from here on: all rounds but the last one at once.
                let rounds = (left_bytes - 1) / window_bytes;
                self.round_start_ns += rounds * route.round_trip_ns;
                left_bytes -= rounds * window_bytes;
                self.round_bytes = 0;
            } else {
                self.grow(route);
            }
        }
    }

    /// The congestion window after the acknowledgement of a round, and a new round (RFC 5681, 3.1, counting bytes).
    fn grow(&mut self, route: &Route) {
        let acknowledged_bytes = std::mem::take(&mut self.round_bytes);
        if self.congestion_window_bytes == u64::MAX {
            return;
        }
        let increase_bytes = if self.congestion_window_bytes < self.slow_start_threshold_bytes {
            acknowledged_bytes
        } else if acknowledged_bytes >= self.congestion_window_bytes {
            route.segment_bytes
        } else {
            0
        };
        self.congestion_window_bytes += increase_bytes;
    }

    fn restart_after_idle(
        &mut self,
        now_ns: u64,
        slow_start: SlowStart,
        settings: &TcpOptions,
        route: &Route,
    ) {
        let idle_ns = now_ns.saturating_sub(self.last_sent_ns);
        let timeouts = idle_ns / settings.timeout_ns(route).max(1);
        let initial_bytes = slow_start.initial_window.bytes(route);
        if timeouts == 0 || self.congestion_window_bytes <= initial_bytes {
            return;
        }
        let kept_bytes = match slow_start.idle_restart {
            IdleRestart::Keeps => return,
            IdleRestart::Rfc5681 => initial_bytes,
            IdleRestart::Rfc2861 => self.congestion_window_bytes >> timeouts.min(63),
        };
        self.congestion_window_bytes = kept_bytes.max(initial_bytes);
        self.round_bytes = 0;
    }
}

/// When a train's first and last byte may leave, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Released {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

impl Route {
    /// A path on which a segment and its acknowledgement take `round_trip_ns`.
    pub(crate) fn new(round_trip_ns: u64, bytes_per_second: u64, segment_bytes: u64) -> Self {
        let bandwidth_delay =
            u128::from(bytes_per_second) * u128::from(round_trip_ns) / 1_000_000_000;
        Self {
            round_trip_ns,
            bytes_per_second,
            bandwidth_delay_bytes: bandwidth_delay as u64,
            segment_bytes,
        }
    }

    /// Nanoseconds in which the slowest link carries `bytes` of payload.
    fn payload_ns(&self, bytes: u64) -> u64 {
        let byte_time = byte_time(self.bytes_per_second.saturating_mul(8));
        ((u128::from(bytes) * u128::from(byte_time)) >> 32) as u64
    }
}

impl InitialWindow {
    fn bytes(self, route: &Route) -> u64 {
        let segment = route.segment_bytes;
        match self {
            Self::Rfc3390 => (4 * segment).min(4_380.max(2 * segment)),
            Self::Rfc6928 => (10 * segment).min(14_600.max(2 * segment)),
        }
    }
}
