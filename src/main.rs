//! The `strewn` command.
fn main() {}
