//! Links that fail and come back.

use strewn_transport::{FibreChannelOptions, Hop, LaneRule, Network, Toward, Transport};

use super::{MILLISECOND, SECOND, fibre_channel, one_link, send, shipped, tcp, train};

#[test]
fn tcp_sends_again_after_200_600_and_1400_milliseconds() {
    // Restored at the given time, the link carries the first retransmission after it.
    for (restored_ms, again_ms) in [(100, 200), (300, 600), (1_000, 1_400), (1_500, 3_000)] {
        let (mut network, mut connection, link) =
            one_link(shipped("ethernet-1g"), Transport::Tcp(tcp()));
        network.fail(link, MILLISECOND);
        network.restore(link, restored_ms * MILLISECOND);
        // 1 MB takes 8.8 ms, so the link fails while the train is on it.
        let start_ns = MILLISECOND / 2;
        let undisturbed_ns = 1_000_000_u64.div_ceil(1_460) * 12_304;
        let arrival = send(&mut network, start_ns, &mut connection, &train(1_000_000));
        let expected_ns = start_ns + again_ms * MILLISECOND + undisturbed_ns;
        assert!(
            arrival.last_ns.abs_diff(expected_ns) < 20_000,
            "restored after {restored_ms} ms: {} instead of {expected_ns}",
            arrival.last_ns
        );
    }
}

#[test]
fn what_follows_a_lost_train_waits_for_it() {
    let (mut network, mut connection, link) =
        one_link(shipped("ethernet-1g"), Transport::Tcp(tcp()));
    network.fail(link, MILLISECOND);
    network.restore(link, 100 * MILLISECOND);
    let lost = send(&mut network, 2 * MILLISECOND, &mut connection, &train(1_000));
    assert_eq!(connection.retransmissions(), 1);
    // The link is up again, but the lost train is sent again only 202 ms from the start.
    let next = send(&mut network, 150 * MILLISECOND, &mut connection, &train(1_000_000));
    assert!(next.first_ns > lost.last_ns && next.last_ns > lost.last_ns + 8 * MILLISECOND);
    // The other direction does not wait.
    let reply = network.send(150 * MILLISECOND, &mut connection, Toward::Host, &train(1_000));
    assert!(reply.unwrap().last_ns < 151 * MILLISECOND);
}

#[test]
fn a_link_that_stays_down_breaks_the_connection_after_15_minutes() {
    let (mut network, mut connection, link) =
        one_link(shipped("ethernet-1g"), Transport::Tcp(tcp()));
    network.fail(link, 0);
    let lost = network.send(0, &mut connection, Toward::Target, &train(1_000)).unwrap_err();
    // 0.2 s doubled nine times to 102.4 s, then 120 s six times: the last one is sent after 804.6 s.
    assert_eq!(lost.lost_ns, 804_600 * MILLISECOND);
    assert_eq!(lost.retry_ns, None);
}

#[test]
fn fibre_channel_leaves_a_lost_operation_to_the_initiator() {
    let settings = FibreChannelOptions { retry_timeout_ns: 5 * SECOND };
    let (mut network, mut connection, link) =
        one_link(shipped("fc-2g"), Transport::FibreChannel(settings));
    network.fail(link, 10 * MILLISECOND);
    network.restore(link, SECOND);
    let before = network.send(0, &mut connection, Toward::Target, &train(65_536));
    assert!(before.is_ok());
    let start_ns = 10 * MILLISECOND - 1_000;
    let lost = network.send(start_ns, &mut connection, Toward::Target, &train(65_536)).unwrap_err();
    assert_eq!(lost.lost_ns, 10 * MILLISECOND);
    assert_eq!(lost.retry_ns, Some(start_ns + 5 * SECOND));
    let again =
        network.send(start_ns + 5 * SECOND, &mut connection, Toward::Target, &train(65_536));
    assert!(again.is_ok());
}

#[test]
fn a_link_restored_at_the_moment_of_arrival_is_up() {
    let (mut network, mut connection, link) = one_link(shipped("fc-2g"), fibre_channel());
    network.fail(link, 1_000);
    network.restore(link, 2_000);
    network.fail(link, 5_000);
    network.restore(link, 6_000);
    assert!(network.send(999, &mut connection, Toward::Target, &train(100)).is_err());
    assert!(network.send(1_999, &mut connection, Toward::Target, &train(100)).is_err());
    assert!(network.send(2_000, &mut connection, Toward::Target, &train(100)).is_ok());
    assert!(network.send(4_900, &mut connection, Toward::Target, &train(100)).is_err());
    assert!(network.send(6_000, &mut connection, Toward::Target, &train(100)).is_ok());
}

#[test]
fn flows_of_a_failed_lane_move_to_the_others_and_return() {
    let mut network = Network::new();
    let links = [0; 2].map(|_| network.add_link(shipped("ethernet-1g")).unwrap());
    let lanes = network.add_lanes(&links, LaneRule::FlowHash, 50 * MILLISECOND).unwrap();
    let path = network.add_path(&[Hop::Lanes(lanes)]).unwrap();
    let mut connection = network.connect(path, 7, Transport::Tcp(tcp())).unwrap();
    send(&mut network, 0, &mut connection, &train(1_000));
    let carried = |network: &Network| links.map(|link| network.link(link).frames(Toward::Target));
    let own = usize::from(carried(&network)[0] == 0);
    let other = 1 - own;

    network.fail(links[own], SECOND);
    network.restore(links[own], 3 * SECOND);
    // Until the failure is detected, the flow stays and loses; TCP's timer then finds the other lane.
    let lost = send(&mut network, SECOND + 1, &mut connection, &train(1_000));
    assert!(lost.last_ns.abs_diff(1_200 * MILLISECOND) < MILLISECOND, "{}", lost.last_ns);
    assert_eq!(carried(&network)[other], 1);
    // Known to be down: no loss.
    let moved = send(&mut network, 2 * SECOND, &mut connection, &train(1_000));
    assert!(moved.last_ns < 2 * SECOND + MILLISECOND);
    assert_eq!(carried(&network)[other], 2);
    // Up again.
    send(&mut network, 4 * SECOND, &mut connection, &train(1_000));
    assert_eq!(carried(&network)[other], 2);
}
