//! Response times and throughput against the simulator of the reference and against the real drive.

use crate::agreement::{self, Table};

/// Prints the table and checks that every row is within its bound.
fn check(table: Table) {
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
