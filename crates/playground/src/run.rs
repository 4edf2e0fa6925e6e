//! Running one array.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde_json::json;
use strewn_run::{ArrayRun, Observer};
use strewn_sim::Progress;

use crate::refusal::Refusal;

use crate::packet::packet;
use crate::source::Source;
use crate::teller::Teller;

/// Runs array number `index`, and returns how many segments are complete, and what it did.
pub(crate) fn array(
    source: &Source,
    index: usize,
    teller: &dyn Teller,
) -> Result<(usize, Vec<u8>), Refusal> {
    let run = source.run(&source.scenario()?)?;
    let Some(_) = run.scenario().arrays.get(index) else {
        return Err(Refusal::failed(format!("there is no array number {index}")));
    };
    let scenario = run.scenario();
    let of_ns = scenario.length_ns();
    let telling = Telling {
        teller,
        segment_ns: scenario.segment_ns,
        warm_up_ns: scenario.warm_up_ns.unwrap_or(0),
        of_ns,
        // A bar of a page has some hundred pixels.
        each_ns: (of_ns / 200).max(1),
        next_ns: AtomicU64::new(0),
        next_segments: AtomicUsize::new(0),
    };
    let done = run.array(index, &telling)?;
    Ok((done.segments(), bytes_of(&done)?))
}

fn bytes_of(done: &ArrayRun) -> Result<Vec<u8>, Refusal> {
    done.to_bytes().map_err(|error| Refusal::failed(error.to_string()))
}

struct Telling<'a> {
    teller: &'a dyn Teller,
    segment_ns: u64,
    warm_up_ns: u64,
    of_ns: u64,
    each_ns: u64,
    /// When progress is told again, in time of the run.
    next_ns: AtomicU64,
    /// After how many segments the results so far are told again.
    next_segments: AtomicUsize,
}

impl Observer for Telling<'_> {
    fn progress(&self, _: usize, progress: Progress) {
        let Progress { now_ns, operations } = progress;
        if now_ns < self.next_ns.load(Ordering::Relaxed) {
            return;
        }
        self.next_ns.store(now_ns + self.each_ns, Ordering::Relaxed);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let told = json!({
            "kind": "progress",
            // What is told at the end of a segment is of that one.
            "segment": now_ns.saturating_sub(self.warm_up_ns).div_ceil(self.segment_ns).max(1),
            "now_seconds": seconds(now_ns),
            "of_seconds": seconds(self.of_ns),
            "operations": operations,
        });
        self.teller.tell(&packet(&told, &[]));
    }

    fn so_far(&self, _: usize, done: &ArrayRun) {
        let segments = done.segments();
        if segments < self.next_segments.load(Ordering::Relaxed) {
            return;
        }
        // After each of a hundred segments; of many, after each hundredth part more, since all of them are told again.
        self.next_segments.store(segments + 1 + segments / 100, Ordering::Relaxed);
        // What cannot be put into bytes now cannot be at the end, and is an error there.
        if let Ok(bytes) = bytes_of(done) {
            let told = json!({ "kind": "so_far", "segments": segments });
            self.teller.tell(&packet(&told, &[&bytes]));
        }
    }
}
