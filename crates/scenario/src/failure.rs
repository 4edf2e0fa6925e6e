//! Spindles that fail during a run.

use crate::fields::{Around, Fields, Section, Table, Text, spindles, time};
use crate::kinds::ArrayLayout;
use crate::machine::check_before_end;

/// The failure of one spindle of an array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpindleFailure {
    /// Time of the failure, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// The spindle, counted from 0: group after group, in each parity group the data spindles first, then parity.
    pub spindle: u16,
}

impl Table for SpindleFailure {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            time("at", "Time of the failure, from the start of the run.")
                .required("\"2 h\"")
                .moment(format!("failure of spindle {} of {{}}", self.spindle)),
            &mut self.at_ns,
        );
        f.value(
            spindles(
                "spindle",
                "Number of the spindle, counted from 0: parity group after parity group, in each the data spindles first, \
                 then the parity spindles.",
            )
            .or_zero()
            .required("4"),
            &mut self.spindle,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        if let Some(length_ns) = around.length_ns.filter(|_| s.is_right("at")) {
            check_before_end(s, "at", self.at_ns, length_ns);
        }
    }
}

impl SpindleFailure {
    /// Checks the failures of an array with this layout, if it is known.
    pub(crate) fn check_all(
        section: &Section<'_>,
        failures: &[Self],
        layout: Option<&ArrayLayout>,
    ) {
        let mut failed = Vec::new();
        for (failure, s) in failures.iter().zip(section.inner("failure")) {
            if !s.is_right("spindle") {
                continue;
            }
            let spindle = failure.spindle;
            if let Some(kind) = layout {
                if spindle >= kind.spindles() {
                    let (last, words) = (kind.spindles().saturating_sub(1), kind.spindle_words());
                    s.problem(
                        "spindle",
                        format!("there is no spindle {spindle}"),
                        format!("the array has spindles 0 to {last}{words}"),
                    );
                }
                if s.is_right("at") {
                    kind.check_presence(s, spindle, failure.at_ns);
                }
            }
            if failed.contains(&spindle) {
                s.problem(
                    "spindle",
                    format!("spindle {spindle} fails twice"),
                    "a spindle fails once, and its spare does not fail: give another spindle",
                );
            }
            failed.push(spindle);
        }
    }
}
