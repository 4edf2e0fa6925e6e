//! Clients of a gateway: what crosses their network, when, and what the gateway issues.

use std::collections::VecDeque;

use strewn_array::{Direction, HostOperation, OperationId};
use strewn_sim::{
    Accesses, AccessesError, CachedHost, Host, HostMeasures, PageCacheConfig, RemoteClients,
    RemoteClientsConfig, TimedAccess, Worker, Workers,
};
use strewn_transport::front_end::{Nfs, Smb1};
use strewn_transport::{
    FrontEnd, Hop, LinkProfile, Network, ProcessorCosts, Protocol, TcpOptions, Transport,
};
use strewn_workload::Access;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// 60 KiB, the largest write of SMB 1.
const SECTORS: u64 = 120;
const LUN_SECTORS: u64 = 1 << 20;

struct Listed(VecDeque<TimedAccess>);

impl Accesses for Listed {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        Ok(self.0.pop_front())
    }
}

fn copy(writes: u64, sectors: u64, outstanding: u32) -> Workers {
    let write = |number| TimedAccess {
        access: Access {
            direction: Direction::Write,
            sector: number * sectors,
            sectors: sectors as u32,
        },
        not_before_ns: 0,
        delay_ns: 0,
    };
    let accesses = Box::new(Listed((0..writes).map(write).collect()));
    Workers::new(vec![Worker::closed_loop(accesses, outstanding)])
}

fn client(applications: Workers, front_end: FrontEnd) -> RemoteClients {
    let mut network = Network::new();
    let link = network.add_link(LinkProfile::shipped("ethernet-100m").unwrap()).unwrap();
    let path = network.add_path(&[Hop::Link(link)]).unwrap();
    let connection = network.connect(path, 1, Transport::Tcp(TcpOptions::default())).unwrap();
    RemoteClients::new(
        Box::new(applications),
        RemoteClientsConfig {
            client_cores: 1,
            gateway_cores: 1,
            ..RemoteClientsConfig::new(network, front_end, vec![connection])
        },
    )
}

/// Answers every request of `host` after `service_ns`, any number at once, until it is done. Returns when that is, how
/// many requests there were, and what it measured.
fn serve(host: &mut impl Host, service_ns: u64) -> (u64, u64, HostMeasures) {
    let mut queue: VecDeque<(u64, OperationId)> = VecDeque::new();
    let (mut now_ns, mut requests) = (0, 0);
    let mut admit = |now_ns: u64, op: HostOperation<()>, queue: &mut VecDeque<_>| {
        requests += 1;
        queue.push_back((now_ns + service_ns, op.id));
    };
    host.begin_segment(0, 1);
    while let Some(op) = host.first() {
        admit(0, op, &mut queue);
    }
    while !host.is_done() {
        let answer_ns = queue.front().map_or(u64::MAX, |(at_ns, _)| *at_ns);
        let next_ns = answer_ns.min(host.next_issue_ns());
        assert!(next_ns != u64::MAX && next_ns >= now_ns, "{next_ns} ns after {now_ns} ns");
        now_ns = next_ns;
        let op = match answer_ns == next_ns {
            true => host.answered(now_ns, queue.pop_front().unwrap().1),
            false => host.issue_due(now_ns).unwrap(),
        };
        if let Some(op) = op {
            admit(now_ns, op, &mut queue);
        }
    }
    let mut measured = host.end_segment(0, now_ns);
    measured.close();
    assert!(measured.littles_law().hold(), "{:?}", measured.littles_law());
    (now_ns, requests, measured)
}

#[test]
fn one_request_at_a_time_waits_for_wire_and_storage() {
    let smb = || FrontEnd::from(Protocol::Smb1(Smb1::default()));
    let mut times = Vec::new();
    for service_ns in [0, MS] {
        let mut host = client(copy(100, SECTORS, 1), smb());
        let (end_ns, requests, measured) = serve(&mut host, service_ns);
        assert_eq!((requests, measured.operations), (100, 100));
        let remote = measured.remote.unwrap();
        assert_eq!(remote.time_in.controller_ns, 100 * service_ns);
        // All that the client waited for is in one of the parts.
        assert_eq!(u128::from(remote.time_in.total_ns()), measured.response_sum_ns);
        assert_eq!(remote.time_in.total_ns(), end_ns);
        times.push(end_ns);
    }
    assert_eq!(times[1] - times[0], 100 * MS);
    // A request of 60 KiB is 43 segments of at most 1,448 bytes, each with 90 bytes besides, at 100 Mb/s.
    let wire_ns = (61_440 + 69 + 43 * 90) * 80 * 100;
    assert!(times[0] > wire_ns && times[0] < wire_ns + 100 * MS / 2, "{} of {wire_ns}", times[0]);
}

#[test]
fn several_requests_fill_the_wire_and_hide_storage() {
    let nfs = FrontEnd::from(Protocol::Nfs(Nfs::default()));
    let (end_ns, _, measured) = serve(&mut client(copy(400, 64, 16), nfs), 5 * MS);
    let remote = measured.remote.unwrap();
    let busy = remote.links[0].busy_ns[0] as f64 / end_ns as f64;
    assert!(busy > 0.99, "the wire was busy for {busy} of the time");
    let mb_per_s = (400 * 32_768) as f64 / end_ns as f64 * 1e3;
    assert!((11.5..11.9).contains(&mb_per_s), "{mb_per_s} MB/s");
}

#[test]
fn large_operations_are_divided_and_wait_for_each_part() {
    // 1 MiB is 18 requests of 60 KiB at most, one at a time; by NFS it is 32 of 32 KiB and a commit.
    for (protocol, requests) in [
        (Protocol::Smb1(Smb1::default()), 18),
        (
            Protocol::Nfs(Nfs {
                stability: strewn_transport::front_end::WriteStability::Commit,
                ..Nfs::default()
            }),
            32,
        ),
    ] {
        let mut host = client(copy(3, 2_048, 1), FrontEnd::from(protocol));
        let (_, issued, measured) = serve(&mut host, MS);
        assert_eq!((issued, measured.operations), (3 * requests, 3));
    }
}

#[test]
fn processors_of_both_ends_take_their_time() {
    let costs = |pdu_ns| ProcessorCosts { pdu_ns, ..ProcessorCosts::default() };
    let free = FrontEnd::from(Protocol::Smb1(Smb1::default()));
    let paid = FrontEnd { host_costs: costs(100_000), target_costs: costs(300_000), ..free };
    let (free_ns, ..) = serve(&mut client(copy(50, SECTORS, 1), free), 0);
    let (paid_ns, _, measured) = serve(&mut client(copy(50, SECTORS, 1), paid), 0);
    // A request and a reply, at both ends.
    assert_eq!(paid_ns - free_ns, 50 * 2 * 400_000);
    let remote = measured.remote.unwrap();
    assert_eq!(remote.clients_busy_ns, 50 * 2 * 100_000);
    assert_eq!(remote.gateway_busy_ns, 50 * 2 * 300_000);
}

#[test]
fn a_gateways_page_cache_answers_first_and_writes_in_bursts() {
    let smb = FrontEnd::from(Protocol::Smb1(Smb1::default()));
    let copy_of = || client(copy(4_000, SECTORS, 1), smb);
    let luns = || vec![LUN_SECTORS];
    let through = PageCacheConfig::write_through(4 << 30);
    let behind = PageCacheConfig::write_behind(4 << 30);
    let mut steady = CachedHost::new(Box::new(copy_of()), through, luns()).unwrap();
    let mut bursts = CachedHost::new(Box::new(copy_of()), behind, luns()).unwrap();
    let (steady_ns, steady_requests, of_steady) = serve(&mut steady, MS);
    let (bursts_ns, bursts_requests, of_bursts) = serve(&mut bursts, MS);
    // The client of the first waits for storage with each write; the other writes the same in larger requests.
    assert_eq!(steady_requests, 4_000);
    assert!(bursts_requests < 4_000 / 8 + 10, "{bursts_requests} requests");
    let waited_ns = steady_ns - bursts_ns;
    assert!(waited_ns.abs_diff(4 * SECOND) < SECOND, "{waited_ns} ns");
    for measured in [of_steady, of_bursts] {
        assert_eq!(measured.operations, 4_000);
        assert_eq!(measured.page_cache.unwrap().bytes_written, 4_000 * SECTORS * 512);
    }
}
