//! Response times that a trace recorded.

use strewn_base::Direction;
use strewn_formats::trace::TraceResponse;
use strewn_results::{ResponseTime, SIGNIFICANT_DIGITS, TraceResponses, rounded};
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
        let quantile =
            |share| round(self.histogram.quantile(share).min(self.longest_ns) as f64);
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
