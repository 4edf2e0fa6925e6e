//! How far the simulated Cheetah 15K.5 is from the reference simulator and from a real drive.
//!
//! Prints, as Markdown, every figure there is reference data for. Reads the data from the folder
//! `STREWN_REFERENCE`, or from `shared/reference` beside the repository.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "../tests/agreement/mod.rs"]
mod agreement;
#[path = "../tests/reference/mod.rs"]
mod reference;

fn main() {
    let tables = (agreement::traces(), agreement::closed_loops(), agreement::real_drive());
    let (Some(traces), Some(closed_loops), Some(real_drive)) = tables else {
        eprintln!("no reference data: set STREWN_REFERENCE to its folder");
        std::process::exit(1);
    };
    println!("{}\n\n{}\n\n{}", traces.markdown(), closed_loops.markdown(), real_drive.markdown());
}
