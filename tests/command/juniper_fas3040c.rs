//! The test of Juniper and NetApp against its published rows, and by what each row is bound.

use std::sync::OnceLock;

use strewn::results::{ArrayResults, Results, RowStatus};

use crate::common::results_of;

/// The whole test takes seconds; the segments of a quick run are shorter than a consistency point.
fn results() -> &'static Results {
    static RUN: OnceLock<Results> = OnceLock::new();
    RUN.get_or_init(|| results_of("juniper-fas3040c"))
}

fn array(name: &str) -> &'static ArrayResults {
    results().arrays.iter().find(|array| array.name == name).unwrap()
}

fn error_percent(row: &str) -> f64 {
    let rows = &results().published_rows;
    rows.iter().find(|one| one.name == row).unwrap().error_percent.unwrap()
}

#[test]
fn gigabit_reads_follow_from_the_wire_in_both_readings() {
    for reading in ["", "decimal: "] {
        for (row, most) in [
            ("EX4200, iSCSI, GbE, read", 0.5),
            ("EX8208, iSCSI, GbE, read", 0.5),
            ("EX4200, NFS, GbE, read", 0.5),
            ("EX4200, CIFS, GbE, read", 2.0),
            ("EX8208, CIFS, GbE, read", 6.0),
        ] {
            let error = error_percent(&format!("{reading}{row}"));
            assert!(error.abs() < most, "{reading}{row}: {error} %");
        }
    }
}

#[test]
fn two_numbers_predict_10gbe_through_the_ex4200_and_what_fails_is_printed() {
    for row in ["EX4200, CIFS, 10GbE, read", "EX4200, NFS, 10GbE, read"] {
        assert!(error_percent(row).abs() < 3.0, "{row}");
    }
    for row in
        ["EX4200, iSCSI, 10GbE, write", "EX4200, NFS, 10GbE, write", "EX8208, iSCSI, 10GbE, write"]
    {
        assert!(error_percent(row).abs() < 7.0, "{row}");
    }
    assert!(error_percent("EX4200, CIFS, GbE, write") > 50.0);
    let status =
        |row: &str| results().published_rows.iter().find(|one| one.name == row).unwrap().status;
    assert_eq!(status("EX4200, CIFS, GbE, write"), RowStatus::Predicted);
    assert_eq!(status("EX8208, NFS, 10GbE, write"), RowStatus::NotScored);
    let of = |wanted| results().published_rows.iter().filter(|row| row.status == wanted).count();
    assert_eq!(of(RowStatus::Fitted), 3);
}

#[test]
fn fast_writes_wait_for_consistency_points_that_follow_each_other() {
    let points = array("EX4200, CIFS, 10GbE, write")
        .segments
        .iter()
        .filter_map(|one| one.consistency_points);
    let (count, back_to_back) =
        points.fold((0, 0), |(count, back), one| (count + one.count, back + one.back_to_back));
    assert!(10 * back_to_back > 9 * count, "{back_to_back} of {count}");
    let reads = &array("EX4200, CIFS, 10GbE, read").segments;
    assert!(reads.iter().all(|one| one.housekeeping.is_none()));
}

#[test]
fn reads_stop_for_tcps_timers_while_the_routing_engine_fails_over() {
    let segments = &array("EX4200, NFS, 10GbE, read, failover").segments;
    let silent: Vec<u32> =
        segments.iter().filter(|one| one.ops == 0).map(|one| one.index).collect();
    // The ring is back after 2 s; the fourth attempt comes 3 s after the loss.
    assert_eq!(silent, [31, 32, 33]);
    let longest_ms = segments.iter().map(|one| one.response_ms.max).fold(0.0, f64::max);
    assert!((3_000.0..3_200.0).contains(&longest_ms), "{longest_ms}");
}
