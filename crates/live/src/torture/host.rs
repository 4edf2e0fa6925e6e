//! The host: its requests, and the answers that it must get.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_base::{BLOCK_SECTORS, Rng, SECTOR_BYTES};

use super::rng::SpreadDraws;
use super::shadow::{self, Shadow, Version, WrittenRange};
use crate::engine::{Answer, HostRequest, RequestError, RequestId};

/// An unanswered request.
enum Outstanding {
    Read {
        sectors: Range<u64>,
        before: Vec<Version>,
        /// Writes in flight at any time since it was issued: their versions are valid too.
        also: Vec<WrittenRange>,
    },
    Write(Vec<WrittenRange>),
    Flush,
}

/// The host.
pub(super) struct Host {
    next_id: u64,
    outstanding: BTreeMap<u64, Outstanding>,
    /// Sectors that are written more often than others.
    hot: Vec<u64>,
    /// The size of pieces, as the engine reports it.
    pub(super) piece_sectors: u64,
    /// Whether unmapped blocks read as zeros; otherwise they keep their contents, and zeros are written.
    pub(super) supports_unmap: bool,
    most_sectors: u64,
    /// Whether devices may lack space.
    pub(super) may_lack_space: bool,
    /// Requests that were answered for lack of space.
    pub(super) refused_for_space: u64,
}

impl Host {
    pub(super) fn new(rng: &mut Rng, lun_sectors: u64, most_sectors: u64) -> Self {
        let hot = (0..6).map(|_| rng.within(0..lun_sectors)).collect();
        Self {
            next_id: 0,
            outstanding: BTreeMap::new(),
            hot,
            piece_sectors: BLOCK_SECTORS,
            supports_unmap: true,
            most_sectors,
            may_lack_space: false,
            refused_for_space: 0,
        }
    }

    pub(super) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Draws a request of any kind; returns `None` if it would overlap a write in flight.
    pub(super) fn draw(
        &mut self,
        rng: &mut Rng,
        shadow: &mut Shadow,
    ) -> Option<(RequestId, HostRequest)> {
        let sectors = self.draw_sectors(rng, shadow.acknowledged.len() as u64);
        let kind = rng.within(0..100);
        if kind < 35 {
            return Some(self.read(sectors, shadow));
        }
        if kind >= 97 {
            return Some(self.ask(HostRequest::Flush, Outstanding::Flush));
        }
        let is_in_the_way = self.outstanding.values().any(|one| match one {
            Outstanding::Write(pieces) => pieces.iter().any(|piece| {
                piece.sectors.start < sectors.end && sectors.start < piece.sectors.end
            }),
            _ => false,
        });
        if is_in_the_way {
            return None;
        }
        let (request, version) = match kind {
            35..85 => {
                let version = shadow.next_version();
                let data = shadow::bytes_of(sectors.clone(), version);
                (HostRequest::Write { first_sector: sectors.start, data }, version)
            }
            85..91 => (HostRequest::Unmap(sectors.clone()), 0),
            _ => (HostRequest::Zero(sectors.clone()), 0),
        };
        let pieces = self.pieces(&request, sectors, version);
        for one in self.outstanding.values_mut() {
            if let Outstanding::Read { also, .. } = one {
                also.extend_from_slice(&pieces);
            }
        }
        Some(self.ask(request, Outstanding::Write(pieces)))
    }

    fn draw_sectors(&self, rng: &mut Rng, lun_sectors: u64) -> Range<u64> {
        let mut count = rng.spread(1..self.most_sectors + 1).min(lun_sectors);
        let mut first = match rng.one_in(2) {
            true => *rng.pick(&self.hot),
            false => rng.within(0..lun_sectors),
        };
        if rng.one_in(2) {
            first -= first % BLOCK_SECTORS;
            count = count.next_multiple_of(BLOCK_SECTORS);
        }
        let first = first.min(lun_sectors - count.min(lun_sectors));
        first..(first + count).min(lun_sectors)
    }

    /// Creates a read of `sectors`.
    pub(super) fn read(
        &mut self,
        sectors: Range<u64>,
        shadow: &Shadow,
    ) -> (RequestId, HostRequest) {
        let before = shadow.acknowledged[sectors.start as usize..sectors.end as usize].to_vec();
        let mut also = shadow.unknown.clone();
        for one in self.outstanding.values() {
            if let Outstanding::Write(pieces) = one {
                also.extend_from_slice(pieces);
            }
        }
        let request = HostRequest::Read(sectors.clone());
        self.ask(request, Outstanding::Read { sectors, before, also })
    }

    fn ask(&mut self, request: HostRequest, one: Outstanding) -> (RequestId, HostRequest) {
        self.next_id += 1;
        self.outstanding.insert(self.next_id, one);
        (RequestId(self.next_id), request)
    }

    /// Returns the parts of a request, each of which is atomic.
    fn pieces(
        &self,
        request: &HostRequest,
        sectors: Range<u64>,
        version: Version,
    ) -> Vec<WrittenRange> {
        let mut pieces = Vec::new();
        let mut start = sectors.start;
        while start < sectors.end {
            let next = (start / self.piece_sectors + 1) * self.piece_sectors;
            let end = next.min(sectors.end);
            let (inner_start, inner_end) =
                (start.next_multiple_of(BLOCK_SECTORS), end / BLOCK_SECTORS * BLOCK_SECTORS);
            let parts = match request {
                HostRequest::Unmap(_) if !self.supports_unmap || inner_start >= inner_end => vec![],
                HostRequest::Unmap(_) => std::iter::once(inner_start..inner_end).collect(),
                _ => std::iter::once(start..end).collect(),
            };
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            pieces.extend(parts.map(|sectors| WrittenRange { sectors, version }));
            start = end;
        }
        pieces
    }

    /// Verifies an answer, and returns the versions that a read found.
    pub(super) fn on_answer(
        &mut self,
        id: RequestId,
        answer: Result<Answer, RequestError>,
        shadow: &mut Shadow,
    ) -> Result<Option<(u64, Vec<Version>)>, String> {
        let Some(one) = self.outstanding.remove(&id.0) else {
            return Err(format!("request {} was answered twice", id.0));
        };
        match (one, answer) {
            (Outstanding::Write(pieces), Err(RequestError::Stopped(_))) => {
                shadow.unknown.extend(pieces);
            }
            (_, Err(RequestError::Stopped(_))) => {}
            (Outstanding::Write(pieces), Err(RequestError::NoSpace)) if self.may_lack_space => {
                self.refused_for_space += 1;
                shadow.unknown.extend(pieces);
            }
            (_, Err(error)) => return Err(format!("request {} was refused: {error}", id.0)),
            (Outstanding::Write(pieces), Ok(Answer::Done)) => {
                pieces.iter().for_each(|piece| shadow.acknowledge(piece));
            }
            (Outstanding::Flush, Ok(Answer::Done)) => {}
            (Outstanding::Read { sectors, before, also }, Ok(Answer::Bytes(bytes))) => {
                if bytes.len() as u64 != (sectors.end - sectors.start) * SECTOR_BYTES {
                    return Err(format!("a read of sectors {sectors:?} has {} bytes", bytes.len()));
                }
                let found = shadow::versions_of(sectors.start, &bytes)?;
                for ((sector, found), before) in sectors.clone().zip(&found).zip(&before) {
                    let is_right =
                        |one: &WrittenRange| one.version == *found && one.sectors.contains(&sector);
                    if found != before && !also.iter().any(is_right) {
                        return Err(format!(
                            "a read of sectors {sectors:?} finds version {found} in sector {sector}; expected {before}"
                        ));
                    }
                }
                return Ok(Some((sectors.start, found)));
            }
            (_, Ok(answer)) => return Err(format!("request {} was answered {answer:?}", id.0)),
        }
        Ok(None)
    }

    /// Records each unanswered write as unknown, there or not: no more answers come.
    pub(super) fn abandon(&mut self, shadow: &mut Shadow) {
        for one in std::mem::take(&mut self.outstanding).into_values() {
            if let Outstanding::Write(pieces) = one {
                shadow.unknown.extend(pieces);
            }
        }
    }
}
