//! Requests that are several accesses to a LUN each, on a scenario's array: a file system on the LUN, and a file in it.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use strewn_base::SECTOR_BYTES;
use strewn_scenario::Scenario;
use strewn_sim::{AnsweredGroup, RequestGroup, RequestGroups};

use crate::load::LoadError;
use crate::run::simulate_under;
use crate::run_error::RunError;

/// A stretch of virtual time that is run at once, in nanoseconds.
const SEGMENT_NS: u64 = 600_000_000_000;

/// What requests to a LUN came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LunFigures {
    /// Requests answered per second.
    pub iops: f64,
    /// Mean time from issue to answer, in milliseconds.
    pub response_ms: f64,
    /// The response time that 95 % of requests do not exceed, in milliseconds.
    pub response_95_ms: f64,
    /// 10^6 bytes of their accesses per second.
    pub mb_per_s: f64,
    /// Requests that were measured, without the first and the last, as many as are outstanding.
    pub measured_requests: u64,
    /// Requests of which the array refused an access.
    pub refused: u64,
    /// Spindle commands of the whole run per request, those of write-back and metadata included.
    pub spindle_commands_per_request: f64,
}

/// Bytes at the beginning of the first LUN of array number `index` that are laid out before a run, and so can be read.
///
/// # Panics
/// If the scenario has no such array, or it has no LUN.
#[must_use]
pub fn laid_out_lun_bytes(scenario: &Scenario, index: usize) -> u64 {
    let lun = &scenario.arrays[index].luns[0];
    lun.laid_out_bytes.unwrap_or(lun.bytes)
}

/// Issues `requests` in order to the first LUN of array number `index` of `scenario`, `outstanding` at a time, until
/// all are answered. The array begins as in a run, and with its own caches.
///
/// ```
/// use strewn_run::run_lun_requests;
/// use strewn_scenario::Scenario;
/// use strewn_sim::RequestGroup;
/// use strewn_workload::Direction;
///
/// // 500 requests of four blocks, all apart, and of one piece.
/// let scenario = Scenario::default().scaled_down(64).0;
/// let blocks = |apart: u64| (0..500).map(move |number| RequestGroup {
///     direction: Direction::Read,
///     extents: (0..4).map(|part| ((number * 977 % 500 * 4 + part) * apart, 8)).collect(),
/// });
/// let whole = (0..500).map(|number| RequestGroup {
///     direction: Direction::Read,
///     extents: vec![(number * 977 % 500 * 4 * 1024, 32)],
/// });
/// let apart = run_lun_requests(&scenario, 0, blocks(1024).collect(), 16)?.ok_or("no requests")?;
/// let whole = run_lun_requests(&scenario, 0, whole.collect(), 16)?.ok_or("no requests")?;
/// assert!(apart.iops < whole.iops / 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If an access lies beyond what is laid out of the LUN, or the array cannot be set up or run. `None` if there are no
/// requests to measure.
///
/// # Panics
/// As [`simulate`](crate::simulate).
pub fn run_lun_requests(
    scenario: &Scenario,
    index: usize,
    requests: Vec<RequestGroup>,
    outstanding: u32,
) -> Result<Option<LunFigures>, RunError> {
    let bytes = laid_out_lun_bytes(scenario, index);
    let ends = requests.iter().flat_map(|request| &request.extents);
    let end = ends.map(|(sector, sectors)| sector + u64::from(*sectors)).max().unwrap_or(0);
    if end > bytes / SECTOR_BYTES {
        let name = &scenario.arrays[index].name;
        return Err(RunError::Load(LoadError::new(
            format!(
                "requests reach byte {} of the LUN of array \"{name}\", of which {bytes} are laid out",
                end.saturating_mul(SECTOR_BYTES)
            ),
            "enlarge `lun` and `file` of the scenario",
        )));
    }
    let sectors: Vec<u64> = requests
        .iter()
        .map(|request| request.extents.iter().map(|(_, sectors)| u64::from(*sectors)).sum())
        .collect();
    let answers = Rc::new(RefCell::new(Vec::with_capacity(requests.len())));
    let on_answer = {
        let answers = Rc::clone(&answers);
        Box::new(move |answer: AnsweredGroup| answers.borrow_mut().push(answer))
    };
    let host = RequestGroups::new(requests, outstanding, on_answer);
    let mut simulation = simulate_under(scenario, index, host.into())?;
    let mut commands = 0;
    while !simulation.is_done() {
        let segment = simulation.run_segment(SEGMENT_NS, &mut |_| ControlFlow::Continue(()));
        let segment = segment.map_err(|source| RunError::Simulation {
            array: scenario.arrays[index].name.clone(),
            source,
        })?;
        commands += segment.data_spindles.commands + segment.parity_spindles.commands;
    }
    let answers = answers.borrow();
    Ok(figures(&answers, &sectors, outstanding.max(1) as usize, commands))
}

fn figures(
    answers: &[AnsweredGroup],
    sectors: &[u64],
    outstanding: usize,
    commands: u64,
) -> Option<LunFigures> {
    let edge = if answers.len() < 4 * outstanding { 0 } else { outstanding };
    let from_ns = if edge == 0 { 0 } else { answers[edge - 1].answered_ns };
    let measured = &answers[edge..answers.len() - edge];
    let ns = measured.last()?.answered_ns - from_ns;
    if ns == 0 {
        return None;
    }
    let seconds = ns as f64 / 1e9;
    let count = measured.len();
    let mut response_ns: Vec<u64> =
        measured.iter().map(|answer| answer.answered_ns - answer.issued_ns).collect();
    response_ns.sort_unstable();
    let bytes: u64 = measured.iter().map(|answer| sectors[answer.request] * SECTOR_BYTES).sum();
    let index_95 = (count * 95).div_ceil(100).saturating_sub(1);
    Some(LunFigures {
        iops: count as f64 / seconds,
        response_ms: response_ns.iter().sum::<u64>() as f64 / count as f64 / 1e6,
        response_95_ms: response_ns[index_95] as f64 / 1e6,
        mb_per_s: bytes as f64 / 1e6 / seconds,
        measured_requests: count as u64,
        refused: answers.iter().filter(|answer| answer.is_refused).count() as u64,
        spindle_commands_per_request: commands as f64 / answers.len() as f64,
    })
}
