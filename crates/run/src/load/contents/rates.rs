//! How many operations of a trace arrive when.

use strewn_results::{SIGNIFICANT_DIGITS, TraceInterval, TraceRates, rounded};

const SECOND_NS: u64 = 1_000_000_000;
const MIB: f64 = (1 << 20) as f64;
/// Most intervals that are kept. When there would be more, they are made twice as long.
const MOST_INTERVALS: usize = 512;
/// The shortest interval.
const SHORTEST_NS: u64 = 1_000_000;

/// Counts operations by second, by minute and by interval, as they arrive.
#[derive(Debug)]
pub(super) struct Rates {
    second: Window,
    minute: Window,
    interval_ns: u64,
    intervals: Vec<[u64; 3]>,
    last_ns: u64,
    operations: u64,
    bytes: u64,
    /// Sum of squares of the gaps, in seconds.
    gaps_squared: f64,
}

/// Windows of equal length, one behind the other, of which the last is being counted.
#[derive(Debug, Default)]
struct Window {
    length_ns: u64,
    number: u64,
    operations: u64,
    bytes: u64,
    most_operations: u64,
    most_bytes: u64,
    /// Sum and sum of squares of the operations of complete windows.
    sum: f64,
    sum_squared: f64,
}

impl Window {
    fn of(length_ns: u64) -> Self {
        Self { length_ns, ..Self::default() }
    }

    fn add(&mut self, at_ns: u64, bytes: u64) {
        let number = at_ns / self.length_ns;
        if number != self.number {
            self.complete();
            self.number = number;
        }
        self.operations += 1;
        self.bytes += bytes;
        self.most_operations = self.most_operations.max(self.operations);
        self.most_bytes = self.most_bytes.max(self.bytes);
    }

    fn complete(&mut self) {
        let operations = std::mem::take(&mut self.operations) as f64;
        self.bytes = 0;
        self.sum += operations;
        self.sum_squared += operations * operations;
    }

    /// Returns the variance of complete windows by their mean; none of fewer than two.
    fn dispersion(&self) -> Option<f64> {
        let count = self.number as f64;
        let mean = self.sum / count;
        let variance = self.sum_squared / count - mean * mean;
        (self.number >= 2 && mean > 0.0).then(|| variance.max(0.0) / mean)
    }
}

impl Rates {
    pub(super) fn new() -> Self {
        Self {
            second: Window::of(SECOND_NS),
            minute: Window::of(60 * SECOND_NS),
            interval_ns: SHORTEST_NS,
            intervals: Vec::new(),
            last_ns: 0,
            operations: 0,
            bytes: 0,
            gaps_squared: 0.0,
        }
    }

    /// Counts an operation, which arrives no earlier than the one before.
    pub(super) fn add(&mut self, at_ns: u64, bytes: u64, writes: bool) {
        let gap = (at_ns - self.last_ns) as f64 / SECOND_NS as f64;
        self.gaps_squared += gap * gap;
        self.last_ns = at_ns;
        self.operations += 1;
        self.bytes += bytes;
        self.second.add(at_ns, bytes);
        self.minute.add(at_ns, bytes);
        while at_ns / self.interval_ns >= MOST_INTERVALS as u64 {
            self.interval_ns *= 2;
            self.intervals = self.intervals.chunks(2).map(sum).collect();
        }
        let interval = (at_ns / self.interval_ns) as usize;
        if interval >= self.intervals.len() {
            self.intervals.resize(interval + 1, [0; 3]);
        }
        let counts = &mut self.intervals[interval];
        counts[usize::from(writes)] += 1;
        counts[2] += bytes;
    }

    pub(super) fn figures(&self) -> TraceRates {
        let seconds = self.last_ns as f64 / SECOND_NS as f64;
        let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let minute = self.minute.most_operations as f64 / 60.0;
        let gaps = self.operations.saturating_sub(1) as f64;
        let mean_gap = seconds / gaps;
        let variance = self.gaps_squared / gaps - mean_gap * mean_gap;
        let varies = gaps >= 2.0 && mean_gap > 0.0;
        let round = |value: f64| rounded(value, SIGNIFICANT_DIGITS);
        TraceRates {
            mean_iops: round(per_second(self.operations as f64)),
            peak_1s_iops: self.second.most_operations as f64,
            peak_60s_iops: (self.last_ns >= 60 * SECOND_NS).then(|| round(minute)),
            mean_mib_per_s: round(per_second(self.bytes as f64 / MIB)),
            peak_1s_mib_per_s: round(self.second.most_bytes as f64 / MIB),
            dispersion_1s: self.second.dispersion().map(round),
            gap_variation: varies.then(|| round(variance.max(0.0).sqrt() / mean_gap)),
        }
    }

    pub(super) fn over_time(&self) -> Vec<TraceInterval> {
        let length = self.interval_ns as f64 / SECOND_NS as f64;
        let end = self.last_ns as f64 / SECOND_NS as f64;
        // The last one ends with the trace. Little of an interval is too few operations for a rate, and is left out.
        let last = self.intervals.len().saturating_sub(1);
        let covers = |number: usize| length.min(end - number as f64 * length);
        let count = if last > 0 && covers(last) < length / 2.0 { last } else { last + 1 };
        let interval = |(number, counts): (usize, &[u64; 3])| {
            let at = number as f64 * length;
            let seconds = if covers(number) > 0.0 { covers(number) } else { length };
            let [reads, writes, bytes] = counts.map(|count| count as f64 / seconds);
            TraceInterval {
                at_seconds: rounded(at, SIGNIFICANT_DIGITS),
                read_iops: rounded(reads, SIGNIFICANT_DIGITS),
                write_iops: rounded(writes, SIGNIFICANT_DIGITS),
                mib_per_s: rounded(bytes / MIB, SIGNIFICANT_DIGITS),
            }
        };
        self.intervals.iter().take(count).enumerate().map(interval).collect()
    }
}

fn sum(pair: &[[u64; 3]]) -> [u64; 3] {
    std::array::from_fn(|part| pair.iter().map(|counts| counts[part]).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_arrivals_have_no_bursts_and_bursts_have() {
        let mut even = Rates::new();
        let mut bursts = Rates::new();
        for number in 0..12_000_u64 {
            // 100 a second for two minutes; and all of each ten seconds in one of them.
            even.add(number * 10_000_000, 4096, false);
            bursts.add(number / 1000 * 10 * SECOND_NS + number % 1000, 4096, number % 2 == 0);
        }
        let figures = even.figures();
        assert_eq!((figures.peak_1s_iops, figures.peak_60s_iops), (100.0, Some(100.0)));
        assert_eq!((figures.dispersion_1s, figures.gap_variation), (Some(0.0), Some(0.0)));
        assert_eq!(figures.peak_1s_mib_per_s, 0.390625);
        let figures = bursts.figures();
        assert_eq!((figures.peak_1s_iops, figures.peak_60s_iops), (1000.0, Some(100.0)));
        // The mean of complete seconds is 100, the mean of squares 100,000.
        assert_eq!(figures.dispersion_1s, Some(900.0));
        assert!(figures.gap_variation > Some(30.0), "{figures:?}");

        let intervals = even.over_time();
        assert!((256..=512).contains(&intervals.len()), "{}", intervals.len());
        let seconds = intervals[1].at_seconds;
        let all: f64 =
            intervals[..intervals.len() - 1].iter().map(|of| of.read_iops * seconds).sum();
        assert!((11_900.0..=12_000.0).contains(&all), "{all}");
    }
    #[test]
    fn an_even_rate_is_even_to_its_end_wherever_that_lies() {
        let mut rates = Rates::new();
        for number in 0..40_000_u64 {
            rates.add(number * 1_000_000, 4096, false);
            // By now an interval is of 64 operations or more.
            if number > 17_000 && number % 7 == 0 {
                let intervals = rates.over_time();
                let last = intervals.last().unwrap();
                assert!((950.0..=1050.0).contains(&last.read_iops), "{number}: {last:?}");
            }
        }
    }

    #[test]
    fn a_trace_within_one_interval_has_its_rate() {
        let mut rates = Rates::new();
        (0..100).for_each(|number| rates.add(number * 1_000, 4096, number % 2 == 0));
        let intervals = rates.over_time();
        assert_eq!(intervals.len(), 1);
        // 50 reads and 50 writes within 99 microseconds.
        assert_eq!((intervals[0].read_iops, intervals[0].write_iops), (505_051.0, 505_051.0));
    }
}
