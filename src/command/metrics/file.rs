//! Figures of files, for a program that reads them from a file, such as node_exporter's textfile collector.

use std::path::Path;
use std::time::SystemTime;

use strewn::Replacement;
use strewn::results::FileRecord;
use strewn::terminal::Failure;

use super::text::{Kind, Text};

/// The family that a page begins with.
const FIRST: &str = "strewn_file_look_timestamp_seconds";

/// Whether a file begins as a page of figures does.
pub(crate) fn is_page(first: &str) -> bool {
    first.strip_prefix("# TYPE ").is_some_and(|rest| rest.starts_with(FIRST))
}

/// Writes the figures of one look in place of those of the last. A reader sees the old file or the new one.
pub(crate) fn write(path: &Path, files: &[FileRecord], at: SystemTime) -> Result<(), Failure> {
    let page = page(files, at);
    Replacement::write(path, page.as_bytes()).and_then(Replacement::put_in_place).map_err(|error| {
        Failure::failed(format!("--metrics {}: {error}", path.display()))
            .with_help("make sure that it can be written to, and repeat the command")
    })
}

fn page(files: &[FileRecord], at: SystemTime) -> String {
    let mut text = Text::new();
    let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    text.one(Kind::Gauge, FIRST, "When these figures were taken, Unix time.", at);
    let labels = |file: &FileRecord| vec![("path", file.path.clone())];
    type Figure = fn(&FileRecord) -> f64;
    let figures: [(&str, &str, Figure); 4] = [
        ("strewn_file_size_bytes", "Bytes up to the end of the file.", |file| file.bytes as f64),
        (
            "strewn_file_extents",
            "Runs of blocks that are consecutive in the file and on the device.",
            |file| file.layout.extents as f64,
        ),
        (
            "strewn_file_layout_score_ratio",
            "Share of blocks that directly follow their predecessor; 1 is contiguous.",
            |file| file.layout.layout_score,
        ),
        ("strewn_file_hole_bytes", "Bytes of holes.", |file| file.layout.hole_bytes as f64),
    ];
    // A file that is listed twice would be a sample that is there twice.
    let mut listed: Vec<&FileRecord> = files.iter().collect();
    listed.sort_by(|one, other| one.path.cmp(&other.path));
    listed.dedup_by(|one, other| one.path == other.path);
    for (name, help, figure) in figures {
        text.family(
            Kind::Gauge,
            name,
            help,
            listed.iter().map(|file| (labels(file), figure(file))),
        );
    }
    let costs = listed.iter().filter_map(|file| Some((labels(file), file.cost.as_ref()?)));
    text.family(
        Kind::Gauge,
        "strewn_file_commands_per_request",
        "Commands of the device for each request.",
        costs.map(|(labels, cost)| (labels, cost.commands_per_request)),
    );
    text.end()
}
