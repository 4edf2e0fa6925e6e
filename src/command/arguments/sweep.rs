//! The arguments of `strewn sweep` and `strewn sweep-point`.

use std::path::PathBuf;

use clap::Args;

use super::values::{hours, jobs};
use super::{FormatArguments, PictureArguments};

/// How the runs of a study are done, in `strewn sweep` and in `strewn study`.
#[derive(Debug, Args)]
pub(crate) struct SweepWorkArguments {
    /// Number of runs at once [default: one per core]
    ///
    /// Memory may allow fewer.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Refuse a study that is estimated to take longer
    ///
    /// One that does take longer is stopped.
    #[arg(long, value_name = "H", allow_negative_numbers = true, value_parser = hours)]
    pub(crate) max_hours: Option<f64>,
    /// Save each run after each of its segments
    ///
    /// A sweep that is killed then goes on inside its runs.
    #[arg(long)]
    pub(crate) save: bool,
    /// Serve OpenMetrics text over HTTP on a new Unix socket, or on a loopback ADDRESS:PORT, until done
    ///
    /// For Prometheus and the like: runs done, running, waiting and failed, and the estimated seconds left.
    #[cfg(unix)]
    #[arg(long, hide_short_help = true, value_name = "PLACE")]
    pub(crate) metrics: Option<PathBuf>,
    /// Only say how many runs there are, and what they will take
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `strewn sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// The study: a TOML file with a scenario and axes
    ///
    /// Shipped studies are in scenarios/studies/.
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) study: Option<PathBuf>,
    /// Directory of the sweep
    ///
    /// Runs that are there, of this study or another, are not run again.
    #[arg(long, value_name = "DIR", required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the sweep in this directory
    ///
    /// Its table, charts and report are made again.
    #[arg(long, value_name = "DIR", conflicts_with = "quick")]
    pub(crate) resume: Option<PathBuf>,
    /// Run at an eighth of full scale, unless the study is smaller
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) work: SweepWorkArguments,
    /// Also write the study's page, NAME.md, and its charts into this directory
    #[arg(long, hide_short_help = true,
          value_name = "DIR", conflicts_with_all = ["quick", "dry_run", "plan", "slurm", "kubernetes"])]
    pub(crate) pages: Option<PathBuf>,
    /// Write the plan into DIR, for `strewn sweep-point`, and run nothing
    #[arg(long, hide_short_help = true, conflicts_with_all = ["dry_run", "slurm", "kubernetes"])]
    pub(crate) plan: bool,
    /// Write DIR/sweep.sbatch, a Slurm array, and run nothing
    #[arg(long, conflicts_with_all = ["dry_run", "kubernetes"])]
    pub(crate) slurm: bool,
    /// Write DIR/job.yaml, an indexed Kubernetes job, and run nothing
    ///
    /// The image has `strewn`.
    #[arg(long, value_name = "IMAGE", conflicts_with = "dry_run")]
    pub(crate) kubernetes: Option<String>,
    /// The claim of the volume that is DIR for the pods
    #[arg(
        long,
        hide_short_help = true,
        value_name = "NAME",
        requires = "kubernetes",
        default_value = "strewn-sweep"
    )]
    pub(crate) claim: String,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// `strewn study`.
#[derive(Debug, Args)]
pub(crate) struct StudyArguments {
    /// Names of studies: strewn study --list
    #[arg(required_unless_present_any = ["all", "list"])]
    pub(crate) names: Vec<String>,
    /// Run every study, one after another
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// List the studies
    #[arg(long, conflicts_with_all = ["names", "all"])]
    pub(crate) list: bool,
    /// Directory in which each study has one. Runs that are there are not run again
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub(crate) out: Option<PathBuf>,
    /// Also write each study's page and charts into this directory
    ///
    /// The list of findings goes into its README.md.
    #[arg(long, value_name = "DIR")]
    pub(crate) pages: Option<PathBuf>,
    /// Run at an eighth of full scale, unless the study is smaller
    #[arg(long, conflicts_with = "pages")]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) work: SweepWorkArguments,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// `strewn sweep-point`.
#[derive(Debug, Args)]
pub(crate) struct SweepPointArguments {
    /// The directory that `strewn sweep` was given
    pub(crate) directory: PathBuf,
    /// Number of the task, from 0
    ///
    /// [default: SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX of the environment]
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<usize>,
    /// Runs of a task: task I has those numbered from I times K on
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) runs_each: usize,
    /// Save a run after each of its segments
    ///
    /// A task that is killed then goes on inside it.
    #[arg(long)]
    pub(crate) save: bool,
}
