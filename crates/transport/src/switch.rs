//! What stands between two links: switches and routers.

use crate::{PduKind, Train};
use strewn_base::Calendar;
use strewn_base::state::SavedValue;

/// How a switch passes a frame on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum Forwarding {
    /// When all of it has arrived.
    StoreAndForward,
    /// As soon as its header has arrived, unless the next link is faster: then as with store-and-forward.
    CutThrough,
}

/// A switch, with enough buffer for everything that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Switch {
    /// Nanoseconds from the last bit in to the first bit out; with cut-through, from the first bit in.
    pub latency_ns: u64,
    /// When it passes a frame on.
    pub forwarding: Forwarding,
}

/// What a router has to have before it passes on any of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, SavedValue)]
pub enum RouterStorage {
    /// A whole PDU.
    #[default]
    Pdu,
    /// A frame: the next link has the beginning of a PDU while the rest of it arrives.
    Frame,
}

/// A router such as the Cisco SN 5420, between iSCSI in front and Fibre Channel behind. It stores each PDU or frame,
/// spends processor time on it, and passes it on in Fibre Channel's frames, or takes it from them. It asks for a
/// write's data with an R2T when the array asks for it with FCP_XFER_RDY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, SavedValue)]
pub struct RouterOptions {
    /// Nanoseconds that each PDU, or frame, spends in the router besides its processor's.
    pub latency_ns: u64,
    /// Nanoseconds of its processor for each SCSI command.
    pub command_ns: u64,
    /// Nanoseconds of its processor for each PDU, commands included.
    pub pdu_ns: u64,
    /// Nanoseconds of its processor for each KiB of payload.
    pub kib_ns: u64,
    /// What it stores before it passes it on.
    pub storage: RouterStorage,
}

/// A router and its processor's work.
#[derive(Clone, Debug, PartialEq, Eq, SavedValue)]
pub(crate) struct Router {
    pub(crate) settings: RouterOptions,
    pub(crate) processor: Calendar,
}

impl Router {
    /// Takes in `train` in equal `pieces`, PDUs or frames, the first of which is complete at `first_ns` and the last at
    /// `last_ns`. Returns when the first and the last of them can leave.
    pub(crate) fn store(
        &mut self,
        now_ns: u64,
        train: &Train,
        pieces: u64,
        first_ns: u64,
        last_ns: u64,
    ) -> (u64, u64) {
        let settings = self.settings;
        let is_command = train
            .parts
            .iter()
            .any(|part| matches!(part.kind, PduKind::IscsiCommand | PduKind::FcpCommand));
        let command_ns = if is_command { settings.command_ns } else { 0 };
        let pdus = u64::from(train.pdus()).max(1);
        let data_ns = settings.kib_ns * train.payload_bytes() / 1024;
        let work_ns = command_ns + settings.pdu_ns * pdus + data_ns;
        let booking = self.processor.book(now_ns, first_ns, work_ns);
        // What a PDU costs is spent on its first piece.
        let of_piece_ns = data_ns / pieces.max(1);
        let of_last_ns = if pieces > pdus { of_piece_ns } else { settings.pdu_ns + of_piece_ns };
        let first_ready_ns = booking.start_ns + command_ns + settings.pdu_ns + of_piece_ns;
        let last_ready_ns = booking.finish_ns.max(last_ns + of_last_ns);
        (first_ready_ns + settings.latency_ns, last_ready_ns + settings.latency_ns)
    }
}
