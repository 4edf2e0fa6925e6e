//! The measurement loop: issues a host's operations to an array in real time.

use std::time::Duration;

use strewn_array::{Direction, HostOperation, OperationId};
use strewn_live::engine::{Answer, Controller, HostRequest, RequestError, RequestId, TargetId};
use strewn_live::measured_array::MeasuredArray;
use strewn_results::{ArrayMap, LogFigures};
use strewn_scenario::Scenario;
use strewn_sim::{Host, Progress};

use super::LiveError;
use super::measure::{Meter, ProbedDevice};
use super::payload::Payload;
use crate::array_run::ArrayRun;
use crate::layout_map;
use crate::observer::Observer;
use strewn_scenario::build::Mapped;

/// Interval between checks for a stop and reports of progress.
const LOOK_NS: u64 = 100_000_000;

/// An array under a host's load.
pub(super) struct Drive<'a> {
    running: Box<dyn MeasuredArray>,
    host: Box<dyn Host>,
    scenario: &'a Scenario,
    observer: &'a dyn Observer,
    /// When the host began, on the devices' clock.
    began_ns: u64,
    meter: Meter,
    payload: Payload,
    /// The sectors of the outstanding operations, by number.
    sectors: Vec<(u64, u64)>,
    answers: Vec<(RequestId, Result<Answer, RequestError>)>,
    answered: u64,
    looked_ns: u64,
}

/// Why a segment is incomplete.
enum Cut {
    /// The observer stopped the run.
    Stopped,
    Failed(LiveError),
}

impl<'a> Drive<'a> {
    pub(super) fn new(
        running: Box<dyn MeasuredArray>,
        host: Box<dyn Host>,
        scenario: &'a Scenario,
        observer: &'a dyn Observer,
    ) -> Self {
        Self {
            began_ns: running.now_ns(),
            meter: Meter::new(running.counters()),
            running,
            host,
            scenario,
            observer,
            payload: Payload::new(scenario.seed),
            sectors: Vec::new(),
            answers: Vec::new(),
            answered: 0,
            looked_ns: 0,
        }
    }

    /// Runs every segment until one fails, or until the host or the user ends the run; pictures go into `map`.
    pub(super) fn run(&mut self, mut map: Option<ArrayMap>) -> (ArrayRun, Option<LiveError>) {
        self.look_at_file(&mut map, 0);
        let mut segments = Vec::new();
        let mut problem = None;
        // Activity up to here belongs to no segment.
        self.running.device_measures();
        self.meter = Meter::new(self.running.counters());
        self.began_ns = self.running.now_ns();
        while let Some(operation) = self.host.first() {
            self.give(0, operation);
        }
        let mut start_ns = 0;
        for index in 1..=self.scenario.segments {
            if self.host.is_done() {
                break;
            }
            self.host.begin_segment(start_ns, index);
            // A clock read after the end of a segment belongs to the next.
            match self.run_segment(start_ns + self.scenario.segment_ns) {
                Ok(()) => {}
                Err(Cut::Stopped) => break,
                Err(Cut::Failed(error)) => {
                    problem = Some(error);
                    break;
                }
            }
            let end_ns = if self.host.is_done() {
                self.now_ns().max(start_ns + 1)
            } else {
                start_ns + self.scenario.segment_ns
            };
            let mut segment = self.measure(start_ns, end_ns);
            start_ns = end_ns;
            if !segment.laws.hold() {
                problem = Some(LiveError::LawBroken {
                    segment: segment.index,
                    host_percent: segment.laws.littles_law_unexplained * 100.0,
                    spindles_percent: segment.laws.utilization_law_unexplained * 100.0,
                });
            }
            self.observer.segment(0, &segment);
            segment.forget_responses();
            self.look_at_file(&mut map, segment.index);
            segments.push(segment);
            if problem.is_some() {
                break;
            }
        }
        let mut failures = self.running.failures().to_vec();
        for failure in &mut failures {
            let times = [Some(&mut failure.at_ns), failure.rebuild_began_ns.as_mut()];
            for time_ns in times.into_iter().chain([failure.rebuilt_ns.as_mut()]).flatten() {
                *time_ns = time_ns.saturating_sub(self.began_ns);
            }
        }
        let host_is_done = self.host.is_done();
        (ArrayRun { segments, failures, host_is_done, map, ..ArrayRun::default() }, problem)
    }

    /// Returns the figures of the log's device, one entry per segment.
    pub(super) fn log_figures(&self) -> Vec<LogFigures> {
        self.meter.log.iter().map(|one| one.rounded()).collect()
    }

    /// Waits for outstanding operations, writes everything to the spindles, and records there that the array is
    /// clean.
    pub(super) fn shut_down(&mut self) -> Result<(), LiveError> {
        while !self.meter.outstanding.is_none() && self.running.stopped().is_none() {
            self.running.poll(Some(Duration::from_nanos(LOOK_NS)));
            let now_ns = self.now_ns();
            self.running.take_answers(&mut self.answers);
            // These answers are not measured.
            for _ in self.answers.drain(..) {
                self.meter.outstanding.answered(now_ns);
            }
        }
        self.running.shut_down().map_err(LiveError::Stopped)
    }

    fn now_ns(&self) -> u64 {
        self.running.now_ns() - self.began_ns
    }

    fn look_at_file(&self, map: &mut Option<ArrayMap>, segment: u32) {
        if let Some(map) = map {
            let files = layout_map::files(self.scenario, 0);
            let picture = match self.running.controller() {
                Controller::WriteAnywhere(array) => array.picture(map, &files),
                Controller::InPlace(array) => array.picture(map, &files),
            };
            map.add(segment, &picture);
        }
    }

    /// Issues an operation of the host to the array.
    fn give(&mut self, now_ns: u64, operation: HostOperation<()>) {
        let HostOperation { id, lun: _, direction, first_sector, sectors, payload: () } = operation;
        let end = first_sector + u64::from(sectors);
        let request = match direction {
            Direction::Read => HostRequest::Read(first_sector..end),
            Direction::Write => {
                let data = self.payload.next(sectors as usize * 512);
                HostRequest::Write { first_sector, data }
            }
        };
        let slot = id.0 as usize;
        if slot >= self.sectors.len() {
            self.sectors.resize(slot + 1, (0, 0));
        }
        self.sectors[slot] = (first_sector, end);
        self.meter.outstanding.given(now_ns);
        self.running.submit(RequestId(id.0.into()), TargetId::FIRST_LUN, request);
    }

    /// Runs until `end_ns` or until the host is done. If the host issues nothing after `end_ns`, the segment lasts
    /// until everything is answered.
    fn run_segment(&mut self, end_ns: u64) -> Result<(), Cut> {
        self.run_until(end_ns)?;
        if self.host.issues_no_more(end_ns) {
            self.run_until(u64::MAX)?;
        }
        Ok(())
    }

    /// Runs until `end_ns` or until the host is done. The host sees only events before `end_ns`.
    fn run_until(&mut self, end_ns: u64) -> Result<(), Cut> {
        loop {
            let now_ns = self.now_ns();
            if now_ns >= end_ns || self.host.is_done() {
                return Ok(());
            }
            self.issue(now_ns)?;
            let any = self.answer(now_ns)?;
            if let Some(why) = self.running.stopped() {
                return Err(Cut::Failed(LiveError::Stopped(why.to_owned())));
            }
            if now_ns - self.looked_ns >= LOOK_NS {
                self.looked_ns = now_ns;
                self.observer.progress(0, Progress { now_ns, operations: self.answered });
                if self.observer.stop() {
                    return Err(Cut::Stopped);
                }
            }
            let next_ns = end_ns.min(self.host.next_issue_ns()).min(now_ns + LOOK_NS);
            // Answers from memory alone must not delay the spindles.
            let wait_ns = if any { 0 } else { next_ns.saturating_sub(now_ns) };
            self.running.poll(Some(Duration::from_nanos(wait_ns)));
        }
    }

    /// Issues the operations that the host starts by the clock.
    fn issue(&mut self, now_ns: u64) -> Result<(), Cut> {
        while self.host.next_issue_ns() <= now_ns {
            let due_ns = self.host.next_issue_ns();
            let issued = self.host.issue_due(now_ns);
            match issued.map_err(|error| Cut::Failed(LiveError::Accesses(error.to_string())))? {
                Some(operation) => self.give(now_ns, operation),
                None if self.host.next_issue_ns() == due_ns => break,
                None => {}
            }
        }
        Ok(())
    }

    /// Passes answers to the host and issues the operations it starts in return. Returns whether there were any
    /// answers.
    fn answer(&mut self, now_ns: u64) -> Result<bool, Cut> {
        let mut answers = std::mem::take(&mut self.answers);
        self.running.take_answers(&mut answers);
        let any = !answers.is_empty();
        for (RequestId(id), answer) in answers.drain(..) {
            self.meter.outstanding.answered(now_ns);
            if let Err(error) = answer {
                let (first_sector, end) = self.sectors[id as usize];
                let why = error.to_string();
                return Err(Cut::Failed(LiveError::Refused { first_sector, end, why }));
            }
            self.answered += 1;
            // These are the host's own numbers, which count from 0.
            if let Some(operation) = self.host.answered(now_ns, OperationId(id as u32)) {
                self.give(now_ns, operation);
            }
        }
        self.answers = answers;
        Ok(any)
    }

    fn measure(&mut self, start_ns: u64, end_ns: u64) -> strewn_sim::Segment {
        let host = self.host.end_segment(start_ns, end_ns);
        let devices = self.running.device_measures();
        let seen = ProbedDevice { start_ns, end_ns, host, devices };
        self.meter.segment(&*self.running, seen)
    }
}
