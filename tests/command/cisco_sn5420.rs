//! The SN 5420's test against what its source says: iSCSI through the router is slower, and minimally so.

use strewn::results::{Results, RowStatus};

use crate::common::{Folder, PROJECT};

fn run(settings: &[&str]) -> Results {
    let scenario = format!("{PROJECT}/scenarios/cisco-sn5420.toml");
    let mut words = vec!["run", &scenario, "--json"];
    words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    Results::from_json(&Folder::new().strewn(&words).succeeded()).unwrap()
}

/// Mean milliseconds of each array, by phase.
fn latencies_ms(results: &Results) -> [[f64; 3]; 3] {
    [0, 1, 2]
        .map(|phase| [0, 1, 2].map(|array| results.arrays[array].segments[phase].response_ms.mean))
}

#[test]
fn iscsi_through_the_router_is_slower_at_every_size_and_minimally_so() {
    let results = run(&[]);
    for (phase, [direct_ms, routed_ms, passed_on_ms]) in latencies_ms(&results).iter().enumerate() {
        assert!(direct_ms < passed_on_ms);
        // 1 KB is one frame, which either router stores; of more, one that passes frames on stores less.
        let saved_ms = routed_ms - passed_on_ms;
        assert_eq!(saved_ms > 0.05, phase > 0, "{routed_ms} {passed_on_ms}");
        assert!(*routed_ms < 1.1 * direct_ms, "{routed_ms} {direct_ms}");
    }
    // At least as many reads as the source made of each size.
    for segment in results.arrays.iter().flat_map(|array| &array.segments) {
        assert!(segment.ops > 100_000, "{}", segment.ops);
    }
    let of = |status| results.published_rows.iter().filter(|row| row.status == status).count();
    assert_eq!((of(RowStatus::Fitted), of(RowStatus::Predicted)), (0, 6));
    assert!(results.published_rows.iter().all(|row| row.error_percent.unwrap_or(0.0) == 0.0));
}

#[test]
fn what_the_router_costs_is_what_its_constants_say() {
    let slower = run(&["iSCSI, SN 5420.router.command=300 us"]);
    for (before, after) in latencies_ms(&run(&[])).into_iter().zip(latencies_ms(&slower)) {
        // 200 us more for each command, and not all of the same reads.
        assert!((after[1] - before[1] - 0.2).abs() < 0.02, "{before:?} {after:?}");
        assert_eq!(before[0], after[0]);
    }
}

#[test]
fn with_two_reads_outstanding_the_drive_hides_the_router() {
    let two = ["workload.1.outstanding=2", "workload.2.outstanding=2", "workload.3.outstanding=2"];
    for [direct_ms, routed_ms, _] in latencies_ms(&run(&two)) {
        assert!((routed_ms / direct_ms - 1.0).abs() < 0.005, "{routed_ms} {direct_ms}");
    }
}

#[test]
fn words_that_a_front_end_does_not_know_are_refused() {
    let scenario = format!("{PROJECT}/scenarios/cisco-sn5420.toml");
    for (setting, says) in [
        ("iSCSI, SN 5420.router.storage=cell", ["`cell` is not known", "`pdu`, `frame`"]),
        ("iSCSI, SN 5420.host_receives=late", ["`late` is not known", "`as-it-arrives`"]),
        ("iSCSI, SN 5420.host_interrupt_delay=2 s", ["host_interrupt_delay", "is 2 s"]),
    ] {
        Folder::new().strewn(&["run", &scenario, "--set", setting]).refused(&says);
    }
}
