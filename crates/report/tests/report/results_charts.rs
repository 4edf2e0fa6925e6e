use crate::{fixture, html, rows};
use roxmltree::Document;
use strewn_report::{ChartSize, ChartStyle, RESULTS_CHARTS, ResultsChart, Theme, iops_chart};
use strewn_results::{Results, Scaled, Setting, WorkloadFigures};

/// All charts but that of short segments.
fn charts() -> impl Iterator<Item = ResultsChart> {
    RESULTS_CHARTS.into_iter().filter(|chart| *chart != ResultsChart::Throughput)
}

fn full_run() -> Results {
    Results::from_json(include_str!("../../../results/tests/results/full-run.json")).unwrap()
}

/// Returns the run with every kind of result: also two parity groups, the second from segment 6 on, two workloads, and
/// rows of a published table.
fn run_with_everything() -> Results {
    let mut results = full_run();
    rows::add_rows(&mut results);
    fixture::add_group(&mut results.arrays[0], 6);
    for segment in results.arrays.iter_mut().flat_map(|array| &mut array.segments) {
        segment.by_workload = fixture::two_workloads();
        let mut machine = fixture::machine();
        if segment.index != 5 {
            // A loss between segments with outages has no account.
            machine.time_in_ms.outage = 0.0;
        }
        segment.machine = Some(Box::new(machine));
    }
    results
}

#[test]
fn each_of_several_workloads_has_a_line_and_too_many_have_none() {
    let mut results = run_with_everything();
    let draw = |results: &Results| {
        ResultsChart::Workloads.draw(results, None, ChartStyle::default()).unwrap()
    };
    let svg = draw(&results).unwrap();
    for name in ["FAS2050: mail", "FAS2050: log", "EVA4400: mail", "EVA4400: log"] {
        assert!(svg.contains(name), "no {name:?}");
    }
    for segment in results.arrays.iter_mut().flat_map(|array| &mut array.segments) {
        let workloads = fixture::two_workloads().into_iter().cycle().zip(1..=9);
        let named = workloads.map(|(workload, number)| WorkloadFigures {
            name: format!("{} {number}", workload.name),
            ..workload
        });
        segment.by_workload = named.collect();
    }
    assert_eq!(draw(&results), None);
}

#[test]
fn every_chart_is_well_formed_in_every_theme_and_the_same_each_time() {
    let results = run_with_everything();
    let map = html::map();
    for chart in charts() {
        for theme in [Theme::Light, Theme::Dark, Theme::Page] {
            let style = ChartStyle { theme, ..ChartStyle::default() };
            let draw = || chart.draw(&results, Some(&map), style).unwrap().unwrap();
            let svg = draw();
            assert_eq!(svg, draw());
            let document =
                Document::parse(&svg).unwrap_or_else(|error| panic!("{chart:?}: {error}"));
            assert_eq!(svg.contains("\"#282828\""), theme == Theme::Light, "{chart:?}");
            assert_eq!(svg.contains("var(--chart-ink)"), theme == Theme::Page, "{chart:?}");
            let marks = document
                .descendants()
                .filter(|node| node.has_tag_name("circle"))
                .filter(|node| node.children().any(|child| child.has_tag_name("title")))
                .count();
            assert!(marks >= 2, "{chart:?} says nothing of its figures");
        }
    }
}

#[test]
fn what_is_pointed_at_says_its_figure_and_the_published_one() {
    let svg = ResultsChart::Iops.draw(&full_run(), None, ChartStyle::default()).unwrap().unwrap();
    for words in [
        "FAS2050, segment 1: 4,863.63 IOPS, fitted; published 4,864 IOPS",
        "FAS2050, segment 14: 3,472",
        "IOPS, predicted; published 3,449 IOPS",
    ] {
        assert!(svg.contains(words), "no {words:?}");
    }
}

#[test]
fn what_results_lack_is_not_drawn() {
    let mut results = fixture::results();
    results.overhead.clear();
    let draw = |chart: ResultsChart| chart.draw(&results, None, ChartStyle::default()).unwrap();
    for chart in [
        ResultsChart::Map,
        ResultsChart::Loss,
        ResultsChart::PerSpindle,
        ResultsChart::Groups,
        ResultsChart::TimeIn,
        ResultsChart::Workloads,
    ] {
        assert_eq!(draw(chart), None, "{chart:?}");
    }
}

#[test]
fn many_arrays_make_a_chart_higher_and_not_an_error() {
    let mut results = run_with_everything();
    results.arrays = results.arrays.iter().cycle().take(60).cloned().collect();
    for chart in charts() {
        let svg = chart.draw(&results, Some(&html::map()), ChartStyle::default()).unwrap().unwrap();
        Document::parse(&svg).unwrap();
    }
    strewn_report::Report { results: &results, map: None, scenario: None }.to_html().unwrap();
}

/// A chart with few rows and a long description is as high as it needs to be.
#[test]
fn a_run_that_was_stopped_after_its_first_segment_has_all_its_charts() {
    let mut results = run_with_everything();
    let mut map = html::map();
    results.arrays.truncate(1);
    results.arrays[0].segments.truncate(1);
    map.arrays.truncate(1);
    map.arrays[0].snapshots.truncate(1);
    results.partial = true;
    results.real_spindles = Some(fixture::real_spindles());
    for (width_px, height_px) in [(480, 320), (960, 320), (960, 560)] {
        let style = ChartStyle::from(ChartSize { width_px, height_px });
        for chart in RESULTS_CHARTS {
            if let Some(svg) = chart.draw(&results, Some(&map), style).unwrap() {
                Document::parse(&svg).unwrap();
            }
        }
    }
}

#[test]
fn what_is_said_of_a_run_has_as_many_lines_as_it_takes() {
    let mut results = full_run();
    let mut real = fixture::real_spindles();
    real.system.push_str(&" of a name that goes on".repeat(4));
    let said = real.sentences()[0].clone();
    results.real_spindles = Some(real);
    for (width_px, longest) in [(480, 75), (960, 150)] {
        let style = ChartStyle::from(ChartSize { width_px, height_px: 560 });
        let svg = ResultsChart::Commands.draw(&results, None, style).unwrap().unwrap();
        let document = Document::parse(&svg).unwrap();
        let words = document.descendants().filter(|node| node.has_tag_name("text"));
        let words: Vec<&str> = words.filter_map(|node| Some(node.text()?.trim())).collect();
        let first = words.iter().position(|words| words.starts_with("Measured in real")).unwrap();
        let last = words.iter().position(|words| words.ends_with("goes on.")).unwrap();
        let lines = &words[first..=last];
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= longest), "{lines:?}");
        assert_eq!(lines.join(" "), said);
    }
}

/// The sentence about the scale was followed by another full stop.
#[test]
fn regression_descriptions_have_one_full_stop_after_each_sentence() {
    let mut results = full_run();
    results.scaled =
        Some(Scaled { by: 8, what: vec!["file".to_owned()], out_of_proportion: Vec::new() });
    let drawn = ResultsChart::PerSpindle.draw(&results, None, ChartStyle::default());
    let svg = drawn.unwrap().unwrap();
    assert!(svg.contains("full scale. Fresh") && !svg.contains(".. "), "{svg}");
}

/// Measured figures are not labelled as predicted.
#[test]
fn figures_of_real_spindles_are_measured() {
    let mut results = full_run();
    results.published.clear();
    results.real_spindles = Some(fixture::real_spindles());
    for chart in [ResultsChart::Iops, ResultsChart::Response] {
        let svg = chart.draw(&results, None, ChartStyle::default()).unwrap().unwrap();
        assert!(svg.contains("measured") && !svg.contains("predicted"), "{chart:?}");
    }
    let svg = ResultsChart::Utilization.draw(&results, None, ChartStyle::default());
    assert!(svg.unwrap().unwrap().contains("FAS2050: log, segment 1: 25"));
}

#[test]
fn the_map_has_a_row_each_time_the_file_moved() {
    let svg = ResultsChart::Map.draw(&full_run(), Some(&html::map()), ChartStyle::default());
    let svg = svg.unwrap().unwrap();
    assert_eq!(svg.matches("<title>FAS2050, after segment").count(), 3);
    assert_eq!(svg.matches("<title>EVA4400, after segment 0 to 2").count(), 1);
}

#[cfg(feature = "png")]
#[test]
fn a_png_has_twice_the_pixels_and_the_same_bytes_each_time() {
    let svg = ResultsChart::Iops.draw(&full_run(), None, ChartStyle::default()).unwrap().unwrap();
    let png = strewn_report::png(&svg).unwrap();
    assert_eq!(png, strewn_report::png(&svg).unwrap());
    assert_eq!(png[16..24], [1920_u32.to_be_bytes(), 1120_u32.to_be_bytes()].concat()[..]);
    assert!(strewn_report::png("<svg").is_err());
}

/// A slide is 1600 by 900, and is read from the last row.
#[test]
fn type_can_be_read_on_a_slide() {
    let size = ChartSize { width_px: 1600, height_px: 900 };
    let style = ChartStyle::filling(size, Theme::Light);
    for chart in RESULTS_CHARTS {
        let Some(svg) = chart.draw(&full_run(), Some(&html::map()), style).unwrap() else {
            continue;
        };
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        let number = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
        let view: Vec<f64> = root
            .attribute("viewBox")
            .unwrap()
            .split(' ')
            .map(|part| part.parse().unwrap())
            .collect();
        assert_eq!(number("width"), 1600.0);
        let scale = number("width") / view[2];
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        let sizes = texts.filter_map(|text| text.attribute("font-size")?.parse::<f64>().ok());
        let least = sizes.fold(f64::INFINITY, f64::min) * scale;
        assert!(least >= 900.0 / 45.0, "{}: {least}", chart.file_stem());
    }
    // A small chart is drawn as it is given, and one that is only high keeps its width.
    let small = ChartSize { width_px: 960, height_px: 560 };
    assert_eq!(ChartStyle::filling(small, Theme::Light), small.into());
    // One that is narrow is drawn wider, so that its words have room.
    let narrow = ChartStyle::filling(ChartSize { width_px: 480, height_px: 2000 }, Theme::Light);
    assert_eq!((narrow.size.width_px, narrow.size.height_px), (800, 3333));
    assert_eq!(narrow.shown_width_px, Some(480));
}

#[test]
fn steps_are_marked_between_their_segments() {
    let mut results = fixture::results();
    let plain = iops_chart(&results, ChartStyle::default()).unwrap();
    assert!(!plain.contains(">step<") && !plain.contains("\nstep\n"));
    results.arrays[0].segments.truncate(6);
    for (segment, iops) in results.arrays[0].segments.iter_mut().zip([4864.0, 4800.0, 4790.0]) {
        segment.iops = iops;
    }
    results.arrays[0].segments.iter_mut().skip(3).for_each(|segment| segment.iops = 3000.0);
    results.findings = strewn_results::findings(&results);
    let step = results.findings_of_kind("step").next().expect("a step");
    assert_eq!(step.segment, Some(4));
    let marked = iops_chart(&results, ChartStyle::default()).unwrap();
    assert!(marked.lines().any(|line| line.trim() == "step"), "the legend says what it is");
    let said = marked.matches("IOPS change by").count();
    assert_eq!(said, 1, "the mark of the segment says what began there");
}

#[test]
fn a_warm_up_is_shown_and_left_out() {
    let mut results = full_run();
    let mut warm_up = results.arrays[0].segments[0].clone();
    (warm_up.index, warm_up.iops, warm_up.seconds) = (0, 1234.0, 600.0);
    for array in &mut results.arrays {
        array.warm_up = Some(Box::new(warm_up.clone()));
    }
    results.settings.insert("warm_up".to_owned(), Setting::Text("10 min".to_owned()));
    let svg = iops_chart(&results, ChartStyle::default()).unwrap();
    assert!(svg.contains("segment 0: 1,234 IOPS"), "it has a mark");
    assert!(svg.lines().any(|line| line.trim() == "warm-up"), "and a band");
    assert!(svg.contains("The first 10 min are warm-up, and not counted."));
    let table = strewn_report::segments_table(&results, &results.arrays[0]);
    assert!(table.lines().any(|line| line.trim_start().starts_with("0 ")), "{table}");
    assert!(table.contains("Segment 0 is the warm-up of 600 s"), "{table}");
    // No other figure moves.
    let full = full_run();
    assert_eq!(strewn_results::losses(&results), strewn_results::losses(&full));
    let mut csv = Vec::new();
    strewn_report::write_segments_csv(&results, &[], &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains(",0,600,")).count(), 2, "{csv}");
}
