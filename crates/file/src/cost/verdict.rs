//! What it comes to, in a sentence.

use std::fmt;

use serde::Serialize;

use super::simulation::{FileCost, LayoutCost, SimulatedFigures};

/// A change of less than this share of the contiguous file's speed counts as none. It is about what other draws of
/// requests change, so smaller differences mean nothing.
pub const UNCHANGED_SHARE: f64 = 0.05;

/// Seconds that nobody misses: a file that loses less in a scan is left as it is.
pub const TRIFLE_S: f64 = 0.1;

/// Whether a file is as fast as it would be contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is, but for less than [`UNCHANGED_SHARE`].
    Unchanged,
    /// It is slower as it lies.
    Slower,
    /// It is faster as it lies, for instance because it is spread over several devices, or lies in a smaller span.
    Faster,
    /// No request takes a command.
    NoCommands,
}

/// What a speed counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SpeedUnit {
    /// Requests per second, for workloads that are not sequential.
    #[serde(rename = "IOPS")]
    Iops,
    /// 10^6 bytes per second, for sequential ones.
    #[serde(rename = "MB/s")]
    MbPerS,
}

/// A workload on a file as it lies beside the same file laid out contiguously.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// What the speeds count.
    pub unit: SpeedUnit,
    /// The speed as the file lies; 0 if no request takes a command.
    pub as_it_lies: f64,
    /// The speed if it were contiguous; 0 if no request takes a command.
    pub contiguous: f64,
    /// Commands as it lies per command of the contiguous file; 1 if no request takes one.
    pub commands_ratio: f64,
    /// Whether the speeds differ.
    pub change: Change,
}

impl From<&FileCost> for Comparison {
    fn from(cost: &FileCost) -> Self {
        let unit = if cost.sequential { SpeedUnit::MbPerS } else { SpeedUnit::Iops };
        let speed = |layout: &LayoutCost| {
            let of = |figures: SimulatedFigures| match unit {
                SpeedUnit::Iops => figures.iops,
                SpeedUnit::MbPerS => figures.mb_per_s,
            };
            layout.simulated.map_or(0.0, of)
        };
        let (as_it_lies, contiguous) = (speed(&cost.as_it_lies), speed(&cost.contiguous));
        let commands = |layout: &LayoutCost| layout.counts.commands_per_request;
        let commands_ratio = match commands(&cost.contiguous) {
            0.0 => 1.0,
            contiguous => commands(&cost.as_it_lies) / contiguous,
        };
        let change = if as_it_lies == 0.0 || contiguous == 0.0 {
            Change::NoCommands
        } else if as_it_lies < contiguous * (1.0 - UNCHANGED_SHARE) {
            Change::Slower
        } else if as_it_lies > contiguous * (1.0 + UNCHANGED_SHARE) {
            Change::Faster
        } else {
            Change::Unchanged
        };
        Self {
            workload: cost.workload.clone(),
            unit,
            as_it_lies,
            contiguous,
            commands_ratio,
            change,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, as_it_lies, contiguous, .. } = self;
        let unit = match self.unit {
            SpeedUnit::Iops => "IOPS",
            SpeedUnit::MbPerS => "MB/s",
        };
        match self.change {
            Change::NoCommands => write!(out, "{workload} without a command"),
            Change::Unchanged => {
                let percent = ((as_it_lies / contiguous - 1.0).abs() * 100.0).ceil().max(1.0);
                write!(out, "{workload} unchanged (within {percent} %)")
            }
            Change::Slower | Change::Faster => write!(
                out,
                "{workload} {} instead of {} {unit}",
                three_digits(*as_it_lies),
                three_digits(*contiguous)
            ),
        }
    }
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// The workload is slower than it would be: defragment.
    Defragment,
    /// The workload is not, but sequential reads are: defragment if there are any.
    DefragmentIfScanned,
    /// The workload and sequential reads are not, but random reads are: defragment if there are any.
    DefragmentIfReadAtRandom,
    /// Something is slower, but a scan of the whole file loses less than [`TRIFLE_S`].
    LeaveIt,
    /// Nothing is slower.
    NothingToGain,
    /// No request takes a command.
    NothingToRead,
}

/// What the layout of a file comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The workload first, then the standard extremes.
    pub comparisons: Vec<Comparison>,
    /// What to do, if the device is what was simulated.
    pub advice: Advice,
    /// Whether a device of the file has no spindles, so that speeds are those of another kind of drive.
    pub not_rotational: bool,
    /// The simulated drive.
    pub drive: String,
    /// Seconds that a scan of the whole file takes as it lies, and contiguous, if that was simulated.
    pub scan_s: Option<(f64, f64)>,
}

impl Verdict {
    /// The same verdict, with what is at stake for a file of `bytes`.
    #[must_use]
    pub fn of_file(mut self, bytes: u64) -> Self {
        let mut scans = self.comparisons.iter().filter(|one| one.unit == SpeedUnit::MbPerS);
        let scan = scans.find(|one| one.as_it_lies > 0.0 && one.contiguous > 0.0);
        let seconds = |mb_per_s: f64| bytes as f64 / 1e6 / mb_per_s;
        self.scan_s = scan.map(|one| (seconds(one.as_it_lies), seconds(one.contiguous)));
        let gains = matches!(
            self.advice,
            Advice::Defragment | Advice::DefragmentIfScanned | Advice::DefragmentIfReadAtRandom
        );
        if gains && self.scan_s.is_some_and(|(now, contiguous)| now - contiguous < TRIFLE_S) {
            self.advice = Advice::LeaveIt;
        }
        self
    }

    /// The verdict on a file from what a workload costs, first, and the standard extremes.
    #[must_use]
    pub fn new(costs: &[FileCost], not_rotational: bool) -> Self {
        let comparisons: Vec<Comparison> = costs.iter().map(Comparison::from).collect();
        let slower = |sequential: bool| {
            let mut all = costs.iter().zip(&comparisons);
            all.any(|(cost, comparison)| {
                cost.sequential == sequential && comparison.change == Change::Slower
            })
        };
        let advice = match comparisons.first().map(|first| first.change) {
            None => Advice::NothingToRead,
            Some(Change::Slower) => Advice::Defragment,
            Some(_) if comparisons.iter().all(|one| one.change == Change::NoCommands) => {
                Advice::NothingToRead
            }
            Some(_) if slower(true) => Advice::DefragmentIfScanned,
            Some(_) if slower(false) => Advice::DefragmentIfReadAtRandom,
            Some(_) => Advice::NothingToGain,
        };
        let drive = costs.first().map(|cost| cost.drive.clone()).unwrap_or_default();
        Self { comparisons, advice, not_rotational, drive, scan_s: None }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.advice == Advice::NothingToRead {
            return out.write_str("no request takes a command: there is nothing to defragment");
        }
        if self.not_rotational {
            out.write_str("the device is not rotational: ")?;
            for (index, one) in self.comparisons.iter().enumerate() {
                let times = match one.commands_ratio {
                    ratio if ratio < 1.005 => "no more commands".to_owned(),
                    ratio => format!("{} times the commands", three_digits(ratio)),
                };
                let separator = if index == 0 { "" } else { ", " };
                write!(out, "{separator}{times} for {}", one.workload)?;
            }
            return write!(out, "; IOPS and MB/s are those of {}", self.drive);
        }
        let comparisons: Vec<String> = self.comparisons.iter().map(Comparison::to_string).collect();
        let advice = match self.advice {
            Advice::Defragment => "defragment it",
            Advice::DefragmentIfScanned => "defragment only if you scan it",
            Advice::DefragmentIfReadAtRandom => "defragment only if you read it at random",
            Advice::LeaveIt => "too little is at stake to defragment it",
            Advice::NothingToGain | Advice::NothingToRead => "defragmenting gains nothing",
        };
        write!(out, "{}", comparisons.join(", "))?;
        let is_slower = self.advice != Advice::NothingToGain;
        if let (Some((now, contiguous)), true) = (self.scan_s, is_slower) {
            let (now, contiguous) = (seconds_text(now), seconds_text(contiguous));
            write!(out, "; reading all of it once takes {now} instead of {contiguous}")?;
        }
        write!(out, ": {advice}")
    }
}

/// Seconds in the unit that a person would use.
fn seconds_text(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => format!("{} ms", three_digits(seconds * 1000.0)),
        seconds if seconds < 120.0 => format!("{} s", three_digits(seconds)),
        seconds if seconds < 7200.0 => format!("{} min", three_digits(seconds / 60.0)),
        seconds => format!("{} h", three_digits(seconds / 3600.0)),
    }
}

/// A number with about three digits.
fn three_digits(number: f64) -> String {
    match number {
        number if number < 10.0 => format!("{number:.2}"),
        number if number < 100.0 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::commands::CommandCounts;
    use crate::cost::contiguous::ContiguousPlacement;

    fn layout(speed: f64, commands_per_request: f64) -> LayoutCost {
        let counts = CommandCounts {
            commands_per_request,
            commands_margin: 0.0,
            share_without_command: 0.0,
            bytes_per_request: 1.0,
        };
        let figures = SimulatedFigures {
            iops: speed,
            response_ms: 1.0,
            response_95_ms: 1.0,
            mb_per_s: speed,
            measured_requests: 1,
            drive_commands_per_request: commands_per_request,
        };
        LayoutCost { counts, simulated: (speed > 0.0).then_some(figures) }
    }

    fn cost(workload: &str, now: f64, contiguous: f64) -> FileCost {
        FileCost {
            workload: workload.to_owned(),
            sequential: workload.contains("sequential"),
            outstanding: 1,
            requests: 1,
            unknown_requests: 0,
            as_it_lies: layout(now, 36.0),
            contiguous: layout(contiguous, 1.0),
            contiguous_at: ContiguousPlacement::AroundMeanAddress,
            drive: "a drive".to_owned(),
            simulated_requests: 1,
            shifts: Vec::new(),
        }
    }

    fn said(costs: &[FileCost]) -> String {
        Verdict::new(costs, false).to_string()
    }

    #[test]
    fn the_sentence_says_what_is_slower_and_what_to_do() {
        let server = cost("file-server", 171.0, 175.0);
        let scan = cost("sequential 1 MiB reads", 31.0, 212.0);
        let random = cost("random 4 KiB reads", 175.0, 180.0);
        assert_eq!(
            said(&[server.clone(), random.clone(), scan.clone()]),
            "file-server unchanged (within 3 %), random 4 KiB reads unchanged (within 3 %), sequential \
             1 MiB reads 31.0 instead of 212 MB/s: defragment only if you scan it"
        );
        assert_eq!(
            said(&[scan.clone(), random.clone()]),
            "sequential 1 MiB reads 31.0 instead of 212 MB/s, random 4 KiB reads unchanged (within 3 \
             %): defragment it"
        );
        assert!(said(&[server.clone(), random]).ends_with("3 %): defragmenting gains nothing"));
        assert!(
            said(&[server, cost("random", 10.0, 20.0)]).ends_with("only if you read it at random")
        );
    }

    #[test]
    fn without_spindles_commands_count() {
        let costs = [cost("sequential 1 MiB reads", 31.0, 212.0)];
        assert_eq!(
            Verdict::new(&costs, true).to_string(),
            "the device is not rotational: 36.0 times the commands for sequential 1 MiB reads; IOPS \
             and MB/s are those of a drive"
        );
    }

    #[test]
    fn five_percent_are_the_threshold() {
        let change = |now| Comparison::from(&cost("any", now, 100.0)).change;
        assert_eq!(
            [94.9, 95.0, 105.0, 105.1].map(change),
            [Change::Slower, Change::Unchanged, Change::Unchanged, Change::Faster]
        );
        let none = Verdict::new(&[cost("any", 0.0, 0.0)], true);
        assert_eq!(none.advice, Advice::NothingToRead);
    }
}
