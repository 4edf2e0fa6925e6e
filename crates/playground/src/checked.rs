//! Checking a scenario: its problems, or its controls and what it takes to run it.

use serde_json::{Value, json};
use strewn_run::{needed_bytes, needed_bytes_of};
use strewn_scenario::{Bytes, Nanoseconds};

use crate::controls;
use crate::refusal::Refusal;
use crate::source::Source;

/// The most that an array may need: a module has 4 GiB of memory, and uses some of it twice while it grows.
const MOST_BYTES: u64 = 3 << 30;

/// Nobody runs more arrays at once in a page, whose cores are few.
const MOST_ARRAYS: usize = 64;
/// All arrays together.
const MOST_BYTES_OF_ALL: u64 = 8 << 30;
/// Says what is wrong with a scenario, or what it is.
pub(crate) fn check(source: &Source) -> Value {
    checked(source).unwrap_or_else(|refusal| refusal.answer())
}

fn checked(source: &Source) -> Result<Value, Refusal> {
    let scenario = source.scenario()?;
    let run = source.run(&scenario)?;
    let scaled = run.scenario();
    let of_array = |array| needed_bytes_of(scaled, array);
    let largest = scaled.arrays.iter().map(of_array).max().unwrap_or(0);
    let memory = needed_bytes(scaled);
    let arrays = scenario.arrays.iter().map(|array| json!({ "name": array.name }));
    Ok(json!({
        "ok": true,
        "name": scenario.name,
        "title": scenario.title,
        // More digits than a number of JavaScript has.
        "seed": scenario.seed.to_string(),
        "segments": scenario.segments,
        "segment": Nanoseconds(scaled.segment_ns).to_string(),
        "arrays": arrays.collect::<Vec<_>>(),
        "memory_bytes": memory,
        "largest_array_bytes": largest,
        "too_large": too_large(scaled.arrays.len(), memory, largest),
        "warnings": scenario.warnings(),
        "scaled": run.scaled().map_or(&[][..], |scaled| &scaled.what),
        "controls": controls::of(&scenario),
    }))
}

/// Returns why a page cannot run so many arrays, which need so much memory together, and the largest of them.
fn too_large(arrays: usize, bytes: u64, largest_bytes: u64) -> Option<String> {
    let about = |bytes| Bytes(bytes).approximately();
    let what = if largest_bytes > MOST_BYTES {
        format!(
            "an array needs about {} of memory, and one of a page may have {}",
            about(largest_bytes),
            about(MOST_BYTES)
        )
    } else if bytes > MOST_BYTES_OF_ALL {
        format!(
            "the arrays need about {} of memory, and those of a page may have {}",
            about(bytes),
            about(MOST_BYTES_OF_ALL)
        )
    } else if arrays > MOST_ARRAYS {
        format!("there are {arrays} arrays, and a page runs {MOST_ARRAYS}")
    } else {
        return None;
    };
    Some(format!("{what}: run it at a smaller scale, with fewer arrays, or with the command"))
}
