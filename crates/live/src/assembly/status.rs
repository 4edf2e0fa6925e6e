//! The state of an array, without opening it for use.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::diagnosis::{Diagnosis, newest_label, newest_superblock};
use super::error::AssemblyError;
use super::location::ArrayLocation;
use super::probe::{ProbeResult, probe_all};
use super::problem::{DeviceProblem, DeviceProblemKind};
use crate::Configuration;
use crate::device::{BLOCK_BYTES, OpenDevice, OpenError};
use crate::format::{Label, MemberState, Superblock};

/// An array as its devices say it is.
#[derive(Debug, Clone)]
pub struct Status {
    /// The newest label.
    pub label: Label,
    /// How the array is made.
    pub configuration: Configuration,
    /// Whether it could be started.
    pub condition: Condition,
    /// Its spindles by position.
    pub spindles: Vec<SpindleStatus>,
    /// The device of its log, if it was found.
    pub log: Option<PathBuf>,
    /// The newest good superblock; that of an array that was never started has number 0.
    pub superblock: Option<Superblock>,
    /// All that is wrong.
    pub problems: Vec<DeviceProblem>,
    /// Who has the array open, if somebody has: the device that was refused first, and the process, where that is known.
    pub in_use: Option<(PathBuf, Option<u32>)>,
}

/// Whether an array could be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing is lost.
    Whole,
    /// Redundancy makes good what is lost.
    Degraded,
    /// Too much is lost.
    Unusable,
}

/// A spindle of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpindleStatus {
    /// The device, if one was found that can be relied upon, or is being rebuilt.
    pub path: Option<PathBuf>,
    /// Its state, as the newest label has it.
    pub state: MemberState,
}

/// Looks at the array in `place`: nothing is written, and nobody is kept from it while it is looked at but for the moment
/// in which is found out whether it is in use. What another process is changing may be seen in between.
///
/// # Errors
/// If there is no array, or its label cannot be understood.
pub fn look(place: &ArrayLocation) -> Result<Status, AssemblyError> {
    let named = place.named()?;
    let open = |path: &Path| Ok::<_, AssemblyError>(open_to_read(path));
    let ProbeResult { probed, problems, devices: _ } = probe_all(&named, open, |file: &File| file)?;
    let diagnosis = Diagnosis::of(&probed, problems)
        .map_err(|problems| AssemblyError::NoArray { place: place.display(), problems })?;
    let label = newest_label(&probed, &diagnosis, place)?;
    let configuration = Configuration::from_toml(&label.configuration).map_err(|source| {
        AssemblyError::Configuration { path: probed[diagnosis.newest].path.clone(), source }
    })?;
    let lost = diagnosis.lost(&label);
    let condition = match lost {
        _ if diagnosis.log.is_none() || lost > usize::from(configuration.redundancy()) => {
            Condition::Unusable
        }
        0 => Condition::Whole,
        _ => Condition::Degraded,
    };
    let path = |at: usize| probed[at].path.clone();
    let spindles = diagnosis
        .spindles
        .iter()
        .zip(&label.members)
        .map(|(at, member)| SpindleStatus { path: at.map(path), state: member.state });
    let spindles: Vec<_> = spindles.collect();
    let ours = diagnosis.spindles.iter().flatten().chain(&diagnosis.log);
    Ok(Status {
        condition,
        spindles,
        log: diagnosis.log.map(path),
        superblock: newest_superblock(&probed, &diagnosis.spindles, &label),
        in_use: ours.copied().find_map(|at| user_of(&probed[at].path)),
        label,
        configuration,
        problems: diagnosis.problems,
    })
}

fn open_to_read(path: &Path) -> Result<File, DeviceProblemKind> {
    let open = || {
        let kind = std::fs::metadata(path)?.file_type();
        // To open a pipe would wait for whoever writes to it.
        if !kind.is_file() && !kind.is_block_device() {
            return Ok(Err(DeviceProblemKind::not_storage()));
        }
        let mut file = File::open(path)?;
        Ok(match file.seek(SeekFrom::End(0))? {
            bytes if bytes < BLOCK_BYTES as u64 => Err(DeviceProblemKind::not_blocks(bytes)),
            _ => Ok(file),
        })
    };
    open().unwrap_or_else(|error: std::io::Error| {
        Err(match error.kind() {
            std::io::ErrorKind::NotFound => DeviceProblemKind::Missing,
            _ => DeviceProblemKind::Unreadable(format!("cannot open it: {error}")),
        })
    })
}

/// Who keeps us out of a device.
fn user_of(path: &Path) -> Option<(PathBuf, Option<u32>)> {
    match OpenDevice::new().writable(false).open(path) {
        Err(OpenError::InUse { path, holder }) => Some((path, holder)),
        _ => None,
    }
}
