//! The `strewn` command: glue between the command line and the library.

mod command;

fn main() -> std::process::ExitCode {
    command::main()
}
