//! The command end to end, each test in a directory of its own.
//!
//! One test program, because each more is linked with the whole library again. Tests that need other programs are in
//! tests/outside.
#![allow(clippy::unwrap_used)]

mod array;
#[cfg(unix)]
mod array_run;
mod bad_input;
mod bench;
mod calibrate;
mod cisco_sn5420;
mod claims_page;
mod client_raid;
mod common;
mod compare;
mod failures;
#[cfg(target_os = "linux")]
mod file;
mod formats;
mod full_disk;
mod generated;
mod groups;
mod interrupt;
mod juniper_fas3040c;
mod making_sense_of_wafl_4;
mod metrics;
mod names;
mod nas_gateways;
mod new;
mod openmetrics;
mod out_directory;
mod outages;
mod panasas_arista;
mod phases;
mod playground;
mod published_rows;
mod replicates;
mod report;
mod run;
mod saved_runs;
mod scales;
mod sensitivity;
mod several_workloads;
mod spindle;
mod spindle_characterization;
mod spindle_fit;
mod spindle_profiles;
mod sweeps;
mod traces;
mod volumes;
mod warm_up;
mod wires;
mod workloads;
