//! Phases: parts of a run that follow each other on the same arrays, each with workloads of its own.

use toml::Spanned;

use crate::section::Section;
use crate::value;
use crate::workload::Workload;

/// A part of a run. What the arrays hold carries over from one phase to the next; the hosts of a phase stop at its end,
/// and those of the next one begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Its name in results; no two phases share one.
    pub name: String,
    /// Its length, in segments of the scenario.
    pub segments: u32,
    /// The names of the workloads that run in it, each once.
    pub workloads: Vec<String>,
}

/// Most phases of a scenario: a host looks at the workloads of all phases whenever it issues an operation.
const MOST_PHASES: usize = 32;

impl Phase {
    /// Returns whether a workload runs in the phase.
    #[must_use]
    pub fn runs(&self, workload: &Workload) -> bool {
        let name = workload.named.as_ref().map(|named| &named.name);
        name.is_some_and(|name| self.workloads.contains(name))
    }

    /// Reads each `[[phase]]`; a scenario may have none. Returns `None` if one has a problem. `workloads` are those of
    /// the scenario, or `None` if one of them has a problem.
    pub(crate) fn read_all(
        section: &mut Section<'_>,
        workloads: Option<&[Workload]>,
    ) -> Option<Vec<Self>> {
        if !section.has("phase") {
            section.get("phase");
            return Some(Vec::new());
        }
        let mut names: Vec<String> = Vec::new();
        let mut phases = Vec::new();
        for table in section.sections("phase")? {
            if let Some(name) = table.peek("name") {
                if names.contains(&name) {
                    table.problem(
                        "name",
                        format!("there is another phase `{name}`"),
                        "results tell phases apart by name: give each its own, such as \"first scan\" and \"second scan\"",
                    );
                }
                names.push(name);
            }
            // Every phase is read before the first failure is returned, so that each reports its problems.
            phases.push(Self::read(table, workloads));
        }
        let phases: Vec<Self> = phases.into_iter().collect::<Option<_>>()?;
        if phases.len() > MOST_PHASES {
            section.problem(
                "phase",
                format!("there are {} phases", phases.len()),
                format!("give at most {MOST_PHASES}"),
            );
            return None;
        }
        if let Some(workloads) = workloads {
            check_workloads(section, &phases, workloads);
        }
        Some(phases)
    }

    fn read(mut section: Section<'_>, workloads: Option<&[Workload]>) -> Option<Self> {
        let name = section.required("name", "\"scan\"", value::name);
        if let Some(name) = &name {
            section.rename(format!("phase[{name}]"));
        }
        let segments = section.required("segments", "6", value::positive_count);
        let running = section.list("workloads", "[\"scan\"]", value::name);
        if let (Some(running), Some(workloads)) = (&running, workloads) {
            check_names(&section, running, workloads);
        }
        section.finish();
        Some(Self {
            name: name?,
            segments: segments?,
            workloads: running?.into_iter().map(Spanned::into_inner).collect(),
        })
    }
}

/// Checks the names of the workloads of one phase.
fn check_names(section: &Section<'_>, running: &[Spanned<String>], workloads: &[Workload]) {
    let names = names_of(workloads);
    if names.is_empty() {
        // One problem of the scenario, not one of each phase.
        return;
    }
    for (position, one) in running.iter().enumerate() {
        let name = one.get_ref();
        if !names.contains(&name.as_str()) {
            let message = format!("there is no workload `{name}`");
            let help = value::one_of(name, &names);
            section.problem_at(one.span(), "workloads", message, help);
        } else if running[..position].iter().any(|other| other.get_ref() == name) {
            let message = format!("`{name}` is listed twice");
            section.problem_at(one.span(), "workloads", message, "list it once");
        }
    }
}

/// Checks that the workloads of a scenario with phases have names, and that each runs in one of them.
fn check_workloads(section: &Section<'_>, phases: &[Phase], workloads: &[Workload]) {
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
