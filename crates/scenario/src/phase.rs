//! Phases: parts of a run that follow each other on the same arrays, each with workloads of its own.

use crate::fields::{Fields, Section, Table, Text, count, list_of, name};
use crate::value;
use crate::workload::Workload;

/// A part of a run. What the arrays hold carries over from one phase to the next; the hosts of a phase stop at its end,
/// and those of the next one begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phase {
    /// Its name in results; no two phases share one.
    pub name: String,
    /// Its length, in segments of the scenario.
    pub segments: u32,
    /// The names of the workloads that run in it, each once.
    pub workloads: Vec<String>,
}

/// Most phases of a scenario: a host looks at the workloads of all phases whenever it issues an operation.
pub(crate) const MOST_PHASES: usize = 32;

impl Phase {
    /// Returns whether a workload runs in the phase.
    #[must_use]
    pub fn runs(&self, workload: &Workload) -> bool {
        let name = workload.named.as_ref().map(|named| &named.name);
        name.is_some_and(|name| self.workloads.contains(name))
    }
}

impl Table for Phase {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name("name", "Its name in results; no two phases share one.").required("\"scan\""),
            &mut self.name,
        );
        f.value(count("segments", "Its length, in segments.").required("6"), &mut self.segments);
        f.value(
            list_of(name(
                "workloads",
                "The names of the workloads that run in it. Phases with the same workloads are compared with each other.",
            ))
            .required("[\"scan\"]"),
            &mut self.workloads,
        );
    }
}

/// Checks the names of the workloads of one phase.
fn check_names(section: &Section<'_>, running: &[String], workloads: &[Workload]) {
    let names = names_of(workloads);
    if names.is_empty() {
        // One problem of the scenario, not one of each phase.
        return;
    }
    for (position, name) in running.iter().enumerate() {
        let at = section.element("workloads", position);
        if !names.contains(&name.as_str()) {
            let message = format!("there is no workload `{name}`");
            let help = value::one_of(name, &names);
            section.problem_at(at, "workloads", message, help);
        } else if running[..position].contains(name) {
            let message = format!("`{name}` is listed twice");
            section.problem_at(at, "workloads", message, "list it once");
        }
    }
}

/// Checks that the workloads of a scenario with phases have names, and that each runs in one of them.
pub(crate) fn check_workloads(section: &Section<'_>, phases: &[Phase], workloads: &[Workload]) {
    for (phase, table) in phases.iter().zip(section.inner("phase")) {
        if table.is_right("workloads") {
            check_names(table, &phase.workloads, workloads);
        }
    }
    let names = names_of(workloads);
    if names.is_empty() {
        section.problem(
            "workload",
            "has no name, by which a [[phase]] could run it",
            "write [[workload]] with a name, a lun and an outstanding, once for each load, and [[array.lun]] with the \
             name and the size of the LUN",
        );
    }
    for name in names {
        if phases.iter().all(|phase| phase.workloads.iter().all(|running| running != name)) {
            section.problem_within(
                &format!("workload[{name}]"),
                "name",
                "no phase runs the workload",
                "name it in the `workloads` of a [[phase]], or leave it out",
            );
        }
    }
}

fn names_of(workloads: &[Workload]) -> Vec<&str> {
    let named = workloads.iter().filter_map(|workload| workload.named.as_ref());
    named.map(|named| named.name.as_str()).collect()
}
