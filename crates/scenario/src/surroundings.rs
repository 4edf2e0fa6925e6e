//! What checking a table must know about the rest of its scenario.

use crate::array::Array;
use crate::host::Host;
use crate::machine::Link;
use crate::workload::Workload;

/// What is known of the scenario that a table is in. What is not right by itself is left out.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'c> {
    /// Its segments.
    pub(crate) segments: Option<u32>,
    /// The length of the run, in nanoseconds.
    pub(crate) length_ns: Option<u64>,
    pub(crate) workloads: Option<&'c [Workload]>,
    pub(crate) links: Option<&'c [Link]>,
    pub(crate) hosts: Option<&'c [Host]>,
    /// The arrays that are right.
    pub(crate) arrays: &'c [Array],
    /// The names of all arrays.
    pub(crate) array_names: &'c [String],
}

impl Surroundings<'_> {
    /// Returns the hosts with a workload on the array of a name; all of them if the workloads, or the name, are not
    /// known.
    pub(crate) fn hosts_of(&self, array: &str, is_known: bool) -> Option<Vec<Host>> {
        let hosts = self.hosts?;
        match self.workloads.filter(|workloads| is_known && !workloads.is_empty()) {
            Some(workloads) if workloads.iter().any(|workload| workload.named.is_some()) => {
                Some(Host::of_array(hosts, workloads, array).into_iter().cloned().collect())
            }
            _ => Some(hosts.to_vec()),
        }
    }
}
