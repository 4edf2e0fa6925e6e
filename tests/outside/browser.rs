//! `report.html` in Chromium.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use strewn::report::SweepReport;
use strewn::results::{Results, StudyText, Sweep};
use strewn_testing::Missing;

use crate::chromium::{PATIENCE, chromium};
use crate::common::Folder;

/// The document after the page at `address` has run, and what the browser said of it.
fn document_of(program: &Path, address: &str) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let (dom, said) = (profile.path().join("dom"), profile.path().join("said"));
    let mut child = Command::new(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        // Whatever the page would fetch fails, and is logged.
        .args(["--proxy-server=127.0.0.1:9", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
        .arg(address)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&dom).unwrap())
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser was not done after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    (read(&dom), read(&said))
}

/// What the attribute of that name says at its first place in `html`.
fn attribute<'a>(html: &'a str, name: &str) -> Option<&'a str> {
    let (_, from) = html.split_once(&format!(" {name}=\""))?;
    from.split('"').next()
}

/// The page of an array of real spindles has figures of its log, and parameters in other units than the results.
pub fn the_page_of_real_spindles_has_the_figures_of_its_results() -> Result<(), Missing> {
    let program = chromium()?;
    let folder = Folder::new();
    let sizes = ["--spindle-size", "32MiB", "--lun-size", "16MiB"];
    let layout = ["array", "create", "a", "--layout", "raid-4", "--data-spindles", "3"];
    folder.strewn(&[&layout[..], &sizes].concat()).succeeded();
    // Long enough that something moves in each, on a machine that is busy.
    let words = ["array", "run", "a", "--segments", "2", "--segment", "2s", "--out", "out"];
    folder.strewn(&words).succeeded();
    let address = format!("file://{}#check", folder.path("out/report.html").display());
    let (document, said) = document_of(&program, &address);
    assert!(!said.contains("CONSOLE"), "the page complains:\n{said}");
    assert_eq!(attribute(&document, "data-check"), Some("ok"), "{said}");
    for path in ["real_spindles/log/1/utilization", "arrays/0/parameters/2/value"] {
        assert!(document.contains(&format!("data-path=\"{path}\"")), "no {path}");
    }
    Ok(())
}

pub fn the_page_loads_its_slider_moves_the_map_and_its_figures_are_those_of_the_results()
-> Result<(), Missing> {
    let program = chromium()?;
    let folder = Folder::new();
    // A name that would be markup, were it not escaped.
    let hostile =
        |text: &str| text.replace("\"anywhere\"", "\"any<script>alert(1)</script>{{title}}\"");
    folder.write("hostile.toml", &hostile(crate::common::SMALL));
    folder.write("small.published.toml", &hostile(&folder.read("small.published.toml")));
    folder.strewn(&["run", "hostile.toml", "--out", "out"]).succeeded();
    let address = format!("file://{}#check", folder.path("out/report.html").display());
    let (document, said) = document_of(&program, &address);
    assert!(!said.contains("CONSOLE"), "the page complains:\n{said}");

    let outcome = attribute(&document, "data-check");
    assert_eq!(outcome, Some("ok"), "{said}");
    // Four pictures of the array whose file moves, and one of the other.
    assert_eq!(attribute(&document, "data-pictures"), Some("4 1"));
    let compared: usize = attribute(&document, "data-compared").unwrap().parse().unwrap();
    assert!(compared > 100, "{compared} figures compared");

    // The page compared its tables with the results within it; here they are compared with the file, as they stand.
    let results = Results::from_json(&folder.read("out/results.json")).unwrap();
    for (position, array) in results.arrays.iter().enumerate() {
        for (number, segment) in array.segments.iter().enumerate() {
            let path = format!("data-path=\"arrays/{position}/segments/{number}/iops\"");
            let shown: Vec<&str> = document
                .match_indices(&path)
                .filter_map(|(at, _)| document[at..].split(['>', '<']).nth(1))
                .collect();
            assert!(!shown.is_empty(), "{path} is nowhere");
            let rounded = format!("{:.0}", segment.iops);
            for figure in shown {
                assert_eq!(figure.replace(',', ""), rounded, "{path}");
            }
        }
    }
    Ok(())
}

/// The page of a sweep draws every choice of axes, each figure once, within its width, and sorts its tables.
pub fn the_page_of_a_sweep_draws_every_choice_of_axes() -> Result<(), Missing> {
    let program = chromium()?;
    let folder = Folder::new();
    for (name, sweep) in [("grid", sweep_of_a_grid()), ("scattered", scattered(sweep_of_a_grid()))]
    {
        let html = SweepReport { sweep: &sweep, charts: &[], text: &StudyText::default() }
            .to_html()
            .unwrap();
        folder.write(&format!("{name}.html"), &html);
        let address = format!("file://{}#check", folder.path(&format!("{name}.html")).display());
        let (document, said) = document_of(&program, &address);
        assert!(!said.contains("CONSOLE"), "the page complains:\n{said}");
        assert_eq!(attribute(&document, "data-check"), Some("ok"), "{name}: {said}");
        let drawn: usize = attribute(&document, "data-drawn").unwrap().parse().unwrap();
        assert!(drawn >= 32, "{name}: {drawn} charts");
        // Labels are words, whatever they look like.
        assert!(document.contains("&lt;i&gt;in place") && !document.contains("<i>in place"));
    }
    Ok(())
}

/// IOPS of two arrays by three axes, in two seeds.
fn sweep_of_a_grid() -> Sweep {
    let axis = |name: &str, values: serde_json::Value| json!({ "name": name, "values": values });
    let number = |value: f64| json!({ "label": format!("{value} GB"), "number": value });
    let word = |label: &str| json!({ "label": label });
    let figure = |array: &str| {
        let of = json!({ "array": array, "metric": "iops" });
        json!({ "name": format!("{array}: IOPS"), "quantity": "IOPS", "unit": "IOPS", "of": of })
    };
    let mut rows = Vec::new();
    for combination in 0..16 {
        let at = [combination / 4, combination / 2 % 2, combination % 2];
        for figure in 0..2 {
            let iops = f64::from(4000 - 100 * combination - 1000 * figure);
            rows.push(json!({
                "combination": combination, "at": at, "figure": figure, "samples": [iops - 1.0, iops + 1.0],
                "mean": iops, "interval": [iops - 12.7, iops + 12.7],
            }));
        }
    }
    let sweep = json!({
        "schema": 1, "study": "small", "title": "Does it matter?", "strewn": "0.1.0", "scale_down": 8, "seeds": [1, 2],
        "confidence_percent": 95.0,
        "axes": [
            axis("file", json!([number(100.0), number(300.0), number(500.0), number(900.0)])),
            axis("layout", json!([word("anywhere"), word("<i>in place")])),
            axis("mirrored", json!([word("no"), word("yes")])),
        ],
        "figures": [figure("a"), figure("b")], "rows": rows, "differences": [], "missing": [],
    });
    Sweep::from_json(&sweep.to_string()).unwrap()
}

/// The same with some combinations alone, so that no axis can be held fixed.
fn scattered(mut sweep: Sweep) -> Sweep {
    sweep.rows.retain(|row| matches!(row.combination, 0 | 6 | 9 | 15));
    for row in &mut sweep.rows {
        row.combination = [0, 6, 9, 15].iter().position(|kept| *kept == row.combination).unwrap();
    }
    sweep
}
