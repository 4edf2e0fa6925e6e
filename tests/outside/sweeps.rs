//! Sweeps on clusters: the same study by Slurm, and by an index as Kubernetes gives it, leaves the same files as on one
//! machine.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use strewn_testing::Missing;

use crate::client::Random;
use crate::common::Folder;
use crate::slurm::{Cluster, Task};

/// Eight runs that take some half a second each: a task can be killed in the middle of one.
pub const STUDY: &str = r#"
schema = 1
name = "cluster"
title = "A study for a cluster"
scenario = "small.toml"
segments = 30
replicates = 2

[[axis]]
name = "outstanding"
setting = "array.anywhere.outstanding"
values = [2, 8, 16, 32]
"#;
pub const RUNS: usize = 8;

/// A study and its sweep by one machine.
struct Sweeps(Folder);

impl Sweeps {
    fn new() -> Self {
        let folder = Folder::new();
        folder.write("study.toml", STUDY);
        let sweeps = Self(folder);
        sweeps.done(&["sweep", "study.toml", "--out", "here", "--jobs", "2"]);
        sweeps
    }

    /// What `strewn` prints. It must succeed.
    #[track_caller]
    fn done(&self, words: &[&str]) -> String {
        let ran = self.0.strewn(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
        ran.stdout
    }

    /// Makes the table of a directory whose runs are all there, and compares all its files.
    #[track_caller]
    fn assert_same(&self, name: &str) {
        let ran = self.0.strewn(&["sweep", "--resume", name]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("all 8 runs are there"), "{}", ran.stderr);
        let (here, there) = (files(&self.0.path("here")), files(&self.0.path(name)));
        assert!(here.len() > 2 * RUNS, "{:?}", here.keys());
        let names: Vec<&PathBuf> = here.keys().collect();
        assert_eq!(there.keys().collect::<Vec<_>>(), names);
        for (file, bytes) in &here {
            assert!(&there[file] == bytes, "{} differs", file.display());
        }
    }

    /// Whether a run of a directory is under way and was saved, and whether it is there.
    fn state(&self, name: &str, index: usize) -> (bool, bool) {
        let manifest = fs::read_to_string(self.0.path(name).join("manifest.jsonl")).unwrap();
        let point: Value = serde_json::from_str(manifest.lines().nth(index).unwrap()).unwrap();
        let path = self.0.path(name).join("points").join(point["id"].as_str().unwrap());
        (path.with_extension("saved").is_dir(), path.is_dir())
    }
}

/// Every file below a directory with its bytes, without the times that runs took, and without what is of a cluster
/// alone.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(one) = directories.pop() {
        for entry in fs::read_dir(one).unwrap() {
            let path = entry.unwrap().path();
            let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            match (path.is_dir(), end) {
                (_, "tmp" | "log" | "sbatch") => {}
                // It lists the script of the cluster.
                _ if path.ends_with("written.txt") => {}
                (true, _) => directories.push(path),
                (false, _) => {
                    let mut bytes = fs::read(&path).unwrap();
                    if path.ends_with("results.json") {
                        bytes = without_wall_seconds(&bytes);
                    }
                    files.insert(path.strip_prefix(directory).unwrap().to_owned(), bytes);
                }
            }
        }
    }
    files
}

fn without_wall_seconds(bytes: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    let (wall, other): (Vec<&str>, Vec<&str>) =
        text.split_inclusive('\n').partition(|line| line.contains("\"wall_seconds\":"));
    assert_eq!(wall.len(), 1, "{wall:?}");
    other.concat().into_bytes()
}

pub fn a_slurm_array_that_loses_a_task_and_a_node_gives_the_same_bytes() -> Result<(), Missing> {
    let cluster = Cluster::start()?;
    let sweeps = Sweeps::new();
    // The script is read by Slurm and by a shell.
    let name = "by Slurm, it's there";
    let said = sweeps.done(&["sweep", "study.toml", "--out", name, "--slurm"]);
    assert!(said.contains(r"sbatch 'by Slurm, it'\''s there/sweep.sbatch'"), "{said}");
    let job = cluster.submit(&sweeps.0.path(name).join("sweep.sbatch"));

    // A task is killed in the middle of its run. It may end before: then the next one is.
    let running = || -> Option<Task> {
        let mut tasks = cluster.tasks(&job).into_iter();
        tasks.find(|task| task.state == "RUNNING" && sweeps.state(name, task.index).0)
    };
    let killed = loop {
        assert!(
            cluster.tasks(&job).iter().any(|task| task.state != "COMPLETED"),
            "none was killed"
        );
        let Some(task) = running() else { continue };
        let was_there = cluster.kill(&task);
        if was_there && sweeps.state(name, task.index) == (true, false) {
            break task.index;
        }
    };
    println!("task {killed} was killed");
    let state = |index: usize| {
        cluster.tasks(&job).into_iter().find(|task| task.index == index).unwrap().state
    };
    cluster.until("the killed task to fail", |_| state(killed) == "FAILED");
    cluster.run("scontrol", &["requeue", &format!("{job}_{killed}")]);

    // The node is lost in the middle of another: Slurm itself runs that again.
    cluster.until("another run to be under way", |_| running().is_some());
    cluster.lose_the_node();
    let shown = cluster.run("scontrol", &["show", "job", &job]);
    assert!(shown.contains("Restarts=1"), "no task was lost with the node:\n{shown}");

    cluster.until("all tasks to end", |cluster| {
        cluster.start_now(&job);
        cluster.tasks(&job).iter().all(|task| task.state == "COMPLETED")
    });
    // Each run was finished once, and logs lie beside the sweep.
    let logs = (0..RUNS).map(|index| sweeps.0.path(name).join(format!("sweep-{index}.log")));
    let logs = logs.map(|log| fs::read_to_string(log).unwrap()).collect::<String>();
    assert_eq!(logs.matches("1 runs done, 0 were there").count(), RUNS, "{logs}");
    sweeps.assert_same(name);
    Ok(())
}

fn task(sweeps: &Sweeps, name: &str, index: usize) -> Command {
    let mut task = sweeps.0.command(&["sweep-point", name, "--runs-each", "1", "--save"]);
    task.env("JOB_COMPLETION_INDEX", index.to_string()).stderr(Stdio::null());
    task
}

pub fn tasks_by_an_index_of_the_environment_in_any_order_give_the_same_bytes() -> Result<(), Missing>
{
    let sweeps = Sweeps::new();
    let name = "by index";
    sweeps.done(&["sweep", "study.toml", "--out", name, "--plan"]);
    let mut random = Random::new("tasks by index");
    let mut waiting: VecDeque<usize> = (0..RUNS).collect();
    for index in 0..RUNS {
        waiting.swap(index, random.below(RUNS as u64) as usize);
    }
    println!("order: {waiting:?}");
    let mut running: Vec<(usize, Child)> = Vec::new();
    let mut killed = None;
    while !waiting.is_empty() || !running.is_empty() {
        while running.len() < 2
            && let Some(index) = waiting.pop_front()
        {
            running.push((index, task(&sweeps, name, index).spawn().unwrap()));
        }
        if let (None, Some((index, child))) = (killed, running.last_mut())
            && sweeps.state(name, *index).0
        {
            child.kill().unwrap();
            if !child.wait().unwrap().success() {
                assert_eq!(sweeps.state(name, *index), (true, false));
                killed = Some(*index);
                waiting.push_back(*index);
                running.pop();
                continue;
            }
        }
        running.retain_mut(|(index, child)| match child.try_wait().unwrap() {
            None => true,
            Some(status) => {
                assert!(status.success(), "task {index}: {status}");
                false
            }
        });
        sleep(Duration::from_millis(2));
    }
    println!("task {killed:?} was killed");
    assert!(killed.is_some());
    // What is there is not run again, and what no run has is refused.
    assert!(task(&sweeps, name, 3).status().unwrap().success());
    assert_eq!(task(&sweeps, name, RUNS).status().unwrap().code(), Some(2));
    sweeps.assert_same(name);
    Ok(())
}
