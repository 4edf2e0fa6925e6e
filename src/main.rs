//! The `strewn` command: glue between the command line and the library.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod command;

fn main() -> std::process::ExitCode {
    command::main()
}
