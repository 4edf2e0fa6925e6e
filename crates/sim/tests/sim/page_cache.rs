//! A host's page cache, over LUNs that answer every request after a fixed time, one after the other.

use std::collections::{BTreeMap, VecDeque};

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_sim::{
    Accesses, AccessesError, CachedHost, Host, HostError, HostMeasures, PageCacheConfig,
    TimedAccess, WakeUps, Worker, Workers, WriteBehind, WritePolicy,
};
use strewn_workload::Access;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const LUN_SECTORS: u64 = 1 << 20;

/// Accesses from a list.
struct Listed(VecDeque<TimedAccess>);

impl Accesses for Listed {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        Ok(self.0.pop_front())
    }
}

fn access(direction: Direction, sector: u64, sectors: u32) -> TimedAccess {
    let access = Access { direction, sector, sectors };
    TimedAccess { access, not_before_ns: 0, delay_ns: 0 }
}

/// One application that works through a list.
fn applications(accesses: impl IntoIterator<Item = TimedAccess>, outstanding: u32) -> Workers {
    let accesses = Box::new(Listed(accesses.into_iter().collect()));
    Workers::new(vec![Worker::closed_loop(accesses, outstanding)])
}

/// A request that reached the LUN.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    issued_ns: u64,
    direction: Direction,
    sector: u64,
    sectors: u32,
}

/// Serves `host` until it is done or `until_ns`: requests one after the other, each for `service_ns`. Returns what it
/// was asked, when it was done, and what it measured.
fn serve(host: &mut impl Host, service_ns: u64, until_ns: u64) -> (Vec<Seen>, u64, HostMeasures) {
    let mut seen = Vec::new();
    let mut queue: VecDeque<(u64, OperationId)> = VecDeque::new();
    let (mut now_ns, mut free_ns) = (0, 0);
    host.begin_segment(0, 1);
    let mut admit = |now_ns: u64, op: HostOperation<()>, queue: &mut VecDeque<_>| {
        let HostOperation { direction, first_sector: sector, sectors, .. } = op;
        assert!(sector + u64::from(sectors) <= LUN_SECTORS && sectors > 0 && op.lun.0 < 2);
        seen.push(Seen { issued_ns: now_ns, direction, sector, sectors });
        free_ns = now_ns.max(free_ns) + service_ns;
        queue.push_back((free_ns, op.id));
    };
    while let Some(op) = host.first() {
        admit(0, op, &mut queue);
    }
    while !host.is_done() {
        let answer_ns = queue.front().map_or(u64::MAX, |(at_ns, _)| *at_ns);
        let next_ns = answer_ns.min(host.next_issue_ns());
        assert!(next_ns != u64::MAX, "nothing is left to happen at {now_ns} ns");
        if next_ns > until_ns {
            now_ns = until_ns;
            break;
        }
        assert!(next_ns >= now_ns, "time goes back");
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
    (seen, now_ns, measured)
}

fn cached(applications: Workers, settings: PageCacheConfig) -> CachedHost {
    CachedHost::new(Box::new(applications), settings, vec![LUN_SECTORS]).unwrap()
}

fn reads(first: u64, count: u64) -> impl Iterator<Item = TimedAccess> {
    (first..first + count).map(|block| access(Direction::Read, block * 128, 128))
}

fn writes(first: u64, count: u64) -> impl Iterator<Item = TimedAccess> {
    (first..first + count).map(|block| access(Direction::Write, block * 128, 128))
}

/// Writing behind may take many segments, answering what is outstanding does not.
#[test]
fn a_cache_that_has_data_to_write_issues_more() {
    let settings = PageCacheConfig::write_behind(8 << 20);
    for (direction, issues_more) in [(Direction::Read, false), (Direction::Write, true)] {
        let mut host = cached(applications([access(direction, 0, 8)], 1), settings);
        host.begin_segment(0, 1);
        assert!(!host.issues_no_more(0));
        let mut now_ns = 0;
        let mut outstanding = VecDeque::new();
        while host.next_issue_ns() < SECOND {
            now_ns = host.next_issue_ns();
            outstanding.extend(host.issue_due(now_ns).unwrap());
        }
        assert_eq!(host.issues_no_more(now_ns), !issues_more, "{direction:?}");
        assert_eq!(outstanding.len(), 1, "{direction:?}");
    }
}

#[test]
fn each_host_has_a_cache_of_its_own() {
    // Both hosts read the same 64 requests of 64 KiB of LUN 0, which the second one calls 1, and read them again.
    let worker = |lun: u16| {
        let list = reads(0, 64).chain(reads(0, 64)).collect();
        Worker { lun: LunId(lun), ..Worker::closed_loop(Box::new(Listed(list)), 1) }
    };
    let settings = PageCacheConfig::write_through(8 << 20);
    let hosts = Workers::new(vec![worker(0), worker(1)]);
    let mut host = CachedHost::of_hosts(2, Box::new(hosts), settings, vec![LUN_SECTORS]).unwrap();
    let (seen, _, measured) = serve(&mut host, MS, u64::MAX);
    assert_eq!(seen.len(), 2 * 64);
    let cache = measured.page_cache.unwrap();
    assert_eq!((cache.pages_read, cache.pages_hit), (4 * 64 * 16, 2 * 64 * 16));
    assert_eq!(cache.bytes_filled, 2 * (4 << 20));
    // What one may have dirty is no matter of the other: 8 MiB each, a quarter of which may be dirty.
    let worker = |lun: u16, requests: u64| {
        let list = writes(0, requests).collect();
        Worker { lun: LunId(lun), ..Worker::closed_loop(Box::new(Listed(list)), 1) }
    };
    let behind = WriteBehind { dirty_percent: 25, ..WriteBehind::default() };
    let settings = PageCacheConfig {
        writes: WritePolicy::Behind(behind),
        ..PageCacheConfig::write_behind(8 << 20)
    };
    let throttled_ns = |requests: [u64; 2]| {
        let hosts = Workers::new(vec![worker(0, requests[0]), worker(1, requests[1])]);
        let mut host =
            CachedHost::of_hosts(2, Box::new(hosts), settings, vec![LUN_SECTORS]).unwrap();
        serve(&mut host, MS, u64::MAX).2.page_cache.unwrap().throttled_ns
    };
    assert_eq!(throttled_ns([30, 30]), 0);
    assert!(throttled_ns([60, 0]) > 0);
}

#[test]
fn what_was_read_is_read_from_the_cache_the_second_time() {
    // 64 requests of 64 KiB, twice: 4 MiB in a cache of 8.
    let host = applications(reads(0, 64).chain(reads(0, 64)), 1);
    let settings =
        PageCacheConfig { copy_kib_ns: 1_000, ..PageCacheConfig::write_through(8 << 20) };
    let (seen, end_ns, measured) = serve(&mut cached(host, settings), 5 * MS, u64::MAX);
    assert_eq!(seen.len(), 64);
    // 5 ms and 64 us of copying the first time, 64 us the second.
    assert_eq!(end_ns, 64 * (5 * MS + 64_000) + 64 * 64_000);
    let cache = measured.page_cache.unwrap();
    assert_eq!((cache.pages_read, cache.pages_hit), (2 * 64 * 16, 64 * 16));
    assert_eq!(cache.bytes_filled, 4 << 20);

    // In a cache of 2 MiB, the least recently used pages have gone by the time they are wanted again.
    let host = applications(reads(0, 64).chain(reads(0, 64)), 1);
    let small = PageCacheConfig { bytes: 2 << 20, ..settings };
    let (seen, ..) = serve(&mut cached(host, small), 5 * MS, u64::MAX);
    assert_eq!(seen.len(), 128);
}

#[test]
fn concurrent_readers_of_a_page_wait_for_one_request() {
    let host = applications((0..8).map(|_| access(Direction::Read, 800, 8)), 8);
    let (seen, ..) =
        serve(&mut cached(host, PageCacheConfig::write_through(1 << 20)), MS, u64::MAX);
    assert_eq!(seen.len(), 1);
}

#[test]
fn what_is_written_is_written_later_in_large_requests_and_the_end_waits_for_it() {
    // 16 MiB in 256 requests of 64 KiB, in descending order, into a cache of 1 GiB.
    let accesses: Vec<_> = writes(0, 256).collect();
    let host = applications(accesses.into_iter().rev(), 1);
    let settings = PageCacheConfig { copy_kib_ns: 1_000, ..PageCacheConfig::write_behind(1 << 30) };
    let (seen, end_ns, measured) = serve(&mut cached(host, settings), 10 * MS, u64::MAX);
    // 16 MiB are 32 requests of 512 KiB, in ascending order, when the last copy is done.
    assert_eq!(seen.len(), 32);
    for (index, request) in (0..).zip(&seen) {
        let expected = Seen {
            issued_ns: 256 * 64_000,
            direction: Direction::Write,
            sector: index * 1_024,
            sectors: 1_024,
        };
        assert_eq!(*request, expected);
    }
    assert_eq!(end_ns, 256 * 64_000 + 32 * 10 * MS);
    assert_eq!(measured.longest_ns, 64_000);
    let cache = measured.page_cache.unwrap();
    assert_eq!((cache.bytes_written, cache.bytes_dirty, cache.throttled_ns), (16 << 20, 0, 0));
}

#[test]
fn a_file_is_written_at_the_first_wake_up_after_it_has_been_dirty_for_30_seconds() {
    let mut first = access(Direction::Write, 80, 8);
    first.not_before_ns = SECOND;
    let mut second = access(Direction::Write, 160, 8);
    second.not_before_ns = 34 * SECOND;
    let mut last = access(Direction::Read, 80, 8);
    last.not_before_ns = 100 * SECOND;
    let host = applications([first, second, last], 1);
    let (seen, ..) = serve(&mut cached(host, PageCacheConfig::write_behind(1 << 30)), MS, u64::MAX);
    // Dirty since 1 s: 29 s at the wake-up at 30 s, 34 s at 35 s. All of the file is written, the later page too.
    let at: Vec<_> = seen.iter().map(|seen| (seen.issued_ns, seen.sector)).collect();
    assert_eq!(at, [(35 * SECOND, 80), (35 * SECOND, 160)]);
}

#[test]
fn writing_begins_at_the_background_limit_and_applications_wait_at_the_other() {
    // A cache of 4,096 pages: 409 dirty pages wake the writer, more than 819 make applications wait.
    let settings = PageCacheConfig::write_behind(16 << 20);
    let host = applications(writes(0, 800), 1);
    let (seen, end_ns, measured) = serve(&mut cached(host, settings), 10 * MS, u64::MAX);
    // 16 us of copying for 16 pages each: the 26th operation makes it 416 pages.
    assert_eq!(seen[0].issued_ns, 25 * 16_000);
    let cache = measured.page_cache.unwrap();
    assert!(cache.throttled_ns > 0);
    assert_eq!(cache.bytes_written, 800 * 65_536);
    // The LUN is busy from the first request to the end: the cache hides nothing in the long run.
    assert_eq!(end_ns, seen[0].issued_ns + seen.len() as u64 * 10 * MS);
    let mut dirty = 0_i64;
    for request in &seen {
        dirty = dirty.max(i64::from(request.sectors));
    }
    assert_eq!(dirty, 1_024, "requests become large while the LUN is the bottleneck");
}

#[test]
fn writing_through_keeps_the_application_waiting_and_the_sectors_as_they_are() {
    let list = [access(Direction::Write, 3, 20), access(Direction::Read, 8, 8)];
    let settings = PageCacheConfig { copy_kib_ns: 0, ..PageCacheConfig::write_through(1 << 20) };
    let (seen, end_ns, _) = serve(&mut cached(applications(list, 1), settings), 7 * MS, u64::MAX);
    // Sectors 8 to 15 are a whole page, which is then in the cache.
    let written = Seen { issued_ns: 0, direction: Direction::Write, sector: 3, sectors: 20 };
    assert_eq!((seen, end_ns), (vec![written], 7 * MS));
}

#[test]
fn a_page_that_is_written_in_part_is_read_first() {
    // Sectors 4 to 27: half of page 0, pages 1 and 2, half of page 3. Half a page at the end of the LUN is all there
    // is.
    let list = [access(Direction::Write, 4, 24), access(Direction::Write, LUN_SECTORS - 8, 4)];
    let settings = PageCacheConfig::write_behind(1 << 20);
    let host = CachedHost::new(Box::new(applications(list, 1)), settings, vec![LUN_SECTORS - 4]);
    let (seen, ..) = serve(&mut host.unwrap(), MS, u64::MAX);
    let at: Vec<_> = seen.iter().map(|seen| (seen.direction, seen.sector, seen.sectors)).collect();
    let expected = [
        (Direction::Read, 0, 8),
        (Direction::Read, 24, 8),
        (Direction::Write, 0, 32),
        (Direction::Write, LUN_SECTORS - 8, 4),
    ];
    assert_eq!(at, expected);
}

#[test]
fn settings_without_a_page_or_a_request_are_refused() {
    let refused =
        |settings| CachedHost::new(Box::new(applications([], 1)), settings, vec![8]).err();
    let good = PageCacheConfig::write_behind(1 << 20);
    assert_eq!(refused(good), None);
    assert_eq!(refused(PageCacheConfig { bytes: 4_095, ..good }), Some(HostError::NoPage));
    let small = PageCacheConfig { largest_request_bytes: 0, ..good };
    assert_eq!(refused(small), Some(HostError::NoPage));
    let none = PageCacheConfig { write_requests: 0, ..good };
    assert_eq!(refused(none), Some(HostError::NoRequest));
    let behind = |behind| PageCacheConfig { writes: WritePolicy::Behind(behind), ..good };
    let share = WriteBehind { dirty_percent: 101, ..WriteBehind::default() };
    assert_eq!(refused(behind(share)), Some(HostError::DirtyShare(101)));
    let asleep = WriteBehind { wake_up_ns: 0, ..WriteBehind::default() };
    assert_eq!(refused(behind(asleep)), Some(HostError::NoWakeUp));
}

/// Applications that do what a seed says, and when each sector was last given to the cache.
#[test]
fn everything_written_reaches_the_lun_and_everything_read_was_there() {
    for seed in 1..=200_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let area = 8 * (1 + draw(400));
        let list: Vec<_> = (0..300)
            .map(|_| {
                let sectors = 1 + draw(64.min(area)) as u32;
                let sector = draw(area - u64::from(sectors) + 1);
                let direction = if draw(2) == 0 { Direction::Read } else { Direction::Write };
                let delay_ns = if draw(20) == 0 { draw(8 * SECOND) } else { draw(MS) };
                TimedAccess { delay_ns, ..access(direction, sector, sectors) }
            })
            .collect();
        let settings = PageCacheConfig {
            bytes: 4_096 * (1 + draw(300)),
            writes: match draw(4) {
                0 => WritePolicy::Through,
                _ => WritePolicy::Behind(WriteBehind {
                    dirty_percent: 1 + draw(100) as u32,
                    background_percent: draw(100) as u32,
                    wake_up_ns: 1 + draw(5 * SECOND),
                    wake_ups: [WakeUps::Periodic, WakeUps::AfterFirstWrite][draw(2) as usize],
                    expiry_ns: draw(30 * SECOND),
                }),
            },
            largest_request_bytes: 4_096 * (1 + draw(128)),
            stripe_bytes: 4_096 * (1 + draw(40)),
            write_requests: 1 + draw(8) as u32,
            copy_kib_ns: draw(2_000),
        };
        let depth = 1 + draw(8) as u32;
        let mut host = cached(applications(list.clone(), depth), settings);
        let (seen, _, measured) = serve(&mut host, 1 + draw(3 * MS), u64::MAX);
        assert_eq!(measured.operations, 300, "seed {seed}");
        let covered = |direction: Direction| {
            let of = seen.iter().filter(|request| request.direction == direction);
            let mut covered = BTreeMap::new();
            for request in of {
                for sector in request.sector..request.sector + u64::from(request.sectors) {
                    *covered.entry(sector).or_insert(0) += 1;
                }
            }
            covered
        };
        let (was_read, was_written) = (covered(Direction::Read), covered(Direction::Write));
        for TimedAccess { access, .. } in &list {
            for sector in access.sector..access.sector + u64::from(access.sectors) {
                let there = match access.direction {
                    Direction::Write => was_written.contains_key(&sector),
                    Direction::Read => {
                        was_read.contains_key(&sector) || was_written.contains_key(&sector)
                    }
                };
                assert!(there, "seed {seed}: {access:?}, sector {sector}");
            }
        }
        let cache = measured.page_cache.unwrap();
        let bytes = |direction: Direction| {
            let of = seen.iter().filter(|request| request.direction == direction);
            of.map(|request| u64::from(request.sectors) * 512).sum::<u64>()
        };
        assert_eq!(cache.bytes_filled, bytes(Direction::Read), "seed {seed}");
        assert_eq!(cache.bytes_written, bytes(Direction::Write), "seed {seed}");
        assert_eq!(cache.bytes_dirty, 0, "seed {seed}");
        assert!(cache.pages_hit <= cache.pages_read, "seed {seed}");
    }
}
