//! Hosts by name.

use crate::fields::{Fields, Table, count, list_of, name};
use crate::processor::MOST_CORES;
use crate::workload::Workload;

/// A host. A scenario that names none has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// The name by which workloads refer to it.
    pub name: String,
    /// The links that lie between it and the path of each array's front end, by name. Hosts may share them.
    pub path: Vec<String>,
    /// Its cores for what a front end costs it.
    pub cores: u32,
}

/// Most hosts of a scenario: each has a workload, and so many are measured by themselves.
pub(crate) const MOST_HOSTS: usize = 64;

impl Host {
    /// The key of the tables.
    pub(crate) const KEY: &str = "host";

    /// Returns those of `hosts` that have one of `workloads` on the array of a name, in their order.
    pub(crate) fn of_array<'h>(
        hosts: &'h [Self],
        workloads: &[Workload],
        array: &str,
    ) -> Vec<&'h Self> {
        let has_workload = |host: &&Self| {
            let mut here = workloads.iter().filter(|workload| workload.runs_on(array));
            here.any(|workload| workload.is_of_host(&host.name))
        };
        hosts.iter().filter(has_workload).collect()
    }
}

impl Table for Host {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(name("name", "Its name.").required("\"client-1\""), &mut self.name);
        f.value(
            list_of(name(
                "path",
                "Links from the host to where the path of each array's front end begins, by name, with a switch between \
                 two and before that path. Hosts that name the same link share it.",
            ))
            .each("[\"client-1\"]"),
            &mut self.path,
        );
        f.value(
            count("cores", "Its cores for what a front end costs it.")
                .at_most(MOST_CORES)
                .chosen("1"),
            &mut self.cores,
        );
    }
}
