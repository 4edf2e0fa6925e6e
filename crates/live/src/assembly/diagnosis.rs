//! From labels to an array: which devices are its spindles and its log, and what is wrong.

use std::collections::HashMap;

use crate::format::{DeviceKind, Identity, Label, MemberState};

use super::seen::Seen;
use super::{Problem, ProblemKind};

/// Which of the devices that were seen are what.
pub(super) struct Diagnosis {
    /// The device with the newest label of the array.
    pub(super) newest: usize,
    /// The spindle of each position that can be relied upon, or is being rebuilt.
    pub(super) spindles: Vec<Option<usize>>,
    /// The log, if it can be relied upon.
    pub(super) log: Option<usize>,
    /// Devices, spindles by position and the log as none, with a label that is to be written anew: one copy of it is, or all of it is from before a change of
    /// membership that was cut off.
    pub(super) stale: Vec<Option<u16>>,
    /// All that is wrong.
    pub(super) problems: Vec<Problem>,
}

/// The array that most of the labels are of; nothing if there is no label.
fn array_of(seen: &[Seen]) -> Option<Identity> {
    let mut counts: HashMap<Identity, usize> = HashMap::new();
    for label in seen.iter().filter_map(|seen| seen.label.as_ref().ok()) {
        *counts.entry(label.array).or_default() += 1;
    }
    // Of as many the lower, so that the same is said each time.
    counts
        .into_iter()
        .max_by_key(|(array, count)| (*count, std::cmp::Reverse(*array)))
        .map(|(array, _)| array)
}

impl Diagnosis {
    /// What the devices that were `seen` are; nothing if none has a label. The problems of those that could not be are
    /// known already.
    pub(super) fn of(seen: &[Seen], known: Vec<Problem>) -> Result<Self, Vec<Problem>> {
        let Some(array) = array_of(seen) else {
            let mut problems = known;
            problems.extend(seen.iter().filter_map(|seen| {
                let kind = seen.label.as_ref().err()?.clone();
                Some(Problem { path: Some(seen.path.clone()), position: seen.named, kind })
            }));
            return Err(problems);
        };
        let members = || {
            let labels = seen.iter().enumerate();
            labels
                .filter_map(|(at, seen)| Some((at, seen.label.as_ref().ok()?)))
                .filter(|(_, label)| label.array == array)
        };
        // There is one, or there would be no array. Of those as new, the first.
        let newest =
            members().rev().max_by_key(|(_, label)| label.sequence).map_or(0, |(at, _)| at);
        let mut diagnosis =
            Self { newest, spindles: Vec::new(), log: None, stale: Vec::new(), problems: known };
        if let Some((_, label)) = members().find(|(at, _)| *at == newest) {
            diagnosis.spindles = vec![None; label.members.len()];
            for (at, device) in seen.iter().enumerate() {
                diagnosis.place(at, device, seen, label);
            }
            diagnosis.missing(label);
        }
        Ok(diagnosis)
    }

    /// Finds out what one device is.
    fn place(&mut self, at: usize, device: &Seen, seen: &[Seen], newest: &Label) {
        let mut position = device.named;
        let kind = match &device.label {
            Err(kind) => Some(kind.clone()),
            Ok(label) if label.array != newest.array => {
                Some(ProblemKind::Foreign { array: label.array })
            }
            Ok(label) => {
                position = (label.kind == DeviceKind::Spindle).then_some(label.position);
                let problem = other_with(at, label, seen)
                    .map(|other| ProblemKind::Duplicate { of: other.path.clone() })
                    .or_else(|| unfit(device, label, newest));
                if problem.is_none() {
                    self.take(at, device, label, newest);
                }
                problem
            }
        };
        if let Some(kind) = kind {
            self.problems.push(Problem { path: Some(device.path.clone()), position, kind });
        }
    }

    /// Takes a device for what its label says it is.
    fn take(&mut self, at: usize, device: &Seen, label: &Label, newest: &Label) {
        let mut say = |position, kind| {
            self.problems.push(Problem { path: Some(device.path.clone()), position, kind });
        };
        let position = (label.kind == DeviceKind::Spindle).then_some(label.position);
        if device.copies_differ {
            say(position, ProblemKind::CopiesDiffer);
        }
        if label.sequence < newest.sequence {
            say(position, ProblemKind::CutOff);
        }
        match position {
            Some(at_position) => {
                if newest.members[usize::from(at_position)].state == MemberState::Rebuilding {
                    say(position, ProblemKind::Rebuilding);
                }
                if let Some(named) = device.named.filter(|named| *named != at_position) {
                    say(position, ProblemKind::Swapped { named });
                }
                self.spindles[usize::from(at_position)] = Some(at);
            }
            None => self.log = Some(at),
        }
        if device.copies_differ || label.sequence < newest.sequence {
            self.stale.push(position);
        }
    }

    /// Says which members nothing was found of that would explain it.
    fn missing(&mut self, newest: &Label) {
        for position in 0..newest.members.len() {
            let found = self.spindles[position].is_some();
            // At most 64 members.
            let position = position as u16;
            let explained = self.problems.iter().any(|problem| problem.position == Some(position));
            if !found && !explained {
                let failed = newest.members[usize::from(position)].state == MemberState::Failed;
                let kind = if failed { ProblemKind::Failed } else { ProblemKind::Missing };
                self.problems.push(Problem { path: None, position: Some(position), kind });
            }
        }
        if self.log.is_none() {
            let kind = ProblemKind::LogMissing;
            let missing = self.problems.iter_mut().filter(|one| one.kind == ProblemKind::Missing);
            // Where a directory says that it is, there may be nothing. Of a list nobody knows what a path was to be, unless
            // nothing else is missing.
            let mut not_spindles: Vec<_> =
                missing.filter(|one| one.position.is_none() || one.path.is_none()).collect();
            match &mut not_spindles[..] {
                [one] if one.position.is_none() => one.kind = kind,
                _ => self.problems.push(Problem { path: None, position: None, kind }),
            }
        }
    }

    /// Positions that the array would have to do without: those without a spindle, and those that are being rebuilt.
    pub(super) fn lost(&self, newest: &Label) -> usize {
        let states = newest.members.iter().map(|member| member.state);
        let spindles = self.spindles.iter().zip(states);
        spindles.filter(|(at, state)| at.is_none() || *state != MemberState::Present).count()
    }
}

/// Another device that says to be the same as the one numbered `at`.
fn other_with<'a>(at: usize, label: &Label, seen: &'a [Seen]) -> Option<&'a Seen> {
    let mut others = seen.iter().enumerate().filter(|(other, _)| *other != at);
    let same = others.find(|(_, other)| {
        other.label.as_ref().is_ok_and(|other| other.array == label.array && other.own == label.own)
    });
    same.map(|(_, other)| other)
}

/// Why a device of the array cannot be relied upon.
fn unfit(device: &Seen, label: &Label, newest: &Label) -> Option<ProblemKind> {
    let is_member = match label.kind {
        DeviceKind::Spindle => {
            let member = newest.members.get(usize::from(label.position));
            match member {
                Some(member) if member.identity == label.own => {
                    if member.state == MemberState::Failed {
                        return Some(ProblemKind::Failed);
                    }
                    true
                }
                _ => false,
            }
        }
        DeviceKind::Log => newest.log == Some(label.own),
    };
    if !is_member {
        return Some(ProblemKind::Replaced);
    }
    // Nothing depends on a change before all that are present know of it: one that lacks the last alone was not yet told
    // when that was cut off, and nothing was written without it.
    if label.sequence.saturating_add(1) < newest.sequence {
        return Some(ProblemKind::Older { sequence: label.sequence, newest: newest.sequence });
    }
    let needed_bytes = device.missing_bytes()?;
    Some(ProblemKind::TooSmall { size_bytes: device.size_bytes, needed_bytes })
}
