//! From runs of addresses to drive commands, and how many there are.

use serde::Serialize;

use crate::{Address, AddressSpace, Piece};

/// Largest command: Linux's default of `max_sectors_kb`.
pub const DEFAULT_MAX_COMMAND_BYTES: u64 = 1280 << 10;

/// Bytes of a request that lie at consecutive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) at: Address,
    pub(crate) bytes: u64,
    pub(crate) kind: RunKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RunKind {
    Plain,
    /// All of a block or an encoded extent.
    Whole,
    /// All of an encoded extent of which nobody says how long it is: `bytes` is the most.
    EncodedAtMost,
}

/// Appends what devices are asked for to `pieces`, merged. Returns whether the address space knows all of the runs.
///
/// Runs of one block or encoded extent count once. An encoded extent of unknown length ends where the next run of the
/// request begins.
pub(crate) fn pieces_of(
    runs: &mut Vec<Run>,
    space: &AddressSpace,
    merging: Merging,
    pieces: &mut Vec<Piece>,
) -> bool {
    // What goes on with an encoded extent comes directly behind it, in the order of the file.
    runs.dedup_by(|next, one| {
        one.at == next.at && one.kind != RunKind::Plain && one.kind == next.kind
    });
    let mut starts: Vec<Address> = Vec::new();
    if runs.iter().any(|run| run.kind == RunKind::EncodedAtMost) {
        starts.extend(runs.iter().map(|run| run.at));
        starts.sort_unstable();
    }
    let mut known = true;
    for Run { at, mut bytes, kind } in runs.iter().copied() {
        if kind == RunKind::EncodedAtMost
            && let Some(next) = starts.get(starts.partition_point(|start| *start <= at))
            && next.volume == at.volume
        {
            bytes = bytes.min(next.byte - at.byte);
        }
        known &= space.read(at, bytes, pieces) == 0;
    }
    merging.merge(pieces);
    known
}

/// How the kernel makes one command of the pieces of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merging {
    /// Those of a plug (32 commands) that touch, whatever their order: what an I/O scheduler such as mq-deadline does
    /// with commands that wait. Linux's default for drives with spindles.
    #[default]
    AnyOrder,
    /// Those that touch and come directly one after another to a device: all that the block layer does without a
    /// scheduler.
    InOrder,
}

impl Merging {
    /// Merges the pieces of a request, which are in the order of the file. Pieces that overlap stay apart: each is
    /// asked for by itself.
    pub(crate) fn merge(self, pieces: &mut Vec<Piece>) {
        match self {
            Self::AnyOrder => merge_adjacent(pieces),
            Self::InOrder => merge_in_order(pieces),
        }
    }
}

/// A piece grows at either end by the next one for its device (`blk_attempt_plug_merge` looks at the last request of a
/// queue).
fn merge_in_order(pieces: &mut Vec<Piece>) {
    let mut merged: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces.drain(..) {
        // A request has pieces on a handful of devices, and the last of each is near the end.
        let last = merged.iter_mut().rev().find(|last| last.device == piece.device);
        match last {
            Some(last) if last.byte + last.bytes == piece.byte => last.bytes += piece.bytes,
            Some(last) if piece.byte + piece.bytes == last.byte => {
                last.byte = piece.byte;
                last.bytes += piece.bytes;
            }
            _ => merged.push(piece),
        }
    }
    merged.sort_unstable();
    *pieces = merged;
}

/// Requests of one device that Linux collects before it issues them: `BLK_MAX_REQUEST_COUNT`.
const PLUGGED_REQUESTS: usize = 32;

/// The same where a request goes to several devices.
const PLUGGED_REQUESTS_OF_SEVERAL: usize = 64;

/// Merges pieces that lie one behind another on a device, as a scheduler does.
///
/// A piece joins the one before it on its device. When as many commands are collected as a plug holds, the scheduler
/// merges those that touch, whatever their order; those of the next plug find them issued. `tests/outside/files.rs`
/// counts reads of 1 MiB from files in thousands of extents: the kernel has within 1 % of this many.
pub(crate) fn merge_adjacent(pieces: &mut Vec<Piece>) {
    let several_devices = pieces.windows(2).any(|pair| pair[0].device != pair[1].device);
    let plug = if several_devices { PLUGGED_REQUESTS_OF_SEVERAL } else { PLUGGED_REQUESTS };
    // Of the pieces before `kept`, those from `first` are in the plug.
    let (mut first, mut kept) = (0, 0);
    for index in 0..pieces.len() {
        let next = pieces[index];
        let mut plugged = pieces[first..kept].iter_mut().rev();
        if let Some(last) = plugged.find(|piece| piece.device == next.device)
            && last.byte + last.bytes == next.byte
        {
            last.bytes += next.bytes;
            continue;
        }
        if kept - first == plug {
            kept = first + merge_plugged(&mut pieces[first..kept]);
            first = kept;
        }
        pieces[kept] = next;
        kept += 1;
    }
    kept = first + merge_plugged(&mut pieces[first..kept]);
    pieces.truncate(kept);
}

/// Merges the commands of a plug in any order. Returns how many are left, at the front.
fn merge_plugged(pieces: &mut [Piece]) -> usize {
    pieces.sort_unstable();
    let mut kept = 0;
    for index in 0..pieces.len() {
        let next = pieces[index];
        match pieces[..kept].last_mut() {
            Some(one) if one.device == next.device && one.byte + one.bytes == next.byte => {
                one.bytes += next.bytes;
            }
            _ => {
                pieces[kept] = next;
                kept += 1;
            }
        }
    }
    kept
}

/// The commands that merged pieces take if none is larger than `max_command_bytes`.
pub(crate) fn command_count(pieces: &[Piece], max_command_bytes: u64) -> u64 {
    pieces.iter().map(|piece| piece.bytes.div_ceil(max_command_bytes.max(1))).sum()
}

/// What one request takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestCost {
    pub(crate) commands: u32,
    pub(crate) bytes: u64,
    pub(crate) unknown: bool,
}

impl RequestCost {
    pub(crate) fn of(pieces: &[Piece], max_command_bytes: u64, unknown: bool) -> Self {
        let commands = command_count(pieces, max_command_bytes);
        Self {
            commands: u32::try_from(commands).unwrap_or(u32::MAX),
            bytes: pieces.iter().map(|piece| piece.bytes).sum(),
            unknown,
        }
    }
}

/// How many commands requests take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CommandCounts {
    /// The mean number of commands that a request takes.
    pub commands_per_request: f64,
    /// Half of the 95 % confidence interval of that mean, from drawing requests; 0 if the requests are all there are.
    /// Of sequential stretches, each counts as one observation, because neighbours are alike.
    pub commands_margin: f64,
    /// The share of requests that take no command: holes, reserved space, data in the inode.
    pub share_without_command: f64,
    /// The mean number of bytes that devices transfer for a request.
    pub bytes_per_request: f64,
}

impl CommandCounts {
    /// Counts the commands of requests in `stretches`; `is_sample` says whether they are drawn from more.
    pub(crate) fn new(
        costs: &[RequestCost],
        stretches: &[std::ops::Range<usize>],
        is_sample: bool,
    ) -> Self {
        let requests = costs.len().max(1) as f64;
        let commands = |cost: &RequestCost| f64::from(cost.commands);
        let mean = costs.iter().map(commands).sum::<f64>() / requests;
        let observations: Vec<f64> = if stretches.len() > 1 {
            let of = |stretch: &std::ops::Range<usize>| {
                let all = &costs[stretch.clone()];
                all.iter().map(commands).sum::<f64>() / all.len().max(1) as f64
            };
            stretches.iter().map(of).collect()
        } else {
            costs.iter().map(commands).collect()
        };
        let none = costs.iter().filter(|cost| cost.commands == 0).count();
        Self {
            commands_per_request: mean,
            commands_margin: if is_sample { margin(&observations) } else { 0.0 },
            share_without_command: none as f64 / requests,
            bytes_per_request: costs.iter().map(|cost| cost.bytes as f64).sum::<f64>() / requests,
        }
    }
}

/// Half of the 95 % confidence interval of the mean.
fn margin(observations: &[f64]) -> f64 {
    let count = observations.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    let mean = observations.iter().sum::<f64>() / count;
    let squares: f64 = observations.iter().map(|one| (one - mean).powi(2)).sum();
    1.96 * (squares / (count - 1.0) / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(device: u16, byte: u64, bytes: u64) -> Piece {
        Piece { device, byte, bytes }
    }

    #[test]
    fn adjacent_pieces_of_a_device_merge_in_any_order() {
        let mut pieces = vec![
            piece(0, 8192, 4096),
            piece(1, 4096, 4096),
            piece(0, 0, 4096),
            piece(0, 4096, 4096),
        ];
        merge_adjacent(&mut pieces);
        assert_eq!(pieces, [piece(0, 0, 12_288), piece(1, 4096, 4096)]);
    }

    #[test]
    fn in_any_order_only_the_commands_of_one_plug_merge() {
        let mut pieces: Vec<Piece> =
            (0..80).rev().map(|block| piece(0, block << 12, 4096)).collect();
        merge_adjacent(&mut pieces);
        let blocks: Vec<u64> = pieces.iter().map(|piece| piece.bytes >> 12).collect();
        assert_eq!(blocks, [32, 32, 16]);
        // In the order of the file they are one, however many.
        let mut pieces: Vec<Piece> = (0..80).map(|block| piece(0, block << 12, 4096)).collect();
        merge_adjacent(&mut pieces);
        assert_eq!(pieces, [piece(0, 0, 80 << 12)]);
        // Of two devices in turn, each piece joins the last of its own.
        let mut pieces: Vec<Piece> =
            (0..80).map(|block| piece(block as u16 % 2, (block / 2) << 12, 4096)).collect();
        merge_adjacent(&mut pieces);
        assert_eq!(pieces, [piece(0, 0, 40 << 12), piece(1, 0, 40 << 12)]);
    }

    #[test]
    fn what_overlaps_is_asked_for_twice() {
        let mut pieces = vec![piece(0, 0, 8192), piece(0, 4096, 8192)];
        merge_adjacent(&mut pieces);
        assert_eq!(pieces.len(), 2);
    }

    #[test]
    fn large_pieces_are_split() {
        let most = DEFAULT_MAX_COMMAND_BYTES;
        assert_eq!(command_count(&[piece(0, 0, 4 << 20)], most), 4);
        assert_eq!(command_count(&[piece(0, 0, most), piece(1, 0, most + 1)], most), 3);
    }

    #[test]
    fn the_margin_is_that_of_the_mean() {
        let costs = |commands: &[u32]| -> Vec<RequestCost> {
            commands
                .iter()
                .map(|&commands| RequestCost { commands, bytes: 1, unknown: false })
                .collect()
        };
        let counts = CommandCounts::new(&costs(&[1, 3, 1, 3]), std::slice::from_ref(&(0..4)), true);
        // A standard deviation of 2/sqrt(3), over sqrt(4).
        assert_eq!(counts.commands_per_request, 2.0);
        assert!((counts.commands_margin - 1.96 / 3f64.sqrt()).abs() < 1e-12);
        let stretches = CommandCounts::new(&costs(&[1, 3, 1, 3]), &[0..2, 2..4], true);
        assert_eq!(stretches.commands_margin, 0.0);
    }
}
