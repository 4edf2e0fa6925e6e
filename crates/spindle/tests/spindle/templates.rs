//! The drives of which only published figures are known do what such drives do.

use std::sync::Arc;

use strewn_base::Rng;
use strewn_spindle::{
    Command, Direction, Drive, Profile, Scheduler, SimulatedSpindle, closed_loop,
};

/// 4 KiB reads a second over the whole drive.
fn reads_per_second(name: &str, outstanding: u32) -> f64 {
    let drive = Arc::new(Drive::new(&Profile::shipped(name).unwrap()).unwrap());
    let sectors = (4096 / drive.sector_bytes()).max(1);
    let blocks = drive.capacity_sectors() / u64::from(sectors);
    let mut random = Rng::new(1);
    let mut spindle = SimulatedSpindle::new(drive, Scheduler::Sptf, 256).unwrap();
    let mut next = || Command {
        lba: random.bits() % blocks * u64::from(sectors),
        sectors,
        direction: Direction::Read,
    };
    closed_loop(&mut spindle, outstanding, 500, 5000, &mut next).unwrap().commands_per_second
}

#[test]
fn random_reads_are_as_fast_as_such_drives_are() {
    for (name, alone, among_16) in [
        ("seagate-cheetah-15k4-st3146854fc", 160.0..200.0, 250.0..420.0),
        ("seagate-cheetah-15k6-st3146356fc", 160.0..200.0, 250.0..420.0),
        ("seagate-cheetah-15k7-st3450857ss", 160.0..200.0, 250.0..420.0),
        ("seagate-cheetah-x15-st318451fc", 130.0..200.0, 200.0..400.0),
        ("nearline-7200-16tb", 60.0..100.0, 110.0..240.0),
        ("seagate-barracuda-es2-st3500320ns", 60.0..90.0, 100.0..200.0),
        ("seagate-cheetah-10k7-st3146707fc", 110.0..145.0, 200.0..340.0),
        ("seagate-savvio-10k3-st9300603ss", 120.0..165.0, 220.0..380.0),
        ("seagate-savvio-10k4-st9600204ss", 120.0..165.0, 220.0..380.0),
        ("seagate-constellation-es3-st4000nm0023", 60.0..100.0, 110.0..240.0),
        ("wd-ultrastar-dc-hc310-hus726t6tale6l4", 70.0..110.0, 120.0..240.0),
        ("toshiba-mg10-mg10aca20te", 60.0..100.0, 110.0..240.0),
    ] {
        let found = (reads_per_second(name, 1), reads_per_second(name, 16));
        println!("{name}: {:.0} reads a second alone, {:.0} of 16", found.0, found.1);
        assert!(alone.contains(&found.0) && among_16.contains(&found.1), "{name}: {found:?}");
    }
}

/// A template set in code does what the table of a file does: the same drive, and another one if it changes.
#[test]
fn a_template_in_code_is_one_in_a_file() {
    for name in Profile::shipped_names() {
        let shipped = Profile::shipped(name).unwrap();
        let mut bare = Profile { seek: Vec::new(), zones: Vec::new(), ..shipped.clone() };
        if shipped.template.is_none() {
            assert!(Drive::new(&bare).is_err(), "{name}: nothing to derive zones from");
            bare.derive().unwrap();
            assert!(bare.zones.is_empty());
            continue;
        }
        assert!(Drive::new(&bare).is_ok(), "{name}");
        bare.derive().unwrap();
        assert_eq!(bare, shipped);
    }
}

#[test]
fn a_profile_that_its_template_does_not_give_is_refused() {
    let shipped = Profile::shipped("nearline-7200-16tb").unwrap();
    type Change = fn(&mut Profile);
    let changes: [(&str, Change); 6] = [
        ("seek", |profile| profile.template.as_mut().unwrap().seek_ms.full_stroke *= 2.0),
        ("seek", |profile| profile.template.as_mut().unwrap().sectors_per_track.1 -= 1),
        ("seek", |profile| profile.template.as_mut().unwrap().zones -= 1),
        ("seek", |profile| profile.seek.clear()),
        ("zone", |profile| profile.zones.clear()),
        ("zone", |profile| profile.rpm = 5_400),
    ];
    for (number, (field, change)) in changes.into_iter().enumerate() {
        let mut changed = shipped.clone();
        change(&mut changed);
        let refused = Drive::new(&changed).unwrap_err().to_string();
        assert!(
            refused.contains(&format!(": {field}: is not what the outline gives")),
            "{refused}"
        );
        changed.derive().unwrap();
        Drive::new(&changed).unwrap();
        // The last three are as they were, but for the speed.
        let differs = changed.seek != shipped.seek || changed.zones != shipped.zones;
        assert_eq!(differs, ![3, 4].contains(&number), "change {number}");
    }
    let mut wrong = shipped.clone();
    wrong.template.as_mut().unwrap().zones = 0;
    assert!(wrong.derive().unwrap_err().to_string().contains("outline.zones"));
    // Without its template, a profile is what its seeks and zones say; the sources of its numbers go with it.
    let mut measured = shipped;
    measured.template = None;
    measured.zones[0].first_angle_rev = 0.25;
    let refused = Drive::new(&measured).unwrap_err().to_string();
    assert!(refused.contains("provenance.seek"), "{refused}");
}

/// A drive with sectors of 4 KiB does the same when it is addressed by sectors of 512 bytes.
#[test]
fn a_drive_is_the_same_by_sectors_of_512_bytes() {
    let profile = Profile::shipped("toshiba-mg10-mg10aca20te").unwrap();
    let spindle = |profile: &Profile| {
        let drive = Arc::new(Drive::new(profile).unwrap());
        SimulatedSpindle::new(drive, Scheduler::Sptf, 16).unwrap()
    };
    let (mut own, mut emulated) = (spindle(&profile), spindle(&profile.with_512_byte_sectors()));
    let mut random = Rng::new(2);
    for command in 0..2_000 {
        let (lba, sectors) =
            (random.bits() % (profile.capacity_sectors - 600), 1 + (random.bits() % 512) as u32);
        let direction = if random.one_in(2) { Direction::Read } else { Direction::Write };
        let mut arrival_ns = 0;
        if command >= 8 {
            let (one, other) = (own.complete().unwrap(), emulated.complete().unwrap());
            let apart_ns = one.at_ns.abs_diff(other.at_ns);
            assert!(one.tag == other.tag && apart_ns < 1_000, "{one:?} and {other:?}");
            arrival_ns = one.at_ns.max(other.at_ns);
        }
        own.submit(arrival_ns, Command { lba, sectors, direction }, command).unwrap();
        let (lba, sectors) = (8 * lba, 8 * sectors);
        emulated.submit(arrival_ns, Command { lba, sectors, direction }, command).unwrap();
    }
}
