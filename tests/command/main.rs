//! The command end to end: the program that people run, in directories of its own.
//!
//! One program of tests, since each more is linked with everything there is.
#![allow(clippy::unwrap_used)]

mod array;
#[cfg(unix)]
mod array_run;
mod bad_input;
mod bench;
mod browser;
mod calibrate;
mod common;
mod compare;
mod failures;
mod generated;
mod interrupt;
mod making_sense_of_wafl_4;
mod out_directory;
mod report;
mod run;
mod spindle;
mod spindle_fit;
mod spindle_study;
mod workloads;
