use super::fixture::{grid, grid_sweep, iops, numbers, row, sweep_of, words};
use super::shapes;
use roxmltree::Document;
use std::path::Path;
use strewn_report::{
    ChartStyle, Sweep, SweepChart, SweepChartKind, SweepChartSpec, Theme, sweep_charts,
};

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
