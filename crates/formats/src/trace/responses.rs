//! Response times that a trace recorded.

use std::collections::{BTreeMap, VecDeque};

use super::record::{RawRecord, TraceResponse};

/// Requests that may be under way. More than any device has; a trace without completions must not fill memory.
const MOST_UNDER_WAY: usize = 1 << 16;

/// Response times: those that lines have, and those between an event and its completion.
#[derive(Debug, Default)]
pub(super) struct Responses {
    ready: VecDeque<TraceResponse>,
    /// Requests under way by device and first byte. A later one at the same place replaces an earlier.
    under_way: BTreeMap<(u32, u64), UnderWay>,
}

#[derive(Debug)]
struct UnderWay {
    at_ns: u128,
    response: TraceResponse,
}

impl Responses {
    /// Notes a request that arrives.
    pub(super) fn arrives(&mut self, raw: &RawRecord, arrival_ns: u64) {
        let RawRecord { at_ns, device, offset_bytes, direction, response_ns, .. } = *raw;
        let response = TraceResponse { arrival_ns, device, direction, response_ns: 0 };
        match response_ns {
            Some(response_ns) => self.ready.push_back(TraceResponse { response_ns, ..response }),
            None if self.under_way.len() < MOST_UNDER_WAY => {
                self.under_way.insert((device, offset_bytes), UnderWay { at_ns, response });
            }
            None => {}
        }
    }

    /// Notes a completion. It completes every request that begins within it, since requests may have been merged.
    pub(super) fn completes(&mut self, raw: &RawRecord) {
        let first = (raw.device, raw.offset_bytes);
        let end = (raw.device, raw.offset_bytes.saturating_add(raw.length_bytes.max(1)));
        while let Some((place, _)) = self.under_way.range(first..end).next() {
            let place = *place;
            let Some(UnderWay { at_ns, mut response }) = self.under_way.remove(&place) else {
                break;
            };
            if let Some(response_ns) = raw.at_ns.checked_sub(at_ns) {
                response.response_ns = u64::try_from(response_ns).unwrap_or(u64::MAX);
                self.ready.push_back(response);
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<TraceResponse> {
        self.ready.pop_front()
    }
}
