//! Writes a file in full before the first segment, as a full reallocation leaves it in a simulation.

use std::time::{Duration, Instant};

use strewn_array::LunId;
use strewn_base::SECTOR_BYTES;
use strewn_live::engine::{HostRequest, RequestId, TargetId};
use strewn_live::measured_array::MeasuredArray;
use strewn_scenario::Scenario;

use super::payload::Payload;
use super::{FillFile, LiveError, LiveOptions};
use crate::layout_map;
use crate::observer::Observer;

/// Sectors of one write: 1 MiB.
const WRITE_SECTORS: u64 = 2_048;

/// Writes in flight.
const AT_ONCE: u64 = 16;

/// Interval between checks for a stop.
const LOOK: Duration = Duration::from_millis(100);

/// What the fill wrote, and how long it took.
pub(super) struct Fill {
    bytes: u64,
    took: Duration,
}

impl Fill {
    pub(super) fn figures(self) -> strewn_results::Fill {
        strewn_results::Fill::new(self.bytes, self.took.as_secs_f64())
    }
}

/// Writes the scenario's file in full, if the options ask for it.
pub(super) fn fill(
    running: &mut dyn MeasuredArray,
    scenario: &Scenario,
    options: LiveOptions,
    observer: &dyn Observer,
) -> Result<Option<Fill>, LiveError> {
    let mut file = 0..layout_map::files(scenario, 0)[0];
    let fills = match options.fill {
        FillFile::IfBlank => !file.any(|block| running.is_allocated(LunId(0), block)),
        FillFile::Always => true,
        FillFile::Never => false,
    };
    fills.then(|| write(running, scenario, observer)).transpose()
}

fn write(
    running: &mut dyn MeasuredArray,
    scenario: &Scenario,
    observer: &dyn Observer,
) -> Result<Fill, LiveError> {
    let bytes = scenario.workloads[0].file_bytes;
    let sectors = bytes / SECTOR_BYTES;
    let mut payload = Payload::new(!scenario.seed);
    let (mut next, mut written, mut under_way) = (0, 0, 0);
    let mut answers = Vec::new();
    let started = Instant::now();
    let mut looked = started;
    while written < sectors {
        while under_way < AT_ONCE && next < sectors {
            let length = WRITE_SECTORS.min(sectors - next);
            let data = payload.next((length * SECTOR_BYTES) as usize);
            let request = HostRequest::Write { first_sector: next, data };
            running.submit(RequestId(length), TargetId::FIRST_LUN, request);
            next += length;
            under_way += 1;
        }
        running.poll(Some(LOOK));
        running.take_answers(&mut answers);
        for (RequestId(length), answer) in answers.drain(..) {
            answer.map_err(|error| LiveError::Stopped(error.to_string()))?;
            written += length;
            under_way -= 1;
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            observer.filling(0, written * SECTOR_BYTES, bytes);
            if observer.stop() {
                // The caller shuts the array down, which waits for the outstanding writes.
                return Err(LiveError::Interrupted);
            }
        }
    }
    running.catch_up().map_err(LiveError::Stopped)?;
    Ok(Fill { bytes, took: started.elapsed() })
}
