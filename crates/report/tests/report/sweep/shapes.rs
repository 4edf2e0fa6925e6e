//! A sweep of each shape, with what its axes make of it.

use super::fixture::{figure, grid, grid_sweep, iops, numbers, sweep_of, words};
use strewn_results::{FigureMetric, SegmentChoice, Sweep, SweepFigure};

/// IOPS kept, of two arrays.
pub(crate) fn kept() -> Vec<SweepFigure> {
    let of = |array: &str| {
        let mut figure = figure(array, "IOPS kept", FigureMetric::IOPS);
        figure.of.over_segment = Some(SegmentChoice::Number(1));
        figure.unit = figure.of.unit().to_owned();
        figure
    };
    vec![of("FAS2050"), of("EVA4400")]
}

pub(crate) fn one_numeric() -> Sweep {
    grid_sweep(vec![numbers("file", "GB", &[100.0, 300.0, 500.0, 700.0, 900.0])])
}

pub(crate) fn named() -> Sweep {
    grid_sweep(vec![words(
        "redundancy",
        &["RAID-DP", "RAID-4, data spindles one more", "<b>&\" as the failover scenario has it"],
    )])
}

pub(crate) fn two_named() -> Sweep {
    grid_sweep(vec![
        words("redundancy", &["RAID-DP", "RAID-4"]),
        words("root volume", &["inside", "apart", "none"]),
    ])
}

pub(crate) fn numeric_and_named() -> Sweep {
    grid_sweep(vec![
        numbers("outstanding", "", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
        words("protocol", &["FCP", "iSCSI", "iSCSI, jumbo frames"]),
    ])
}

/// A map: shares around 100 %.
pub(crate) fn two_numeric() -> Sweep {
    let axes = vec![
        numbers("request", "KiB", &[4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
        numbers("writes", "%", &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
    ];
    let all = grid(&axes);
    let mut sweep = sweep_of(axes, kept(), &all, 3);
    for row in &mut sweep.rows {
        let share = 140.0 - 8.0 * (row.at[0] as f64 + row.at[1] as f64) + row.figure as f64;
        let shares: Vec<f64> = [-1.0, 0.0, 1.0].iter().map(|more| share + more).collect();
        row.samples = shares.iter().copied().map(Some).collect();
        (row.mean, row.interval) = strewn_results::mean_and_interval(&shares);
    }
    sweep
}

pub(crate) fn three() -> Sweep {
    grid_sweep(vec![
        numbers("file", "GB", &[100.0, 500.0, 900.0]),
        words("alignment", &["512 B", "4 KiB"]),
        words("layout", &["chained", "striped", "spread over all groups"]),
    ])
}

pub(crate) fn four() -> Sweep {
    grid_sweep(vec![
        numbers("file", "GB", &[100.0, 500.0]),
        words("alignment", &["512 B", "4 KiB"]),
        words("layout", &["chained", "striped"]),
        words("takeover", &["no", "yes"]),
    ])
}

pub(crate) fn one_at_a_time() -> Sweep {
    let axes = vec![
        numbers("cache", "MiB", &[2048.0, 4096.0, 8192.0]),
        words("drive", &["15K", "10K", "7.2K nearline"]),
        numbers("group", "", &[14.0, 20.0, 28.0]),
    ];
    let mut all = vec![vec![0, 0, 0]];
    for axis in 0..3 {
        for value in 1..3 {
            let mut at = vec![0, 0, 0];
            at[axis] = value;
            all.push(at);
        }
    }
    sweep_of(axes, iops(), &all, 3)
}

pub(crate) fn latin_hypercube() -> Sweep {
    let numbered = |step: usize| -> Vec<f64> {
        (0..16).map(|place| ((place * step) % 16) as f64 * 2.5 + 1.0).collect()
    };
    let axes = vec![
        numbers("cache", "GiB", &numbered(1)),
        numbers("full", "%", &numbered(3)),
        numbers("outstanding", "", &numbered(5)),
    ];
    let all: Vec<Vec<usize>> = (0..16).map(|place| vec![place, place, place]).collect();
    // Values that differ by axis do not advance together, although their positions do.
    let all: Vec<Vec<usize>> =
        all.into_iter().map(|at| vec![at[0], (at[1] * 7) % 16, (at[2] * 11 + 3) % 16]).collect();
    sweep_of(axes, iops(), &all, 1)
}

/// A hypercube of two axes, crossed with a third.
pub(crate) fn crossed_hypercube() -> Sweep {
    let places: Vec<f64> = (0..12).map(|place| f64::from(place) * 8.0).collect();
    let axes = vec![
        numbers("full", "%", &places),
        numbers("cache", "GiB", &places),
        words("layout", &["chained", "striped"]),
    ];
    let pairs =
        (0..12).flat_map(|place| [0, 1].map(|layout| vec![place, (place * 5) % 12, layout]));
    let all: Vec<Vec<usize>> = pairs.collect();
    sweep_of(axes, iops(), &all, 3)
}

pub(crate) fn in_step() -> Sweep {
    let axes = vec![
        numbers("spindles", "", &[14.0, 28.0, 56.0]),
        numbers("outstanding", "", &[50.0, 100.0, 200.0]),
    ];
    sweep_of(axes, iops(), &[vec![0, 0], vec![1, 1], vec![2, 2]], 3)
}

pub(crate) fn by_segment() -> Sweep {
    let axes = vec![words("alignment", &["512 B", "4 KiB", "63 sectors"])];
    let mut figures = iops();
    figures.iter_mut().for_each(|figure| figure.by_segment = true);
    let all = grid(&axes);
    sweep_of(axes, figures, &all, 3)
}

pub(crate) fn single() -> Sweep {
    sweep_of(vec![words("alignment", &["512 B", "4 KiB"])], iops(), &[vec![1]], 3)
}

pub(crate) fn many_panels() -> Sweep {
    let labels: Vec<String> = (1..=12).map(|number| format!("group {number}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    grid_sweep(vec![
        numbers("file", "GB", &[100.0, 500.0, 900.0]),
        words("place", &labels),
        words("alignment", &["512 B", "4 KiB"]),
    ])
}

/// All of them, with their names.
pub(crate) fn all() -> Vec<(&'static str, Sweep)> {
    vec![
        ("one-numeric", one_numeric()),
        ("named", named()),
        ("two-named", two_named()),
        ("numeric-and-named", numeric_and_named()),
        ("two-numeric", two_numeric()),
        ("three", three()),
        ("four", four()),
        ("one-at-a-time", one_at_a_time()),
        ("latin-hypercube", latin_hypercube()),
        ("crossed-hypercube", crossed_hypercube()),
        ("in-step", in_step()),
        ("by-segment", by_segment()),
        ("single", single()),
        ("many-panels", many_panels()),
    ]
}
