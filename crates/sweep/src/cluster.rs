//! Sweeps on clusters: batch scripts for what users have, over the same plan.
//!
//! Each task runs `strewn sweep-point DIR`, which takes its number from the environment. What a task finds finished it
//! leaves alone, so a task may be run again at any time.

use std::fmt::Write as _;
use std::path::Path;

use crate::estimate::Estimate;
use crate::plan::Plan;

/// Most tasks of an array: Slurm's `MaxArraySize` is 1001 unless a site sets it.
const MOST_TASKS: usize = 1_000;
/// Memory that a process needs beside its run, bytes.
const BESIDE_BYTES: u64 = 128 << 20;
/// Room for a slower node, and for runs that become slower as they age.
const TIME_FACTOR: f64 = 4.0;
/// Least time limit of a task, minutes.
const LEAST_MINUTES: u64 = 10;

/// How a plan is divided into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Number of tasks.
    pub count: usize,
    /// Runs of a task: task `i` has those from `i` times this number on.
    pub runs_each: usize,
}

impl Tasks {
    /// Divides the runs of a plan, at most 1,000 tasks.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let runs = plan.points.len().max(1);
        let runs_each = runs.div_ceil(MOST_TASKS);
        Self { count: runs.div_ceil(runs_each), runs_each }
    }
}

/// What a task needs.
struct Needs {
    mebibytes: u64,
    minutes: u64,
}

fn needs(plan: &Plan, estimate: &Estimate, tasks: Tasks) -> Needs {
    let largest = plan.points.iter().map(|point| point.memory_bytes).max().unwrap_or_default();
    let seconds = estimate.processor_seconds / estimate.missing.max(1) as f64;
    let seconds = seconds * tasks.runs_each as f64 * TIME_FACTOR;
    Needs {
        mebibytes: (largest + BESIDE_BYTES).div_ceil(1 << 20),
        minutes: ((seconds / 60.0).ceil() as u64).max(LEAST_MINUTES),
    }
}

/// Returns the batch script that runs a plan in `directory` as a Slurm array, with the program at `strewn`.
#[must_use]
pub fn slurm_script(plan: &Plan, estimate: &Estimate, directory: &Path, strewn: &Path) -> String {
    let tasks = Tasks::of(plan);
    let Needs { mebibytes, minutes } = needs(plan, estimate, tasks);
    let mut script = String::from("#!/bin/bash\n");
    let _ = write!(
        script,
        "# {} runs of the study {}, {} a task. Every node needs this directory and this program.\n\
         #SBATCH --job-name=strewn-{}\n\
         #SBATCH --array=0-{}\n\
         #SBATCH --cpus-per-task=1\n\
         #SBATCH --mem={mebibytes}M\n\
         #SBATCH --time={minutes}\n\
         #SBATCH --requeue\n\
         #SBATCH --open-mode=append\n\
         #SBATCH --chdir={}\n\
         #SBATCH --output=sweep-%a.log\n\
         # A second signal would end the program at once; the first makes it save its run.\n\
         exec {} sweep-point {} --runs-each {} --save\n",
        plan.points.len(),
        plan.study.name,
        tasks.runs_each,
        plan.study.name,
        tasks.count - 1,
        quoted(directory),
        quoted(strewn),
        quoted(directory),
        tasks.runs_each,
    );
    script
}

/// Returns the manifest of an indexed Kubernetes job that runs a plan in an image that has `strewn`. The directory of
/// the sweep is on the volume of a claim that many pods can write.
#[must_use]
pub fn kubernetes_job(plan: &Plan, estimate: &Estimate, image: &str, claim: &str) -> String {
    let tasks = Tasks::of(plan);
    let Needs { mebibytes, minutes } = needs(plan, estimate, tasks);
    let name = dns_label(&format!("strewn-{}", plan.study.name));
    // JSON strings are YAML strings.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "# {runs} runs of the study {study}, {each} a task. The sweep's directory is the root of the claim's volume.\n\
         apiVersion: batch/v1\n\
         kind: Job\n\
         metadata:\n  name: {name}\n\
         spec:\n  completionMode: Indexed\n  completions: {count}\n  parallelism: {count}\n  backoffLimitPerIndex: 3\n  \
         template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: strewn\n        image: {image}\n        \
         command: [\"strewn\", \"sweep-point\", \"/sweep\", \"--runs-each\", \"{each}\", \"--save\"]\n        \
         resources:\n          requests: {{cpu: \"1\", memory: {mebibytes}Mi}}\n          limits: {{memory: {mebibytes}Mi}}\n        \
         volumeMounts:\n        - name: sweep\n          mountPath: /sweep\n      volumes:\n      - name: sweep\n        \
         persistentVolumeClaim:\n          claimName: {claim}\n      activeDeadlineSeconds: {seconds}\n",
        runs = plan.points.len(),
        study = plan.study.name,
        each = tasks.runs_each,
        count = tasks.count,
        image = text(image),
        claim = text(claim),
        seconds = 60 * minutes,
    )
}

/// Returns a path as one word of a shell, quoted where it must be.
#[must_use]
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@%".contains(letter);
    match text.chars().all(is_plain) && !text.is_empty() {
        true => text,
        false => quoted(path),
    }
}

/// Returns a path as one word of a shell, and of a line of `#SBATCH`.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Returns a name as Kubernetes has them: lower-case letters, digits and hyphens, at most 57 here, as pods add to it.
fn dns_label(name: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        fine if fine.is_ascii_alphanumeric() => fine,
        _ => '-',
    };
    let label: String = name.chars().map(letter).take(57).collect();
    label.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_study_has_a_name_that_kubernetes_takes() {
        assert_eq!(dns_label("strewn-Cluster_Test.2"), "strewn-cluster-test-2");
        assert_eq!(dns_label("strewn-___"), "strewn");
        // A pod of an indexed job is called by the job's name, a hyphen and the index: at most 63 letters.
        assert_eq!(dns_label(&"a".repeat(100)).len() + "-999".len(), 61);
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(shell_word(Path::new("/data/sweep-1.out")), "/data/sweep-1.out");
        assert_eq!(shell_word(Path::new("the disk's")), "'the disk'\\''s'");
        assert_eq!(shell_word(Path::new("$HOME")), "'$HOME'");
    }
}
