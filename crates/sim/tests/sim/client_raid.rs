//! Clients that compute parity: what they send to blades, when, and what crosses their wires.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, Raid0Layout};
use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_raid::{ObjectLayout, ObjectLayoutConfig};
use strewn_sim::{
    Accesses, AccessesError, CachedHost, ClientRaid, ClientRaidConfig, ClientRaidMeasures, Host,
    HostError, HostId, HostMeasures, LostBlade, Machine, PageCacheConfig, Port, ProcessorCores,
    Segment, Spindles, TimedAccess, Worker, Workers,
};
use strewn_spindle::Scheduler;
use strewn_transport::front_end::Iscsi;
use strewn_transport::{
    Forwarding, FrontEnd, Hop, LinkProfile, Protocol, Switch, TcpOptions, Transport,
};
use strewn_workload::Access;

use crate::failures::{SECOND_NS, drive};

const MS: u64 = 1_000_000;
/// Sectors of a stripe unit, and of the data of a stripe of 8 + 1.
const UNIT: u64 = 128;
const STRIPE: u64 = 8 * UNIT;

fn file(blades: u16, stripes: u64) -> ObjectLayout {
    let config = ObjectLayoutConfig { blades, width: 9, unit_bytes: UNIT * 512, depth: 1 };
    ObjectLayout::new(config, 0, stripes * STRIPE * 512).unwrap()
}

/// Accesses from a list.
struct Listed(VecDeque<TimedAccess>);

impl Accesses for Listed {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        Ok(self.0.pop_front())
    }
}

fn access(direction: Direction, sector: u64, sectors: u64) -> TimedAccess {
    let access = Access { direction, sector, sectors: sectors as u32 };
    TimedAccess { access, not_before_ns: 0, delay_ns: 0 }
}

fn worker(lun: u16, accesses: impl IntoIterator<Item = TimedAccess>, outstanding: u32) -> Worker {
    let accesses = Box::new(Listed(accesses.into_iter().collect()));
    Worker { lun: LunId(lun), ..Worker::closed_loop(accesses, outstanding) }
}

/// An application that works through a list.
fn application(accesses: impl IntoIterator<Item = TimedAccess>, outstanding: u32) -> Workers {
    Workers::new(vec![worker(0, accesses, outstanding)])
}

fn client<H: Host + 'static>(applications: H) -> ClientRaid {
    let settings = ClientRaidConfig::new(vec![1]);
    ClientRaid::new(Box::new(applications), settings, vec![file(9, 100)]).unwrap()
}

/// A request that reached an object.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    issued_ns: u64,
    object: u16,
    direction: Direction,
    sector: u64,
    sectors: u64,
}

/// Serves `host` until it is done. Each blade takes `service_ns` for a request, and refuses those of `refusing`.
/// Returns what blades were asked, when it was done, and what it measured.
fn serve(
    host: &mut impl Host,
    service_ns: u64,
    refusing: Option<u16>,
) -> (Vec<Seen>, u64, HostMeasures) {
    let mut seen = Vec::new();
    let mut answers: BTreeMap<(u64, u64), (OperationId, u16)> = BTreeMap::new();
    let (mut now_ns, mut number) = (0, 0);
    host.begin_segment(0, 1);
    let mut admit = |now_ns: u64, op: HostOperation<()>, answers: &mut BTreeMap<_, _>| {
        let HostOperation { direction, first_sector: sector, sectors, lun, .. } = op;
        let sectors = sectors.into();
        seen.push(Seen { issued_ns: now_ns, object: lun.0, direction, sector, sectors });
        answers.insert((now_ns + service_ns, number), (op.id, lun.0));
        number += 1;
    };
    while let Some(op) = host.first() {
        admit(0, op, &mut answers);
    }
    while !host.is_done() {
        let answer_ns = answers.first_key_value().map_or(u64::MAX, |((at_ns, _), _)| *at_ns);
        let next_ns = answer_ns.min(host.next_issue_ns());
        assert!(next_ns != u64::MAX, "nothing is left to happen at {now_ns} ns");
        assert!(next_ns >= now_ns, "time goes back");
        now_ns = next_ns;
        let op = match answer_ns == next_ns {
            true => {
                let (_, (id, object)) = answers.pop_first().unwrap();
                match refusing == Some(object) {
                    true => host.refused(now_ns, id),
                    false => host.answered(now_ns, id),
                }
            }
            false => host.issue_due(now_ns).unwrap(),
        };
        if let Some(op) = op {
            admit(now_ns, op, &mut answers);
        }
    }
    assert!(answers.is_empty(), "it is done, and requests are not");
    let mut measured = host.end_segment(0, now_ns);
    measured.close();
    assert!(measured.littles_law().hold(), "{:?}", measured.littles_law());
    (seen, now_ns, measured)
}

fn raid(measured: &HostMeasures) -> &ClientRaidMeasures {
    measured.client_raid.as_ref().unwrap()
}

#[test]
fn a_full_stripe_is_data_and_parity_and_nothing_is_read() {
    let mut host = client(application([access(Direction::Write, 0, STRIPE)], 1));
    let (seen, end_ns, measured) = serve(&mut host, MS, None);
    let expected = (0..9).map(|object| Seen {
        issued_ns: 0,
        object,
        direction: Direction::Write,
        sector: 0,
        sectors: UNIT,
    });
    assert_eq!(seen, expected.collect::<Vec<_>>());
    assert_eq!(end_ns, MS);
    let raid = raid(&measured);
    assert_eq!((raid.writes.count, raid.writes.sectors), (9, STRIPE * 9 / 8));
    assert_eq!((raid.parity_sectors, raid.update_reads.count), (UNIT, 0));
    assert_eq!((raid.stripes_written, raid.full_stripes), (1, 1));
}

#[test]
fn a_small_write_reads_old_data_and_parity_first() {
    // 4 KiB in the third unit of stripe 2, whose parity is on blade 6 and whose data begin on blade 7.
    let mut host =
        client(application([access(Direction::Write, 2 * STRIPE + 2 * UNIT + 16, 8)], 1));
    let (seen, end_ns, measured) = serve(&mut host, MS, None);
    let at = |issued_ns, object, direction| Seen {
        issued_ns,
        object,
        direction,
        sector: 2 * UNIT + 16,
        sectors: 8,
    };
    let (read, write) = (Direction::Read, Direction::Write);
    assert_eq!(seen, [at(0, 0, read), at(0, 6, read), at(MS, 0, write), at(MS, 6, write)]);
    assert_eq!((end_ns, measured.operations), (2 * MS, 1));
    assert_eq!((raid(&measured).full_stripes, raid(&measured).parity_sectors), (0, 8));
}

#[test]
fn a_write_of_most_of_a_stripe_reads_the_rest() {
    let mut host = client(application([access(Direction::Write, 0, STRIPE - UNIT)], 1));
    let (seen, ..) = serve(&mut host, MS, None);
    let reads: Vec<_> = seen.iter().filter(|one| one.direction == Direction::Read).collect();
    assert_eq!(reads.len(), 1);
    assert_eq!((reads[0].object, reads[0].sectors), (7, UNIT));
    assert_eq!(seen.len(), 1 + 8);
}

#[test]
fn a_read_goes_to_the_blades_that_have_its_units() {
    // From the middle of a unit to the middle of the one after the next.
    let mut host = client(application([access(Direction::Read, UNIT / 2, 2 * UNIT)], 1));
    let (seen, ..) = serve(&mut host, MS, None);
    let places: Vec<_> = seen.iter().map(|one| (one.object, one.sector, one.sectors)).collect();
    assert_eq!(places, [(0, UNIT / 2, UNIT / 2), (1, 0, UNIT), (2, 0, UNIT / 2)]);
    // Two stripes in one read: blades 0 to 6 have two neighbouring units of data.
    let mut host = client(application([access(Direction::Read, 0, 2 * STRIPE)], 1));
    let (seen, ..) = serve(&mut host, MS, None);
    assert_eq!(seen.iter().map(|one| one.sectors).sum::<u64>(), 2 * STRIPE);
    assert_eq!((seen.len(), seen[0].sectors), (9, 2 * UNIT));
}

#[test]
fn updates_of_a_stripe_wait_for_each_other_and_others_do_not() {
    let write = |unit: u64| access(Direction::Write, unit * UNIT, 8);
    // Two units of stripe 0, and one of stripe 1, all at once.
    let mut host = client(application([write(0), write(3), write(9)], 3));
    let (seen, end_ns, measured) = serve(&mut host, MS, None);
    let reads: Vec<_> = seen
        .iter()
        .filter(|one| one.direction == Direction::Read)
        .map(|one| (one.issued_ns, one.sector / UNIT))
        .collect();
    // Stripe 0 is read twice, the second time when the first update has been written.
    assert_eq!(reads, [(0, 0), (0, 0), (0, 1), (0, 1), (2 * MS, 0), (2 * MS, 0)]);
    assert_eq!(end_ns, 4 * MS);
    assert_eq!(raid(&measured).stripe_wait_ns, 2 * MS);
    // Another client's stripe of the same number is another file's.
    let both = Workers::new(vec![worker(0, [write(0)], 1), worker(1, [write(0)], 1)]);
    let settings = ClientRaidConfig::new(vec![1, 1]);
    let mut host = ClientRaid::new(Box::new(both), settings, vec![file(9, 100)]).unwrap();
    let (seen, end_ns, _) = serve(&mut host, MS, None);
    assert_eq!(end_ns, 2 * MS);
    assert_eq!(seen.iter().filter(|one| one.object >= 9).count(), 4);
}

#[test]
fn parity_takes_the_cores_of_its_client() {
    // Eight units go into parity: 512 KiB, at 2 us each. Two stripes at once, on one core and on two.
    let writes = [access(Direction::Write, 0, STRIPE), access(Direction::Write, STRIPE, STRIPE)];
    for (cores, end_ns) in [(1, 2 * 1_024_000 + MS), (2, 1_024_000 + MS)] {
        let settings =
            ClientRaidConfig { parity_kib_ns: 2_000, ..ClientRaidConfig::new(vec![cores]) };
        let host = application(writes, 2);
        let mut host = ClientRaid::new(Box::new(host), settings, vec![file(9, 100)]).unwrap();
        let (_, ended_ns, measured) = serve(&mut host, MS, None);
        assert_eq!(ended_ns, end_ns, "{cores} cores");
        assert_eq!(raid(&measured).parity_busy_ns, [2 * 1_024_000]);
    }
}

#[test]
fn copying_takes_a_core_once_a_read_has_arrived_and_before_a_write_leaves() {
    // 512 KiB at 1 us a KiB, and a request takes a millisecond: one after the other, on one core.
    for direction in [Direction::Read, Direction::Write] {
        let settings = ClientRaidConfig { copy_kib_ns: 1_000, ..ClientRaidConfig::new(vec![1]) };
        let accesses = [access(direction, 0, STRIPE)];
        let mut host =
            ClientRaid::new(Box::new(application(accesses, 1)), settings, vec![file(9, 100)])
                .unwrap();
        let (_, ended_ns, measured) = serve(&mut host, MS, None);
        assert_eq!(ended_ns, MS + 512_000, "{direction:?}");
        assert_eq!(raid(&measured).parity_busy_ns, [512_000]);
    }
}

#[test]
fn a_page_cache_joins_what_an_application_writes_to_full_stripes() {
    // 16 MiB, 64 KiB at a time.
    let writes = |_| (0..256).map(|unit| access(Direction::Write, unit * UNIT, UNIT));
    let (_, _, measured) = serve(&mut client(application(writes(()), 8)), MS, None);
    let alone = raid(&measured).clone();
    assert_eq!((alone.stripes_written, alone.full_stripes), (256, 0));
    // Old data and old parity, new data and new parity.
    assert_eq!((alone.update_reads.sectors, alone.writes.sectors), (512 * UNIT, 512 * UNIT));

    let settings =
        PageCacheConfig { stripe_bytes: STRIPE * 512, ..PageCacheConfig::write_behind(1 << 30) };
    let cached = |first: u64| {
        let writes = (first..256).map(|unit| access(Direction::Write, unit * UNIT, UNIT));
        let file = file(9, 100);
        let cached =
            CachedHost::new(Box::new(application(writes, 8)), settings, vec![file.file_sectors()])
                .unwrap();
        let (_, _, measured) = serve(&mut client(cached), MS, None);
        assert!(measured.page_cache.is_some());
        raid(&measured).clone()
    };
    let joined = cached(0);
    assert_eq!((joined.stripes_written, joined.full_stripes), (32, 32));
    assert_eq!((joined.update_reads.count, joined.writes.sectors), (0, 256 * UNIT * 9 / 8));
    // What begins within a stripe is not carried on across all others.
    let joined = cached(3);
    assert_eq!((joined.stripes_written, joined.full_stripes), (32, 31));
}

#[test]
fn with_a_blade_lost_reads_compute_and_writes_go_around() {
    let lost = Some(LostBlade { blade: 2, at_ns: 0 });
    let served = |accesses: Vec<TimedAccess>, outstanding| {
        let settings = ClientRaidConfig { lost, ..ClientRaidConfig::new(vec![1]) };
        let host = application(accesses, outstanding);
        let mut host = ClientRaid::new(Box::new(host), settings, vec![file(9, 100)]).unwrap();
        let (seen, end_ns, measured) = serve(&mut host, MS, None);
        assert!(seen.iter().all(|one| one.object != 2), "the lost blade is asked");
        (seen, end_ns, raid(&measured).clone())
    };
    // A unit of the lost blade: the seven others and parity.
    let (seen, _, measured) = served(vec![access(Direction::Read, 2 * UNIT, UNIT)], 1);
    assert_eq!((seen.len(), measured.reconstructed_sectors), (8, UNIT));
    // A unit of another blade costs nothing more.
    let (seen, ..) = served(vec![access(Direction::Read, 3 * UNIT, UNIT)], 1);
    assert_eq!(seen.len(), 1);
    // A write of what the lost blade had: the other data are read, and only parity is written.
    let (seen, ..) = served(vec![access(Direction::Write, 2 * UNIT, UNIT)], 1);
    let count = |direction| seen.iter().filter(|one| one.direction == direction).count();
    assert_eq!((count(Direction::Read), count(Direction::Write)), (7, 1));
    // A full stripe: one unit less.
    let (seen, ..) = served(vec![access(Direction::Write, 0, STRIPE)], 1);
    assert_eq!(seen.len(), 8);
    // Reads of a stripe share it; a write waits for them.
    let reads = [0, 1].map(|unit| access(Direction::Read, unit * UNIT, UNIT));
    let (_, end_ns, _) = served(reads.to_vec(), 2);
    assert_eq!(end_ns, MS);
    let with_write = [reads[0], access(Direction::Write, 5 * UNIT, UNIT)];
    let (_, end_ns, measured) = served(with_write.to_vec(), 2);
    assert_eq!((end_ns, measured.stripe_wait_ns), (3 * MS, MS));
}

#[test]
fn a_blade_that_is_lost_later_is_asked_until_then() {
    let settings = ClientRaidConfig {
        lost: Some(LostBlade { blade: 0, at_ns: 10 * MS }),
        ..ClientRaidConfig::new(vec![1])
    };
    let reads = (0..20).map(|_| access(Direction::Read, 0, UNIT));
    let mut host =
        ClientRaid::new(Box::new(application(reads, 1)), settings, vec![file(9, 100)]).unwrap();
    let (seen, ..) = serve(&mut host, MS, None);
    let last = seen.iter().filter(|one| one.object == 0).map(|one| one.issued_ns).max();
    assert_eq!(last, Some(9 * MS));
    assert_eq!(seen.len(), 10 + 10 * 8);
}

#[test]
fn what_a_blade_refuses_is_refused_and_holds_up_no_other() {
    // Blade 3 refuses; its unit is written, and then the stripe that others wait for.
    let write = |unit: u64| access(Direction::Write, unit * UNIT, 8);
    let mut host = client(application([write(3), write(4), write(3), write(4)], 4));
    let (seen, _, measured) = serve(&mut host, MS, Some(3));
    assert_eq!((measured.operations, measured.refused), (2, 2));
    // What is refused when it is read is not written.
    assert!(!seen.iter().any(|one| one.object == 3 && one.direction == Direction::Write));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |settings: ClientRaidConfig, files: Vec<ObjectLayout>| {
        ClientRaid::new(Box::new(application([], 1)), settings, files).map(|_| ()).unwrap_err()
    };
    let good = ClientRaidConfig::new(vec![1]);
    assert_eq!(refused(good.clone(), vec![]), HostError::None("file"));
    let none = ClientRaidConfig::new(vec![]);
    assert_eq!(refused(none, vec![file(9, 1)]), HostError::None("client"));
    let empty = ClientRaidConfig { largest_request_sectors: 0, ..good.clone() };
    assert_eq!(refused(empty, vec![file(9, 1)]), HostError::EmptyRequests);
    let lost = Some(LostBlade { blade: 9, at_ns: 0 });
    let no_blade = ClientRaidConfig { lost, ..good.clone() };
    let error = HostError::NoBlade { lost: 9, blades: 9 };
    assert_eq!(refused(no_blade, vec![file(9, 1)]), error);
    let files = vec![file(9, 1), file(10, 1)];
    assert_eq!(refused(good, files), HostError::Blades(9, 10));
    let many = ClientRaidConfig::new(vec![1; 2_000]);
    let files = vec![file(9, 1); 4];
    assert!(matches!(refused(many, files), HostError::TooMany { .. }));
}

/// A blade: two drives without parity, and a processor that costs nothing.
fn blade(object_sectors: u64, luns: usize) -> InPlace<()> {
    let drive = drive();
    let spindle_sectors = drive.capacity_sectors();
    let layout = Raid0Layout::new(2, 64 << 10, 2 << 20, spindle_sectors * 512).unwrap();
    InPlace::new(InPlaceConfig {
        destage_low_sectors: 1 << 12,
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(layout, 16)],
            vec![LunConfig::whole(object_sectors); luns],
            spindle_sectors,
            1 << 16,
        )
    })
    .unwrap()
}

/// Clients, each with a link of its own, before blades, each with one.
fn machine<H: Host>(host: H, clients: u16, file: &ObjectLayout) -> Machine<InPlace<()>, H> {
    let mut machine = Machine::new(host);
    let mut hosts = vec![HostId(0)];
    hosts.extend((1..clients).map(|_| machine.add_host(0)));
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 8);
    let controllers: Vec<_> = (0..file.blades())
        .map(|_| {
            let blade = blade(file.object_sectors(), 1);
            machine.add_controller(blade, &spindles, &ProcessorCores::default()).unwrap()
        })
        .collect();
    let profile = LinkProfile::shipped("ethernet-1g").unwrap();
    let mut link = || Hop::Link(machine.network_mut().add_link(profile.clone()).unwrap());
    let of_hosts: Vec<Hop> = hosts.iter().map(|_| link()).collect();
    let of_blades: Vec<Hop> = controllers.iter().map(|_| link()).collect();
    let switch = Hop::Switch(Switch { latency_ns: 0, forwarding: Forwarding::StoreAndForward });
    let front_end = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    let mut flow = 0;
    for (host, of_host) in hosts.into_iter().zip(of_hosts) {
        for (controller, of_blade) in controllers.iter().zip(&of_blades) {
            flow += 1;
            let path = machine.network_mut().add_path(&[of_host, switch, *of_blade]).unwrap();
            let transport = Transport::Tcp(TcpOptions::default());
            let connections = vec![machine.network().connect(path, flow, transport).unwrap()];
            let port = machine.add_port(Port { host, front_end, connections });
            machine.add_lun(*controller, LunId(0), port);
        }
    }
    machine
}

fn segment<H: Host>(machine: &mut Machine<InPlace<()>, H>, seconds: u64) -> Segment {
    let measured =
        machine.run_segment(seconds * SECOND_NS, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(measured.laws.hold(), "{:?}", measured.laws);
    measured
}

/// Writes of whole stripes, one after another.
fn stripes(count: u64, at_once: u64) -> impl Iterator<Item = TimedAccess> {
    (0..count)
        .map(move |number| access(Direction::Write, number * at_once * STRIPE, at_once * STRIPE))
}

#[test]
fn parity_crosses_the_wire_of_its_client() {
    let file = file(9, 400);
    let accesses = stripes(400, 1);
    let settings = ClientRaidConfig::new(vec![1]);
    let host =
        ClientRaid::new(Box::new(application(accesses, 4)), settings, vec![file.clone()]).unwrap();
    let mut machine = machine(host, 1, &file);
    let measured = segment(&mut machine, 60);
    assert!(machine.is_done());
    let data_bytes = 400 * STRIPE * 512;
    assert_eq!(measured.bytes, data_bytes);
    let raid = measured.client_raid.as_ref().unwrap();
    assert_eq!((raid.full_stripes, raid.parity_sectors), (400, 400 * UNIT));
    // A unit of 64 KiB is 8 PDUs of 8 KiB, RFC 7143's default, each with a header of 48 bytes, in segments of 1,448
    // bytes with 90 bytes of headers, frame check and gap. Nine of them for each eight of data.
    let links = &measured.machine.as_ref().unwrap().links;
    let unit_bytes = UNIT * 512 + 8 * 48;
    let frames = unit_bytes.div_ceil(1_448);
    let expected = data_bytes / (UNIT * 512) * 9 / 8 * (unit_bytes + frames * 90);
    let sent = links[0].wire_bytes[0];
    assert!(sent.abs_diff(expected) * 1_000 <= expected, "{sent} instead of {expected} bytes");
    // Each blade's link carries a ninth of it.
    for link in &links[1..] {
        assert!((link.wire_bytes[0] * 9).abs_diff(sent) * 1_000 <= sent, "{links:?}");
    }
    // The client's gigabit link is what binds: it is busy nearly all of the time.
    let busy = links[0].busy_ns[0] as f64 / measured.length_ns as f64;
    assert!(busy > 0.95, "{busy}");
    let mb_per_s = measured.bytes as f64 / measured.length_ns as f64 * 1e3;
    // 125 MB/s, less headers, less a ninth for parity.
    let most = 125.0 * (8.0 / 9.0) * (UNIT * 512) as f64 / (unit_bytes + frames * 90) as f64;
    assert!(mb_per_s < most && mb_per_s > 0.95 * most, "{mb_per_s} of {most}");
}

#[test]
fn reads_are_bound_by_the_clients_wire_without_parity() {
    let file = file(9, 400);
    let reads = (0..400).map(|stripe| access(Direction::Read, stripe * STRIPE, STRIPE));
    let settings = ClientRaidConfig::new(vec![1]);
    let host =
        ClientRaid::new(Box::new(application(reads, 8)), settings, vec![file.clone()]).unwrap();
    let mut machine = machine(host, 1, &file);
    let measured = segment(&mut machine, 60);
    let links = &measured.machine.as_ref().unwrap().links;
    let received = links[0].wire_bytes[1] as f64;
    let payload = measured.bytes as f64;
    assert!((received / payload - 1.0) < 0.08, "{received} of {payload}");
    assert_eq!(measured.client_raid.as_ref().unwrap().parity_sectors, 0);
}

#[test]
fn two_clients_keep_the_laws_and_the_same_run_is_the_same() {
    let run = || {
        let file = file(10, 300);
        let mixed = |seed: u64| {
            (0..4_000_u64).map(move |number| {
                let drawn = (number + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                let direction =
                    if drawn.is_multiple_of(3) { Direction::Write } else { Direction::Read };
                let sector = drawn / 3 % (299 * STRIPE);
                access(direction, sector, 1 + drawn % 700)
            })
        };
        let workers = Workers::new(vec![worker(0, mixed(1), 6), worker(1, mixed(2), 6)]);
        let settings = ClientRaidConfig { parity_kib_ns: 300, ..ClientRaidConfig::new(vec![2, 1]) };
        let host = ClientRaid::new(Box::new(workers), settings, vec![file.clone()]).unwrap();
        let mut machine = machine(host, 2, &file);
        let measured: Vec<_> = (0..4).map(|_| segment(&mut machine, 3)).collect();
        format!("{measured:?}")
    };
    assert_eq!(run(), run());
}
