//! The native half of the Python package `strewn`: scenarios, runs, results and points of sweeps, as text and numbers.
//! What a user of the package sees is in `python/strewn`.

mod background;
mod errors;
mod results;
mod run;
mod scenario;
mod sweep;
mod value;

use pyo3::prelude::*;

/// The native half of `strewn`.
#[pymodule]
mod _strewn {
    #[pymodule_export]
    use crate::results::{Results, png};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::scenario::{Scenario, schema};
    #[pymodule_export]
    use crate::sweep::{Figures, Plan, run_point};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("MOST_REPLICATES", strewn::MOST_REPLICATES)?;
        module.add("QUICK_SCALE_DOWN", strewn::QUICK_SCALE_DOWN)
    }
}
