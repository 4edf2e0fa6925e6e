//! Response times and throughput against the reference simulator and a real drive: the rows that
//! miss are those that are known to.
#![allow(clippy::unwrap_used, dead_code)]

mod agreement;
mod reference;

use agreement::Table;

/// Prints the table and checks which rows miss, each known by how it begins.
fn check(table: Option<Table>, known_misses: &[&str]) {
    let Some(table) = table else { return };
    println!("{}", table.markdown());
    let unknown = |row: &&String| !known_misses.iter().any(|known| row.starts_with(known));
    let misses: Vec<&String> = table.misses.iter().filter(unknown).collect();
    assert!(misses.is_empty(), "{misses:#?}");
}

#[test]
fn traces_take_the_time_they_take_in_the_reference() {
    // When the reference reads on past a track is not wholly known.
    let known = ["| seqstreams_3r1w_64k_100ps | on |"];
    check(agreement::traces(), &known);
}

#[test]
fn closed_loops_reach_the_throughput_of_the_reference() {
    check(agreement::closed_loops(), &[]);
}

#[test]
fn service_times_are_spread_as_those_of_the_real_drive() {
    check(agreement::real_drive(), &[]);
}
