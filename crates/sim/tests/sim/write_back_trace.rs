//! The page cache beside a real Linux that wrote a growing file back: `tests/write_back_trace` has the recordings.

use std::collections::VecDeque;

use strewn_array::Direction;
use strewn_sim::{
    Accesses, AccessesError, CachedHost, Host, PageCacheConfig, TimedAccess, WakeUps, Worker,
    Workers, WriteBehind, WritePolicy,
};
use strewn_workload::Access;

/// Bytes of one write, as the recording script makes them.
const WRITE_BYTES: u64 = 64 << 10;
/// How much the model may differ by the recorded kernel's rule of wake-ups, and by the older one.
const TOLERANCES: [(WakeUps, f64); 2] =
    [(WakeUps::AfterFirstWrite, 0.05), (WakeUps::Periodic, 0.20)];

/// A recording: settings, and how much the device was given by when.
struct Recorded {
    mb_per_s: f64,
    /// What the device takes, if it was throttled.
    device_mb_per_s: Option<f64>,
    expiry_ns: u64,
    wake_up_ns: u64,
    /// Seconds, and bytes since the beginning.
    samples: Vec<(f64, u64)>,
}

impl Recorded {
    fn read(text: &str) -> Self {
        let setting = |name: &str| {
            let rest = &text[text.find(name).unwrap() + name.len()..];
            rest.split_whitespace().next().unwrap().trim_end_matches(',').parse::<u64>().unwrap()
        };
        let before = &text[..text.find(" MB/s").unwrap()];
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let sample = |row: &str| {
            let mut fields = row.split(',');
            let seconds = fields.next().unwrap().parse().unwrap();
            (seconds, fields.next().unwrap().parse().unwrap())
        };
        Self {
            mb_per_s: before.rsplit(' ').next().unwrap().parse().unwrap(),
            device_mb_per_s: text
                .split_once("the device takes ")
                .map(|(_, rest)| rest.split(' ').next().unwrap().parse().unwrap()),
            expiry_ns: setting("dirty_expire_centisecs ") * 10_000_000,
            wake_up_ns: setting("dirty_writeback_centisecs ") * 10_000_000,
            samples: rows.map(sample).collect(),
        }
    }
}

/// A burst of write-back: when it began, in seconds, and its bytes.
type Burst = (f64, u64);

/// The bursts in samples of a running total. What is less than half of the largest is left out: a file system's own
/// blocks, and the rest of a burst that another program's `sync` began.
fn bursts(samples: &[(f64, u64)]) -> Vec<Burst> {
    let mut all: Vec<Burst> = Vec::new();
    let mut was_busy = false;
    for two in samples.windows(2) {
        let bytes = two[1].1 - two[0].1;
        let is_busy = bytes > 1_000_000;
        match all.last_mut() {
            Some(last) if is_busy && was_busy => last.1 += bytes,
            _ if is_busy => all.push((two[0].0, bytes)),
            _ => {}
        }
        was_busy = is_busy;
    }
    let largest = all.iter().map(|burst| burst.1).max().unwrap();
    all.retain(|burst| burst.1 >= largest / 2);
    all
}

fn period(bursts: &[Burst]) -> f64 {
    (bursts.last().unwrap().0 - bursts[0].0) / (bursts.len() - 1) as f64
}

fn mean_mb(bursts: &[Burst]) -> f64 {
    // The last one may not have ended.
    let whole = &bursts[..bursts.len() - 1];
    whole.iter().map(|burst| burst.1 as f64 / 1e6).sum::<f64>() / whole.len() as f64
}

/// Accesses by the clock.
struct Paced(VecDeque<TimedAccess>);

impl Accesses for Paced {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        Ok(self.0.pop_front())
    }
}

/// The share of the time in which the device was given more than a file system's own blocks, from the first burst on to
/// the beginning of the last. Pauses of less than a second are a throttle's.
fn duty(samples: &[(f64, u64)]) -> f64 {
    let mut spans: Vec<[f64; 2]> = Vec::new();
    for two in samples.windows(2).filter(|two| two[1].1 - two[0].1 > 2_200_000) {
        let (from, to) = (two[0].0, two[1].0);
        match spans.last_mut() {
            Some(last) if from - last[1] < 1.0 => last[1] = to,
            _ => spans.push([from, to]),
        }
    }
    let whole = &spans[..spans.len() - 1];
    let busy: f64 = whole.iter().map(|[from, to]| to - from).sum();
    busy / (spans[spans.len() - 1][0] - spans[0][0])
}

/// What the page cache gives a device, sampled as the recording is. The device takes a millisecond for each request of
/// 512 KiB, or as long as its rate lets it.
fn modelled(recorded: &Recorded, wake_ups: WakeUps) -> Vec<(f64, u64)> {
    let seconds = recorded.samples.last().unwrap().0;
    let every_ns = (WRITE_BYTES as f64 / recorded.mb_per_s * 1e3) as u64;
    let sectors = WRITE_BYTES / 512;
    let writes = (0..(seconds * 1e9) as u64 / every_ns).map(|number| {
        let access = Access {
            direction: Direction::Write,
            sector: number * sectors,
            sectors: sectors as u32,
        };
        TimedAccess { access, not_before_ns: number * every_ns, delay_ns: 0 }
    });
    let applications =
        Workers::new(vec![Worker::closed_loop(Box::new(Paced(writes.collect())), 1)]);
    let settings = PageCacheConfig {
        writes: WritePolicy::Behind(WriteBehind {
            wake_up_ns: recorded.wake_up_ns,
            wake_ups,
            expiry_ns: recorded.expiry_ns,
            ..WriteBehind::default()
        }),
        ..PageCacheConfig::write_behind(24 << 30)
    };
    let mut host = CachedHost::new(Box::new(applications), settings, vec![1 << 26]).unwrap();
    host.begin_segment(0, 1);
    let mut queue = VecDeque::new();
    let (mut free_ns, mut bytes, mut done) = (0_u64, 0, Vec::new());
    let mut next = host.first();
    let mut now_ns = 0;
    loop {
        if let Some(operation) = next.take() {
            let bytes = f64::from(operation.sectors) * 512.0;
            let request_ns = recorded.device_mb_per_s.map_or(1e6, |rate| bytes / rate * 1e3);
            free_ns = now_ns.max(free_ns) + request_ns as u64;
            queue.push_back((free_ns, operation.id, u64::from(operation.sectors) * 512));
        }
        let answer_ns = queue.front().map_or(u64::MAX, |(at_ns, ..)| *at_ns);
        now_ns = answer_ns.min(host.next_issue_ns());
        if now_ns as f64 > seconds * 1e9 {
            break;
        }
        next = match answer_ns == now_ns {
            true => {
                let (_, id, moved) = queue.pop_front().unwrap();
                bytes += moved;
                done.push((now_ns as f64 / 1e9, bytes));
                host.answered(now_ns, id)
            }
            false => host.issue_due(now_ns).unwrap(),
        };
    }
    let total_by = |at: f64| {
        let before = done.partition_point(|(seconds, _)| *seconds <= at);
        before.checked_sub(1).map_or(0, |index| done[index].1)
    };
    recorded.samples.iter().map(|(at, _)| (*at, total_by(*at))).collect()
}

/// Returns the periods of the recording and of the model, in seconds, and the MB of their bursts.
fn compare(text: &str, wake_ups: WakeUps) -> ([f64; 2], [f64; 2]) {
    let recorded = Recorded::read(text);
    let both = [bursts(&recorded.samples), bursts(&modelled(&recorded, wake_ups))];
    (both.each_ref().map(|bursts| period(bursts)), both.each_ref().map(|bursts| mean_mb(bursts)))
}

#[test]
fn bursts_of_write_back_come_as_linux_wrote_them() {
    for (name, text) in [
        ("ext4, 10 s", include_str!("../write_back_trace/ext4-10s.csv")),
        ("XFS, 10 s", include_str!("../write_back_trace/xfs-10s.csv")),
        ("ext4, 30 s", include_str!("../write_back_trace/ext4-30s.csv")),
    ] {
        for (wake_ups, tolerance) in TOLERANCES {
            let (period, mb) = compare(text, wake_ups);
            println!(
                "{name}, {wake_ups:?}: a burst every {period:.2?} s, of {mb:.1?} MB: Linux, model"
            );
            for (what, [linux, model]) in [("period", period), ("burst", mb)] {
                let error = model / linux - 1.0;
                assert!(error.abs() <= tolerance, "{name}: {what} {model} and not {linux}");
            }
        }
    }
}

/// On a device that takes little more than twice what is written, bursts take time: the share of it is compared.
#[test]
fn bursts_to_a_slow_device_take_as_long_as_with_linux() {
    let recorded = Recorded::read(include_str!("../write_back_trace/ext4-10s-slow.csv"));
    for (wake_ups, tolerance) in [(WakeUps::AfterFirstWrite, 0.15), (WakeUps::Periodic, 0.20)] {
        let model = modelled(&recorded, wake_ups);
        let [linux, simulated] = [duty(&recorded.samples), duty(&model)];
        println!("{wake_ups:?}: busy {linux:.3} of the time, in the model {simulated:.3}");
        let error = simulated / linux - 1.0;
        assert!(error.abs() <= tolerance, "{wake_ups:?}: {simulated} and not {linux}");
    }
}
