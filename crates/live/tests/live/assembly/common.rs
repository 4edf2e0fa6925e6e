//! An array in a directory of its own.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use strewn_live::assembly::{
    self, ArrayLocation, AssembledArray, AssemblyError, CreateOptions, CreatedArray, DeviceProblem,
    DeviceProblemKind, LogDevices, SpindleDevices,
};
use strewn_live::configuration::{ArraySpec, LayoutName};
use strewn_live::device::Space;
use strewn_live::format::Label;
use tempfile::TempDir;

pub const BLOCK: u64 = 4096;

/// A place for arrays and devices.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// RAID-DP of three data spindles, all files made.
    pub fn options(&self) -> CreateOptions {
        CreateOptions {
            directory: self.path("array"),
            spec: ArraySpec {
                layout: LayoutName::RaidDp,
                data_spindles: 3,
                spindle_bytes: 24 << 20,
                lun_bytes: 16 << 20,
                log_half_bytes: None,
                cache_bytes: None,
            },
            spindles: SpindleDevices::NewFiles,
            log: LogDevices::NewFile,
            space: Space::Sparse,
            force: false,
        }
    }

    pub fn create(&self) -> CreatedArray {
        assembly::create(&self.options()).unwrap()
    }

    pub fn place(&self) -> ArrayLocation {
        ArrayLocation::Directory(self.path("array"))
    }

    pub fn spindle(&self, position: usize) -> PathBuf {
        self.path(&format!("array/spindle-{position:02}"))
    }

    pub fn log(&self) -> PathBuf {
        self.path("array/log")
    }

    pub fn open(&self) -> Result<AssembledArray, AssemblyError> {
        assembly::open(&self.place(), assembly::OpenOptions::default())
    }

    pub fn open_degraded(&self) -> Result<AssembledArray, AssemblyError> {
        assembly::open(&self.place(), assembly::OpenOptions { degraded: true, read_only: false })
    }

    /// A device of `bytes` zeros.
    pub fn device(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        fs::File::create(&path).unwrap().set_len(bytes).unwrap();
        path
    }

    /// What matters of every file below: all blocks that are not zeros.
    pub fn contents(&self) -> BTreeMap<PathBuf, Contents> {
        let mut contents = BTreeMap::new();
        add_contents(self.0.path(), &mut contents);
        contents
    }
}

/// The length of a file, and its blocks that are not zeros.
#[derive(Debug, PartialEq, Eq)]
pub struct Contents(u64, Vec<(u64, u32)>);

fn add_contents(directory: &Path, contents: &mut BTreeMap<PathBuf, Contents>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            add_contents(&path, contents);
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            let blocks = bytes.chunks(BLOCK as usize).zip(0..);
            let used = blocks.filter(|(block, _)| block.iter().any(|byte| *byte != 0));
            let used = used.map(|(block, at)| (at, crc32c::crc32c(block))).collect();
            contents.insert(path, Contents(bytes.len() as u64, used));
        }
    }
}

pub fn write(path: &Path, offset: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}

pub fn read(path: &Path, offset: u64, bytes: usize) -> Vec<u8> {
    let mut read = vec![0; bytes];
    fs::File::open(path).unwrap().read_exact_at(&mut read, offset).unwrap();
    read
}

/// The label in the first copy.
pub fn label(path: &Path) -> Label {
    Label::decode(&read(path, 0, BLOCK as usize)).unwrap()
}

/// Writes both copies of a label.
pub fn put_label(path: &Path, label: &Label) {
    let block = label.encode().unwrap();
    write(path, 0, block.bytes());
    write(path, (label.device_blocks - 1) * BLOCK, block.bytes());
}

/// Takes both copies away.
pub fn take_label(path: &Path) {
    let label = label(path);
    write(path, 0, &[0; BLOCK as usize]);
    write(path, (label.device_blocks - 1) * BLOCK, &[0; BLOCK as usize]);
}

pub fn kinds(problems: &[DeviceProblem]) -> Vec<(Option<u16>, DeviceProblemKind)> {
    problems.iter().map(|problem| (problem.position(), problem.kind.clone())).collect()
}
