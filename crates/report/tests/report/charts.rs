use crate::fixture;
use roxmltree::{Document, Node};
use std::path::Path;
use strewn_report::{ChartError, ChartSize, iops_chart, response_chart};
use strewn_results::Results;

type Chart = fn(&Results, ChartSize) -> Result<String, ChartError>;
const CHARTS: [(&str, Chart); 2] = [("iops", iops_chart), ("response", response_chart)];

fn count(document: &Document<'_>, wanted: impl Fn(&Node<'_, '_>) -> bool) -> usize {
    document.descendants().filter(wanted).count()
}

#[test]
fn marks_are_as_many_as_the_figures() {
    for (name, chart) in CHARTS {
        let svg = chart(&fixture::results(), ChartSize::default()).unwrap();
        // For visual inspection.
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.svg"));
        std::fs::write(path, &svg).unwrap();
        let document = Document::parse(&svg).unwrap();
        let circles = |fill: &str| {
            count(&document, |node| {
                node.has_tag_name("circle") && node.attribute("fill") == Some(fill)
            })
        };
        let squares = |fill: &str| {
            count(&document, |node| {
                node.has_tag_name("polygon") && node.attribute("fill") == Some(fill)
            })
        };
        // Segments 1 and 2 of the first array are fitted, and all of the second, whose published
        // figure is the same in each; the legend has one mark of each kind and array.
        assert_eq!(circles("#0072B2"), 12 + 1);
        assert_eq!(circles("#FFFFFF"), 2 + 1);
        assert_eq!(squares("#D55E00"), 0);
        assert_eq!(squares("#FFFFFF"), 14 + 1);
        // Published figures have one dash each for the first array, two for the second.
        let dashes = count(&document, |node| {
            let points = node.attribute("points").unwrap_or_default();
            node.has_tag_name("polyline")
                && node.attribute("stroke") == Some("#282828")
                && node.attribute("stroke-width") == Some("16")
                && points.split_whitespace().count() == 2
        });
        assert_eq!(dashes, (14 + 1) + 2 * (14 + 1));
    }
}

#[test]
fn a_last_segment_of_a_moment_is_not_drawn() {
    for (_, chart) in CHARTS {
        let mut results = fixture::results();
        results.arrays.iter_mut().for_each(|array| array.segments[13].seconds = 0.01);
        let svg = chart(&results, ChartSize::default()).unwrap();
        assert!(svg.contains("FAS2050, segment 13:") && !svg.contains("FAS2050, segment 14:"));
        assert!(svg.contains("segment (20 min each)"));
    }
}

#[test]
fn words_are_there_with_units_and_a_font() {
    for ((_, chart), axis) in CHARTS.into_iter().zip(["(IOPS)", "(ms)"]) {
        let svg = chart(&fixture::results(), ChartSize::default()).unwrap();
        let document = Document::parse(&svg).unwrap();
        let words: Vec<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| {
                let family = node.attribute("font-family").unwrap();
                assert_eq!(family, "DejaVu Sans, Helvetica, Arial, sans-serif");
                node.text().unwrap().trim()
            })
            .collect();
        for expected in ["FAS2050", "EVA4400", "segment (20 min each)", "published", "14"] {
            assert!(words.contains(&expected), "{expected}: {words:?}");
        }
        assert!(words.iter().any(|words| words.contains(axis)));
        let title = document.descendants().find(|node| node.has_tag_name("title")).unwrap();
        assert!(title.text().unwrap().contains("making-sense-of-wafl-4"));
    }
}

#[test]
fn the_same_results_give_the_same_bytes_at_the_size_asked_for() {
    let size = ChartSize { width_px: 640, height_px: 400 };
    for (_, chart) in CHARTS {
        let svg = chart(&fixture::results(), size).unwrap();
        assert_eq!(svg, chart(&fixture::results(), size).unwrap());
        let document = Document::parse(&svg).unwrap();
        assert_eq!(document.root_element().attribute("width"), Some("640"));
        assert_eq!(document.root_element().attribute("height"), Some("400"));
    }
}

#[test]
fn names_cannot_break_the_picture_and_caveats_are_in_it() {
    let mut results = fixture::results();
    results.scenario = "a < b & \"c\"".to_owned();
    results.arrays[0].name = "<script>&amp;".to_owned();
    results.partial = true;
    let svg = iops_chart(&results, ChartSize::default()).unwrap();
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("partial.svg"), &svg).unwrap();
    let document = Document::parse(&svg).unwrap();
    let all: String = document.descendants().filter_map(|node| node.text()).collect();
    assert!(all.contains("a < b & \"c\"") && all.contains("<script>&amp;"));
    assert!(all.contains("stopped before its last segment"));
}

#[test]
fn one_segment_and_many_arrays_are_drawn_and_nothing_is_not() {
    let mut results = fixture::results();
    results.published.clear();
    for array in &mut results.arrays {
        array.segments.truncate(1);
    }
    results.arrays = results.arrays.iter().cycle().take(9).cloned().collect();
    let size = ChartSize::default();
    let svg = iops_chart(&results, size).unwrap();
    Document::parse(&svg).unwrap();
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("nine.svg"), &svg).unwrap();

    results.arrays[3].segments[0].iops = f64::NAN;
    assert!(matches!(iops_chart(&results, size), Err(ChartError::Figure { segment: 1, .. })));
    results.arrays.clear();
    assert_eq!(iops_chart(&results, size), Err(ChartError::NothingToDraw));
    let mut crowd = fixture::results();
    crowd.arrays = crowd.arrays.iter().cycle().take(30).cloned().collect();
    assert!(matches!(iops_chart(&crowd, size), Err(ChartError::Crowded { arrays: 30, .. })));
    let small = ChartSize { width_px: 100, height_px: 400 };
    assert!(matches!(
        iops_chart(&fixture::results(), small),
        Err(ChartError::Size { width_px: 100, .. })
    ));
}
