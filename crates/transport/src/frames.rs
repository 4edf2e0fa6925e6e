//! Cutting a train into frames.

use crate::wire_time::wire_ns;
use crate::{Framing, LinkProfile, PduKind, Train, TrainPart};

/// Frames of one size that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameRun {
    pub(crate) count: u64,
    /// Bytes of each frame on the wire.
    pub(crate) wire_bytes: u64,
    /// How long one of them takes on links with the train's `byte_time`, and how long all of them.
    pub(crate) frame_ns: u64,
    pub(crate) run_ns: u64,
}

/// At most so many runs: full frames and a short one for each part of a train.
pub(crate) const RUNS: usize = 4;

/// What decides how links cut a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameShape {
    framing: Framing,
    payload_bytes: u32,
    overhead_bytes: u32,
    /// TCP's and IP's bytes in each segment.
    pub(crate) header_bytes: u32,
}

impl FrameShape {
    #[inline]
    pub(crate) fn of(profile: &LinkProfile, header_bytes: u32) -> Self {
        Self {
            framing: profile.framing,
            payload_bytes: profile.frame_payload_bytes,
            overhead_bytes: profile.frame_overhead_bytes,
            header_bytes,
        }
    }
}

/// A train as links of a shape carry it, with its times on those of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    pub(crate) shape: FrameShape,
    /// Nanoseconds per byte, in units of 2^-32.
    pub(crate) byte_time: u64,
    runs: [FrameRun; RUNS],
    run_count: usize,
    count: u64,
    wire_bytes: u64,
}

impl Frames {
    /// The frames of `train`, which is not empty, on links of `shape`, with their times on those with `byte_time`.
    pub(crate) fn cut(train: &Train, shape: FrameShape, byte_time: u64) -> Self {
        let mut frames = Self {
            shape,
            byte_time,
            runs: [FrameRun::default(); RUNS],
            run_count: 0,
            count: 0,
            wire_bytes: 0,
        };
        let overhead = u64::from(shape.overhead_bytes);
        match shape.framing {
            Framing::Segments => {
                let header_bytes = shape.header_bytes;
                let segment = u64::from(shape.payload_bytes - header_bytes);
                frames.cut_stream(train.bytes(), segment, overhead + u64::from(header_bytes));
            }
            Framing::Sequences => {
                let payload = u64::from(shape.payload_bytes);
                for part in fibre_channel_train(train).parts {
                    if part.payload_bytes > 0 {
                        frames.cut_stream(part.bytes(), payload, overhead);
                    } else if let Some(each) = part.header_bytes.checked_div(part.pdus.into()) {
                        frames.push(part.pdus.into(), each + overhead);
                    }
                }
            }
        }
        frames
    }

    /// The same frames on links of another rate.
    pub(crate) fn at_rate(mut self, byte_time: u64) -> Self {
        self.byte_time = byte_time;
        for run in &mut self.runs[..self.run_count] {
            run.measure(byte_time);
        }
        self
    }

    /// The runs, none of them empty.
    #[inline]
    pub(crate) fn runs(&self) -> &[FrameRun] {
        &self.runs[..self.run_count]
    }

    /// The runs if there are fewer than [`RUNS`], `MOST` of them.
    #[inline(always)]
    pub(crate) fn first_runs<const MOST: usize>(&self) -> &[FrameRun] {
        if MOST < RUNS { &self.runs[..MOST] } else { self.runs() }
    }

    /// Number of frames.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Bytes on the wire.
    #[inline]
    pub(crate) fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    fn cut_stream(&mut self, bytes: u64, frame_payload: u64, overhead: u64) {
        let full = bytes / frame_payload;
        let rest = bytes - full * frame_payload;
        if full > 0 {
            self.push(full, frame_payload + overhead);
        }
        if rest > 0 {
            self.push(1, rest + overhead);
        }
    }

    fn push(&mut self, count: u64, wire_bytes: u64) {
        let mut run = FrameRun { count, wire_bytes, frame_ns: 0, run_ns: 0 };
        run.measure(self.byte_time);
        self.runs[self.run_count] = run;
        self.run_count += 1;
        self.count += count;
        self.wire_bytes += count * wire_bytes;
    }
}

impl FrameRun {
    fn measure(&mut self, byte_time: u64) {
        self.frame_ns = wire_ns(self.wire_bytes, byte_time);
        self.run_ns = wire_ns(self.count * self.wire_bytes, byte_time);
    }
}

/// Bytes of an FCP_CMND IU with a CDB of 16 bytes (FCP-4, clause 9).
pub(crate) const FCP_COMMAND_BYTES: u32 = 32;
/// Bytes of an FCP_XFER_RDY IU (FCP-4, clause 9).
pub(crate) const FCP_TRANSFER_READY_BYTES: u32 = 12;
/// Bytes of an FCP_RSP IU without sense data (FCP-4, clause 9).
pub(crate) const FCP_RESPONSE_BYTES: u32 = 24;

/// What a router puts on Fibre Channel for an iSCSI train, or takes from it. Any other train is unchanged.
///
/// Immediate data is a sequence of its own there, and so is the status that iSCSI puts into its last Data-In.
fn fibre_channel_train(train: &Train) -> Train {
    let [first, second] = train.parts;
    let data = |kind, part: TrainPart| TrainPart::new(kind, 1, 0, part.payload_bytes);
    let response = TrainPart::new(PduKind::FcpResponse, 1, FCP_RESPONSE_BYTES, 0);
    match first.kind {
        PduKind::IscsiCommand => {
            let command = Train::of(TrainPart::new(PduKind::FcpCommand, 1, FCP_COMMAND_BYTES, 0));
            match train.payload_bytes() {
                0 => command,
                payload_bytes => {
                    command.then(TrainPart::new(PduKind::FcpDataOut, 1, 0, payload_bytes))
                }
            }
        }
        PduKind::IscsiDataOut => Train::of(data(PduKind::FcpDataOut, first)),
        PduKind::IscsiR2t => Train::of(TrainPart::new(
            PduKind::FcpTransferReady,
            first.pdus,
            FCP_TRANSFER_READY_BYTES,
            0,
        )),
        PduKind::IscsiDataIn => Train::of(data(PduKind::FcpDataIn, first)).then(response),
        PduKind::IscsiResponse => Train { parts: [response, second] },
        _ => *train,
    }
}
