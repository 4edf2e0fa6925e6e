use super::fixture::{figure, grid, grid_sweep, iops, numbers, row, sweep_of, words};
use super::shapes;
use roxmltree::Document;
use std::path::Path;
use strewn_report::{ChartStyle, SweepChart, Theme, sweep_charts};
use strewn_results::{FigureMetric, Sweep, SweepChartKind, SweepChartSpec};

fn charts(sweep: &Sweep) -> Vec<SweepChart> {
    sweep_charts(sweep, &[], ChartStyle::default()).unwrap()
}

fn words_of(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| Some(node.text()?.trim().to_owned())).collect()
}

/// What the marks of a chart say.
fn marks(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let circles = document.descendants().filter(|node| {
        node.has_tag_name("circle") && node.children().any(|child| child.has_tag_name("title"))
    });
    circles.filter_map(|node| Some(node.first_element_child()?.text()?.to_owned())).collect()
}

#[test]
fn every_shape_is_drawn_and_is_xml_in_both_themes() {
    for (name, sweep) in shapes::all() {
        let drawn = charts(&sweep);
        assert!(!drawn.is_empty(), "{name}");
        for theme in [Theme::Light, Theme::Dark] {
            let style = ChartStyle { theme, ..ChartStyle::default() };
            for chart in sweep_charts(&sweep, &[], style).unwrap() {
                let file = format!("sweep-{name}-{}-{theme:?}.svg", chart.file_stem);
                // For visual inspection.
                let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
                std::fs::write(path, &chart.svg).unwrap();
                Document::parse(&chart.svg).unwrap();
                assert!(!chart.svg.contains("NaN") && !chart.svg.contains("inf"), "{name}");
                assert_eq!(marks(&chart.svg).iter().filter(|one| one.contains('±')).count(), 0);
            }
        }
        assert_eq!(drawn, charts(&sweep), "{name}: the same sweep gives the same bytes");
    }
}

#[test]
fn axes_have_the_place_that_suits_them() {
    let titles = |sweep: &Sweep| -> Vec<String> {
        charts(sweep).into_iter().map(|chart| chart.title).collect()
    };
    for (sweep, expected) in [
        (shapes::one_numeric(), vec!["IOPS, last segment, by file"]),
        (shapes::named(), vec!["IOPS, last segment, by redundancy"]),
        (shapes::numeric_and_named(), vec!["IOPS, last segment, by outstanding and protocol"]),
        (shapes::two_numeric(), vec!["IOPS kept, by request and writes"]),
        (shapes::one_at_a_time(), vec!["IOPS, last segment, by each axis"]),
        (shapes::latin_hypercube(), vec!["IOPS, last segment, by each axis"]),
        (
            shapes::crossed_hypercube(),
            vec![
                "FAS2050: IOPS, last segment, by each axis",
                "CX3: IOPS, last segment, by each axis",
            ],
        ),
        (shapes::in_step(), vec!["IOPS, last segment, by spindles"]),
        (shapes::by_segment(), vec!["IOPS, last segment, by segment and alignment"]),
        (shapes::single(), vec!["IOPS, last segment"]),
        (
            shapes::three(),
            vec![
                "FAS2050: IOPS, last segment, by file, alignment and layout",
                "CX3: IOPS, last segment, by file, alignment and layout",
            ],
        ),
    ] {
        assert_eq!(titles(&sweep), expected);
    }
    let stems: Vec<String> =
        charts(&shapes::three()).into_iter().map(|chart| chart.file_stem).collect();
    assert_eq!(stems, ["fas2050-iops-last-segment", "cx3-iops-last-segment"]);
}

#[test]
fn each_figure_has_one_mark_with_its_interval() {
    let sweep = shapes::numeric_and_named();
    let drawn = charts(&sweep);
    let marks = marks(&drawn[0].svg);
    assert_eq!(marks.len(), sweep.rows.len());
    let one = "CX3, iSCSI, outstanding 16: ";
    let found = marks.iter().find(|mark| mark.starts_with(one));
    assert!(
        found.is_some_and(|mark| mark.contains(" IOPS (") && mark.contains(" to ")),
        "{marks:?}"
    );
}

#[test]
fn labels_are_text_and_not_markup() {
    let drawn = charts(&shapes::named());
    assert!(words_of(&drawn[0].svg).iter().any(|words| words.starts_with("<b>&\" as")));
    assert!(marks(&drawn[0].svg).iter().any(|mark| mark.contains("<b>&\" as the failover")));
}

#[test]
fn axes_without_a_place_are_named_with_their_value() {
    let words = words_of(&charts(&shapes::four())[0].svg).join(" ");
    assert!(words.contains("Here: takeover no; report.html has the others."), "{words}");
    let words = words_of(&charts(&shapes::many_panels())[0].svg).join(" ");
    assert!(words.contains("9 of 12 values of place are shown."), "{words}");
}

#[test]
fn a_map_of_shares_has_its_middle_at_100_and_marks_what_is_not_sure() {
    let svg = &charts(&shapes::two_numeric())[0].svg;
    let words = words_of(svg);
    assert!(words.contains(&"100.0".to_owned()), "{words:?}");
    assert!(words.iter().any(|word| word.starts_with('~')), "{words:?}");
    assert!(words.iter().any(|word| word.contains("~: the interval")), "{words:?}");
    // Violet is more and orange is less.
    assert!(svg.contains("fill=\"#8073AC\"") && svg.contains("fill=\"#7F3B08\""));
}

#[test]
fn a_study_may_choose_its_charts() {
    let spec = |x: &str, kind| SweepChartSpec {
        figures: vec!["IOPS, last segment".to_owned()],
        title: Some("Wie viel?".to_owned()),
        against: None,
        x: Some(x.to_owned()),
        lines: None,
        panels: Some("layout".to_owned()),
        kind,
    };
    let specs = [
        spec("alignment", Some(SweepChartKind::Lines)),
        spec("file", Some(SweepChartKind::HeatMap)),
    ];
    let drawn = sweep_charts(&shapes::three(), &specs, ChartStyle::default()).unwrap();
    let names: Vec<(&str, &str)> =
        drawn.iter().map(|chart| (chart.title.as_str(), chart.file_stem.as_str())).collect();
    assert_eq!(
        names,
        [
            ("Wie viel?: FAS2050", "wie-viel-fas2050"),
            ("Wie viel?: CX3", "wie-viel-cx3"),
            ("Wie viel?: FAS2050", "wie-viel-fas2050-2"),
            ("Wie viel?: CX3", "wie-viel-cx3-2"),
        ]
    );
    assert!(words_of(&drawn[0].svg).contains(&"layout: chained".to_owned()));
    let unknown = SweepChartSpec { figures: vec!["?".to_owned()], ..SweepChartSpec::default() };
    assert_eq!(sweep_charts(&shapes::three(), &[unknown], ChartStyle::default()).unwrap(), []);
}

#[test]
fn missing_figures_leave_a_gap_and_no_figures_no_chart() {
    let mut sweep = shapes::one_numeric();
    let all = marks(&charts(&sweep)[0].svg).len();
    let at = sweep.rows[2].at.clone();
    sweep.rows[2] = row(1, &at, 0, None, vec![None; 3]);
    assert_eq!(marks(&charts(&sweep)[0].svg).len(), all - 1);
    sweep.rows.iter_mut().for_each(|row| row.mean = None);
    assert_eq!(charts(&sweep), []);
    assert_eq!(charts(&sweep_of(Vec::new(), Vec::new(), &[], 0)), []);
    let axes = vec![words("a", &["off", "on"])];
    assert_eq!(charts(&sweep_of(axes, iops(), &[], 3)), []);
}

#[test]
fn a_thousand_combinations_are_drawn() {
    let tens: Vec<f64> = (1..=10).map(f64::from).collect();
    let cube = grid_sweep(["a", "b", "c"].map(|name| numbers(name, "", &tens)).to_vec());
    let drawn = charts(&cube);
    assert_eq!(drawn.len(), 2);
    assert!(words_of(&drawn[0].svg).join(" ").contains("9 of 10 values of c are shown."));
    let thousand: Vec<f64> = (1..=1000).map(f64::from).collect();
    let labels: Vec<String> = thousand.iter().map(|number| format!("way {number}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    for axis in [numbers("a", "", &thousand), words("a", &labels)] {
        let combinations = grid(std::slice::from_ref(&axis));
        let drawn = charts(&sweep_of(vec![axis], iops(), &combinations, 2));
        assert!(drawn[0].svg.len() < 1_500_000, "{}", drawn[0].svg.len());
    }
}

#[test]
fn a_study_may_choose_one_axis_of_a_hypercube_or_of_one_at_a_time() {
    let spec = |x: &str| SweepChartSpec {
        figures: vec!["IOPS, last segment".to_owned()],
        x: Some(x.to_owned()),
        ..SweepChartSpec::default()
    };
    for (sweep, x, points) in [
        (shapes::latin_hypercube(), "full", 2 * 16),
        (shapes::one_at_a_time(), "group", 2 * 3),
        (shapes::in_step(), "outstanding", 2 * 3),
    ] {
        let drawn = sweep_charts(&sweep, &[spec(x)], ChartStyle::default()).unwrap();
        assert_eq!(drawn.len(), 1);
        assert_eq!(marks(&drawn[0].svg).len(), points, "{x}");
    }
}

/// The places of an SVG's bars: two points each.
fn ends_of_bars(svg: &str) -> Vec<[f64; 4]> {
    let document = Document::parse(svg).unwrap();
    let lines = document.descendants().filter_map(|node| node.attribute("points"));
    let numbers = |points: &str| -> Vec<f64> {
        points.split([',', ' ']).filter_map(|number| number.parse().ok()).collect()
    };
    lines.filter_map(|points| <[f64; 4]>::try_from(numbers(points)).ok()).collect()
}

#[test]
fn an_interval_that_is_wide_lies_within_the_axis() {
    let axes = vec![words("a", &["off", "on"])];
    let mut sweep = sweep_of(axes.clone(), iops(), &grid(&axes), 2);
    sweep.figures.truncate(1);
    sweep.rows.retain(|row| row.figure == 0);
    // Two seeds: the interval is 25 times as wide as they are apart.
    sweep.rows[0] = row(0, &[0], 0, None, vec![Some(1000.0), Some(1010.0)]);
    sweep.rows[1] = row(1, &[1], 0, None, vec![Some(1000.0), Some(1001.0)]);
    let svg = &charts(&sweep)[0].svg;
    let widths: Vec<f64> = ends_of_bars(svg)
        .into_iter()
        .filter(|[_, from, _, to]| from == to)
        .map(|[from, _, to, _]| (to - from).abs())
        .collect();
    // Of the two bars one is ten times as wide as the other: neither is cut.
    let is_tenfold = |wide: &f64| widths.iter().any(|other| (wide / other - 10.0).abs() < 0.2);
    assert!(widths.iter().any(is_tenfold), "{widths:?}");
}

/// One of two seeds that are far apart would flatten all lines.
#[test]
fn an_interval_that_is_far_wider_than_the_figures_is_cut_at_the_axis() {
    let axes = vec![numbers("a", "", &[1.0, 2.0, 3.0, 4.0])];
    let mut sweep = sweep_of(axes.clone(), iops(), &grid(&axes), 2);
    sweep.figures.truncate(1);
    sweep.rows.retain(|row| row.figure == 0);
    sweep.rows[1] = row(1, &[1], 0, None, vec![Some(500.0), Some(5000.0)]);
    let svg = &charts(&sweep)[0].svg;
    let words = words_of(svg).join(" ");
    assert!(words.contains("Intervals that leave the axis are cut."), "{words}");
    let document = Document::parse(svg).unwrap();
    let view = document.root_element().attribute("viewBox").unwrap();
    let height: f64 = view.rsplit(' ').next().unwrap().parse().unwrap();
    let corners = document.descendants().filter(|node| node.has_tag_name("polygon"));
    let ends = corners.filter_map(|node| node.attribute("points")).flat_map(|points| {
        points.split(' ').filter_map(|corner| corner.split_once(',')?.1.parse::<f64>().ok())
    });
    // Above it are the words, below it the labels along x.
    assert!(ends.clone().count() > 4);
    assert!(ends.into_iter().all(|y| y > 0.1 * height && y < 0.9 * height), "{svg}");
}

#[test]
fn one_at_a_time_each_axis_has_a_chart_by_segment() {
    let mut sweep = shapes::one_at_a_time();
    let all: Vec<Vec<usize>> = (0..7)
        .map(|combination| {
            sweep.rows.iter().find(|row| row.combination == combination).unwrap().at.clone()
        })
        .collect();
    let mut figures = iops();
    for figure in &mut figures {
        figure.by_segment = true;
        figure.quantity = "IOPS by segment".to_owned();
    }
    sweep = sweep_of(sweep.axes, figures, &all, 3);
    let drawn = charts(&sweep);
    let titles: Vec<&str> = drawn.iter().map(|chart| chart.title.as_str()).collect();
    assert_eq!(
        titles,
        ["IOPS by segment, by cache", "IOPS by segment, by drive", "IOPS by segment, by group"]
    );
    // 2 arrays, 3 values, 6 segments.
    assert!(drawn.iter().all(|chart| marks(&chart.svg).len() == 36));
    let words = words_of(&drawn[1].svg).join(" ");
    assert!(words.contains("All other axes are at their first value."), "{words}");
    assert!(words.contains("7.2K nearline"), "{words}");
}

#[test]
fn two_seeds_are_two_and_lines_that_coincide_are_said_to() {
    let axes = vec![numbers("file", "GB", &[1.0, 2.0, 3.0]), words("a", &["off", "on"])];
    let mut sweep = sweep_of(axes.clone(), iops(), &grid(&axes), 2);
    let words = words_of(&charts(&sweep)[0].svg).join(" ");
    assert!(words.contains("seeds 1 and 2") && !words.contains("are the same"), "{words}");
    for one in &mut sweep.rows {
        *one = row(one.combination, &one.at, one.figure, None, vec![Some(5.0), Some(5.0)]);
    }
    let words = words_of(&charts(&sweep)[0].svg).join(" ");
    assert!(words.contains("The figures are the same for every a."), "{words}");
}

/// A map of a figure in percent, over request sizes and an axis of words.
fn map_of(values: &[f64], labels: &[&str]) -> String {
    let sizes: Vec<f64> = (0..7).map(|power| 4.0 * f64::from(1 << power)).collect();
    let axes = vec![numbers("request", "KiB", &sizes), words("layout", labels)];
    let mut figures = shapes::two_numeric().figures;
    figures.truncate(1);
    let mut sweep = sweep_of(axes.clone(), figures, &grid(&axes), 1);
    for (number, one) in sweep.rows.iter_mut().enumerate() {
        let value = values[number % values.len()];
        *one = row(one.combination, &one.at, one.figure, None, vec![Some(value)]);
    }
    let spec = SweepChartSpec {
        figures: vec![sweep.figures[0].quantity.clone()],
        x: Some("request".to_owned()),
        lines: Some("layout".to_owned()),
        kind: Some(SweepChartKind::HeatMap),
        ..SweepChartSpec::default()
    };
    let mut style = ChartStyle::default();
    style.size.width_px = 480;
    sweep_charts(&sweep, &[spec], style).unwrap().remove(0).svg
}

#[test]
fn a_map_tells_a_small_advantage_from_a_small_loss() {
    let svg = map_of(&[97.0, 103.0, 100.0, 40.0], &["one", "two"]);
    for colour in ["#FEE0B6", "#D8DAEB", "#F7F7F7"] {
        // In a cell, and in the scale.
        let count = svg.matches(&format!("fill=\"{colour}\"")).count();
        assert!(count > 1, "{colour}: {count}");
    }
    let words = words_of(&svg);
    assert!(words.iter().any(|word| word.contains("mirrored about 100 %")), "{words:?}");
}

#[test]
fn a_map_labels_each_column_and_has_its_rows_in_the_order_of_the_study() {
    let svg = map_of(&[97.0, 103.0], &["first", "second"]);
    let words = words_of(&svg);
    for size in ["4", "8", "16", "32", "64", "128", "256"] {
        assert!(words.contains(&size.to_owned()), "{size}: {words:?}");
    }
    assert!(words.iter().any(|word| word == "request (KiB)"), "{words:?}");
    let document = Document::parse(&svg).unwrap();
    let height = |name: &str| -> i32 {
        let of = |node: &roxmltree::Node<'_, '_>| node.text().map(str::trim) == Some(name);
        let node = document.descendants().find(|node| node.has_tag_name("text") && of(node));
        node.unwrap().attribute("y").unwrap().parse().unwrap()
    };
    assert!(height("first") < height("second"));
}

/// IOPS and response time of two arrays in a closed loop, by outstanding operations.
fn closed_loop() -> Sweep {
    let axes = vec![numbers("outstanding", "", &[1.0, 4.0, 16.0, 64.0])];
    let of = |array, quantity, metric| figure(array, quantity, metric);
    let figures = ["FAS2050", "CX3"].map(|array| {
        [
            of(array, "IOPS, last segment", FigureMetric::IOPS),
            of(array, "response, last segment", FigureMetric::RESPONSE_MS),
        ]
    });
    let all = grid(&axes);
    let mut sweep = sweep_of(axes, figures.concat(), &all, 3);
    for row in &mut sweep.rows {
        let outstanding = [1.0, 4.0, 16.0, 64.0][row.at[0]];
        let service_ms = if row.figure < 2 { 5.0 } else { 4.0 };
        let iops = 1e3 * outstanding / (service_ms + outstanding / 4.0);
        let mean = if row.figure % 2 == 0 { iops } else { 1e3 * outstanding / iops };
        let samples = [0.99, 1.0, 1.01].map(|share| mean * share);
        row.samples = samples.iter().copied().map(Some).collect();
        (row.mean, row.interval) = strewn_results::mean_and_interval(&samples);
    }
    sweep
}

#[test]
fn response_time_is_drawn_against_throughput_over_an_axis_of_load() {
    let sweep = closed_loop();
    let drawn = charts(&sweep);
    let first = &drawn[0];
    let title = "response, last segment against IOPS, last segment, by outstanding";
    assert_eq!(first.title, title);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep-against.svg");
    std::fs::write(path, &first.svg).unwrap();
    let marks = marks(&first.svg);
    assert_eq!(marks.len(), 8, "a point for each level and array: {marks:?}");
    // 16 in 5 + 4 ms.
    let point = "FAS2050, outstanding 16: 1778 ";
    let point = marks.iter().find(|mark| mark.starts_with(point)).expect("both figures of a level");
    assert!(point.contains("9.0 ms"), "{point}");
    let words = words_of(&first.svg);
    for word in ["1", "4", "16", "64", "IOPS, last segment", "response, last segment (ms)"] {
        assert!(words.iter().any(|one| one == word), "{word}: {words:?}");
    }
    // Nothing of the kind without a load, nor of shares.
    let mut other = sweep.clone();
    other.axes[0].setting = "buffer_cache".to_owned();
    assert!(charts(&other).iter().all(|chart| !chart.title.contains("against")));
    let mut shares = sweep.clone();
    shares.figures.iter_mut().for_each(|figure| figure.of.over = Some("CX3".to_owned()));
    assert!(charts(&shares).iter().all(|chart| !chart.title.contains("against")));
    // A level that lacks one of the two figures has no point.
    let mut gap = sweep;
    gap.rows[0].mean = None;
    assert_eq!(charts(&gap)[0].svg.matches("outstanding 1:").count(), 1);
}

#[test]
fn a_chart_may_ask_for_any_two_figures() {
    let spec = SweepChartSpec {
        figures: vec!["IOPS, last segment".to_owned()],
        against: Some("response, last segment".to_owned()),
        ..SweepChartSpec::default()
    };
    let drawn = sweep_charts(&closed_loop(), &[spec], ChartStyle::default()).unwrap();
    let [only] = &drawn[..] else { panic!("{} charts", drawn.len()) };
    assert_eq!(only.title, "IOPS, last segment against response, last segment, by outstanding");
}
