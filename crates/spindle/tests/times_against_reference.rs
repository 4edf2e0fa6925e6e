//! Response times and throughput against the reference simulator and a real drive: no row misses
//! but for the slip of the reference's platter.
#![allow(clippy::unwrap_used, dead_code)]

mod agreement;
mod reference;

use agreement::Table;

/// Prints the table and checks that no row misses.
fn check(table: Option<Table>) {
    let Some(table) = table else { return };
    println!("{}", table.markdown());
    assert!(table.misses.is_empty(), "{:#?}", table.misses);
}

#[test]
fn traces_take_the_time_they_take_in_the_reference() {
    check(agreement::traces());
}

#[test]
fn closed_loops_reach_the_throughput_of_the_reference() {
    check(agreement::closed_loops());
}

#[test]
fn service_times_are_spread_as_those_of_the_real_drive() {
    check(agreement::real_drive());
}
