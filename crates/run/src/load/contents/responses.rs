//! Response times that a trace recorded.

use std::collections::BTreeMap;

use strewn_base::Direction;
use strewn_formats::trace::TraceResponse;
use strewn_results::{
    RecordedSegment, ResponseTime, SIGNIFICANT_DIGITS, TraceRecorded, TraceResponses, rounded,
};
use strewn_scenario::Scenario;
use strewn_sim::ResponseHistogram;

const NS_PER_MS: f64 = 1e6;

/// Recorded response times, within 0.1 %.
#[derive(Debug, Default)]
pub(crate) struct RecordedResponses {
    all: Responses,
    by_direction: [Responses; 2],
}

#[derive(Debug, Default)]
struct Responses {
    histogram: ResponseHistogram,
    count: u64,
    sum_ns: u128,
    longest_ns: u64,
}

impl Responses {
    fn add(&mut self, ns: u64) {
        self.histogram.record(ns);
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    fn figures(&self) -> ResponseTime {
        let round = |ns: f64| rounded(ns / NS_PER_MS, SIGNIFICANT_DIGITS);
        let quantile = |share| round(self.histogram.quantile(share).min(self.longest_ns) as f64);
        ResponseTime {
            mean: round(self.sum_ns as f64 / self.count.max(1) as f64),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: round(self.longest_ns as f64),
        }
    }
}

impl RecordedResponses {
    pub(crate) fn add(&mut self, response: &TraceResponse) {
        self.all.add(response.response_ns);
        let kind = usize::from(response.direction == Direction::Write);
        self.by_direction[kind].add(response.response_ns);
    }

    /// Returns their figures; none if there are none.
    pub(crate) fn figures(&self) -> Option<TraceResponses> {
        (self.all.count > 0).then(|| TraceResponses {
            operations: self.all.count,
            all_ms: self.all.figures(),
            reads_ms: self.by_direction[0].figures(),
            writes_ms: self.by_direction[1].figures(),
        })
    }
}

/// Segments of which responses are kept: they become known when an operation completes, which may be later.
const OPEN_SEGMENTS: usize = 8;

/// Recorded response times by the segment in which their operation arrives.
#[derive(Debug)]
pub(crate) struct RecordedBySegment {
    whole: RecordedResponses,
    warm_up_ns: u64,
    segment_ns: u64,
    open: BTreeMap<u32, Responses>,
    /// Segments of which no response is expected any more.
    closed: Vec<RecordedSegment>,
}

impl RecordedBySegment {
    /// Creates one for the segments of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            whole: RecordedResponses::default(),
            warm_up_ns: scenario.warm_up_ns.unwrap_or(0),
            segment_ns: scenario.segment_ns.max(1),
            open: BTreeMap::new(),
            closed: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, response: &TraceResponse) {
        self.whole.add(response);
        let Some(since_ns) = response.arrival_ns.checked_sub(self.warm_up_ns) else { return };
        let Ok(segment) = u32::try_from(since_ns / self.segment_ns + 1) else { return };
        if self.closed.last().is_some_and(|last| last.segment >= segment) {
            return;
        }
        self.open.entry(segment).or_default().add(response.response_ns);
        while self.open.len() > OPEN_SEGMENTS {
            self.close_first();
        }
    }

    fn close_first(&mut self) {
        let Some((segment, responses)) = self.open.pop_first() else { return };
        self.closed.push(RecordedSegment {
            segment,
            operations: responses.count,
            response_ms: responses.figures(),
        });
    }

    /// Returns the figures, those of segments if it is replayed by its times; none if there are none.
    pub(crate) fn figures(mut self, by_segment: bool) -> Option<TraceRecorded> {
        while !self.open.is_empty() {
            self.close_first();
        }
        let segments = if by_segment { self.closed } else { Vec::new() };
        Some(TraceRecorded { whole: self.whole.figures()?, segments })
    }
}
