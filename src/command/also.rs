//! Results in the formats of other tools.

use std::sync::{Mutex, PoisonError};

use strewn::results::Results;
use strewn::scenario::Scenario;
use strewn::sim::{Progress, Segment};
use strewn::terminal::Failure;
use strewn::{Load, Observer, fio_output, iometer_results};

use super::arguments::Shape;
use super::hdr_log;
use super::out_directory::OutFile;

impl Shape {
    /// Returns the name of the file.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Self::Fio => "fio.json",
            Self::Iometer => "results.csv",
            Self::Hdr => "latency.hlog",
        }
    }
}

/// Forwards a run's events to its observer, and keeps the segments if they are needed.
pub(crate) struct Collecting<'a> {
    observer: &'a dyn Observer,
    segments: Option<Mutex<Vec<Vec<Segment>>>>,
}

impl<'a> Collecting<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, arrays: usize, keep: bool) -> Self {
        Self { observer, segments: keep.then(|| Mutex::new(vec![Vec::new(); arrays])) }
    }

    /// Returns the segments of each array; empty if they were not kept.
    pub(crate) fn into_segments(self) -> Vec<Vec<Segment>> {
        let segments = self.segments.map(Mutex::into_inner);
        segments.map(|all| all.unwrap_or_else(PoisonError::into_inner)).unwrap_or_default()
    }
}

impl Observer for Collecting<'_> {
    fn progress(&self, array: usize, progress: Progress) {
        self.observer.progress(array, progress);
    }

    fn segment(&self, array: usize, segment: &Segment) {
        if let Some(segments) = &self.segments {
            let mut segments = segments.lock().unwrap_or_else(PoisonError::into_inner);
            segments[array].push(segment.clone());
        }
        self.observer.segment(array, segment);
    }

    fn replicates(&self, done: usize, all: usize) {
        self.observer.replicates(done, all);
    }

    fn warning(&self, text: &str) {
        self.observer.warning(text);
    }

    fn stop(&self) -> bool {
        self.observer.stop()
    }
}

/// Returns the files in these formats.
pub(crate) fn files(
    shapes: &[Shape],
    scenario: &Scenario,
    results: &Results,
    load: Option<&Load>,
    segments: &[Vec<Segment>],
) -> Result<Vec<OutFile>, Failure> {
    let failed = |error: strewn::formats::WriteError| Failure::failed(error.to_string());
    let file = |shape: &Shape| {
        let contents = match shape {
            Shape::Fio => {
                fio_output(results, load, segments).to_json().map_err(failed)?.into_bytes()
            }
            Shape::Iometer => {
                let mut csv = Vec::new();
                for series in iometer_results(scenario, results, segments) {
                    series.write(&mut csv).map_err(failed)?;
                }
                csv
            }
            Shape::Hdr => hdr_log::of_run(results, segments).map_err(Failure::failed)?,
        };
        Ok((shape.file_name().to_owned(), contents))
    };
    shapes.iter().map(file).collect()
}
