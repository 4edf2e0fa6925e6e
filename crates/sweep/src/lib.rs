#![doc = include_str!("../README.md")]
//!
//! ```
//! use strewn_sweep::{Store, Study, SweepOptions, collect, run_points};
//!
//! let text = r#"
//! schema = 1
//! name = "alignment"
//! title = "Requests that straddle blocks"
//! scenario = "../../scenarios/making-sense-of-wafl-4.toml"
//! arrays = ["FAS2050"]
//! segments = 2
//! scale_down = 256
//!
//! [[axis]]
//! name = "alignment"
//! setting = "workload.alignment"
//! values = ["512 B", "4 KiB"]
//! "#;
//! let plan = Study::parse(text, "alignment.toml")?.plan(None)?;
//! # let directory = std::env::temp_dir().join(format!("strewn-sweep-doc.{}", std::process::id()));
//! let store = Store::new(&directory);
//! store.write_plan(&plan)?;
//! let end = run_points(&plan, &store, &SweepOptions::default(), &())?;
//! let sweep = collect(&plan, &store, &end.failures())?;
//! assert_eq!(sweep.axes[0].values[1].number, Some(4096.0));
//! assert!(sweep.missing.is_empty());
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod absolute_path;
mod amount;
mod cluster;
mod collect;
mod design;
mod error;
mod estimate;
mod files;
mod names;
mod plan;
mod planned_study;
mod point;
mod runner;
mod store;
mod study;

pub use cluster::{Tasks, kubernetes_job, shell_word, slurm_script};
pub use collect::collect;
pub use error::StudyError;
pub use estimate::{Estimate, estimate};
pub use files::page;
pub use files::{File, SweepFileError, files};
pub use plan::{MOST_RUNS, Plan};
pub use planned_study::PlannedStudy;
pub use point::Point;
pub use runner::{
    PointError, SweepEnd, SweepObserver, SweepOptions, jobs_that_fit, run_one, run_points,
};
pub use store::{KUBERNETES_JOB, PointStoreError, SLURM_SCRIPT, Store};
pub use study::{AxisChoice, Design, MOST_REPLICATES, MOST_SCALE_DOWN, Study, ValueChoice};
