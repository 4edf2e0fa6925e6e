//! Spindles that fail in a run: segments before, during and after, and what is said when data are lost.

use crate::common::{Folder, Ran};
use strewn::results::{ArrayResults, REBUILD_NOTE, Results};

const FAILING: &str = include_str!("scenarios/failing.toml");
const ANYWHERE_FAILURE: &str = "[[array.failure]]\nat = \"60 s\"\nspindle = 1\n";
const IN_PLACE_FAILURE: &str = "[[array.failure]]\nat = \"60 s\"\nspindle = 3\n";

/// What `strewn run` does with the scenario, changed.
fn run_changed(changes: &[(&str, &str)], words: &[&str]) -> (Folder, Ran) {
    let mut text = FAILING.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "the scenario has no {from:?}");
        text = text.replacen(from, to, 1);
    }
    let folder = Folder::new();
    folder.write("failing.toml", &text);
    let ran = folder.strewn(&[&["run", "failing.toml"], words].concat());
    (folder, ran)
}

fn failures_at(times_and_spindles: &[(u32, u16)]) -> String {
    let one = |(at, spindle): &(u32, u16)| {
        format!("[[array.failure]]\nat = \"{at} s\"\nspindle = {spindle}\n\n")
    };
    times_and_spindles.iter().map(one).collect()
}

/// Mean IOPS of the segments of those numbers.
fn iops(array: &ArrayResults, segments: std::ops::RangeInclusive<u32>) -> f64 {
    let count = segments.clone().count() as f64;
    segments.map(|index| array.segment(index).unwrap().iops).sum::<f64>() / count
}

#[test]
fn segments_before_during_and_after_a_rebuild() {
    let (folder, ran) = run_changed(&[], &["--json", "--out", "out"]);
    let results = Results::from_json(&ran.succeeded()).unwrap();
    assert!(!results.partial);
    for array in &results.arrays {
        let [failure] = array.failures[..] else { panic!("{:?}", array.failures) };
        assert_eq!((failure.at_seconds, failure.rebuild_began_at_seconds), (60.0, Some(60.0)));
        assert_eq!((failure.rebuilt_percent, &array.data_loss), (100.0, &None));
        let took = failure.rebuild_seconds.unwrap();
        assert!((1.0..150.0).contains(&took), "{}: {failure:?}", array.name);
        assert_eq!(array.segment(1).unwrap().redundancy, None);

        let during = array.segment(3).unwrap().redundancy.unwrap();
        assert!(during.degraded_reads > 0 && during.rebuild_writes > 0, "{during:?}");
        assert!(during.recovery_reads >= 4 * during.degraded_reads - 8, "{during:?}");
        assert!(during.rebuild_reads >= 4 * during.rebuild_writes, "{during:?}");
        let after = array.segment(8).unwrap().redundancy.unwrap();
        assert_eq!((after.lost_spindles, after.rebuilt_percent), (0, 100.0));
        assert_eq!((after.degraded_reads, after.rebuild_reads), (0, 0));
        // Slower as long as it is degraded, and again near what it was with all its spindles there.
        let (before, while_lost, at_last) =
            (iops(array, 2..=2), iops(array, 3..=3), iops(array, 8..=8));
        assert!(while_lost < 0.95 * before, "{}: {before}, {while_lost}", array.name);
        assert!(at_last > while_lost, "{}: {while_lost}, {at_last}", array.name);
    }
    let csv = folder.read("out/segments.csv");
    assert!(csv.lines().next().unwrap().ends_with("rebuild_reads,rebuild_writes"), "{csv}");

    let tables = run_changed(&[], &[]).1.succeeded();
    for part in ["Spindles that failed", "rebuild took", "at least, s"] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
}

/// What bounds a real rebuild is not modelled, and the steps in flight have no source: no table shows its time as if it
/// were one to expect.
#[test]
fn times_of_rebuilds_are_said_to_be_lower_bounds() {
    assert!(REBUILD_NOTE.contains("lower bounds") && REBUILD_NOTE.contains("90 at best"));
    let (folder, ran) = run_changed(&[], &["--out", "out"]);
    let page = folder.read("out/report.html");
    assert!(ran.succeeded().contains(REBUILD_NOTE));
    assert!(page.contains(REBUILD_NOTE) && page.contains("rebuild took at least, s"), "{page}");
    // Without a spare nothing is rebuilt, and nothing is said about it.
    let both = failures_at(&[(60, 1), (90, 5)]);
    let none = [("spares = 1\n", ""), (ANYWHERE_FAILURE, &*both), (IN_PLACE_FAILURE, "")];
    let tables = run_changed(&none, &[]).1.succeeded();
    assert!(
        tables.contains("Spindles that failed") && !tables.contains("lower bounds"),
        "{tables}"
    );
}

#[test]
fn raid_dp_without_spares_stays_degraded_with_two_lost() {
    let both = failures_at(&[(60, 1), (90, 5)]);
    let (_, ran) = run_changed(&[("spares = 1\n", ""), (ANYWHERE_FAILURE, &both)], &["--json"]);
    let results = Results::from_json(&ran.succeeded()).unwrap();
    let array = results.array("anywhere").unwrap();
    assert!(array.failures.iter().all(|failure| failure.rebuild_began_at_seconds.is_none()));
    let last = array.segment(8).unwrap().redundancy.unwrap();
    assert_eq!((last.lost_spindles, last.rebuilt_percent, last.rebuild_writes), (2, 0.0, 0));
    assert!(last.degraded_reads > 0);
}

/// Ends with the exit code of lost data; the segments complete until then are there, and those of the other array.
fn loses_data(changes: &[(&str, &str)], array: &str, segments: usize, spindles: &[u16]) {
    let (folder, ran) = run_changed(changes, &["--json", "--out", "out"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for part in [
        &format!("{array} lost data after"),
        "its run stopped there",
        "stripes cannot be recovered",
    ] {
        assert!(ran.stderr.contains(part), "no {part:?} in\n{}", ran.stderr);
    }
    let results = Results::from_json(&ran.stdout).unwrap();
    assert_eq!(folder.read("out/results.json"), ran.stdout);
    assert!(results.partial);
    for other in &results.arrays {
        let lost = other.name == array;
        assert_eq!(other.segments.len(), if lost { segments } else { 8 }, "{}", other.name);
        assert_eq!(other.data_loss.is_some(), lost, "{}", other.name);
    }
    let loss = results.array(array).unwrap().data_loss.clone().unwrap();
    assert_eq!(loss.spindles, spindles);
    assert!(0 < loss.stripes && loss.stripes <= loss.stripes_in_all, "{loss:?}");
    assert!(loss.lun_bytes > 0, "{loss:?}");
    let tables = run_changed(changes, &[]).1;
    assert_eq!(tables.code, Some(3));
    assert!(tables.stdout.contains(&format!("{array} lost data after")), "{}", tables.stdout);
}

#[test]
fn three_lost_spindles_are_one_too_many_for_raid_dp() {
    let three = failures_at(&[(40, 1), (50, 5), (100, 0)]);
    loses_data(&[("spares = 1\n", ""), (ANYWHERE_FAILURE, &three)], "anywhere", 3, &[1, 5, 0]);
}

#[test]
fn two_lost_spindles_are_one_too_many_for_raid_4() {
    let two = failures_at(&[(60, 1), (61, 4)]);
    let changes = [("\"raid-dp\"", "\"raid-4\""), (ANYWHERE_FAILURE, two.as_str())];
    loses_data(&changes, "anywhere", 2, &[1, 4]);
}

#[test]
fn two_lost_spindles_of_a_redundancy_set_are_one_too_many_for_vraid_5() {
    let two = failures_at(&[(5, 1), (6, 2)]);
    let changes = [("\"single\"", "\"none\""), (IN_PLACE_FAILURE, two.as_str())];
    // Before any segment of it is complete.
    loses_data(&changes, "inplace", 0, &[1, 2]);
}

#[test]
fn what_can_not_fail_is_refused() {
    for (to, says) in [
        (
            failures_at(&[(240, 1)]),
            "array[anywhere].failure[1].at: is 4 min, and the run ends at 4 min",
        ),
        (failures_at(&[(60, 6)]), "array[anywhere].failure[1].spindle: there is no spindle 6"),
        (
            failures_at(&[(60, 1), (70, 1)]),
            "array[anywhere].failure[2].spindle: spindle 1 fails twice",
        ),
    ] {
        run_changed(&[(ANYWHERE_FAILURE, &to)], &["--out", "out"]).1.refused(&[says]);
    }
}

#[test]
fn a_run_at_a_smaller_scale_says_when_its_spindles_fail() {
    let tables = run_changed(&[], &["--quick"]).1.succeeded();
    assert!(tables.contains("failure of spindle 1 of anywhere 1 min -> 7.5 s"), "{tables}");
    // Measured: from a quarter shorter to two fifths longer than the share, and longer with many steps in flight too.
    let said = "anywhere: what a rebuild reads next lies 8 times as far apart as at full scale, so seeks and turns of \
                the disks differ. Not as at full scale: times of rebuilds.";
    assert!(tables.contains(said), "{tables}");
    let many = ("rebuild_steps_in_flight = 2", "rebuild_steps_in_flight = 16");
    let tables = run_changed(&[many, many], &["--quick"]).1.succeeded();
    assert!(tables.contains(said), "{tables}");
}

/// A file with so few segments is refused; a run that is cut short on the command line says what it leaves out.
#[test]
fn regression_a_run_that_ends_before_its_failures_says_so() {
    let (_, ran) = run_changed(&[], &["--segments", "1", "--brief"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in ["warning: --segments 1: ", "failure", "is 1 min", "the run ends at 30 s"] {
        assert!(ran.stderr.contains(part), "no {part:?} in\n{}", ran.stderr);
    }
    let (_, ran) = run_changed(&[], &["--segments", "3", "--brief"]);
    assert!(!ran.stderr.contains("warning: --segments"), "{}", ran.stderr);
}
