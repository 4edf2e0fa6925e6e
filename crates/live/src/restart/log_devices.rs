//! The log's devices at a restart: read together, and brought to equal contents.

use super::{RestartError, propagate_labels};
use crate::device::{BLOCK_BYTES, DeviceIndex, Devices, IoError};
use crate::format::{Label, MemberState, Superblock};
use crate::log::{LogDeviceFinding, LogReadError, LogRepair, RecoveredLog, read_log};
use crate::offline::OfflineArray;
use crate::store::SpindleWriteError;

/// Returns what the log's devices hold for a restart from `superblock`.
pub(crate) fn log_of<D: Devices>(
    devices: &mut D,
    label: &Label,
    superblock: &Superblock,
) -> Result<RecoveredLog, LogReadError> {
    let present: Vec<DeviceIndex> = label.present_logs().map(|(_, device)| device).collect();
    if present.is_empty() {
        return Err(LogReadError::Device(IoError::Gone("the array has no log".to_owned())));
    }
    read_log(&label.log_layout(), superblock, &present, &mut |device, offset, bytes| {
        OfflineArray::read_raw(devices, device, offset, bytes)
    })
}

/// Brings the devices of a mirrored log to equal contents, as far as a restart needs them, and marks one that does not
/// answer as failed in `label`, durably. Then either device tells what the restart is about to do.
pub(super) fn equalize_logs<D: Devices>(
    devices: &mut D,
    label: &mut Label,
    repairs: Vec<LogRepair>,
    findings: &mut Vec<LogDeviceFinding>,
) -> Result<(), RestartError> {
    let mut failed = findings.iter().find_map(|finding| match finding {
        LogDeviceFinding::Failed { device, .. } => Some(*device),
        LogDeviceFinding::Lacks { .. } => None,
    });
    for LogRepair { device, offset, bytes } in repairs {
        if failed == Some(device) {
            continue;
        }
        match OfflineArray::write_raw(devices, device, offset / BLOCK_BYTES as u64, bytes) {
            Ok(()) => {}
            Err(IoError::NoSpace) => return Err(RestartError::Redo(SpindleWriteError::NoSpace)),
            Err(error) if failed.is_some() => {
                return Err(RestartError::Log(LogReadError::Device(error)));
            }
            Err(error) => {
                failed = Some(device);
                findings.push(LogDeviceFinding::Failed { device, error });
            }
        }
    }
    failed.map_or(Ok(()), |device| fail_log(devices, label, device))
}

fn fail_log<D: Devices>(
    devices: &mut D,
    label: &mut Label,
    device: DeviceIndex,
) -> Result<(), RestartError> {
    for (position, _) in label.clone().present_logs().filter(|(_, present)| *present == device) {
        label.logs[usize::from(position)].state = MemberState::Failed;
        label.sequence += 1;
    }
    propagate_labels(devices, label)
}
