//! A second model of a path, which moves every frame by itself, against the closed form.

use proptest::prelude::*;
use strewn_transport::front_end::Fcp;
use strewn_transport::{
    Direction, Forwarding, FrontEnd, Hop, LinkProfile, Network, Protocol, Switch, Toward, Train,
    Transport,
};

use super::{fibre_channel, shipped, tcp, train};

/// A link, and the switch in front of it; the first link's is not used.
#[derive(Clone, Copy, Debug)]
struct Stage {
    bits_per_second: u64,
    propagation_ns: u64,
    switch_latency_ns: u64,
    cut_through: bool,
}

/// Frames on their way, in picoseconds, so that nothing is rounded where the crate rounds.
struct Frames {
    stages: Vec<Stage>,
    free_ps: Vec<u128>,
}

impl Frames {
    fn new(stages: &[Stage]) -> Self {
        Self { stages: stages.to_vec(), free_ps: vec![0; stages.len()] }
    }

    /// Sends a frame that is ready at `ready_ps`, and returns when it arrives.
    fn send(&mut self, mut ready_ps: u128, wire_bytes: u64) -> u128 {
        for index in 0..self.stages.len() {
            let stage = self.stages[index];
            let rate = u128::from(stage.bits_per_second);
            let frame_ps = u128::from(wire_bytes) * 8 * 1_000_000_000_000 / rate;
            let start_ps = ready_ps.max(self.free_ps[index]);
            self.free_ps[index] = start_ps + frame_ps;
            let forwarded_ps = match self.stages.get(index + 1) {
                Some(next) if next.cut_through && next.bits_per_second <= stage.bits_per_second => {
                    start_ps
                }
                _ => start_ps + frame_ps,
            };
            let latency_ns = self.stages.get(index + 1).map_or(0, |next| next.switch_latency_ns);
            ready_ps = forwarded_ps + u128::from(stage.propagation_ns + latency_ns) * 1_000;
        }
        ready_ps
    }
}

/// The crate's network of `stages`, like `profile` but for rate and length.
fn network(stages: &[Stage], profile: &LinkProfile) -> (Network, Vec<Hop>) {
    let mut network = Network::new();
    let mut hops = Vec::new();
    for stage in stages {
        if !hops.is_empty() {
            let forwarding = match stage.cut_through {
                true => Forwarding::CutThrough,
                false => Forwarding::StoreAndForward,
            };
            hops.push(Hop::Switch(Switch { latency_ns: stage.switch_latency_ns, forwarding }));
        }
        let link = LinkProfile {
            bits_per_second: stage.bits_per_second,
            propagation_ns: stage.propagation_ns,
            ..profile.clone()
        };
        hops.push(Hop::Link(network.add_link(link).unwrap()));
    }
    (network, hops)
}

/// What the closed form may be off by: a nanosecond of rounding for each link and run of frames; and for a train that
/// follows another one closely, a frame on each link that is faster than one before it.
fn tolerance_ns(stages: &[Stage], full_frame_bytes: u64, follows: bool) -> u64 {
    let mut slowest = u64::MAX;
    let mut overtaken_ns = 0;
    for stage in stages {
        if stage.bits_per_second > slowest {
            overtaken_ns += full_frame_bytes * 8_000_000_000 / stage.bits_per_second + 1;
        }
        slowest = slowest.min(stage.bits_per_second);
    }
    4 * stages.len() as u64 + if follows { overtaken_ns } else { 0 }
}

fn any_stages(rates: &'static [u64]) -> impl Strategy<Value = Vec<Stage>> {
    let stage = (0..rates.len(), 0..20_000_u64, 0..20_000_u64, any::<bool>()).prop_map(
        |(rate, propagation_ns, switch_latency_ns, cut_through)| Stage {
            bits_per_second: rates[rate],
            propagation_ns,
            switch_latency_ns,
            cut_through,
        },
    );
    prop::collection::vec(stage, 1..=4)
}

proptest! {
    // A failure prints its inputs and the seed that repeats them.
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn tcp_trains_arrive_when_their_last_frame_does(
        stages in any_stages(&[100_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000]),
        jumbo: bool,
        trains in prop::collection::vec((0..3_000_000_u64, 1..300_000_u64), 1..12),
    ) {
        let profile = shipped(if jumbo { "ethernet-1g-jumbo" } else { "ethernet-1g" });
        let segment_bytes = u64::from(profile.frame_payload_bytes) - 40;
        let (mut network, hops) = network(&stages, &profile);
        let path = network.add_path(&hops).unwrap();
        let settings = strewn_transport::TcpOptions { window_bytes: 1 << 40, ..tcp() };
        let mut connection = network.connect(path, 1, Transport::Tcp(settings)).unwrap();
        let mut frames = Frames::new(&stages);

        let mut now_ns = 0;
        for (index, (gap_ns, bytes)) in trains.into_iter().enumerate() {
            now_ns += gap_ns;
            let arrival =
                network.send(now_ns, &mut connection, Toward::Target, &train(bytes)).unwrap();
            let mut arrivals_ps = Vec::new();
            let mut left = bytes;
            while left > 0 {
                let segment = left.min(segment_bytes);
                arrivals_ps.push(frames.send(u128::from(now_ns) * 1_000, segment + 78));
                left -= segment;
            }
            let tolerance_ns = tolerance_ns(&stages, segment_bytes + 78, index > 0);
            let first_ns = (arrivals_ps[0] / 1_000) as u64;
            let last_ns = (arrivals_ps[arrivals_ps.len() - 1] / 1_000) as u64;
            prop_assert!(arrival.last_ns.abs_diff(last_ns) <= tolerance_ns,
                "train {} arrives at {} instead of {}", index, arrival.last_ns, last_ns);
            prop_assert!(arrival.first_ns.abs_diff(first_ns) <= tolerance_ns,
                "the first frame of train {} at {} instead of {}", index, arrival.first_ns, first_ns);
        }
    }

    #[test]
    fn fibre_channel_data_and_response_arrive_when_their_last_frame_does(
        stages in any_stages(&[850_000_000, 1_700_000_000, 3_400_000_000, 6_800_000_000]),
        reads in prop::collection::vec((0..1_000_000_u64, 1..300_000_u64), 1..12),
    ) {
        let (mut network, hops) = network(&stages, &shipped("fc-1g"));
        let path = network.add_path(&hops).unwrap();
        let mut connection = network.connect(path, 1, fibre_channel()).unwrap();
        let mut frames = Frames::new(&stages);
        let front_end = FrontEnd::from(Protocol::Fcp(Fcp::default()));

        let mut now_ns = 0;
        for (index, (gap_ns, bytes)) in reads.into_iter().enumerate() {
            now_ns += gap_ns;
            let reply: Train =
                front_end.exchange(Direction::Read, bytes).round(0, 0).unwrap().to_host.train;
            // The reference sends it the other way, where the first stage is the sender's.
            let arrival = network.send(now_ns, &mut connection, Toward::Target, &reply).unwrap();
            let mut last_ps = 0;
            let mut left = bytes;
            while left > 0 {
                let frame = left.min(2_048);
                last_ps = frames.send(u128::from(now_ns) * 1_000, frame + 60);
                left -= frame;
            }
            last_ps = frames.send(u128::from(now_ns) * 1_000, 24 + 60).max(last_ps);
            let last_ns = (last_ps / 1_000) as u64;
            let tolerance_ns = tolerance_ns(&stages, 2_108, index > 0);
            prop_assert!(arrival.last_ns.abs_diff(last_ns) <= tolerance_ns,
                "read {} arrives at {} instead of {}", index, arrival.last_ns, last_ns);
        }
    }
}
