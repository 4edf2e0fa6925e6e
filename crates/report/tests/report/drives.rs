use roxmltree::Document;
use strewn_report::{
    BlockPoint, ChartError, ChartSize, DRIVE_CHARTS, DRIVE_STUDY_SCHEMA, DepthPoint, DriveChart,
    DriveFigures, DriveStudy, ResultsError, SeekPoint, SpanPoint, TransferPoint, drive_json,
    drive_tables,
};

/// A drive whose figures are made up.
fn drive(profile: &str, sector_bytes: u32) -> DriveFigures {
    let loads = ["fcfs", "sptf"];
    let by_depth = |(position, scheduler): (usize, &&str)| {
        [1, 2, 4].map(|outstanding| DepthPoint {
            scheduler: (*scheduler).to_owned(),
            outstanding,
            iops: 100.0 + 10.0 * position as f64,
            response_ms: f64::from(outstanding) * 10.0,
        })
    };
    DriveFigures {
        profile: profile.to_owned(),
        credit: "made up".to_owned(),
        rpm: 15_000,
        heads: 4,
        cylinders: 1_000,
        zones: 1,
        sector_bytes,
        capacity_sectors: 1_000_000,
        revolution_ms: 4.0,
        head_switch_ms: 0.5,
        write_settle_ms: 0.2,
        seek: vec![SeekPoint { cylinders: 1, ms: 0.5 }, SeekPoint { cylinders: 999, ms: 5.0 }],
        transfer: (0..100)
            .map(|percent| TransferPoint {
                lba: percent * 10_000,
                lba_percent: percent as f64,
                mb_per_s: 100.0,
            })
            .collect(),
        by_depth: loads.iter().enumerate().flat_map(by_depth).collect(),
        by_span: [1, 100]
            .map(|span_percent| SpanPoint {
                scheduler: "fcfs".to_owned(),
                outstanding: 1,
                span_percent,
                end_lba: 10_000 * u64::from(span_percent),
                iops: 200.0,
                response_ms: 5.0,
            })
            .to_vec(),
        by_block: [1, 2, 4]
            .map(|sectors| BlockPoint {
                scheduler: "fcfs".to_owned(),
                outstanding: 1,
                sectors,
                bytes: sectors * sector_bytes,
                iops: 200.0,
                response_ms: 5.0,
                mb_per_s: 1.0,
            })
            .to_vec(),
    }
}

fn study(drives: Vec<DriveFigures>) -> DriveStudy {
    let strewn = "0.1.0".to_owned();
    DriveStudy { schema: DRIVE_STUDY_SCHEMA, strewn, seed: 1, block_bytes: 4096, drives }
}

#[test]
fn every_chart_names_the_drives_and_draws_a_mark_for_each_figure() {
    let two = study(vec![drive("one <fast>", 512), drive("two", 520)]);
    for chart in DRIVE_CHARTS {
        let svg = chart.draw(&two, ChartSize::default()).unwrap();
        assert_eq!(svg, chart.draw(&two, ChartSize::default()).unwrap());
        let document = Document::parse(&svg).unwrap();
        let all: String = document.descendants().filter_map(|node| node.text()).collect();
        assert!(all.contains("one <fast>") && all.contains("two"), "{chart:?}");
    }
    let svg = DriveChart::IopsByDepth.draw(&two, ChartSize::default()).unwrap();
    let document = Document::parse(&svg).unwrap();
    let circles = |fill: &str| {
        let circles = document
            .descendants()
            .filter(|node| node.has_tag_name("circle") && node.attribute("fill") == Some(fill));
        circles.count()
    };
    // The first scheduler of each drive, and one more in the legend: the second drive's are hollow.
    assert_eq!((circles("#0072B2"), circles("#FFFFFF")), (3 + 1, 3 + 1));
}

#[test]
fn figures_that_cannot_be_drawn_are_errors() {
    let none = study(Vec::new());
    let mut wrong = study(vec![drive("one", 512)]);
    wrong.drives[0].by_depth[0].response_ms = 0.0;
    let size = ChartSize::default();
    for chart in DRIVE_CHARTS {
        assert!(matches!(chart.draw(&none, size), Err(ChartError::NoFigures { .. })));
        // A logarithmic axis has no zero.
        assert_eq!(chart.draw(&wrong, size).is_err(), chart == DriveChart::ResponseByDepth);
    }
    wrong.drives[0].by_depth[0].iops = f64::INFINITY;
    assert!(matches!(drive_json(&wrong), Err(ResultsError::NotFinite)));
}

#[test]
fn tables_tell_two_drives_apart_and_leave_out_what_one_lacks() {
    let tables = drive_tables(&study(vec![drive("one", 512), drive("two", 520)]));
    for part in ["A: one", "B: two", "520 B", "2 KiB"] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
    let row = tables.lines().find(|line| line.trim_start().starts_with("520 B")).unwrap();
    assert!(row.contains(" - ") && row.contains("200.0"), "{row}");
    assert!(!drive_tables(&study(vec![drive("one", 512)])).contains("A:"));
}

#[test]
fn json_reads_back_as_what_was_written() {
    let two = study(vec![drive("\": null", 512), drive("two", 520)]);
    let text = drive_json(&two).unwrap();
    assert_eq!(serde_json::from_str::<DriveStudy>(&text).unwrap(), two);
}
