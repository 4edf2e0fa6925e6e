//! The cache's rules, one by one, on the Cheetah 15K.5: 1200 sectors on each of its first tracks,
//! 1200 to a segment.

use std::sync::Arc;

use strewn_spindle::{Command, Direction, Drive, Profile, Scheduler, SimulatedSpindle};

const HIT_MS: f64 = 0.162;
const REVOLUTION_MS: f64 = 3.994_673;
const SECTOR_MS: f64 = REVOLUTION_MS / 1200.0;

/// A drive given one command at a time.
struct Host {
    spindle: SimulatedSpindle<()>,
    now_ns: u64,
}

impl Host {
    fn new() -> Self {
        let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
        let drive = Arc::new(Drive::new(&profile).unwrap());
        let spindle = SimulatedSpindle::with_cache(drive, Scheduler::Fcfs, 1).unwrap();
        Self { spindle, now_ns: 0 }
    }

    fn idle(&mut self, ms: f64) {
        self.now_ns += (ms * 1e6) as u64;
    }

    /// How long the command took, in milliseconds.
    fn command(&mut self, lba: u64, sectors: u32, direction: Direction) -> f64 {
        let command = Command { lba, sectors, direction };
        self.spindle.submit(self.now_ns, command, ()).unwrap();
        let done = self.spindle.complete().unwrap();
        self.now_ns = done.at_ns;
        done.service_ns as f64 / 1e6
    }

    fn read(&mut self, lba: u64, sectors: u32) -> f64 {
        self.command(lba, sectors, Direction::Read)
    }

    fn write(&mut self, lba: u64, sectors: u32) -> f64 {
        self.command(lba, sectors, Direction::Write)
    }
}

#[track_caller]
fn assert_near(ms: f64, expected_ms: f64) {
    assert!((ms - expected_ms).abs() < 1e-4, "{ms} ms, not {expected_ms} ms");
}

#[test]
fn the_rest_of_the_track_is_read_ahead_and_no_more() {
    let mut host = Host::new();
    host.read(0, 128);
    host.idle(20.0);
    assert_near(host.read(1072, 128), HIT_MS);
    assert!(host.read(1200, 128) > HIT_MS);
}

#[test]
fn a_read_that_comes_when_its_first_sector_passes_waits_a_revolution() {
    let mut host = Host::new();
    host.read(0, 128);
    assert_near(host.read(128, 128), REVOLUTION_MS + 128.0 * SECTOR_MS);
}

#[test]
fn a_read_of_sectors_now_passing_ends_with_the_last_of_them() {
    let mut host = Host::new();
    host.read(0, 128);
    host.idle(64.0 * SECTOR_MS);
    assert_near(host.read(128, 256), 192.0 * SECTOR_MS);
}

#[test]
fn of_a_read_held_in_part_only_the_rest_is_read() {
    let mut host = Host::new();
    host.read(600, 128);
    host.idle(20.0);
    let mut other = Host::new();
    other.read(600, 128);
    other.idle(20.0);
    // The heads are on track 0 in both: the one needs its last sector too, the other does not.
    assert_near(host.read(1199, 129), other.read(1200, 128));
}

#[test]
fn after_a_read_onto_the_next_track_the_track_after_it_is_read_ahead_and_fills_the_segment() {
    let mut host = Host::new();
    host.read(1100, 200);
    host.idle(20.0);
    assert_near(host.read(3472, 128), HIT_MS);
    assert_near(host.read(2400, 128), HIT_MS);
    // Replaced by what was read ahead later.
    assert!(host.read(2272, 128) > HIT_MS);
}

#[test]
fn a_hit_elsewhere_stops_reading_ahead() {
    let mut host = Host::new();
    host.read(100_000_000, 8);
    host.idle(20.0);
    host.read(0, 128);
    host.idle(0.3);
    assert_near(host.read(100_000_008, 8), HIT_MS);
    host.idle(20.0);
    assert!(host.read(1072, 128) > HIT_MS);
}

#[test]
fn a_write_that_continues_the_one_under_way_is_answered_and_misses_a_turn() {
    let (mut alone, mut continued) = (Host::new(), Host::new());
    for host in [&mut alone, &mut continued] {
        host.write(2400, 128);
    }
    assert_near(continued.write(2528, 128), 0.456);
    // Anything else waits until what was answered is on the medium.
    let reads_ms = [&mut alone, &mut continued].map(|host| {
        host.read(2400, 8);
        host.now_ns as f64 / 1e6
    });
    assert_near(reads_ms[1] - reads_ms[0], REVOLUTION_MS + 128.0 * SECTOR_MS);
}

#[test]
fn what_a_write_replaces_is_not_found() {
    let mut host = Host::new();
    host.read(0, 128);
    host.idle(20.0);
    host.write(512, 8);
    host.idle(20.0);
    assert!(host.read(500, 8) > HIT_MS);
    assert!(host.read(512, 8) <= HIT_MS);
}

/// Small writes that follow one another with a pause, which each miss their turn, are written together by a drive that
/// gathers them: never faster than the medium, and nothing else is faster.
#[test]
fn writes_are_gathered() {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Arc::new(Drive::new(&profile).unwrap());
    let spindle = SimulatedSpindle::gathering_writes(drive, Scheduler::Fcfs, 1).unwrap();
    let mut gathering = Host { spindle, now_ns: 0 };
    let mut plain = Host::new();
    let mut elapsed_ms = |sectors: u32, gap: u64, pause_ms: f64| {
        [&mut gathering, &mut plain].map(|host| {
            let (began_ns, from) = (host.now_ns, 10_000_000 + host.now_ns % 1_000_000);
            for write in 0..1_000 {
                host.write(from + write * (u64::from(sectors) + gap), sectors);
                host.idle(pause_ms);
            }
            // A read waits until all is on the medium.
            host.read(0, 8);
            (host.now_ns - began_ns) as f64 / 1e6
        })
    };
    let [gathered, missed] = elapsed_ms(8, 0, 0.05);
    assert!(missed > 5.0 * gathered, "{missed} and {gathered} ms");
    // Long ones come faster than the medium takes them.
    let [gathered, _] = elapsed_ms(1_024, 0, 0.0);
    assert!(gathered > 900.0 * 1_024.0 * SECTOR_MS, "{gathered} ms");
    // A gap of a sector makes them strangers.
    let [apart, plain] = elapsed_ms(8, 1, 0.05);
    assert!((apart / plain - 1.0).abs() < 0.01, "{apart} and {plain} ms");
}
