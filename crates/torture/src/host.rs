//! The host: its requests, and the answers that it must get.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_base::{BLOCK_SECTORS, Rng, SECTOR_BYTES, overlap};

use crate::image::{Version, WrittenRange};
use crate::model::ImageName;
use crate::rng::SpreadDraws;
use crate::shadow::{self, Shadow};
use strewn_live::engine::{Answer, HostRequest, RequestError, RequestId, TargetId};

/// A LUN, or a LUN in a snapshot, and what requests name it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedTarget {
    pub(crate) name: ImageName,
    pub(crate) target: TargetId,
}

/// What a read has found: the LUN, the first sector and the versions.
pub(crate) type Found = (ImageName, u64, Vec<Version>);

/// A request that was not answered yet, with what may be found when it is.
enum Outstanding {
    Read {
        of: ImageName,
        sectors: Range<u64>,
        before: Vec<Version>,
        /// Writes in flight at any time since it was issued: their versions are valid too.
        also: Vec<WrittenRange>,
    },
    Write {
        of: ImageName,
        pieces: Vec<WrittenRange>,
    },
    Flush,
}

/// Reads and writes LUNs, and knows what reads may find.
pub(crate) struct Host {
    next_id: u64,
    outstanding: BTreeMap<u64, Outstanding>,
    /// Sectors that are written more often than others.
    hot: Vec<u64>,
    /// The size of pieces, as the engine reports it.
    pub(crate) piece_sectors: u64,
    /// Whether unmapped blocks read as zeros; otherwise they keep their contents, and zeros are written.
    pub(crate) supports_unmap: bool,
    most_sectors: u64,
    /// Whether devices may lack space.
    pub(crate) may_lack_space: bool,
    /// Requests that were answered for lack of space.
    pub(crate) refused_for_space: u64,
    /// Requests that were answered since the array was full.
    pub(crate) refused_when_full: u64,
}

impl Host {
    pub(crate) fn new(rng: &mut Rng, lun_sectors: u64, most_sectors: u64) -> Self {
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
            refused_when_full: 0,
        }
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Draws a request of any kind to one of `luns`; returns `None` if it would overlap a write in flight.
    pub(crate) fn draw(
        &mut self,
        rng: &mut Rng,
        shadow: &mut Shadow,
        luns: &[NamedTarget],
    ) -> Option<(RequestId, TargetId, HostRequest)> {
        let lun = match luns {
            [only] => only,
            several => rng.pick(several),
        };
        let NamedTarget { name: of, target } = lun.clone();
        let sectors = self.draw_sectors(rng, shadow.model.image(&of).sectors());
        let kind = rng.within(0..100);
        if kind < 35 {
            let (id, request) = self.read(of, sectors, shadow);
            return Some((id, target, request));
        }
        if kind >= 97 {
            let (id, request) = self.ask(HostRequest::Flush, Outstanding::Flush);
            return Some((id, target, request));
        }
        let is_in_the_way = self.outstanding.values().any(|one| match one {
            Outstanding::Write { of: other, pieces } if *other == of => {
                pieces.iter().any(|piece| overlap(&piece.sectors, &sectors))
            }
            _ => false,
        });
        if is_in_the_way {
            return None;
        }
        let (request, version) = match kind {
            35..85 => {
                // Some writes are of zeros, which also become blocks.
                let version = match shadow.next_version() {
                    next if next.is_multiple_of(8) => 0,
                    next => next,
                };
                let data = shadow::bytes_of(sectors.clone(), version);
                (HostRequest::Write { first_sector: sectors.start, data }, version)
            }
            85..91 => (HostRequest::Unmap(sectors.clone()), 0),
            _ => (HostRequest::Zero(sectors.clone()), 0),
        };
        let pieces = self.pieces(&request, sectors, version);
        for one in self.outstanding.values_mut() {
            if let Outstanding::Read { of: other, also, .. } = one
                && *other == of
            {
                also.extend_from_slice(&pieces);
            }
        }
        let (id, request) = self.ask(request, Outstanding::Write { of, pieces });
        Some((id, target, request))
    }

    fn draw_sectors(&self, rng: &mut Rng, lun_sectors: u64) -> Range<u64> {
        let mut count = rng.spread(1..self.most_sectors + 1).min(lun_sectors);
        let mut first = match rng.one_in(2) {
            true => *rng.pick(&self.hot) % lun_sectors,
            false => rng.within(0..lun_sectors),
        };
        if rng.one_in(2) {
            first -= first % BLOCK_SECTORS;
            count = count.next_multiple_of(BLOCK_SECTORS);
        }
        let first = first.min(lun_sectors - count.min(lun_sectors));
        first..(first + count).min(lun_sectors)
    }

    /// Creates a read of `sectors` of `of`.
    pub(crate) fn read(
        &mut self,
        of: ImageName,
        sectors: Range<u64>,
        shadow: &Shadow,
    ) -> (RequestId, HostRequest) {
        let image = shadow.model.image(&of);
        let before = image.acknowledged[sectors.start as usize..sectors.end as usize].to_vec();
        let mut also = image.unknown.clone();
        for one in self.outstanding.values() {
            if let Outstanding::Write { of: other, pieces } = one
                && *other == of
            {
                also.extend_from_slice(pieces);
            }
        }
        let request = HostRequest::Read(sectors.clone());
        self.ask(request, Outstanding::Read { of, sectors, before, also })
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

    /// Verifies an answer, and returns what a read found.
    pub(crate) fn on_answer(
        &mut self,
        id: RequestId,
        answer: Result<Answer, RequestError>,
        shadow: &mut Shadow,
    ) -> Result<Option<Found>, String> {
        let Some(one) = self.outstanding.remove(&id.0) else {
            return Err(format!("request {} was answered twice", id.0));
        };
        match (one, answer) {
            (Outstanding::Write { of, pieces }, Err(RequestError::Stopped(_))) => {
                shadow.model.image_mut(&of).unknown.extend(pieces);
            }
            (_, Err(RequestError::Stopped(_))) => {}
            (Outstanding::Write { of, pieces }, Err(RequestError::NoSpace))
                if self.may_lack_space =>
            {
                self.refused_for_space += 1;
                shadow.model.image_mut(&of).unknown.extend(pieces);
            }
            (Outstanding::Write { of, pieces }, Err(RequestError::ArrayFull))
                if shadow.model.is_overcommitted() =>
            {
                self.refused_when_full += 1;
                shadow.model.image_mut(&of).unknown.extend(pieces);
            }
            (_, Err(error)) => return Err(format!("request {} was refused: {error}", id.0)),
            (Outstanding::Write { of, pieces }, Ok(Answer::Done)) => {
                // A change that was made before is there, too.
                shadow.changed = None;
                let image = shadow.model.image_mut(&of);
                pieces.iter().for_each(|piece| image.acknowledge(piece));
            }
            (Outstanding::Flush, Ok(Answer::Done)) => {}
            (Outstanding::Read { of, sectors, before, also }, Ok(Answer::Bytes(bytes))) => {
                if bytes.len() as u64 != (sectors.end - sectors.start) * SECTOR_BYTES {
                    return Err(format!(
                        "a read of sectors {sectors:?} of {of} has {} bytes",
                        bytes.len()
                    ));
                }
                let found = shadow::versions_of(sectors.start, &bytes)
                    .map_err(|what| format!("{of}: {what}"))?;
                for ((sector, found), before) in sectors.clone().zip(&found).zip(&before) {
                    let is_right =
                        |one: &WrittenRange| one.version == *found && one.sectors.contains(&sector);
                    if found != before && !also.iter().any(is_right) {
                        return Err(format!(
                            "a read of sectors {sectors:?} of {of} finds version {found} in sector {sector}; expected {before}"
                        ));
                    }
                }
                return Ok(Some((of, sectors.start, found)));
            }
            (_, Ok(answer)) => return Err(format!("request {} was answered {answer:?}", id.0)),
        }
        Ok(None)
    }

    /// Records each unanswered write as unknown, there or not: no more answers come.
    pub(crate) fn abandon(&mut self, shadow: &mut Shadow) {
        for one in std::mem::take(&mut self.outstanding).into_values() {
            if let Outstanding::Write { of, pieces } = one {
                shadow.model.image_mut(&of).unknown.extend(pieces);
            }
        }
    }
}
