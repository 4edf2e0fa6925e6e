//! The way between two ports.

use crate::Hop;
use crate::hop::LostOnTheWay;
use strewn_base::state::SavedValue;

use crate::frames::{FrameShape, Frames, RUNS};
use crate::link::Progress;
use crate::parts::Parts;
use crate::plain_path::PlainPath;
use crate::{Arrival, Forwarding, RouterStorage, Toward, Train};

/// The way between two ports.
#[derive(Clone, Debug, PartialEq, Eq, SavedValue)]
pub(crate) struct Path {
    /// Hops from the host to the array.
    pub(crate) hops: Vec<Hop>,
    pub(crate) plain: Option<PlainPath>,
}

/// A train on its way through a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing<'a> {
    /// No later train sets out earlier.
    pub(crate) now_ns: u64,
    pub(crate) toward: Toward,
    pub(crate) flow: u64,
    /// Bytes of TCP and IP in each segment.
    pub(crate) header_bytes: u32,
    /// When the first and the last byte may leave.
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) train: &'a Train,
    /// The train as the first link carries it, or one like it.
    pub(crate) frames: &'a Frames,
}

/// What the last node has left for the next link to do.
#[derive(Clone, Copy, Debug)]
enum Pending {
    /// Nothing: frames leave when they have arrived.
    Nothing,
    /// Frames leave when they begin to arrive, unless this link is faster than the one with this time for a full frame.
    CutThrough { full_frame_ns: u64 },
    /// Frames are to be cut; the last PDU or frame that a router stored is ready at `last_ready_ns`.
    Cut { last_ready_ns: u64 },
}

impl Crossing<'_> {
    /// Sends the train over `hops`.
    pub(crate) fn over(&self, hops: &[Hop], parts: &mut Parts) -> Result<Arrival, LostOnTheWay> {
        let mut progress = Progress::<RUNS>::ready(self.first_ns, self.last_ns);
        // Links of a path are alike as a rule, and so are those of the paths of a port.
        let mut frames = self.frames;
        let mut other_frames = None;
        let mut pending = Pending::Cut { last_ready_ns: 0 };
        let mut last_frame_ns = 0;
        // What the last router passed on at once: PDUs or frames.
        let mut pieces = 1;
        let mut sent_ns = None;
        for step in 0..hops.len() {
            let hop = match self.toward {
                Toward::Target => hops[step],
                Toward::Host => hops[hops.len() - 1 - step],
            };
            let link = match hop {
                Hop::Link(link) => link,
                Hop::Lanes(lanes) => {
                    let at_ns = progress.first_ns();
                    let lanes = &mut parts.lanes[lanes.index()];
                    lanes
                        .choose(&parts.links, self.toward, self.flow, at_ns)
                        .ok_or(LostOnTheWay { sent_ns: sent_ns.unwrap_or(at_ns), lost_ns: at_ns })?
                }
                Hop::Switch(switch) => {
                    progress.later_ns += switch.latency_ns;
                    if switch.forwarding == Forwarding::CutThrough {
                        pending = Pending::CutThrough { full_frame_ns: last_frame_ns };
                    }
                    continue;
                }
                Hop::Router(router) => {
                    let router = &mut parts.routers[router.index()];
                    let (first_ns, last_ns);
                    (pieces, first_ns, last_ns) = match router.settings.storage {
                        RouterStorage::Pdu => {
                            let (first_ns, last_ns) = self.first_and_last_pdu(&progress, frames);
                            (u64::from(self.train.pdus()).max(1), first_ns, last_ns)
                        }
                        RouterStorage::Frame => {
                            (frames.count(), progress.first_ns(), progress.last_ns(frames))
                        }
                    };
                    let (first_ready_ns, last_ready_ns) =
                        router.store(self.now_ns, self.train, pieces, first_ns, last_ns);
                    progress = Progress::ready(first_ready_ns, last_ready_ns);
                    pending = Pending::Cut { last_ready_ns };
                    continue;
                }
            };
            let link = &mut parts.links[link.index()];
            match std::mem::replace(&mut pending, Pending::Nothing) {
                Pending::Nothing => {}
                Pending::CutThrough { full_frame_ns } => {
                    if link.full_frame_ns() >= full_frame_ns {
                        progress.begin_with_headers(frames);
                    }
                }
                Pending::Cut { last_ready_ns } => {
                    let shape = FrameShape::of(link.profile(), self.header_bytes);
                    if frames.shape != shape {
                        let cut = Frames::cut(self.train, shape, link.byte_time());
                        frames = other_frames.insert(cut);
                    }
                    if last_ready_ns > 0 && pieces > 1 {
                        let piece_bytes = frames.wire_bytes() / pieces;
                        progress.last_stored_ns =
                            last_ready_ns + link.serialization_ns(piece_bytes);
                    }
                }
            }
            if frames.byte_time != link.byte_time() {
                let at_rate = frames.at_rate(link.byte_time());
                frames = other_frames.insert(at_rate);
            }
            let arrived_ns = progress.first_ns();
            let carried = link.carry(self.now_ns, self.toward, frames, &mut progress);
            match carried {
                Ok(left_ns) => sent_ns = sent_ns.or(Some(left_ns)),
                Err(lost_ns) => {
                    let sent_ns = sent_ns.unwrap_or(arrived_ns);
                    return Err(LostOnTheWay { sent_ns, lost_ns: lost_ns.max(sent_ns) });
                }
            }
            last_frame_ns = link.full_frame_ns();
        }
        Ok(Arrival { first_ns: progress.first_ns(), last_ns: progress.last_ns(frames) })
    }

    /// When the first and the last PDU of the train are complete.
    fn first_and_last_pdu(&self, progress: &Progress<RUNS>, frames: &Frames) -> (u64, u64) {
        let (first_ns, last_ns) = (progress.first_ns(), progress.last_ns(frames));
        if self.train.pdus() <= 1 {
            return (last_ns, last_ns);
        }
        let part = &self.train.parts[usize::from(self.train.parts[0].pdus == 0)];
        let frame_count = frames.count();
        // The frame with the end of the first PDU.
        let pdu_frames =
            (frame_count * part.bytes()).div_ceil(self.train.bytes() * u64::from(part.pdus)).max(1);
        let span_ns = last_ns - first_ns;
        let first_pdu_ns = first_ns + span_ns * (pdu_frames - 1) / (frame_count - 1).max(1);
        (first_pdu_ns.min(last_ns), last_ns)
    }
}
