//! Diagnoses an array from its labels: which devices are its spindles and its log, and what is wrong.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::error::AssemblyError;
use super::location::ArrayLocation;
use super::probe::ProbedDevice;
use super::problem::{DeviceProblem, DeviceProblemKind};
use crate::format::{
    DeviceKind, DeviceRole, FEATURE_INITIALIZATION_MAP, Identity, Label, MemberState, Superblock,
};

/// The roles of the probed devices.
pub(super) struct Diagnosis {
    /// The device with the newest label of the array.
    pub(super) newest: usize,
    /// The spindle of each position, if it is reliable or being rebuilt.
    pub(super) spindles: Vec<Option<usize>>,
    /// The devices of the log, if they are reliable.
    pub(super) logs: Vec<Option<usize>>,
    /// Devices whose label must be rewritten: one copy is damaged or old, or both are from before an interrupted change
    /// of membership.
    pub(super) stale: Vec<DeviceRole>,
    /// Everything that is wrong.
    pub(super) problems: Vec<DeviceProblem>,
}

/// Returns the array that most labels belong to, or `None` if there is no label.
fn array_of(probed: &[ProbedDevice]) -> Option<Identity> {
    let mut counts: HashMap<Identity, usize> = HashMap::new();
    for label in probed.iter().filter_map(|probed| probed.label.as_ref().ok()) {
        *counts.entry(label.array).or_default() += 1;
    }
    // The lower identity wins a tie, so that the result does not vary.
    counts
        .into_iter()
        .max_by_key(|(array, count)| (*count, Reverse(*array)))
        .map(|(array, _)| array)
}

impl Diagnosis {
    /// Diagnoses the probed devices. Fails with all problems if none has a label. `known` are the problems of devices
    /// that could not be probed.
    pub(super) fn of(
        probed: &[ProbedDevice],
        known: Vec<DeviceProblem>,
    ) -> Result<Self, Vec<DeviceProblem>> {
        let Some(array) = array_of(probed) else {
            let mut problems = known;
            problems.extend(probed.iter().filter_map(|probed| {
                let kind = probed.label.as_ref().err()?.clone();
                Some(DeviceProblem { path: Some(probed.path.clone()), role: probed.named, kind })
            }));
            return Err(problems);
        };
        let members = || {
            let labels = probed.iter().enumerate();
            labels
                .filter_map(|(at, probed)| Some((at, probed.label.as_ref().ok()?)))
                .filter(|(_, label)| label.array == array)
        };
        // There is a label, or there would be no array. The first device wins a tie.
        let newest =
            members().rev().max_by_key(|(_, label)| label.precedence()).map_or(0, |(at, _)| at);
        let (spindles, logs, stale) = (Vec::new(), Vec::new(), Vec::new());
        let mut diagnosis = Self { newest, spindles, logs, stale, problems: known };
        if let Some((_, label)) = members().find(|(at, _)| *at == newest) {
            diagnosis.spindles = vec![None; label.members.len()];
            diagnosis.logs = vec![None; label.logs.len().max(1)];
            for (at, device) in probed.iter().enumerate() {
                diagnosis.place(at, device, probed, label);
            }
            diagnosis.missing(label);
        }
        Ok(diagnosis)
    }

    /// Determines the role of one device.
    fn place(&mut self, at: usize, device: &ProbedDevice, probed: &[ProbedDevice], newest: &Label) {
        let mut role = device.named;
        let kind = match &device.label {
            Err(kind) => Some(kind.clone()),
            Ok(label) if label.array != newest.array => {
                Some(DeviceProblemKind::Foreign { array: label.array })
            }
            Ok(label) => {
                role = Some(label.role());
                let problem = other_with(at, label, probed)
                    .map(|other| DeviceProblemKind::Duplicate { of: other.path.clone() })
                    .or_else(|| unfit(device, label, newest));
                if problem.is_none() {
                    self.take(at, device, label, newest);
                }
                problem
            }
        };
        if let Some(kind) = kind {
            self.problems.push(DeviceProblem { path: Some(device.path.clone()), role, kind });
        }
    }

    /// Accepts a device in the role that its label states.
    fn take(&mut self, at: usize, device: &ProbedDevice, label: &Label, newest: &Label) {
        let role = label.role();
        let mut say = |kind| {
            let path = Some(device.path.clone());
            self.problems.push(DeviceProblem { path, role: Some(role), kind });
        };
        if device.copies_differ {
            say(DeviceProblemKind::CopiesDiffer);
        }
        if label.sequence < newest.sequence {
            say(DeviceProblemKind::CutOff);
        }
        if let DeviceRole::Spindle(position) = role {
            if newest.members[role.index()].state == MemberState::Rebuilding {
                say(DeviceProblemKind::Rebuilding);
            }
            let named = device.named.and_then(DeviceRole::spindle);
            if let Some(named) = named.filter(|named| *named != position) {
                say(DeviceProblemKind::Swapped { named });
            }
            self.spindles[role.index()] = Some(at);
        } else {
            self.logs[role.index()] = Some(at);
        }
        if device.copies_differ || label.sequence < newest.sequence {
            self.stale.push(role);
        }
    }

    /// Reports members without a device, unless another problem explains the absence.
    fn missing(&mut self, newest: &Label) {
        for position in 0..newest.members.len() {
            let found = self.spindles[position].is_some();
            // At most 64 members.
            let position = position as u16;
            let role = Some(DeviceRole::Spindle(position));
            let explained = self.problems.iter().any(|problem| problem.role == role);
            if !found && !explained {
                let failed = newest.members[usize::from(position)].state == MemberState::Failed;
                let kind =
                    if failed { DeviceProblemKind::Failed } else { DeviceProblemKind::Missing };
                self.problems.push(DeviceProblem { path: None, role, kind });
            }
        }
        for role in newest.log_roles() {
            if self.logs[role.index()].is_none() {
                self.missing_log(role, newest.logs[role.index()].state);
            }
        }
    }

    fn missing_log(&mut self, role: DeviceRole, state: MemberState) {
        let kind = match state {
            MemberState::Failed => DeviceProblemKind::Failed,
            _ => DeviceProblemKind::LogMissing,
        };
        // A directory names the log's path, where nothing may exist.
        let named = |one: &DeviceProblem| one.role == Some(role);
        if let Some(one) = self.problems.iter_mut().find(|one| named(one)) {
            if one.kind == DeviceProblemKind::Missing {
                one.kind = kind;
            } else if role == DeviceRole::Log {
                self.problems.push(DeviceProblem { path: None, role: Some(role), kind });
            }
            return;
        }
        // In a list, the role of a missing path is unknown, unless nothing else is missing.
        let is_missing = |one: &&mut DeviceProblem| one.kind == DeviceProblemKind::Missing;
        let mut missing: Vec<_> = self.problems.iter_mut().filter(is_missing).collect();
        match &mut missing[..] {
            [one] if one.role.is_none() => {
                one.role = Some(role);
                one.kind = kind;
            }
            _ => self.problems.push(DeviceProblem { path: None, role: Some(role), kind }),
        }
    }

    /// Leaves out the spindles that are [stale](Superblock::is_stale_beside). While another process runs the array, its
    /// superblocks differ by more.
    pub(super) fn leave_out_stale(&mut self, probed: &[ProbedDevice], label: &Label) {
        let Some(newest) = newest_superblock(probed, &self.spindles, label) else { return };
        for position in 0..self.spindles.len() {
            let Some(at) = self.spindles[position] else { continue };
            let mut only_this = vec![None; self.spindles.len()];
            only_this[position] = Some(at);
            let own = newest_superblock(probed, &only_this, label);
            let Some(own) = own.filter(|own| own.is_stale_beside(&newest)) else { continue };
            self.spindles[position] = None;
            // At most 64 spindles.
            let role = DeviceRole::Spindle(position as u16);
            self.stale.retain(|one| *one != role);
            let (consistency_point, newest) = (own.consistency_point, newest.consistency_point);
            let kind = DeviceProblemKind::Behind { consistency_point, newest };
            let path = Some(probed[at].path.clone());
            self.problems.push(DeviceProblem { path, role: Some(role), kind });
        }
    }

    /// Returns the positions that the array must do without: those without a spindle, and those being rebuilt.
    pub(super) fn lost(&self, newest: &Label) -> Vec<u16> {
        let states = newest.members.iter().map(|member| member.state);
        let spindles = (0..).zip(self.spindles.iter().zip(states));
        let is_lost = |at: &Option<usize>, state| at.is_none() || state != MemberState::Present;
        spindles
            .filter_map(|(position, (at, state))| is_lost(at, state).then_some(position))
            .collect()
    }
}

/// Returns another device that claims to be the same as number `at`.
fn other_with<'a>(
    at: usize,
    label: &Label,
    probed: &'a [ProbedDevice],
) -> Option<&'a ProbedDevice> {
    let mut others = probed.iter().enumerate().filter(|(other, _)| *other != at);
    let same = others.find(|(_, other)| {
        other.label.as_ref().is_ok_and(|other| other.array == label.array && other.own == label.own)
    });
    same.map(|(_, other)| other)
}

/// Returns why a device of the array is unreliable.
fn unfit(device: &ProbedDevice, label: &Label, newest: &Label) -> Option<DeviceProblemKind> {
    let is_member = match label.kind {
        DeviceKind::Spindle => {
            let member = newest.members.get(usize::from(label.position));
            match member {
                Some(member) if member.identity == label.own => {
                    if member.state == MemberState::Failed {
                        return Some(DeviceProblemKind::Failed);
                    }
                    true
                }
                _ => false,
            }
        }
        DeviceKind::Log => match newest.logs.get(usize::from(label.position)) {
            Some(log) if log.identity == label.own => {
                if log.state == MemberState::Failed {
                    return Some(DeviceProblemKind::Failed);
                }
                true
            }
            _ => false,
        },
    };
    let is_beyond = usize::from(label.position) >= newest.members.len();
    match is_member {
        false if label.kind == DeviceKind::Spindle && is_beyond => {
            return Some(DeviceProblemKind::NotAdded);
        }
        false => return Some(DeviceProblemKind::Replaced),
        true => {}
    }
    // Nothing depends on a change before all devices that are present have it. A device that lacks only the last
    // change was missed when that change was interrupted, and nothing was written without it.
    if label.sequence.saturating_add(1) < newest.sequence {
        return Some(DeviceProblemKind::Older {
            sequence: label.sequence,
            newest: newest.sequence,
        });
    }
    let needed_bytes = device.missing_bytes()?;
    Some(DeviceProblemKind::TooSmall { size_bytes: device.size_bytes, needed_bytes })
}

/// Returns the newest label.
pub(super) fn newest_label(
    probed: &[ProbedDevice],
    diagnosis: &Diagnosis,
    place: &ArrayLocation,
) -> Result<Label, AssemblyError> {
    let label = probed.get(diagnosis.newest).and_then(|probed| probed.label.as_ref().ok());
    let none = || AssemblyError::NoArray { place: place.display(), problems: Vec::new() };
    label.cloned().ok_or_else(none)
}

/// Returns the newest superblock of the array on those of these spindles that are not being rebuilt.
pub(super) fn newest_superblock(
    probed: &[ProbedDevice],
    spindles: &[Option<usize>],
    label: &Label,
) -> Option<Superblock> {
    let members = spindles.iter().zip(&label.members);
    let present = members.filter(|(_, member)| member.state == MemberState::Present);
    let all = present.filter_map(|(at, _)| *at).flat_map(|at| probed[at].superblocks.iter());
    all.filter(|superblock| superblock.array == label.array)
        .max_by_key(|superblock| superblock.consistency_point)
        .cloned()
}

/// Returns whether in each group one of these spindles that are not being rebuilt has an initialization map, if the
/// array has them.
pub(super) fn has_initialization_map(
    probed: &[ProbedDevice],
    spindles: &[Option<usize>],
    label: &Label,
) -> bool {
    let has_map = |position: u16| {
        let at = usize::from(position);
        label.members[at].state == MemberState::Present
            && spindles[at].is_some_and(|at| probed[at].map_of == Some(label.array))
    };
    let mut groups = label.spindles_of_groups().into_iter();
    label.incompatible_features & FEATURE_INITIALIZATION_MAP == 0
        || groups.all(|mut spindles| spindles.any(has_map))
}
