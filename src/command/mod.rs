//! The commands of the command line.

mod also;
mod arguments;
#[cfg(unix)]
mod array;
mod bench;
mod calibrate;
mod claims;
mod compare;
#[cfg(target_os = "linux")]
mod file;
mod generated;
mod hdr_log;
mod load;
mod metrics;
mod new_scenario;
mod out_directory;
mod out_file;
mod output_files;
mod playground;
mod provenance;
mod report;
mod results_directory;
mod run;
mod scenario_file;
mod sensitivity;
mod spindle;
mod spindle_fit;
mod study;
mod sweep;
mod sweep_files;
mod sweep_point;
mod sweep_work;
mod trace;

use std::process::ExitCode;

use clap::ColorChoice;
use strewn::terminal;

use arguments::Action;

/// Runs the command line; the exit codes are in `--help`.
pub(crate) fn main() -> ExitCode {
    let arguments = match arguments::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version arrive here too; a closed pipe is not an error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    terminal::color_messages(match arguments.color {
        ColorChoice::Auto => None,
        ColorChoice::Always => Some(true),
        ColorChoice::Never => Some(false),
    });
    terminal::exit_code(match &arguments.action {
        Action::Run(arguments) => run::run(arguments),
        Action::New(arguments) => new_scenario::new(arguments),
        Action::Bench(arguments) => bench::bench(arguments),
        Action::Calibrate(arguments) => calibrate::calibrate(arguments),
        Action::Sensitivity(arguments) => sensitivity::sensitivity(arguments),
        Action::Schema(arguments) => generated::schema(arguments),
        Action::Completions(arguments) => generated::completions(arguments.shell),
        Action::Man => generated::man(),
        Action::Playground(arguments) => playground::playground(arguments),
        Action::Report(arguments) => report::report(arguments),
        Action::Compare(arguments) => compare::compare(arguments),
        Action::Claims(arguments) => claims::claims(arguments),
        Action::Sweep(arguments) => sweep::sweep(arguments),
        Action::Study(arguments) => study::study(arguments),
        Action::SweepPoint(arguments) => sweep_point::sweep_point(arguments),
        #[cfg(target_os = "linux")]
        Action::File(arguments) => file::file(arguments),
        Action::Spindle(arguments) => spindle::spindle(arguments),
        Action::Trace(arguments) => trace::trace(arguments),
        #[cfg(unix)]
        Action::Array(arguments) => array::array(arguments),
    })
}
