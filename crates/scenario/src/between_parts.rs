//! Checks of what parts of a scenario say of each other.

use crate::array::Array;
use crate::fields::Section;
use crate::host::Host;
use crate::lun::Lun;
use crate::phase::{MOST_PHASES, Phase};
use crate::quantity::Bytes;
use crate::value;
use crate::workload::Workload;

/// Checks that entries of lists that are told apart by name have names of their own.
pub(crate) fn check_duplicates(s: &Section<'_>) {
    for (key, why) in [
        ("array", "results tell arrays apart by name: give each its own"),
        (
            "phase",
            "results tell phases apart by name: give each its own, such as \"first scan\" and \"second scan\"",
        ),
    ] {
        s.check_names(key, |name| (format!("there is another {key} `{name}`"), why));
    }
    for key in ["link", "host"] {
        let message = || format!("another {key} has the same name");
        s.check_names(key, |_| (message(), "give each its own"));
    }
}

/// Checks that there are not too many phases.
pub(crate) fn check_phase_count(s: &Section<'_>, phases: &[Phase]) {
    if phases.len() > MOST_PHASES {
        s.problem(
            "phase",
            format!("there are {} phases", phases.len()),
            format!("give at most {MOST_PHASES}"),
        );
    }
}

/// Checks that every phase has a workload on each array.
pub(crate) fn check_phases(
    section: &Section<'_>,
    phases: &[Phase],
    workloads: Option<&[Workload]>,
    arrays: &[&Array],
) {
    let Some(workloads) = workloads else { return };
    // A name that is not known has a problem of its own.
    let is_known = |name: &String| {
        workloads.iter().any(|one| one.named.as_ref().is_some_and(|named| named.name == *name))
    };
    for phase in phases.iter().filter(|phase| phase.workloads.iter().all(is_known)) {
        for array in arrays.iter().filter(|array| array.outstanding > 0) {
            let here = |one: &Workload| phase.runs(one) && one.runs_on(&array.name);
            if !workloads.iter().any(here) {
                section.problem_within(
                    &format!("phase[{}]", phase.name),
                    "workloads",
                    format!("no workload of the phase runs on array `{}`", array.name),
                    format!(
                        "add one that does, or \"{}\" to the `arrays` of one of these",
                        array.name
                    ),
                );
            }
        }
    }
}

/// Checks that every workload names a host, if hosts have names, and that every host has a workload.
pub(crate) fn check_hosts(
    section: &Section<'_>,
    workloads: Option<&[Workload]>,
    hosts: Option<&[Host]>,
) {
    let (Some(workloads), Some(hosts)) = (workloads, hosts) else { return };
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    for workload in workloads {
        match &workload.named {
            None if !names.is_empty() => section.problem(
                "workload",
                "there are hosts, and it is not said which one has the workload",
                "write [[workload]] with a name, a lun, an outstanding and a host for each",
            ),
            None => {}
            Some(named) => {
                let table = format!("workload[{}]", named.name);
                match &named.host {
                    None if !names.is_empty() => section.problem_within(
                        &table,
                        "name",
                        "there are hosts, and it is not said which one has the workload",
                        format!("add host = \"{}\", or another one", names[0]),
                    ),
                    Some(host) if names.is_empty() => section.problem_within(
                        &table,
                        "host",
                        format!("there is no host `{host}`, nor any other"),
                        "add [[host]] with a name, or leave this out",
                    ),
                    Some(host) if !names.contains(&host.as_str()) => section.problem_within(
                        &table,
                        "host",
                        format!("there is no host `{host}`"),
                        value::one_of(host, &names),
                    ),
                    _ => {}
                }
            }
        }
    }
    let host_of = |workload: &'_ Workload| workload.named.as_ref()?.host.clone();
    let with_workloads: Vec<String> = workloads.iter().filter_map(host_of).collect();
    // A host that is misspelt has a problem of its own.
    let are_known = with_workloads.iter().all(|host| names.contains(&host.as_str()));
    if !are_known || with_workloads.len() < workloads.len() {
        return;
    }
    for name in names {
        if !with_workloads.iter().any(|host| host == name) {
            section.problem_within(
                &format!("host[{name}]"),
                "name",
                "it has no workload",
                format!("add a [[workload]] with host = \"{name}\", or leave the host out"),
            );
        }
    }
}

/// Checks that there are the arrays that workloads name.
pub(crate) fn check_array_names(
    section: &Section<'_>,
    workloads: Option<&[Workload]>,
    names: &[String],
) {
    let named = workloads.into_iter().flatten().filter_map(|workload| workload.named.as_ref());
    for named in named {
        for unknown in named.arrays.iter().filter(|array| !names.contains(array)) {
            section.problem_within(
                &format!("workload[{}]", named.name),
                "arrays",
                format!("there is no array `{unknown}`"),
                value::one_of(unknown, names),
            );
        }
    }
}

/// Checks that every workload's LUN is there and has room for its file, and that every LUN is used.
pub(crate) fn check_files(
    section: &Section<'_>,
    workloads: Option<&[Workload]>,
    arrays: &[&Array],
) {
    let Some(workloads) = workloads else { return };
    for array in arrays {
        for workload in workloads.iter().filter(|workload| workload.runs_on(&array.name)) {
            check_file(section, workload, array);
        }
        if array.outstanding == 0 {
            section.problem_within(
                &format!("array[{}]", array.name),
                "name",
                "no workload runs on the array",
                "name it in the `arrays` of a [[workload]], or leave it out",
            );
        }
        for lun in &array.luns {
            let Some(name) = &lun.name else { continue };
            if workloads.iter().all(|workload| !workload.is_on(&array.name, lun)) {
                section.problem_within(
                    &format!("array[{}]", array.name),
                    "lun",
                    format!("no workload works on LUN `{name}`"),
                    format!("add a [[workload]] with lun = \"{name}\", or leave the LUN out"),
                );
            }
        }
        let laid_out_of = |lun: &Lun| laid_out_bytes_of(workloads, array, lun);
        check_laid_out(section, workloads, array);
        array.layout.check_laid_out(section, array, &laid_out_of);
    }
}

/// Checks that no more of a LUN is laid out than its workloads work on.
fn check_laid_out(section: &Section<'_>, workloads: &[Workload], array: &Array) {
    for lun in &array.luns {
        let file_bytes = file_bytes_of(workloads, array, lun);
        let (Some(name), Some(laid_out)) = (&lun.name, lun.laid_out_bytes) else { continue };
        if laid_out > file_bytes && file_bytes > 0 {
            let (laid_out, file) = (Bytes(laid_out), Bytes(file_bytes));
            section.problem_within(
                &format!("array[{}]", array.name),
                "lun",
                format!("{laid_out} of LUN `{name}` are to be laid out, but workloads work on {file} of it"),
                format!("give a laid_out of at most {file}, or leave it out"),
            );
        }
    }
}

fn check_file(section: &Section<'_>, workload: &Workload, array: &Array) {
    let (table, lun) = match &workload.named {
        None => ("workload".to_owned(), array.luns.first().filter(|_| array.luns.len() == 1)),
        Some(named) => {
            let is_it = |lun: &&Lun| lun.name.as_ref() == Some(&named.lun);
            (format!("workload[{}]", named.name), array.luns.iter().find(is_it))
        }
    };
    match (lun, &workload.named) {
        (Some(lun), _) if workload.file_bytes > lun.bytes => {
            let (file, lun) = (Bytes(workload.file_bytes), Bytes(lun.bytes));
            section.problem_within(
                &table,
                "file",
                format!("a file of {file} is larger than the LUN of {}, {lun}", array.name),
                format!("give at most {lun}, or enlarge the LUN"),
            );
        }
        (Some(_), _) => {}
        (None, Some(named)) => {
            let names: Vec<&str> =
                array.luns.iter().filter_map(|lun| lun.name.as_deref()).collect();
            let help = match names.as_slice() {
                [] => format!(
                    "write [[array.lun]] with name = \"{}\" and size = \"200 GB\" in place of lun = ...",
                    named.lun
                ),
                names => value::one_of(&named.lun, names),
            };
            let message = format!("array `{}` has no LUN `{}`", array.name, named.lun);
            section.problem_within(&table, "lun", message, help);
        }
        (None, None) => section.problem_within(
            &format!("array[{}]", array.name),
            "lun",
            "there are LUNs with names, and [workload] works on none of them",
            "write [[workload]] with a name, a lun and an outstanding, or lun = \"1000 GB\" here",
        ),
    }
}

/// Returns the length of the part of a LUN that workloads work on, in bytes.
pub(crate) fn file_bytes_of(workloads: &[Workload], array: &Array, lun: &Lun) -> u64 {
    let on_it = workloads.iter().filter(|workload| workload.is_on(&array.name, lun));
    on_it.map(|workload| workload.file_bytes).max().unwrap_or(0)
}

/// Returns the length of what is laid out of a LUN before the run, in bytes.
pub(crate) fn laid_out_bytes_of(workloads: &[Workload], array: &Array, lun: &Lun) -> u64 {
    let file_bytes = file_bytes_of(workloads, array, lun);
    lun.laid_out_bytes.map_or(file_bytes, |laid_out| laid_out.min(file_bytes))
}
