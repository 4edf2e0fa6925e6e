//! Hosts by name.

use crate::machine::Link;
use crate::section::Section;
use crate::value;
use crate::workload::Workload;

/// A host. A scenario that names none has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name by which workloads refer to it.
    pub name: String,
    /// The links that lie between it and the path of each array's front end, by name. Hosts may share them.
    pub path: Vec<String>,
    /// Its cores for what a front end costs it.
    pub cores: u32,
}

/// Most hosts of a scenario: each has a workload, and so many are measured by themselves.
const MOST_HOSTS: usize = 64;

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

    /// Reads every `[[host]]`; a scenario may have none.
    pub(crate) fn read_all(section: &mut Section<'_>, links: Option<&[Link]>) -> Option<Vec<Self>> {
        if !section.has(Self::KEY) {
            section.get(Self::KEY);
            return Some(Vec::new());
        }
        let mut hosts: Vec<Option<Self>> = Vec::new();
        for mut table in section.sections(Self::KEY)? {
            let name = table.required("name", "\"client-1\"", value::name);
            if let Some(name) = &name {
                table.rename(format!("host[{name}]"));
            }
            let path_is_given = table.has("path");
            let path = match path_is_given {
                true => table.list("path", "[\"client-1\"]", value::name),
                false => {
                    table.get("path");
                    Some(Vec::new())
                }
            };
            let path: Option<Vec<String>> =
                path.map(|path| path.into_iter().map(|name| name.into_inner()).collect());
            let cores = table.optional_or("cores", 1, value::positive_count);
            if let (Some(path), Some(links)) = (&path, links) {
                Link::check_named(&table, path, links);
            }
            if name.is_some()
                && hosts.iter().flatten().any(|host| Some(&host.name) == name.as_ref())
            {
                table.problem("name", "another host has the same name", "give each its own");
            }
            table.finish();
            hosts.push(match (name, path, cores) {
                (Some(name), Some(path), Some(cores)) => Some(Self { name, path, cores }),
                _ => None,
            });
        }
        if hosts.len() > MOST_HOSTS {
            section.problem(
                Self::KEY,
                format!("there are {} hosts", hosts.len()),
                format!("give at most {MOST_HOSTS}"),
            );
            return None;
        }
        hosts.into_iter().collect()
    }
}
