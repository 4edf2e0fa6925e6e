//! What a drive makes of profiles and commands that nobody should have written: errors, no panic.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use strewn_spindle::{
    Command, CommandError, Direction, Drive, Profile, Scheduler, SimulatedSpindle,
};

/// Small enough to be made thousands of times.
const OUTLINE: &str = r#"
name = "small"
credit = "none"
rpm = 7200
heads = 2
sector_bytes = 520
capacity_sectors = 400000
band_cylinders = 16
head_switch_ms = 0.3
write_settle_ms = 0.4
overhead_ms = { read_after_read = 0.1, read_after_write = 0.1, write_after_read = 0.1, write_after_write = 0.1 }
[outline]
zones = 2
sectors_per_track = [200, 100]
seek_ms = { track_to_track = 0.4, average = 4.0, full_stroke = 9.0 }
[provenance]
rpm = { inferred = "made up" }
heads = { inferred = "made up" }
sector_bytes = { inferred = "made up" }
capacity_sectors = { inferred = "made up" }
band_cylinders = { inferred = "made up" }
head_switch_ms = { inferred = "made up" }
write_settle_ms = { inferred = "made up" }
zero_latency = { inferred = "made up" }
overhead_ms = { inferred = "made up" }
zones = { inferred = "made up" }
sectors_per_track = { inferred = "made up" }
seek_ms = { inferred = "made up" }
"#;

const PROFILE: &str = r#"
name = "tiny"
credit = "none"
rpm = 7200
heads = 1
sector_bytes = 512
capacity_sectors = 1950
band_cylinders = 5
head_switch_ms = 0.3
write_settle_ms = 0.4
seek = [[1, 0.5], [9, 2.5]]
overhead_ms = { read_after_read = 0.1, read_after_write = 0.1, write_after_read = 0.1, write_after_write = 0.1 }
[provenance]
rpm = { inferred = "made up" }
heads = { inferred = "made up" }
sector_bytes = { inferred = "made up" }
capacity_sectors = { inferred = "made up" }
band_cylinders = { inferred = "made up" }
head_switch_ms = { inferred = "made up" }
write_settle_ms = { inferred = "made up" }
zero_latency = { inferred = "made up" }
overhead_ms = { inferred = "made up" }
seek = { inferred = "made up" }
zone = { inferred = "made up" }
[[zone]]
first_cylinder = 0
last_cylinder = 9
first_lba = 0
sectors_per_track = 100
first_angle_rev = 0.0
track_skew_rev = [0.1, 0.1]
turn_skew_rev = [0.2, 0.2]
angle_steps = [[3, -0.25]]
slips = [[2, 1, 5]]
[[zone]]
first_cylinder = 10
last_cylinder = 19
first_lba = 990
sectors_per_track = 98
first_angle_rev = 0.5
track_skew_rev = [0.1, 0.1]
turn_skew_rev = [0.2, 0.2]
"#;

static SMALL: LazyLock<Arc<Drive>> =
    LazyLock::new(|| Arc::new(Drive::new(&Profile::from_toml(OUTLINE, "small").unwrap()).unwrap()));

/// Numbers that are often at the edge of something.
fn odd_numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0..4_i64).prop_map(|number| number.to_string()),
        (0..64_u32).prop_map(|bits| (1_u64 << bits >> 1).to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        prop::sample::select(vec!["nan", "inf", "-inf", "-1", "\"x\"", "[]", "0.0", "4294967295"])
            .prop_map(str::to_owned),
    ]
}

/// The text with some of its numbers replaced.
fn with_numbers(text: &str, changes: &[(usize, String)]) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for character in text.chars() {
        let in_number =
            |piece: &String| piece.chars().all(|one| one.is_ascii_digit() || one == '.');
        let digit = character.is_ascii_digit() || character == '.';
        match pieces.last_mut() {
            Some(piece) if in_number(piece) == digit => piece.push(character),
            _ => pieces.push(character.to_string()),
        }
    }
    let numbers: Vec<usize> = (0..pieces.len())
        .filter(|&index| pieces[index].starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    for (which, number) in changes {
        pieces[numbers[which % numbers.len()]].clone_from(number);
    }
    pieces.concat()
}

/// A drive of a profile that loads answers for its first and its last sector.
fn try_profile(text: &str) {
    let Ok(profile) = Profile::from_toml(text, "text") else { return };
    let drive = Arc::new(Drive::new(&profile).unwrap());
    let last = drive.capacity_sectors() - 1;
    let mut spindle = SimulatedSpindle::new(Arc::clone(&drive), Scheduler::Sptf, 4).unwrap();
    for lba in [0, last, last / 2, last] {
        let command = Command { lba, sectors: 1, direction: Direction::Write };
        spindle.submit(0, command, ()).unwrap();
    }
    while spindle.complete().is_some() {}
}

proptest! {
    #[test]
    fn profiles_with_odd_numbers_load_or_say_why_not(
        outline in any::<bool>(),
        changes in prop::collection::vec((any::<usize>(), odd_numbers()), 1..4),
    ) {
        try_profile(&with_numbers(if outline { OUTLINE } else { PROFILE }, &changes));
    }

    #[test]
    fn profiles_cut_and_pasted_load_or_say_why_not(
        from in 0..PROFILE.len(), length in 0..80_usize, to in 0..PROFILE.len(),
    ) {
        let end = (from + length).min(PROFILE.len());
        let text = format!("{}{}{}", &PROFILE[..to], &PROFILE[from..end], &PROFILE[to..]);
        try_profile(&text);
        try_profile(&format!("{}{}", &PROFILE[..from], &PROFILE[end..]));
    }

    #[test]
    fn any_stream_of_commands_is_served_or_refused(
        cached in any::<bool>(),
        credit_us_per_ms in any::<u32>(),
        commands in prop::collection::vec(
            (any::<u64>(), any::<u64>(), any::<u32>(), any::<bool>(), 0..64_u32, any::<bool>()),
            0..60,
        ),
    ) {
        let profile = Profile::shipped("seagate-cheetah-15k4-st3146854fc").unwrap();
        let drive = if cached { Arc::new(Drive::new(&profile).unwrap()) } else { Arc::clone(&SMALL) };
        let new = if cached { SimulatedSpindle::with_cache } else { SimulatedSpindle::new };
        let mut spindle =
            new(Arc::clone(&drive), Scheduler::AgedSptf { credit_us_per_ms }, 8).unwrap();
        let mut accepted = 0;
        for (at_ns, lba, sectors, write, shift, near) in commands {
            let direction = if write { Direction::Write } else { Direction::Read };
            let lba = if near { lba % drive.capacity_sectors() } else { lba };
            let command = Command { lba, sectors: sectors >> shift.min(31), direction };
            if spindle.submit(at_ns >> shift, command, ()).is_ok() {
                accepted += 1;
            }
        }
        let completed = std::iter::from_fn(|| spindle.complete()).count();
        prop_assert_eq!(completed, accepted);
    }

    #[test]
    fn bytes_become_whole_sectors_or_an_error(offset in any::<u64>(), bytes in any::<u64>()) {
        for (offset, bytes) in [(offset, bytes), (offset % 1_000_000 * 520, bytes % 2000 * 520)] {
            if let Ok(command) = SMALL.command(offset, bytes, Direction::Read) {
                prop_assert_eq!(command.lba * 520, offset);
                prop_assert_eq!(u64::from(command.sectors) * 520, bytes);
                prop_assert!(command.lba + u64::from(command.sectors) <= SMALL.capacity_sectors());
            }
        }
    }
}

#[test]
fn bytes_between_sectors_are_refused() {
    for (offset_bytes, bytes) in [(512, 520), (520, 512), (1, 520)] {
        let sector_bytes = 520;
        assert_eq!(
            SMALL.command(offset_bytes, bytes, Direction::Read),
            Err(CommandError::Misaligned { offset_bytes, bytes, sector_bytes })
        );
    }
    assert_eq!(SMALL.command(1040, 0, Direction::Read), Err(CommandError::Empty { lba: 2 }));
    assert!(SMALL.command(0, u64::MAX / 520 * 520, Direction::Read).is_err());
    assert!(SMALL.command(1040, 1040, Direction::Write).is_ok());
}

#[test]
fn a_command_after_the_end_of_time_is_refused() {
    let mut spindle = SimulatedSpindle::new(Arc::clone(&SMALL), Scheduler::Sptf, 4).unwrap();
    let command = Command { lba: 0, sectors: 1, direction: Direction::Read };
    for arrival_ns in [u64::MAX, (1 << 63) + 1] {
        let error = CommandError::ArrivalTooLate { arrival_ns };
        assert_eq!(spindle.submit(arrival_ns, command, ()), Err(error));
    }
    spindle.submit(1 << 63, command, ()).unwrap();
    assert!(spindle.complete().is_some());
}
