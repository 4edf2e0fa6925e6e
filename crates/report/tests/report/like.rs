use crate::fixture;
use strewn_report::{Report, all_tables, headline};
use strewn_results::{
    ArrayResults, HostFigures, OperationFigures, Results, Segment, Workload, WorkloadFigures,
    WorkloadKind, like_pairs, losses,
};

/// What a host did in a segment: how many of ten operations were reads, and how many were outstanding.
fn host(segment: &Segment, reads: u64, mean_outstanding: f64) -> HostFigures {
    let figures =
        |ops: u64| OperationFigures { ops, mib: ops as f64 / 256.0, ..OperationFigures::default() };
    HostFigures {
        mean_outstanding,
        reads: figures(segment.ops * reads / 10),
        writes: figures(segment.ops - segment.ops * reads / 10),
        ..HostFigures::default()
    }
}

/// Returns the fixture's results, with a workload from a file and commands told apart.
fn of_a_file() -> Results {
    let mut results = fixture::results();
    results.published.clear();
    results.ratios.clear();
    results.overhead.clear();
    results.workload = Some(Workload {
        kind: WorkloadKind::FioJob,
        file: "j.fio".to_owned(),
        name: None,
        seed: 1,
        workers: Vec::new(),
        queue_depths: Vec::new(),
        trace: None,
        ignored: Vec::new(),
        ended: Some(true),
    });
    for array in &mut results.arrays {
        let outstanding = f64::from(array.outstanding);
        for segment in &mut array.segments {
            segment.host = Some(host(segment, 0, outstanding));
            segment.spindle_commands.data_reads = segment.spindle_commands.read;
        }
    }
    results
}

fn compared(results: &Results, array: usize) -> Option<(u32, u32)> {
    let pairs = like_pairs(results.workload.as_ref(), &results.arrays[array]);
    let found = pairs.first().map(|pair| (pair.first, pair.last));
    found.map(|(first, last)| (first.index, last.index))
}

fn page(results: &Results) -> String {
    let html = Report { results, map: None, scenario: None }.to_html().unwrap();
    html.split("<script").next().unwrap().to_owned()
}

fn of_segments(results: &mut Results, change: impl Fn(&mut Segment)) {
    let all = results.arrays.iter_mut().flat_map(|array: &mut ArrayResults| &mut array.segments);
    all.for_each(change);
}

/// The last segment lasts until the last operation is answered: the others ran their full length too.
#[test]
fn a_last_segment_that_is_longer_hides_no_other() {
    let mut results = of_a_file();
    for array in &mut results.arrays {
        array.segments[13].seconds *= 1.05;
    }
    assert_eq!(compared(&results, 0), Some((1, 14)));
}

#[test]
fn random_writes_are_not_compared_with_a_scan() {
    let mut results = of_a_file();
    assert_eq!(compared(&results, 0), Some((1, 14)));
    of_segments(&mut results, |segment| {
        if segment.index > 12 {
            segment.host = Some(host(segment, 10, segment.host.unwrap().mean_outstanding));
            segment.iops /= 50.0;
        }
    });
    assert_eq!(compared(&results, 0), Some((1, 12)));
    assert_eq!(losses(&results)[0].to_segment, 12);
    let words = headline(&results);
    assert!(words.starts_with("In segment 12 the FAS2050 delivers 59.3 %"), "{words}");
    assert!(words.ends_with("down from 82.5 % in segment 1"), "{words}");
    for text in [all_tables(&results), page(&results)] {
        let lost_to_the_scan = ["-98.", "\u{2212}98."];
        assert!(!lost_to_the_scan.iter().any(|words| text.contains(words)), "{text}");
    }
    assert!(page(&results).contains("Only like segments are compared"));
}

#[test]
fn the_rest_of_a_trace_is_not_compared_with_what_came_before() {
    let mut results = of_a_file();
    of_segments(&mut results, |segment| {
        if segment.index == 14 {
            segment.seconds /= 3.0;
            segment.iops /= 4.0;
        }
    });
    assert_eq!(compared(&results, 0), Some((1, 13)));
    results.arrays.iter_mut().for_each(|array| array.segments.truncate(1));
    assert_eq!(compared(&results, 0), Some((1, 1)));
    assert!(losses(&results).is_empty());
}

#[test]
fn a_host_that_sets_the_pace_says_nothing_of_the_arrays() {
    let mut results = of_a_file();
    results.arrays.iter_mut().for_each(|array| array.outstanding = 0);
    of_segments(&mut results, |segment| segment.iops = 20.0);
    assert_eq!(compared(&results, 0), None);
    assert!(losses(&results).is_empty());
    let words = headline(&results);
    assert!(
        !words.contains('%')
            && words.contains("operations in 38.")
            && words.contains(" ms on average"),
        "{words}"
    );
    assert!(!page(&results).contains("Fresh, and in the end"));

    // Rates and pauses in a closed loop.
    let mut results = of_a_file();
    of_segments(&mut results, |segment| segment.host = Some(host(segment, 0, 3.0)));
    assert_eq!(compared(&results, 0), None);
}

#[test]
fn jobs_that_differ_only_by_their_names_are_told_apart() {
    let mut results = of_a_file();
    of_segments(&mut results, |segment| {
        let name = if segment.index <= 7 { "random" } else { "sequential" };
        let figures = WorkloadFigures { name: name.to_owned(), ..WorkloadFigures::default() };
        let writes = segment.host.unwrap().writes;
        segment.by_workload = vec![WorkloadFigures { writes, ..figures }];
    });
    assert_eq!(compared(&results, 0), Some((1, 7)));
}

#[test]
fn what_was_gained_is_not_under_losses() {
    let mut results = of_a_file();
    results.arrays.truncate(1);
    results.arrays[0].segments[13].iops = 1.196 * results.arrays[0].segments[0].iops;
    let tables = all_tables(&results);
    assert!(!tables.contains("Where the loss came from"), "{tables}");
    let (_, after) = tables.split_once("\nNo loss\n").unwrap();
    assert!(after.contains("(+19.6 %)"), "{tables}");
}
