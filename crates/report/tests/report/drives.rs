use roxmltree::Document;
use strewn_base::Direction;
use strewn_report::{ChartError, ChartSize, DRIVE_CHARTS, DriveChart, drive_tables};
use strewn_results::{
    DRIVE_CHARACTERIZATION_SCHEMA, DriveCharacterization, DriveFigures, LoopPoint, ResultsError,
    SeekPoint, TransferPoint, figures_json,
};

/// Creates a closed loop with invented figures.
fn point(operation: Direction, scheduler: &str, outstanding: u32) -> LoopPoint {
    LoopPoint {
        operation,
        scheduler: scheduler.to_owned(),
        outstanding,
        span_percent: 100,
        end_lba: 1_000_000,
        sectors: 8,
        bytes: 4096,
        iops: if operation == Direction::Read { 200.0 } else { 150.0 },
        response_ms: f64::from(outstanding) * 5.0,
        mb_per_s: 1.0,
    }
}

/// Creates a drive with invented figures.
fn drive(profile: &str, sector_bytes: u32) -> DriveFigures {
    let both = |make: &dyn Fn(Direction) -> Vec<LoopPoint>| -> Vec<LoopPoint> {
        Direction::ALL.into_iter().flat_map(make).collect()
    };
    let loads = [("fcfs", 1), ("fcfs", 16), ("sptf", 16)];
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
        by_depth: both(&|operation| {
            let depths = [1, 2, 4];
            let of = |scheduler| depths.map(|depth| point(operation, scheduler, depth));
            [of("fcfs"), of("sptf")].concat()
        }),
        by_span: both(&|operation| {
            let spans = loads.iter().flat_map(|load| [1, 100].map(|percent| (load, percent)));
            spans
                .map(|((scheduler, outstanding), span_percent)| LoopPoint {
                    span_percent,
                    end_lba: 10_000 * u64::from(span_percent),
                    ..point(operation, scheduler, *outstanding)
                })
                .collect()
        }),
        by_block: both(&|operation| {
            let sizes = loads.iter().flat_map(|load| [1, 2, 4].map(|sectors| (load, sectors)));
            sizes
                .map(|((scheduler, outstanding), sectors)| LoopPoint {
                    sectors,
                    bytes: sectors * sector_bytes,
                    ..point(operation, scheduler, *outstanding)
                })
                .collect()
        }),
    }
}

fn study(drives: Vec<DriveFigures>) -> DriveCharacterization {
    DriveCharacterization {
        schema: DRIVE_CHARACTERIZATION_SCHEMA,
        strewn: "0.1.0".to_owned(),
        seed: 1,
        cache: "off".to_owned(),
        block_bytes: 4096,
        drives,
    }
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
    let svg = DriveChart::IopsByDepthReads.draw(&two, ChartSize::default()).unwrap();
    let document = Document::parse(&svg).unwrap();
    let circles = |fill: &str| {
        let circles = document
            .descendants()
            .filter(|node| node.has_tag_name("circle") && node.attribute("fill") == Some(fill));
        circles.count()
    };
    // The first scheduler of each drive, and one more in the legend. The second drive's markers are
    // hollow.
    assert_eq!((circles("#0072B2"), circles("#FFFFFF")), (3 + 1, 3 + 1));
}

#[test]
fn reads_and_writes_are_told_apart_and_one_scheduler_is_drawn_by_span_and_size() {
    let one = study(vec![drive("one", 512)]);
    let words = |chart: DriveChart| -> String {
        let svg = chart.draw(&one, ChartSize::default()).unwrap();
        let document = Document::parse(&svg).unwrap();
        document.descendants().filter_map(|node| node.text()).collect()
    };
    assert!(words(DriveChart::IopsByDepthWrites).contains("random writes of 4 KiB"));
    for chart in [DriveChart::IopsBySpan, DriveChart::ResponseByBlock, DriveChart::RateByBlock] {
        let words = words(chart);
        for operation in ["reads", "writes"] {
            assert!(words.contains(&format!("{operation}, 1 outstanding")), "{words}");
            assert!(words.contains(&format!("{operation}, 16 outstanding, sptf")), "{words}");
        }
        assert!(!words.contains("fcfs") && words.contains("cache off"), "{words}");
    }
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
        assert_eq!(chart.draw(&wrong, size).is_err(), chart == DriveChart::ResponseByDepthReads);
    }
    wrong.drives[0].by_depth[0].iops = f64::INFINITY;
    assert!(matches!(figures_json(&wrong), Err(ResultsError::NotFinite)));
}

#[test]
fn tables_tell_two_drives_apart_and_leave_out_what_one_lacks() {
    let tables = drive_tables(&study(vec![drive("one", 512), drive("two", 520)]));
    for part in [
        "A: one",
        "B: two",
        "520 B",
        "2 KiB",
        "IOPS by commands outstanding: random writes of 4 KiB over the whole drive, cache off",
        "Mean response, ms, by span, commands outstanding and scheduler: random reads of 4 KiB",
        "MB/s by size, commands outstanding and scheduler: random writes over the whole drive",
    ] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
    let row = tables.lines().find(|line| line.trim_start().starts_with("520 B")).unwrap();
    assert!(row.contains(" - ") && row.contains("200.0"), "{row}");
    assert!(!drive_tables(&study(vec![drive("one", 512)])).contains("A:"));
}

#[test]
fn json_reads_back_as_what_was_written() {
    let two = study(vec![drive("\": null", 512), drive("two", 520)]);
    let text = figures_json(&two).unwrap();
    assert_eq!(serde_json::from_str::<DriveCharacterization>(&text).unwrap(), two);
}
