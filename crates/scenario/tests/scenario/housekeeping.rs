//! What controllers do besides serving hosts: read, refused, scaled, and set by name.

use strewn_scenario::{
    BackgroundScan, BackgroundWork, NoFiles, ProcessorWork, Scenario, WriteAnywhere,
};

use crate::common::{GOOD, NAME, changed, good, refusal};

const SECOND_NS: u64 = 1_000_000_000;

fn layout(scenario: &Scenario) -> &WriteAnywhere {
    (scenario.arrays[0].layout.write_anywhere().unwrap()) as _
}

/// The good scenario with more keys in its first array.
fn with(keys: &str) -> String {
    changed("tetrises_in_flight = 2", &format!("tetrises_in_flight = 2\n{keys}"))
}

/// The good scenario with more costs of its first array.
fn with_costs(keys: &str) -> String {
    changed("spindle_command = \"0.11 ms\"", &format!("spindle_command = \"0.11 ms\"\n{keys}"))
}

#[test]
fn nothing_of_it_is_done_unless_it_is_given() {
    let scenario = good();
    assert_eq!(scenario.arrays[0].processor.interrupt_ns, 0.0);
    let layout = layout(&scenario);
    assert_eq!(layout.read_through_blocks, 0);
    assert_eq!(layout.background, BackgroundWork::default());
    let names = |scenario: &Scenario| -> Vec<String> {
        scenario.settings().into_iter().map(|(name, _)| name).collect()
    };
    let added = ["read_through", "reclaim", "background", "interrupt", "_block", "parity_per"];
    let is_added = |name: &String| added.iter().any(|key| name.contains(key));
    assert!(!names(&scenario).iter().any(|name| is_added(name) && !name.contains("chunk")));
}

#[test]
fn times_are_scaled_and_rates_are_not() {
    let text = with(
        "read_through_blocks = 16\nreclaim_interval = \"5 min\"\n\
         background_scan = { blocks_per_second = 40, begins = \"80 s\", ends = \"20 min\" }",
    );
    let scenario = Scenario::parse(&text, NAME).unwrap();
    let (smaller, what) = scenario.scaled_down(8);
    let layout = layout(&smaller);
    assert_eq!(layout.read_through_blocks, 16);
    assert_eq!(layout.background.reclaim_interval_ns, 300 * SECOND_NS / 8);
    let scan = BackgroundScan {
        blocks_per_second: 40,
        begins_ns: 10 * SECOND_NS,
        ends_ns: 150 * SECOND_NS,
        ..BackgroundScan::default()
    };
    assert_eq!(layout.background.scan, Some(scan));
    let line = "interval of reclamation of anywhere 5 min -> 37.5 s";
    assert!(what.iter().any(|one| one == line), "{what:?}");
}

#[test]
fn what_cannot_be_is_refused_with_its_place_and_a_remedy() {
    let key = "array[anywhere].";
    for (text, expected) in [
        (
            with("read_through_blocks = 127"),
            "write_anywhere.read_through_blocks: holes of 127 blocks do not fit one command; give at most 126, or 0 to \
             read through none",
        ),
        (
            with("reclaim_interval = \"0 s\""),
            "write_anywhere.reclaim_interval: is zero; give a time longer than that",
        ),
        (
            with("background_scan = { begins = \"1 s\" }"),
            "write_anywhere.background_scan.blocks_per_second: is missing; add a line such as blocks_per_second = 100",
        ),
        (
            with("background_scan = { blocks_per_second = 9, begins = \"2 s\", ends = \"2 s\" }"),
            "write_anywhere.background_scan.ends: the scan begins at 2 s and ends no later; give a later time, or leave \
             the key out for a scan that never ends",
        ),
        (
            with_costs("interrupt = \"0.2 ms\""),
            "processor.interrupt: is more than a whole command costs; give at most spindle_command, of which it is a part",
        ),
        (
            with_costs("interrupt = \"20 us\"\ncores = 2"),
            "processor.interrupt: completions are taken together on one core only; leave the key out, or give cores = 1",
        ),
    ] {
        let refused = refusal(&text);
        assert_eq!(refused.split_once(key).unwrap().1, expected);
    }
    let in_place = changed(
        "host_operation = \"20 us\"",
        "host_operation = \"20 us\"
freed_block = \"1 us\"",
    );
    let refused = refusal(&in_place);
    assert!(
        refused.contains("an array that updates in place has no consistency points"),
        "{refused}"
    );
}

#[test]
fn they_are_set_by_name() {
    let settings = [
        ("anywhere.freed_block", "1 us"),
        ("anywhere.read_through_blocks", "16"),
        ("anywhere.background_scan.blocks_per_second", "100"),
        ("anywhere.background_scan.reads_in_flight", "3"),
        ("anywhere.reclaim_interval", "300 s"),
        ("inplace.parity_per_kib", "0.5 us"),
    ]
    .map(|(path, value)| (path.to_owned(), value.to_owned()));
    let set = Scenario::parse_with(GOOD, NAME, &settings, &NoFiles).unwrap().0;
    assert_eq!(set.arrays[0].processor.freed_block_ns, 1_000.0);
    assert_eq!(set.arrays[1].processor.parity_per_kib_ns, 500.0);
    assert_eq!(layout(&set).read_through_blocks, 16);
    let scan = layout(&set).background.scan.unwrap();
    assert_eq!((scan.ends_ns, scan.reads_in_flight), (u64::MAX, 3));
}

#[test]
fn kinds_of_work_are_words_of_serial_domains() {
    let text = with_costs("cores = 2\nserial_domains = [[\"commands\"], [\"parity\", \"frees\"]]");
    let processor = Scenario::parse(&text, NAME).unwrap().arrays.remove(0).processor;
    use ProcessorWork::{Commands, Frees, Parity};
    assert_eq!(processor.serial_domains, [vec![Commands], vec![Parity, Frees]]);
}
