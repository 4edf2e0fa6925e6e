//! Drives measured as black boxes, and what their profiles then predict.

use std::io;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use strewn_base::Rng;
use strewn_spindle::fit::{Fit, FitError, MeasuredDrive, SimulatedDrive, fit};
use strewn_spindle::{
    Command, Direction, Drive, Profile, Scheduler, SimulatedSpindle, closed_loop,
};

/// Most that predicted throughput may be off, in per cent.
const TOLERANCE_PERCENT: f64 = 3.0;

/// A drive in a few numbers.
#[derive(Debug)]
struct Synthetic {
    name: &'static str,
    rpm: u32,
    heads: u32,
    band_cylinders: u32,
    overhead_ms: f64,
    head_switch_ms: f64,
    /// Milliseconds: constant, per root of a cylinder, and per cylinder.
    seek_ms: [f64; 3],
    track_skew_rev: f64,
    turn_skew_rev: f64,
    /// Cylinders and sectors per track.
    zones: Vec<(u32, u32)>,
}

fn nearline() -> Synthetic {
    Synthetic {
        name: "synthetic-7200",
        rpm: 7200,
        heads: 8,
        band_cylinders: 120,
        overhead_ms: 0.18,
        head_switch_ms: 0.9,
        seek_ms: [0.7, 0.021, 0.000_038],
        track_skew_rev: 0.13,
        turn_skew_rev: 0.19,
        zones: vec![(40_000, 1411), (45_000, 1120), (30_000, 803)],
    }
}

fn enterprise() -> Synthetic {
    Synthetic {
        name: "synthetic-10000",
        rpm: 10_000,
        heads: 4,
        band_cylinders: 65,
        overhead_ms: 0.05,
        head_switch_ms: 0.45,
        seek_ms: [0.4, 0.008, 0.000_055],
        track_skew_rev: 0.09,
        turn_skew_rev: 0.16,
        zones: vec![
            (9000, 964),
            (8000, 920),
            (12_000, 867),
            (7000, 790),
            (11_000, 702),
            (9000, 611),
        ],
    }
}

/// Made up after the method was done, and not looked at while it was made, as [`stack`].
fn laptop() -> Synthetic {
    Synthetic {
        name: "synthetic-5400",
        rpm: 5400,
        heads: 2,
        band_cylinders: 33,
        overhead_ms: 0.35,
        head_switch_ms: 1.8,
        seek_ms: [1.4, 0.035, 0.000_02],
        track_skew_rev: 0.31,
        turn_skew_rev: 0.42,
        zones: vec![(60_000, 1823), (52_000, 1607), (47_000, 1324), (30_000, 977)],
    }
}

fn stack() -> Synthetic {
    Synthetic {
        name: "synthetic-15000",
        rpm: 15_000,
        heads: 12,
        band_cylinders: 17,
        overhead_ms: 0.02,
        head_switch_ms: 0.3,
        seek_ms: [0.25, 0.011, 0.000_04],
        track_skew_rev: 0.11,
        turn_skew_rev: 0.27,
        zones: vec![
            (3000, 611),
            (3100, 596),
            (2500, 571),
            (2800, 540),
            (3300, 507),
            (2900, 462),
            (3000, 421),
            (2700, 388),
            (2600, 343),
        ],
    }
}

impl Synthetic {
    fn profile(&self) -> Profile {
        let Self { name, rpm, heads, band_cylinders, overhead_ms, head_switch_ms, .. } = self;
        let [constant, root, linear] = self.seek_ms;
        let cylinders: u32 = self.zones.iter().map(|zone| zone.0).sum();
        let mut seek = String::new();
        let mut distance = 1;
        while distance < cylinders {
            let cylinders = f64::from(distance);
            let ms = constant + root * cylinders.sqrt() + linear * cylinders;
            seek += &format!("[{distance}, {ms}], ");
            distance += 1 + distance / 20;
        }
        let (mut first_cylinder, mut first_lba, mut zones) = (0, 0, String::new());
        for (number, (cylinders, sectors)) in self.zones.iter().enumerate() {
            let skews = |skew: f64| vec![skew.to_string(); 2 * *heads as usize].join(", ");
            zones += &format!(
                "[[zone]]\nfirst_cylinder = {first_cylinder}\nlast_cylinder = {}\n\
                 first_lba = {first_lba}\nsectors_per_track = {sectors}\n\
                 first_angle_rev = 0.{number}7\ntrack_skew_rev = [{}]\nturn_skew_rev = [{}]\n",
                first_cylinder + cylinders - 1,
                skews(self.track_skew_rev),
                skews(self.turn_skew_rev),
            );
            first_cylinder += cylinders;
            first_lba += u64::from(cylinders * heads) * u64::from(*sectors);
        }
        let provenance = [
            "rpm",
            "heads",
            "sector_bytes",
            "capacity_sectors",
            "band_cylinders",
            "head_switch_ms",
            "write_settle_ms",
            "zero_latency",
            "overhead_ms",
            "seek",
            "zone",
        ]
        .map(|number| format!("{number} = {{ inferred = \"made up\" }}\n"))
        .concat();
        let text = format!(
            "name = \"{name}\"\ncredit = \"made up\"\nrpm = {rpm}\nheads = {heads}\n\
             sector_bytes = 512\ncapacity_sectors = {first_lba}\n\
             band_cylinders = {band_cylinders}\nhead_switch_ms = {head_switch_ms}\n\
             write_settle_ms = 0.1\nseek = [{seek}]\n[overhead_ms]\n\
             read_after_read = {overhead_ms}\nread_after_write = {overhead_ms}\n\
             write_after_read = {overhead_ms}\nwrite_after_write = {overhead_ms}\n\
             [provenance]\n{provenance}{zones}",
        );
        Profile::from_toml(&text, name).unwrap()
    }
}

/// A drive seen through a host that is late by a few microseconds, at each issue and each answer,
/// and by milliseconds now and then.
struct Jittery {
    drive: SimulatedDrive,
    random: Rng,
    lateness: Lateness,
}

#[derive(Clone, Copy, Debug)]
struct Lateness {
    most_ns: u64,
    /// One time in so many it is up to 3 ms; never if 0.
    stalls_once_in: u64,
}

const NEVER: Lateness = Lateness { most_ns: 0, stalls_once_in: 0 };
const BY_MICROSECONDS: Lateness = Lateness { most_ns: 5000, stalls_once_in: 0 };
const WITH_STALLS: Lateness = Lateness { most_ns: 5000, stalls_once_in: 300 };

impl Jittery {
    fn late_ns(&mut self) -> u64 {
        let Lateness { most_ns, stalls_once_in } = self.lateness;
        let stalls = stalls_once_in > 0 && self.random.bits().is_multiple_of(stalls_once_in);
        self.random.bits() % if stalls { 3_000_000 } else { most_ns + 1 }
    }
}

impl MeasuredDrive for Jittery {
    fn capacity_sectors(&self) -> u64 {
        self.drive.capacity_sectors()
    }

    fn sector_bytes(&self) -> u32 {
        self.drive.sector_bytes()
    }

    fn read(&mut self, lba: u64, sectors: u32) -> io::Result<(u64, u64)> {
        let late_ns = self.late_ns();
        self.drive.wait(late_ns);
        let (start_ns, end_ns) = self.drive.read(lba, sectors)?;
        let late_ns = self.late_ns();
        // The host cannot issue the next before it has this answer.
        self.drive.wait(late_ns);
        Ok((start_ns, end_ns + late_ns))
    }
}

fn measured(profile: &Profile, lateness: Lateness) -> Fit {
    let mut drive = Jittery {
        drive: SimulatedDrive::new(Arc::new(Drive::new(profile).unwrap())).unwrap(),
        random: Rng::new(7),
        lateness,
    };
    fit(&mut drive, "found", "a simulated drive", &mut |_| ()).unwrap()
}

/// Random 4 KiB reads a second over the whole drive.
fn random_reads_per_second(profile: &Profile, depth: u32) -> f64 {
    let drive = Arc::new(Drive::new(profile).unwrap());
    let blocks = drive.capacity_sectors() / 8;
    let mut spindle = SimulatedSpindle::new(drive, Scheduler::Sptf, depth).unwrap();
    let mut random = Rng::new(3);
    let mut next =
        || Command { lba: random.bits() % blocks * 8, sectors: 8, direction: Direction::Read };
    closed_loop(&mut spindle, depth, 1000, 40_000, &mut next).unwrap().commands_per_second
}

/// Prints how the profile found predicts the drive, and holds it to the tolerance.
fn predicts(profile: &Profile, lateness: Lateness) {
    let found = measured(profile, lateness);
    println!(
        "{}, {lateness:?}: {} reads, {} s of drive time, {} zones",
        profile.name,
        found.reads,
        found.drive_ns / 1_000_000_000,
        found.profile.zones.len()
    );
    assert_eq!(Profile::from_toml(&found.toml, "found").unwrap(), found.profile);
    for depth in [1, 8, 32] {
        let true_iops = random_reads_per_second(profile, depth);
        let predicted_iops = random_reads_per_second(&found.profile, depth);
        let error_percent = 100.0 * (predicted_iops / true_iops - 1.0);
        println!("  depth {depth:2}: {true_iops:.2} IOPS, predicted {error_percent:+.2} %");
        assert!(error_percent.abs() <= TOLERANCE_PERCENT, "{error_percent} % at depth {depth}");
    }
}

#[test]
fn a_nearline_drive_is_predicted_from_its_times() {
    predicts(&nearline().profile(), NEVER);
    predicts(&nearline().profile(), BY_MICROSECONDS);
}

#[test]
fn an_enterprise_drive_is_predicted_from_its_times() {
    predicts(&enterprise().profile(), NEVER);
    predicts(&enterprise().profile(), BY_MICROSECONDS);
}

#[test]
fn drives_that_the_method_was_not_made_on_are_predicted() {
    for synthetic in [laptop(), stack()] {
        predicts(&synthetic.profile(), NEVER);
        predicts(&synthetic.profile(), BY_MICROSECONDS);
    }
}

#[test]
fn a_host_that_stalls_now_and_then_does_not_spoil_it() {
    predicts(&nearline().profile(), WITH_STALLS);
    predicts(&enterprise().profile(), WITH_STALLS);
}

#[test]
fn a_name_of_any_letters_makes_a_file() {
    let drive = Arc::new(Drive::new(&enterprise().profile()).unwrap());
    let (name, device) = ("odd \"name\" \\", "a\ndevice\t'\"\"\"\u{7f}");
    let found = fit(&mut SimulatedDrive::new(drive).unwrap(), name, device, &mut |_| ()).unwrap();
    assert_eq!(found.profile.name, name);
    assert!(found.profile.credit.contains(device));
}

#[test]
fn shipped_drives_are_predicted_from_their_times() {
    for name in Profile::shipped_names() {
        predicts(&Profile::shipped(name).unwrap(), BY_MICROSECONDS);
    }
}

/// The fit used to read beyond the end of such a drive.
#[test]
fn a_drive_that_ends_within_its_last_track_is_predicted() {
    let synthetic = Synthetic { heads: 1, zones: vec![(400, 1500)], ..enterprise() };
    let mut profile = synthetic.profile();
    profile.capacity_sectors -= 1450;
    predicts(&profile, NEVER);
}

#[test]
fn geometry_is_found_as_it_is() {
    for synthetic in [nearline(), enterprise()] {
        let true_profile = synthetic.profile();
        let found = measured(&true_profile, BY_MICROSECONDS).profile;
        assert_eq!(found.rpm, true_profile.rpm);
        let sectors = |profile: &Profile| -> Vec<u32> {
            profile.zones.iter().map(|zone| zone.sectors_per_track).collect()
        };
        assert_eq!(sectors(&found), sectors(&true_profile));
        for (zone, true_zone) in found.zones.iter().zip(&true_profile.zones) {
            let off = zone.first_lba.abs_diff(true_zone.first_lba) as f64;
            assert!(off <= true_profile.capacity_sectors as f64 / 4000.0, "{off} sectors");
            assert!((zone.track_skew_rev[0] - true_zone.track_skew_rev[0]).abs() < 0.002);
        }
        let overhead_ms = true_profile.overhead_ms.read_after_read;
        assert!((found.overhead_ms.read_after_read - overhead_ms).abs() < 0.01);
    }
}

/// A device whose reads take what `response_ns` says.
struct Still<F>(F, u64);

impl<F: FnMut() -> u64> MeasuredDrive for Still<F> {
    fn capacity_sectors(&self) -> u64 {
        1 << 28
    }

    fn sector_bytes(&self) -> u32 {
        512
    }

    fn read(&mut self, _: u64, _: u32) -> io::Result<(u64, u64)> {
        let start_ns = self.1;
        self.1 += (self.0)();
        Ok((start_ns, self.1))
    }
}

fn refusal(response_ns: impl FnMut() -> u64) -> FitError {
    let error = fit(&mut Still(response_ns, 0), "none", "none", &mut |_| ()).unwrap_err();
    println!("{error}");
    error
}

#[test]
fn a_device_that_does_not_rotate_is_told_by_its_times() {
    let FitError::DoesNotRotate(constant) = refusal(|| 80_000) else { panic!("it rotates") };
    assert_eq!((constant.repeat_ms, constant.spread_ms), (0.08, 0.0));
    let FitError::DoesNotRotate(slow) = refusal(|| 8_333_333) else { panic!("it rotates") };
    assert_eq!(slow.spread_ms, 0.0);
    // As slow and as scattered as a disk, but without a rhythm.
    let mut random = Rng::new(1);
    let scattered = refusal(|| 1_000_000 + random.bits() % 9_000_000);
    let FitError::DoesNotRotate(scattered) = scattered else { panic!("it rotates") };
    assert!(scattered.coherence < 0.3, "{scattered:?}");
}

#[test]
fn a_cache_that_answers_is_not_mistaken_for_the_platter() {
    struct Cached(SimulatedSpindle<()>, u64);
    impl MeasuredDrive for Cached {
        fn capacity_sectors(&self) -> u64 {
            self.0.drive().capacity_sectors()
        }
        fn sector_bytes(&self) -> u32 {
            512
        }
        fn read(&mut self, lba: u64, sectors: u32) -> io::Result<(u64, u64)> {
            let start_ns = self.1;
            let command = Command { lba, sectors, direction: Direction::Read };
            self.0.submit(start_ns, command, ()).map_err(io::Error::other)?;
            self.1 = self.0.complete().unwrap().at_ns;
            Ok((start_ns, self.1))
        }
    }
    let cheetah = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Arc::new(Drive::new(&cheetah).unwrap());
    let cached = SimulatedSpindle::with_cache(drive, Scheduler::Fcfs, 1).unwrap();
    let error = fit(&mut Cached(cached, 0), "none", "none", &mut |_| ()).unwrap_err();
    println!("{error}");
    assert!(matches!(error, FitError::CacheAnswers(_)));
}

#[test]
fn a_failed_read_names_its_sector() {
    struct Broken;
    impl MeasuredDrive for Broken {
        fn capacity_sectors(&self) -> u64 {
            700_000
        }
        fn sector_bytes(&self) -> u32 {
            512
        }
        fn read(&mut self, _: u64, _: u32) -> io::Result<(u64, u64)> {
            Err(io::Error::from(io::ErrorKind::UnexpectedEof))
        }
    }
    let error = fit(&mut Broken, "none", "none", &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read sector 100000");
}

/// Drives that are no drive's likeness but have tracks in a row.
fn any_drive() -> impl Strategy<Value = Synthetic> {
    let mechanics = (3600..=15_000_u32, 0.0..0.6, 0.1..2.0);
    let layout = (1..=16_u32, 8..=300_u32, 0.05..0.45, 0.05..0.45);
    let seek = (0.2..2.0, 0.002..0.03, 0.0..0.000_05);
    let zones = prop::collection::vec((2000..30_000_u32, 300..2500_u32), 1..10);
    (mechanics, layout, seek, zones).prop_map(|(mechanics, layout, seek, mut zones)| {
        // The outermost has the most sectors, and each has its own number.
        zones.sort_unstable_by_key(|zone| std::cmp::Reverse(zone.1));
        zones.dedup_by_key(|zone| zone.1 / 25);
        Synthetic {
            name: "any",
            rpm: mechanics.0,
            overhead_ms: mechanics.1,
            head_switch_ms: mechanics.2,
            heads: layout.0,
            band_cylinders: layout.1,
            track_skew_rev: layout.2,
            turn_skew_rev: layout.3,
            seek_ms: [seek.0, seek.1, seek.2],
            zones,
        }
    })
}

proptest! {
    // The same drives each time: their predictions are held to a tolerance.
    #![proptest_config(ProptestConfig {
        cases: strewn_testing::cases(15, 60),
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn drives_at_random_are_predicted_from_their_times(synthetic in any_drive()) {
        let profile = synthetic.profile();
        let found = measured(&profile, BY_MICROSECONDS).profile;
        for depth in [1, 8] {
            let true_iops = random_reads_per_second(&profile, depth);
            let error_percent = 100.0 * (random_reads_per_second(&found, depth) / true_iops - 1.0);
            println!("depth {depth}: {true_iops:.2} IOPS, predicted {error_percent:+.2} %");
            prop_assert!(error_percent.abs() <= TOLERANCE_PERCENT, "{error_percent} % at {depth}");
        }
    }
}

#[cfg(unix)]
mod files {
    use std::fs;

    use strewn_spindle::fit::{FitError, MeasuredDrive, UnixFile, fit};

    #[test]
    fn a_file_is_read_and_found_not_to_rotate() {
        let path = std::env::temp_dir().join(format!("strewn-fit-{}", std::process::id()));
        // Sparse: 1 GiB that takes no room.
        fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let mut file = UnixFile::open(&path).unwrap();
        assert_eq!((file.sector_bytes(), file.capacity_sectors()), (4096, 1 << 18));
        let error = fit(&mut file, "none", "a file", &mut |_| ());
        let length = fs::metadata(&path).unwrap().len();
        fs::remove_file(&path).unwrap();
        assert!(matches!(error, Err(FitError::DoesNotRotate(_))), "{error:?}");
        assert_eq!(length, 1 << 30);
    }

    #[test]
    fn what_is_no_drive_is_refused() {
        for path in ["/", "/dev/null"] {
            assert!(matches!(UnixFile::open(path.as_ref()), Err(FitError::Kind { .. })));
        }
        let missing = UnixFile::open("no/such/device".as_ref());
        assert!(matches!(missing, Err(FitError::Open { .. })));
    }
}
