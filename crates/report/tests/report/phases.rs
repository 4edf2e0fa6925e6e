//! Runs with phases: only segments of phases with the same workloads are compared.

use strewn_report::{
    ChartStyle, Report, ResultsChart, all_tables, headline, phases_table, segments_table,
    write_segments_csv,
};
use strewn_results::{
    ArrayResults, HostFigures, Phase, Results, Segment, compare_runs, like_pairs, loss, losses,
    phase_figures,
};

use crate::fixture;

/// Name, segments and workload of each phase: five of the fixture's fourteen segments scan.
const PHASES: [(&str, u32, &str); 4] = [
    ("fresh scan", 2, "scan"),
    ("first ageing", 5, "updates"),
    ("second scan", 3, "scan"),
    ("last ageing", 4, "updates"),
];

/// Makes an array's segments those of phases. Scans do a tenth of the IOPS.
fn divide(array: &mut ArrayResults) {
    let mut next = 1;
    for (name, segments, workload) in PHASES {
        array.phases.push(Phase {
            name: name.to_owned(),
            first_segment: next,
            segments,
            workloads: vec![workload.to_owned()],
            outstanding: array.outstanding,
        });
        for index in next..next + segments {
            let segment = array.segments.iter_mut().find(|one| one.index == index).unwrap();
            segment.phase = Some(name.to_owned());
            // An account needs commands by kind.
            segment.spindle_commands.data_reads = segment.spindle_commands.read;
            if workload == "scan" {
                segment.iops /= 10.0;
                segment.ops /= 10;
            }
        }
        next += segments;
    }
}

/// Returns the fixture's results, divided into phases.
pub fn results() -> Results {
    let mut results = fixture::results();
    results.published = Vec::new();
    results.ratios = Vec::new();
    results.arrays.iter_mut().for_each(divide);
    results
}

fn pairs(results: &Results, array: usize) -> Vec<(String, u32, u32)> {
    let pairs = like_pairs(None, &results.arrays[array]);
    pairs.iter().map(|pair| (pair.workloads.concat(), pair.first.index, pair.last.index)).collect()
}

#[test]
fn only_phases_with_the_same_workloads_are_compared() {
    let results = results();
    assert_eq!(pairs(&results, 0), [("scan".to_owned(), 1, 10), ("updates".to_owned(), 3, 14)]);
    let accounts = losses(&results);
    let of_filer: Vec<_> = accounts
        .iter()
        .filter(|account| account.array == "FAS2050")
        .map(|account| (account.workloads.concat(), account.from_segment, account.to_segment))
        .collect();
    assert_eq!(of_filer, pairs(&results, 0));
    assert_eq!(loss(&results, &results.arrays[0]).unwrap().workloads, ["scan"]);
    assert!(accounts[0].sentence().starts_with("FAS2050, scan, segment 1 to 10: 494 to 362 IOPS"));
}

#[test]
fn a_phase_in_which_the_host_sets_the_iops_has_no_loss() {
    let mut results = results();
    let idle = |segment: &mut Segment| {
        segment.host = Some(HostFigures { mean_outstanding: 1.0, ..HostFigures::default() });
    };
    let segments = results.arrays[0].segments.iter_mut();
    segments.filter(|one| one.phase.as_deref() == Some("last ageing")).for_each(idle);
    assert_eq!(pairs(&results, 0)[1], ("updates".to_owned(), 3, 7));
    let figures = phase_figures(&results);
    let difference = |name: &str| {
        figures.iter().find(|one| one.phase.name == name).unwrap().iops_difference_percent
    };
    assert_eq!((difference("last ageing"), difference("fresh scan")), (None, None));
    assert!(difference("second scan").unwrap() < -20.0);
    assert!(phases_table(&results).contains("FAS2050   second scan"), "{}", phases_table(&results));
}

#[test]
fn fewer_operations_outstanding_than_in_another_phase_are_all_that_there_are() {
    let mut results = results();
    let array = &mut results.arrays[0];
    let most = array.outstanding;
    for phase in &mut array.phases {
        phase.outstanding = if phase.workloads == ["scan"] { 2 } else { most };
    }
    for segment in &mut array.segments {
        let outstanding = array.phases.iter().find(|of| Some(&of.name) == segment.phase.as_ref());
        let mean_outstanding = f64::from(outstanding.unwrap().outstanding);
        segment.host = Some(HostFigures { mean_outstanding, ..HostFigures::default() });
    }
    // What the ageing left outstanding is answered in the scan's first segment.
    array.segments[7].host.as_mut().unwrap().mean_outstanding = 2.4;
    assert_eq!(pairs(&results, 0)[0], ("scan".to_owned(), 1, 10));
}

#[test]
fn tables_and_page_name_the_phases_and_files_have_them() {
    let results = results();
    let table = segments_table(&results, &results.arrays[0]);
    assert!(table.lines().any(|line| line.starts_with("       8   second scan")), "{table}");
    let all = all_tables(&results);
    assert!(all.contains("\nPhases\n"), "{all}");
    assert!(
        all.starts_with("FAS2050: scan 494 IOPS in \"fresh scan\", 362 in \"second scan\" ("),
        "{all}"
    );
    assert!(headline(&results).contains("in \u{201c}fresh scan\u{201d}"));
    let mut csv = Vec::new();
    write_segments_csv(&results, &[], &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.lines().next().unwrap().ends_with(",phase"));
    assert!(csv.lines().nth(8).unwrap().ends_with(",second scan"));
    let json = results.to_json_string().unwrap();
    assert_eq!(Results::from_json(&json).unwrap(), results);
    let html = Report { results: &results, map: None, scenario: None }.to_html().unwrap();
    for part in
        ["Each phase, over all its segments", "FAS2050, scan goes from", "id=\"phases-title\""]
    {
        assert!(html.contains(part), "no {part:?}");
    }
}

#[test]
fn a_run_without_phases_says_nothing_of_them() {
    let results = fixture::results();
    let json = results.to_json_string().unwrap();
    let mut csv = Vec::new();
    write_segments_csv(&results, &[], &mut csv).unwrap();
    for text in [json, all_tables(&results), String::from_utf8(csv).unwrap()] {
        assert!(!text.to_lowercase().contains("phase"), "{text}");
    }
    assert!(phase_figures(&results).is_empty());
    let chart = ResultsChart::Iops.draw(&results, None, ChartStyle::default()).unwrap().unwrap();
    assert!(!chart.contains("#F0F3F7"));
}

#[test]
fn charts_shade_and_name_the_phases() {
    let results = results();
    for chart in [ResultsChart::Iops, ResultsChart::Response, ResultsChart::Utilization] {
        let svg = chart.draw(&results, None, ChartStyle::default()).unwrap().unwrap();
        for (name, ..) in PHASES {
            assert!(svg.contains(&format!("\n{name}\n")), "{chart:?}: no {name:?}");
        }
        assert_eq!(svg.matches("fill=\"#F0F3F7\"").count(), 2, "{chart:?}");
    }
    // A run that was stopped in its second phase.
    let mut stopped = results;
    stopped.arrays.iter_mut().for_each(|array| array.segments.truncate(4));
    let svg = ResultsChart::Iops.draw(&stopped, None, ChartStyle::default()).unwrap().unwrap();
    assert!(svg.contains("\nfirst ageing\n") && !svg.contains("\nsecond scan\n"));
}

#[test]
fn runs_are_compared_in_like_phases() {
    let (one, mut other) = (results(), results());
    for phase in other.arrays.iter_mut().flat_map(|array| &mut array.phases) {
        if phase.name == "last ageing" {
            phase.workloads = vec!["copy".to_owned()];
        }
    }
    let runs = [("one".to_owned(), &one), ("other".to_owned(), &other)];
    let compared = compare_runs(&runs).unwrap();
    let difference = |index: usize| {
        compared.arrays[0].segments[index - 1].figures[1].unwrap().iops_difference_percent
    };
    assert_eq!((difference(10), difference(11)), (Some(0.0), None));
    assert_eq!(
        compared.arrays[0].verdicts,
        [
            "In segment 10 (scan, phase \"second scan\") other (362 IOPS against 362) is within 1 % of one.",
            "In segment 7 (updates, phase \"first ageing\") other (3790 IOPS against 3790) is within 1 % of one. Nothing that \
             changes figures was set differently."
        ]
    );
}

#[test]
fn every_kind_of_phase_has_a_verdict_and_the_phase_that_differs_most_is_named() {
    let (one, mut other) = (results(), results());
    for segment in &mut other.arrays[0].segments {
        match segment.index {
            1..=2 => segment.iops *= 4.0,
            8..=10 => segment.iops *= 1.2,
            _ => {}
        }
    }
    let verdicts = |one: &Results, other: &Results| {
        let runs = [("one".to_owned(), one), ("other".to_owned(), other)];
        compare_runs(&runs).unwrap().arrays[0].verdicts.clone()
    };
    let [scan, updates] = &verdicts(&one, &other)[..] else { panic!() };
    assert_eq!(
        scan,
        "In segment 10 (scan, phase \"second scan\") other (435 IOPS against 362) is 20.0 % faster than one. In segment 2 \
         (scan, phase \"fresh scan\") other (1822 IOPS against 456) is 300.0 % faster than one."
    );
    assert!(updates.contains("is within 1 % of one. Nothing"), "{updates}");
    // The other run has no such phase.
    for phase in other.arrays.iter_mut().flat_map(|array| &mut array.phases) {
        if phase.workloads == ["updates"] {
            phase.workloads = vec!["copy".to_owned()];
        }
    }
    let [_, updates] = &verdicts(&one, &other)[..] else { panic!() };
    assert!(
        updates.starts_with("other and one have no segment of updates with the same operations"),
        "{updates}"
    );
}

#[test]
fn where_hosts_set_the_pace_of_several_workloads_each_is_compared_by_itself() {
    let mut one = phases_of_one_segment();
    for segment in one.arrays.iter_mut().flat_map(|array| &mut array.segments) {
        segment.host = Some(HostFigures { mean_outstanding: 9.0, ..HostFigures::default() });
    }
    let mut other = one.clone();
    // The slow workload does more operations, so the mean of all rises although each is as fast as before, or faster.
    for segment in &mut other.arrays[0].segments {
        segment.response_ms.mean *= 1.5;
        segment.by_workload[0].iops *= 3.0;
        segment.by_workload[1].response_ms.mean = 2.0;
    }
    let runs = [("one".to_owned(), &one), ("other".to_owned(), &other)];
    let compared = compare_runs(&runs).unwrap();
    assert_eq!(
        compared.arrays[0].verdicts,
        [
            "In segment 3 (mail + log, phase \"phase 3\") other is compared with one by workload, since hosts set the pace and \
          the mixture may change: mail (300 IOPS against 100) is 200.0 % faster; log (2.00 ms on average against 2.50) is \
          20.0 % faster. Nothing that changes figures was set differently."
        ]
    );
}

/// Returns the results of phases of one segment each, in which nothing has a line.
fn phases_of_one_segment() -> Results {
    let mut results = fixture::results();
    for array in &mut results.arrays {
        array.segments.truncate(3);
        for segment in &mut array.segments {
            segment.phase = Some(format!("phase {}", segment.index));
            segment.by_workload = fixture::two_workloads();
            array.phases.push(Phase {
                name: format!("phase {}", segment.index),
                first_segment: segment.index,
                segments: 1,
                workloads: vec!["mail".to_owned(), "log".to_owned()],
                outstanding: array.outstanding,
            });
        }
    }
    results
}

#[test]
fn figures_without_lines_have_marks_of_their_own() {
    let results = phases_of_one_segment();
    let draw = |results: &Results, chart: ResultsChart| {
        chart.draw(results, None, ChartStyle::default()).unwrap().unwrap()
    };
    let corners = |svg: &str, fill: &str, stroke: &str| {
        let document = roxmltree::Document::parse(svg).unwrap();
        let nodes: Vec<roxmltree::Node<'_, '_>> = document.descendants().collect();
        // The outline follows what it is around.
        let polygons = nodes.iter().enumerate().filter(|(at, node)| {
            let mut next = nodes[at + 1..].iter().filter(|next| next.is_element());
            node.has_tag_name("polygon")
                && node.attribute("fill") == Some(fill)
                && next.next().unwrap().attribute("stroke") == Some(stroke)
        });
        let count =
            polygons.map(|(_, node)| node.attribute("points").unwrap().split_whitespace().count());
        let mut all: Vec<usize> = count.collect();
        all.sort_unstable();
        all
    };
    // The first array: median, 95 and 99 % are circles, squares and triangles, in three segments and the legend.
    let svg = draw(&results, ResultsChart::Percentiles);
    let circles = |fill: &str| {
        let filled = |line: &&str| line.starts_with("<circle") && line.contains(fill);
        svg.lines().filter(filled).count()
    };
    assert_eq!((circles("fill=\"#0072B2\""), circles("fill=\"#FFFFFF\"")), (4, 4));
    assert_eq!(corners(&svg, "#0072B2", "#0072B2"), [3, 3, 3, 3, 4, 4, 4, 4]);
    // The second's are the same, hollow.
    assert_eq!(corners(&svg, "#FFFFFF", "#D55E00"), [3, 3, 3, 3, 4, 4, 4, 4]);
    let svg = draw(&results, ResultsChart::Workloads);
    assert_eq!(corners(&svg, "#0072B2", "#0072B2"), [4; 4]);
    assert_eq!(corners(&svg, "#FFFFFF", "#D55E00"), [4; 4]);
    // Where every figure has a line, an array keeps its mark: all circles, all squares.
    let mut with_lines = results;
    for array in &mut with_lines.arrays {
        array.phases.clear();
        array.segments.iter_mut().for_each(|segment| segment.phase = None);
    }
    let svg = draw(&with_lines, ResultsChart::Percentiles);
    assert!(corners(&svg, "#0072B2", "#0072B2").is_empty());
    assert_eq!(corners(&svg, "#D55E00", "#D55E00"), [4; 12]);
}
