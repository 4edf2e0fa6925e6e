//! TCP's windows.

use strewn_transport::{
    Connection, IdleRestart, InitialWindow, LinkProfile, Network, SlowStart, TcpOptions, Transport,
};

use super::{MILLISECOND, SECOND, one_link, send, shipped, tcp, train};

/// Gigabit Ethernet over 1,000 km: 5 ms one way.
fn far(settings: TcpOptions) -> (Network, Connection) {
    let profile = LinkProfile { propagation_ns: 5 * MILLISECOND, ..shipped("ethernet-1g") };
    let (network, connection, _) = one_link(profile, Transport::Tcp(settings));
    (network, connection)
}

fn slow_start(idle_restart: IdleRestart) -> TcpOptions {
    let initial_window = InitialWindow::Rfc6928;
    TcpOptions { slow_start: Some(SlowStart { initial_window, idle_restart }), ..tcp() }
}

#[test]
fn a_small_window_limits_the_rate_to_a_window_in_a_round_trip() {
    for trains in [1, 10, 1_000] {
        let (mut network, mut connection) = far(TcpOptions { window_bytes: 65_536, ..tcp() });
        let round_trip_ns = connection.round_trip_ns();
        assert!(round_trip_ns.abs_diff(10 * MILLISECOND) < 20_000);
        let mut last_ns = 0;
        for _ in 0..trains {
            last_ns = send(&mut network, 0, &mut connection, &train(65_536_000 / trains)).last_ns;
        }
        let expected_ns = 1_000 * round_trip_ns;
        let off_ns = last_ns.abs_diff(expected_ns);
        assert!(off_ns < round_trip_ns, "{trains} trains take {last_ns}, not {expected_ns}");
    }
}

#[test]
fn without_scaling_a_window_has_at_most_65_535_bytes() {
    let (mut network, mut connection) = far(TcpOptions { window_scaling: false, ..tcp() });
    let last_ns = send(&mut network, 0, &mut connection, &train(10 * 65_535)).last_ns;
    assert!(last_ns > 9 * connection.round_trip_ns());
}

#[test]
fn a_window_of_the_bandwidth_delay_product_costs_nothing() {
    let time = |window_bytes| {
        let (mut network, mut connection) = far(TcpOptions { window_bytes, ..tcp() });
        send(&mut network, 0, &mut connection, &train(10 << 20)).last_ns
    };
    // 118.66 MB/s times 10.013 ms.
    assert_eq!(time(1_190_000), time(64 << 20));
    assert!(time(1_150_000) > time(64 << 20));
}

/// Segments one by one: each acknowledgement lets two more leave, the slow start of RFC 5681.
fn slow_start_by_segments(bytes: u64, initial_segments: usize, round_trip_ns: u64) -> u64 {
    let segment_ns = 1_538 * 8;
    let mut acknowledged_ns: Vec<u64> = Vec::new();
    let mut free_ns = 0;
    for segment in 0..bytes.div_ceil(1_460) as usize {
        let allowed_ns = match segment.checked_sub(initial_segments) {
            None => 0,
            Some(later) => acknowledged_ns[later / 2],
        };
        let left_ns = allowed_ns.max(free_ns);
        free_ns = left_ns + segment_ns;
        acknowledged_ns.push(left_ns + round_trip_ns);
    }
    free_ns + 5 * MILLISECOND
}

#[test]
fn slow_start_doubles_the_window_with_each_round_trip() {
    for bytes in [10_000, 30_000, 100_000, 500_000, 1_000_000, 3_000_000, 20_000_000] {
        let (mut network, mut connection) = far(slow_start(IdleRestart::Keeps));
        let last_ns = send(&mut network, 0, &mut connection, &train(bytes)).last_ns;
        let expected_ns = slow_start_by_segments(bytes, 10, connection.round_trip_ns());
        let off_ns = last_ns.abs_diff(expected_ns);
        // A round that opens the window for good is sent at the link's rate at once: up to a tenth of a round trip
        // early.
        assert!(off_ns <= MILLISECOND, "{bytes} bytes take {last_ns}, not {expected_ns}");
    }
}

#[test]
fn an_open_window_closes_when_the_connection_is_idle_only_if_told_to() {
    let time_after_idle = |idle_restart| {
        let (mut network, mut connection) = far(slow_start(idle_restart));
        let opened = send(&mut network, 0, &mut connection, &train(20_000_000)).last_ns;
        let later_ns = opened + 10 * SECOND;
        send(&mut network, later_ns, &mut connection, &train(1_000_000)).last_ns - later_ns
    };
    let kept = time_after_idle(IdleRestart::Keeps);
    assert!(kept < 14 * MILLISECOND, "{kept}");
    // Six round trips of slow start, and then the rest.
    let restarted = time_after_idle(IdleRestart::Rfc5681);
    assert!(restarted > 60 * MILLISECOND, "{restarted}");
    assert_eq!(time_after_idle(IdleRestart::Rfc2861), restarted);
}

/// How long 20 MB take after a loss has closed an open window, from the retransmission on, in round trips. Before it,
/// and a round trip apart, the connection sends `small_trains` of 1,000 bytes.
fn round_trips_after_a_loss(small_trains: u64) -> u64 {
    let profile = LinkProfile { propagation_ns: 5 * MILLISECOND, ..shipped("ethernet-1g") };
    let settings = slow_start(IdleRestart::Keeps);
    let (mut network, mut connection, link) = one_link(profile, Transport::Tcp(settings));
    network.fail(link, SECOND);
    network.restore(link, SECOND + MILLISECOND);
    send(&mut network, 0, &mut connection, &train(20_000_000));
    // Lost, and sent again 200 ms later.
    let mut now_ns = send(&mut network, SECOND, &mut connection, &train(1_000)).last_ns;
    assert!(now_ns.abs_diff(SECOND + 205 * MILLISECOND) < MILLISECOND);
    for _ in 0..small_trains {
        now_ns += connection.round_trip_ns();
        send(&mut network, now_ns, &mut connection, &train(1_000));
    }
    now_ns += connection.round_trip_ns();
    let last_ns = send(&mut network, now_ns, &mut connection, &train(20_000_000)).last_ns;
    (last_ns - now_ns) / connection.round_trip_ns()
}

#[test]
fn a_loss_closes_the_window_to_a_segment_and_slow_start_ends_at_half_of_what_was_in_flight() {
    // A segment of 1,460 bytes, and the 1,000 that were acknowledged since, are a window of 2,460. After 8 round trips
    // it is 629,760 bytes, more than half of the 1.19 MB that were in flight, and 627,300 are sent. Then it grows by a
    // segment in each: 29 more carry 18,877,000, and the rest leaves in the last one.
    assert_eq!(round_trips_after_a_loss(0), 8 + 29);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    // In slow start it grows by what is acknowledged, so 700 small trains end slow start. After that, it stays as it
    // is.
    let unused = round_trips_after_a_loss(700);
    let idle = round_trips_after_a_loss(5_000);
    assert!(idle + 1 >= unused, "{unused} round trips, but {idle} after more small trains");
}

#[test]
fn validation_halves_the_window_for_each_idle_timeout() {
    let time_after = |timeouts: u64| {
        let (mut network, mut connection) = far(slow_start(IdleRestart::Rfc2861));
        // The window grows to 1.87 MB, more than the bandwidth-delay product of 1.19 MB.
        let opened = send(&mut network, 0, &mut connection, &train(5_000_000)).last_ns;
        let later_ns = opened + timeouts * 200 * MILLISECOND;
        send(&mut network, later_ns, &mut connection, &train(1_000_000)).last_ns - later_ns
    };
    assert!(time_after(0) <= time_after(2) && time_after(2) < time_after(4));
    assert!(time_after(4) < time_after(40));
}
