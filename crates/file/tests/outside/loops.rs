//! File systems on loop devices, which are gone when they go out of scope.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strewn_file::{Mount, System};
use strewn_testing::{Missing, program};

/// Runs a program that must succeed, and returns what it prints.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {complaints}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Images in a directory of their own, each behind a loop device.
pub struct Loops {
    pub directory: tempfile::TempDir,
    pub images: Vec<PathBuf>,
    pub devices: Vec<String>,
}

impl Loops {
    pub fn new(count: usize, mib: u64) -> Result<Self, Missing> {
        program(&["losetup"], "apt-get install mount")?;
        let directory = tempfile::Builder::new().prefix("space-").tempdir().unwrap();
        let mut loops = Self { directory, images: Vec::new(), devices: Vec::new() };
        for number in 0..count {
            let image = loops.directory.path().join(format!("image{number}"));
            std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
            loops.attach(&image)?;
        }
        Ok(loops)
    }

    pub fn attach(&mut self, image: &Path) -> Result<(), Missing> {
        let output = Command::new("losetup")
            .args(["--find", "--show", "--partscan"])
            .arg(image)
            .stderr(Stdio::null())
            .output();
        let output = output
            .ok()
            .filter(|output| output.status.success())
            .ok_or_else(|| Missing::new("no permission to set up a loop device", "run as root"))?;
        self.images.push(image.to_path_buf());
        self.devices.push(String::from_utf8(output.stdout).unwrap().trim().to_owned());
        Ok(())
    }

    /// Makes a file system with `mkfs` on all devices.
    pub fn make(&self, mkfs: &[&str]) -> Result<(), Missing> {
        program(&mkfs[..1], "apt-get install btrfs-progs xfsprogs e2fsprogs")?;
        let devices = self.devices.iter().map(String::as_str);
        run(mkfs[0], &mkfs[1..].iter().copied().chain(devices).collect::<Vec<_>>());
        Ok(())
    }

    pub fn mount(&self, options: &str) -> Result<Mounted, Missing> {
        let point = self.directory.path().join("mount point");
        std::fs::create_dir_all(&point).unwrap();
        let mounted = Command::new("mount")
            .args(["-o", options, &self.devices[0]])
            .arg(&point)
            .output()
            .unwrap();
        if !mounted.status.success() {
            let what = String::from_utf8_lossy(&mounted.stderr).trim().to_owned();
            return Err(Missing::new(what, "run as root, with this file system in the kernel"));
        }
        let point = point.canonicalize().unwrap();
        let mount = System::default().mount_of(&point).unwrap();
        Ok(Mounted { point, mount })
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for device in &self.devices {
            let _ = Command::new("losetup").args(["-d", device]).status();
        }
    }
}

/// A mount, until it goes out of scope.
pub struct Mounted {
    pub point: PathBuf,
    pub mount: Mount,
}

impl Mounted {
    pub fn point(&self) -> &str {
        self.point.to_str().unwrap()
    }

    pub fn sync(&self) {
        strewn_file::sync(&self.mount).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.point).status();
    }
}

/// Bytes that tell where in which file they belong: a number every eight bytes.
pub fn content(file: u64, bytes: usize) -> Vec<u8> {
    let mut state = file.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (state ^ state >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9).to_le_bytes()
    });
    words.take(bytes.div_ceil(8)).flatten().take(bytes).collect()
}
