//! Buffer-to-buffer credits of Fibre Channel.

use strewn_transport::LinkProfile;

use super::{fibre_channel, one_link, send, shipped, train};

/// 2 Gb Fibre Channel over 100 km: 500 µs one way. A full frame takes 9,920 ns.
fn far(credits: u32) -> LinkProfile {
    LinkProfile { propagation_ns: 500_000, buffer_credits: Some(credits), ..shipped("fc-2g") }
}

#[test]
fn too_few_credits_limit_the_rate_to_their_frames_in_a_round_trip() {
    let frames = 16_000;
    let (mut network, mut connection, _) = one_link(far(16), fibre_channel());
    let mut last_ns = 0;
    for _ in 0..100 {
        last_ns = send(&mut network, 0, &mut connection, &train(frames / 100 * 2_048)).last_ns;
    }
    // 16 frames leave in each 1,009,920 ns.
    let expected_ns = frames / 16 * 1_009_920;
    assert!(last_ns.abs_diff(expected_ns) < 1_100_000, "{last_ns} instead of {expected_ns}");
}

#[test]
fn the_first_frames_do_not_wait_for_credits() {
    let without = LinkProfile { buffer_credits: None, ..far(1) };
    let arrivals = [far(16), without].map(|profile| {
        let (mut network, mut connection, _) = one_link(profile, fibre_channel());
        send(&mut network, 0, &mut connection, &train(16 * 2_048)).last_ns
    });
    assert_eq!(arrivals[0], arrivals[1]);
}

#[test]
fn a_train_waits_for_each_credit() {
    // 50 km, 8 credits: full frames of 9,920 ns, the ninth of which waits for the first one's credit.
    let profile =
        LinkProfile { propagation_ns: 250_000, buffer_credits: Some(8), ..shipped("fc-2g") };
    for frames in [7, 8, 9, 16, 17, 33] {
        let (mut network, mut connection, _) = one_link(profile.clone(), fibre_channel());
        let last_ns = send(&mut network, 0, &mut connection, &train(frames * 2_048)).last_ns;
        let (rounds, rest) = ((frames - 1) / 8, (frames - 1) % 8);
        let expected_ns = rounds * (9_920 + 500_000) + (rest + 1) * 9_920 + 250_000;
        assert!(last_ns.abs_diff(expected_ns) <= frames, "{frames}: {last_ns}, not {expected_ns}");
    }
}

#[test]
fn enough_credits_cost_nothing() {
    // 102 frames of 9,920 ns cover a round trip of 1,009,920 ns; 101 do not.
    let time = |profile| {
        let (mut network, mut connection, _) = one_link(profile, fibre_channel());
        send(&mut network, 0, &mut connection, &train(20 << 20)).last_ns
    };
    let unlimited = time(LinkProfile { buffer_credits: None, ..far(1) });
    assert_eq!(time(far(102)), unlimited);
    assert!(time(far(101)) > unlimited);
}
