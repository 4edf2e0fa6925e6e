//! Locks that reserve a device for one process.

use std::fs::{File, TryLockError};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// Why a file could not be locked.
pub(super) enum Refused {
    InUse,
    Failed(io::Error),
}

/// Interval between two attempts.
const STEP: Duration = Duration::from_millis(20);

/// Takes the advisory lock of `file` for as long as it is open. The lock belongs to the open file, so a second
/// opening by the same process is refused too.
pub(super) fn lock(file: &File, exclusive: bool, is_block_device: bool) -> Result<(), Refused> {
    let mut waited = 0;
    loop {
        let taken = if exclusive { file.try_lock() } else { file.try_lock_shared() };
        match taken {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if waited < patience(file, is_block_device) => {
                waited += 1;
                sleep(STEP);
            }
            Err(TryLockError::WouldBlock) => return Err(Refused::InUse),
            Err(TryLockError::Error(error)) => return Err(Refused::Failed(error)),
        }
    }
}

/// Returns how many attempts to wait for the lock's holder.
fn patience(file: &File, is_block_device: bool) -> u32 {
    let holder = file.metadata().ok().and_then(|status| holder(&status));
    if holder.is_none_or(is_dead) {
        // A killed process keeps its locks until the kernel has completed its I/Os. Or the lock was released just
        // now.
        100
    } else if is_block_device {
        // udev briefly locks a block device whenever it inspects it, which is after each write to it.
        25
    } else {
        0
    }
}

/// Returns whether a process has ended, even if its exit code was not collected yet.
#[cfg(target_os = "linux")]
fn is_dead(process: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    // The state follows the name, which may contain anything.
    let state = status.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    matches!(state, Some('Z' | 'X'))
}

#[cfg(not(target_os = "linux"))]
fn is_dead(_: u32) -> bool {
    false
}

/// Returns the process that holds the lock of the file with this status, if the kernel reports it.
#[cfg(target_os = "linux")]
pub(super) fn holder(status: &std::fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;

    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let (major, minor) = (rustix::fs::major(status.dev()), rustix::fs::minor(status.dev()));
    held_by(&locks, &format!("{major:02x}:{minor:02x}:{}", status.ino()))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn holder(_: &std::fs::Metadata) -> Option<u32> {
    None
}

/// Returns the process in the line of `/proc/locks` about this inode: `1: FLOCK  ADVISORY  WRITE 712 fe:00:4711 0
/// EOF`.
#[cfg(target_os = "linux")]
fn held_by(locks: &str, inode: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // Waiting processes have an arrow here instead.
        let kind = words.next()?;
        let process = words.nth(2)?;
        (kind == "FLOCK" && words.next()? == inode).then(|| process.parse().ok())?
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_living_are_not_dead() {
        assert!(!is_dead(std::process::id()));
        assert!(is_dead(u32::MAX));
        let mut child = std::process::Command::new("true").spawn().expect("a program");
        let died = (0..500).any(|_| {
            sleep(STEP);
            is_dead(child.id())
        });
        assert!(died, "until it is asked for its exit code it is there, and dead");
        child.wait().expect("it has ended");
    }

    #[test]
    fn the_holder_is_in_the_kernels_list() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fe:00:4711 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 712 fe:00:4711 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 713 fe:00:4711 0 EOF\n";
        assert_eq!(held_by(locks, "fe:00:4711"), Some(712));
        assert_eq!(held_by(locks, "fe:00:471"), None);
    }
}
