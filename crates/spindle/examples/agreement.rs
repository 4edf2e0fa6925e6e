//! How far the simulated Cheetah 15K.5 is from the reference simulator and from a real drive.
//!
//! Prints, as Markdown, every figure that `tests/data/reference` has a counterpart for.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "../tests/spindle/agreement.rs"]
mod agreement;
#[path = "../tests/spindle/reference.rs"]
mod reference;
#[path = "../tests/spindle/slip.rs"]
mod slip;

fn main() {
    for table in [agreement::traces(), agreement::closed_loops(), agreement::real_drive()] {
        println!("{}\n", table.markdown());
    }
}
