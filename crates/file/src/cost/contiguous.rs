//! The same file laid out contiguously: what the file as it lies is compared with.

use std::collections::BTreeMap;

use serde::Serialize;

use super::commands::RequestCost;
use super::options::CostOptions;
use crate::{Address, AddressSpace, Piece};

/// Files begin at a multiple of this many bytes.
const BLOCK_BYTES: u64 = 4096;

/// Where the contiguous file was laid out. It takes what the file takes, in the order of the file and without gaps:
/// holes have no place in it, and space that is reserved and not written has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContiguousPlacement {
    /// At consecutive addresses around the mean address of the file's bytes, in the volume with the most of them. The
    /// drive is as fast there as where the file lies, in the mean. A file near the end of its device lies at its very
    /// end.
    AroundMeanAddress,
    /// At consecutive addresses from the lowest address of the file on, because not all addresses around the mean
    /// exist.
    FromLowestAddress,
    /// On the device that has the most of the file, around the mean place of its bytes there, because the address space
    /// has no room in one piece.
    OnOneDevice,
    /// Nowhere: no byte has a place.
    Nowhere,
}

/// Where the bytes of a file are.
#[derive(Debug, Default)]
pub(crate) struct FilePlaces {
    volumes: Spans<u16>,
    /// The volume of the last extent, which is not yet among the others.
    volume: Option<(u16, Span)>,
    /// Of the requests' pieces only.
    devices: Spans<u16>,
    placed_bytes: u64,
}

impl FilePlaces {
    pub(crate) fn add(&mut self, at: Address, bytes: u64) {
        self.placed_bytes += bytes;
        match &mut self.volume {
            Some((volume, span)) if *volume == at.volume => span.add(at.byte, bytes),
            _ => {
                self.end_volume();
                let mut span = self.volumes.remove(&at.volume).unwrap_or_default();
                span.add(at.byte, bytes);
                self.volume = Some((at.volume, span));
            }
        }
    }

    /// Puts the last volume among the others.
    pub(crate) fn end_volume(&mut self) {
        if let Some((volume, span)) = self.volume.take() {
            self.volumes.insert(volume, span);
        }
    }

    pub(crate) fn add_piece(&mut self, piece: &Piece) {
        self.devices.entry(piece.device).or_default().add(piece.byte, piece.bytes);
    }

    pub(crate) fn placed_bytes(&self) -> u64 {
        self.placed_bytes
    }
}

/// The runs of each request in the contiguous file.
#[derive(Debug)]
pub(crate) struct Contiguous {
    /// Bytes from the beginning of the file, and how many.
    runs: Vec<(u64, u64)>,
    /// By request, the first of its runs and how many.
    of_request: Vec<(usize, usize)>,
}

/// What requests take of the contiguous file.
pub(crate) struct LaidOut {
    pub(crate) costs: Vec<RequestCost>,
    pub(crate) pieces: Vec<Vec<Piece>>,
    pub(crate) placement: ContiguousPlacement,
}

/// Where the contiguous file could begin.
#[derive(Clone, Copy)]
enum Base {
    Address(Address),
    Device { device: u16, byte: u64 },
}

impl Contiguous {
    pub(crate) fn new(requests: usize) -> Self {
        Self { runs: Vec::new(), of_request: vec![(0, 0); requests] }
    }

    pub(crate) fn set(&mut self, request: usize, runs: &[(u64, u64)]) {
        self.of_request[request] = (self.runs.len(), runs.len());
        self.runs.extend_from_slice(runs);
    }

    /// Lays the file out, and finds the pieces of each request; those of `kept` are kept.
    pub(crate) fn lay_out(
        &self,
        places: &FilePlaces,
        space: &AddressSpace,
        kept: &[bool],
        options: CostOptions,
    ) -> LaidOut {
        let total = places.placed_bytes;
        let around =
            |span: &Span| span.mean().saturating_sub(total / 2) / BLOCK_BYTES * BLOCK_BYTES;
        let most = |spans: &Spans<u16>| {
            spans
                .iter()
                .max_by_key(|(key, span)| (span.bytes, u16::MAX - **key))
                .map(|(k, s)| (*k, *s))
        };
        let mut bases = Vec::new();
        if let Some((volume, span)) = most(&places.volumes) {
            let address = |byte| Base::Address(Address { volume, byte });
            bases.push((ContiguousPlacement::AroundMeanAddress, address(around(&span))));
            if let [device] = space.devices()
                && let Some(device_bytes) = device.bytes
            {
                let last = device_bytes.saturating_sub(total) / BLOCK_BYTES * BLOCK_BYTES;
                bases.push((ContiguousPlacement::AroundMeanAddress, address(last)));
            }
            bases.push((ContiguousPlacement::FromLowestAddress, address(span.lowest)));
        }
        if let Some((device, span)) = most(&places.devices) {
            let bytes = space.devices().get(usize::from(device)).and_then(|device| device.bytes);
            let last = bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(total));
            let byte = around(&span).min(last);
            bases.push((ContiguousPlacement::OnOneDevice, Base::Device { device, byte }));
        }
        let tries = bases.into_iter().find_map(|(placement, base)| {
            let (costs, pieces) = self.pieces(base, space, kept, options)?;
            Some(LaidOut { costs, pieces, placement })
        });
        tries.unwrap_or_else(|| LaidOut {
            costs: vec![RequestCost::default(); self.of_request.len()],
            pieces: vec![Vec::new(); self.of_request.len()],
            placement: ContiguousPlacement::Nowhere,
        })
    }

    /// The pieces of each request if the file begins at `base`, or `None` if there are not as many bytes.
    fn pieces(
        &self,
        base: Base,
        space: &AddressSpace,
        kept: &[bool],
        options: CostOptions,
    ) -> Option<(Vec<RequestCost>, Vec<Vec<Piece>>)> {
        let device_bytes = |piece: &Piece| {
            let device = space.devices().get(usize::from(piece.device));
            device.and_then(|device| device.bytes).unwrap_or(u64::MAX)
        };
        let mut costs = Vec::with_capacity(self.of_request.len());
        let mut all = Vec::with_capacity(self.of_request.len());
        let mut pieces = Vec::new();
        for (&(first, count), kept) in self.of_request.iter().zip(kept) {
            pieces.clear();
            for &(from, bytes) in &self.runs[first..first + count] {
                let before = pieces.len();
                match base {
                    Base::Address(at) => {
                        let missing = space.read(at.after(from), bytes, &mut pieces);
                        let within = |piece: &Piece| {
                            piece
                                .byte
                                .checked_add(piece.bytes)
                                .is_some_and(|end| end <= device_bytes(piece))
                        };
                        if missing > 0 || !pieces[before..].iter().all(within) {
                            return None;
                        }
                    }
                    Base::Device { device, byte } => {
                        pieces.push(Piece { device, byte: byte.saturating_add(from), bytes });
                    }
                }
            }
            options.merging.merge(&mut pieces);
            costs.push(RequestCost::of(&pieces, options.max_command_bytes, false));
            all.push(if *kept { pieces.clone() } else { Vec::new() });
        }
        Some((costs, all))
    }
}

/// What the file occupies: bytes by volume, and by device.
type Spans<K> = BTreeMap<K, Span>;

/// Bytes with a mean place.
#[derive(Debug, Clone, Copy)]
struct Span {
    bytes: u64,
    lowest: u64,
    /// The sum of twice the middle of each part, weighted by its bytes.
    weighted: u128,
}

impl Default for Span {
    fn default() -> Self {
        Self { bytes: 0, lowest: u64::MAX, weighted: 0 }
    }
}

impl Span {
    fn add(&mut self, byte: u64, bytes: u64) {
        self.bytes += bytes;
        self.lowest = self.lowest.min(byte);
        let twice_middle = u128::from(byte) * 2 + u128::from(bytes);
        self.weighted = self.weighted.saturating_add(twice_middle.saturating_mul(bytes.into()));
    }

    /// The mean place of its bytes.
    fn mean(&self) -> u64 {
        (self.weighted / u128::from(self.bytes.max(1)) / 2) as u64
    }
}
