//! A Slurm cluster of this one machine, with its own daemons, key and configuration.

use std::fs::{self, File, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use strewn_testing::Missing;
use tempfile::TempDir;

use crate::array::PATIENCE;
use crate::tools;

/// The cluster. Its daemons and tasks end with it.
pub struct Cluster {
    directory: TempDir,
    node: String,
    daemons: Vec<Child>,
}

/// A task of an array.
#[derive(Debug)]
pub struct Task {
    /// Its number in the array.
    pub index: usize,
    /// The job that Slurm made of it.
    pub job: String,
    pub state: String,
}

impl Cluster {
    /// Starts one, with two processors.
    ///
    /// # Errors
    /// If Slurm or MUNGE is missing, or this is not root, as only root's slurmd may run jobs.
    pub fn start() -> Result<Self, Missing> {
        tools::needs(&["sbatch", "scontrol", "squeue", "slurmctld", "slurmd", "munged"])?;
        let directory = tempfile::tempdir().unwrap();
        if directory.path().metadata().unwrap().uid() != 0 {
            return Err(Missing::new("slurmd runs jobs for root only", "run these tests as root"));
        }
        // munged refuses a socket that not every user can reach.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let node = host.trim().split('.').next().unwrap().to_owned();
        let mut cluster = Self { directory, node, daemons: Vec::new() };
        cluster.configure();
        let of = |name: &str| cluster.path(name).display().to_string();
        let munged = [
            "--foreground".to_owned(),
            format!("--socket={}", of("munge.socket")),
            format!("--key-file={}", of("munge.key")),
            format!("--log-file={}", of("munged.log")),
            format!("--pid-file={}", of("munged.pid")),
            format!("--seed-file={}", of("munged.seed")),
        ];
        cluster.daemon("munged", &munged);
        cluster.until("munged to listen", |cluster| cluster.path("munge.socket").exists());
        cluster.daemon("slurmctld", &["-D".to_owned()]);
        cluster.daemon("slurmd", &["-D".to_owned(), "-N".to_owned(), cluster.node.clone()]);
        cluster.until("the node to be idle", Self::is_idle);
        Ok(cluster)
    }

    fn configure(&self) {
        fs::create_dir(self.path("state")).unwrap();
        fs::create_dir(self.path("spool")).unwrap();
        let mut key = [0; 128];
        std::io::Read::read_exact(&mut File::open("/dev/urandom").unwrap(), &mut key).unwrap();
        fs::write(self.path("munge.key"), key).unwrap();
        fs::set_permissions(self.path("munge.key"), Permissions::from_mode(0o600)).unwrap();
        // Held together, so that they differ.
        let ports: Vec<TcpListener> =
            (0..2).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
        let port = |index: usize| ports[index].local_addr().unwrap().port();
        let (node, directory) = (&self.node, self.directory.path().display());
        // A requeued task waits for two minutes, so a test names its start time itself. Tasks are watched by /proc: no
        // control group of this machine is touched.
        let configuration = format!(
            "ClusterName=strewn\nSlurmctldHost={node}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={directory}/munge.socket\nCredType=cred/munge\n\
             SlurmctldPort={}\nSlurmdPort={}\nStateSaveLocation={directory}/state\nSlurmdSpoolDir={directory}/spool\n\
             SlurmctldPidFile={directory}/slurmctld.pid\nSlurmdPidFile={directory}/slurmd.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core_Memory\nMpiDefault=none\nReturnToService=2\nMailProg=/bin/true\n\
             NodeName={node} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN\n\
             PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            port(0),
            port(1),
        );
        fs::write(self.path("slurm.conf"), configuration).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = tools::command(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).current_dir(self.directory.path());
        command
    }

    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let log = File::create(self.path(&format!("{program}.out"))).unwrap();
        let mut command = self.command(program);
        command.args(arguments).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    /// Waits.
    #[track_caller]
    pub fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}\n{}", self.logs());
            sleep(Duration::from_millis(50));
        }
    }

    fn logs(&self) -> String {
        let names = ["munged.log", "munged.out", "slurmctld.out", "slurmd.out"];
        names.map(|name| fs::read_to_string(self.path(name)).unwrap_or_default()).concat()
    }

    fn is_idle(&self) -> bool {
        let states = self.command("sinfo").args(["-h", "-o", "%T"]).output().unwrap();
        states.stdout == b"idle\n"
    }

    /// What a program of Slurm prints. It must succeed.
    #[track_caller]
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}\n{}", self.logs());
        String::from_utf8(output.stdout).unwrap()
    }

    /// Submits a batch script, and returns its job.
    pub fn submit(&self, script: &Path) -> String {
        let job = self.run("sbatch", &["--parsable", script.to_str().unwrap()]);
        job.trim().to_owned()
    }

    /// The tasks of an array, ended ones too.
    pub fn tasks(&self, job: &str) -> Vec<Task> {
        let lines = self.run("squeue", &["-h", "-r", "-j", job, "-t", "all", "-o", "%K %A %T"]);
        let task = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [index, job, state] = words[..] else { panic!("squeue says {line:?}") };
            let (job, state) = (job.to_owned(), state.to_owned());
            Task { index: index.parse().unwrap(), job, state }
        };
        lines.lines().map(task).collect()
    }

    /// Kills every process of a task, as the kernel does where memory is short. Returns whether there was one.
    pub fn kill(&self, task: &Task) -> bool {
        let listed = self.command("scontrol").args(["listpids", &task.job]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let of_line = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let processes: Vec<String> = listed.lines().skip(1).filter_map(of_line).collect();
        processes.iter().filter(|process| signal("-KILL", process)).count() > 0
    }

    /// Takes the node for lost, as Slurm does when it does not answer, and then has it back.
    pub fn lose_the_node(&self) {
        let name = format!("nodename={}", self.node);
        self.run("scontrol", &["update", &name, "state=down", "reason=lost"]);
        self.until("the node to be back", |cluster| {
            // Refused where the node has come back by itself.
            let _ = cluster.command("scontrol").args(["update", &name, "state=resume"]).output();
            cluster.is_idle()
        });
    }

    /// Has tasks that wait for their start time start now.
    pub fn start_now(&self, job: &str) {
        for task in self.tasks(job).iter().filter(|task| task.state == "PENDING") {
            let name = format!("jobid={job}_{}", task.index);
            // Refused where it has started since.
            let _ = self.command("scontrol").args(["update", &name, "StartTime=now"]).output();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut daemons = std::mem::take(&mut self.daemons).into_iter();
        let munged = daemons.next();
        // The controller first, as it would requeue what is killed.
        daemons.next().into_iter().for_each(end);
        // Each task, and what watches it, has our configuration in its environment. Its parent, slurmd, reaps it.
        let slurmd = daemons.next();
        let stay: Vec<String> = [&munged, &slurmd].into_iter().flatten().map(number).collect();
        let variable = format!("SLURM_CONF={}", self.path("slurm.conf").display());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            let mut tasks = processes_with(&variable);
            tasks.retain(|process| !stay.contains(process));
            if tasks.is_empty() {
                break;
            }
            tasks.iter().for_each(|process| _ = signal("-KILL", process));
            sleep(Duration::from_millis(100));
        }
        [slurmd, munged].into_iter().flatten().for_each(end);
    }
}

fn number(daemon: &Child) -> String {
    daemon.id().to_string()
}

/// Has a daemon end its own processes and itself, and kills one that does not.
fn end(mut daemon: Child) {
    signal("-TERM", &number(&daemon));
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if daemon.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    let _ = daemon.kill();
    let _ = daemon.wait();
}

fn signal(signal: &str, process: &str) -> bool {
    tools::command("kill").args([signal, process]).output().is_ok_and(|end| end.status.success())
}

/// The processes that have a variable in their environment.
fn processes_with(variable: &str) -> Vec<String> {
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let has_it = |process: &String| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    };
    processes.filter(is_number).filter(has_it).collect()
}
