//! Values that can be run, and that hardly anyone can mean or want.

use crate::array::Array;
use crate::page_cache::CacheWrites;
use crate::quantity::{Bytes, Nanoseconds};
use crate::scenario::Scenario;

/// No controller's processor takes longer for an operation or a command.
const LONGEST_COST_NS: f64 = 5e6;
/// Nor longer for a KiB: 10 MiB/s.
const LONGEST_COST_OF_KIB_NS: f64 = 1e5;
/// Fewer percent than this are a share of one that was not multiplied by a hundred.
const LEAST_PERCENT: f64 = 1.0;
/// No host of the time kept more outstanding at one LUN.
const MOST_USUALLY_OUTSTANDING: u32 = 10_000;

impl Scenario {
    /// Returns a sentence for each value that is allowed, and absurd or unwise: a processor that takes 20 ms for an
    /// operation, a reserve of 0.1 %, an aggregate without room.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let is_used = |name: &String| {
            let front_ends = self.arrays.iter().filter_map(|array| array.front_end.as_ref());
            let raids = self.arrays.iter().filter_map(|array| array.client_raid.as_ref());
            let hosts = self.hosts.iter().flat_map(|host| &host.path);
            let gateways = self.arrays.iter().filter_map(|array| array.gateway.as_ref());
            let gateways = gateways.flat_map(|one| &one.front_end.path);
            front_ends
                .flat_map(|one| &one.path)
                .chain(hosts)
                .chain(gateways)
                .any(|used| used == name)
                || raids.filter_map(|raid| raid.blade_link.as_ref()).any(|used| used == name)
        };
        let unused = self.links.iter().filter(|link| !is_used(&link.name)).map(|link| {
            format!("link[{}] is in no path, and carries nothing: is it meant for one?", link.name)
        });
        let of_kind =
            |array: &Array| array.layout.warnings(array, &|lun| self.file_bytes_of(array, lun));
        let of_kinds = self.arrays.iter().flat_map(of_kind);
        self.arrays.iter().flat_map(of_array).chain(unused).chain(of_kinds).collect()
    }
}

fn of_array(array: &Array) -> Vec<String> {
    let mut warnings = Vec::new();
    if array.outstanding > MOST_USUALLY_OUTSTANDING {
        warnings.push(format!(
            "array[{}].outstanding is {}: response times will be seconds, and a segment may end before the first \
             operations are answered",
            array.name, array.outstanding
        ));
    }
    let processor = &array.processor;
    for (name, cost_ns, longest_ns) in [
        ("host_operation", processor.host_operation_ns, LONGEST_COST_NS),
        ("spindle_command", processor.spindle_command_ns, LONGEST_COST_NS),
        ("per_kib", processor.per_kib_ns, LONGEST_COST_OF_KIB_NS),
    ] {
        if cost_ns > longest_ns {
            warnings.push(format!(
                "array[{}].processor.{name} is {}, which allows {:.0} a second: are microseconds (us) meant?",
                array.name,
                Nanoseconds(cost_ns as u64),
                1e9 / cost_ns
            ));
        }
    }
    let kind = &*array.layout;
    for (name, percent) in kind.shares() {
        if percent > 0.0 && percent < LEAST_PERCENT {
            warnings.push(format!(
                "array[{}].{}.{name} is {percent} %: are {} % meant?",
                array.name,
                kind.table().0,
                percent * 100.0
            ));
        }
    }
    if let (Some(raid), Some(cache)) = (&array.client_raid, &array.page_cache)
        && cache.writes != CacheWrites::Through
        && cache.largest_request_bytes < raid.stripe_bytes()
    {
        warnings.push(format!(
            "array[{}].page_cache.largest_request is {}, and a stripe of [array.client_raid] has {}: no request writes a \
             whole stripe, and each reads and writes parity",
            array.name,
            Bytes(cache.largest_request_bytes),
            Bytes(raid.stripe_bytes())
        ));
    }
    // A single LUN leaves the partner idle in any case.
    if array.pair.is_some() && array.luns.len() > 1 {
        for number in [1, 2] {
            if !array.luns.iter().any(|lun| lun.controller == number) {
                warnings.push(format!(
                    "array[{}].pair has no LUN at controller {number}, whose spindles are then idle: is controller = {number} \
                     of an [[array.lun]] meant?",
                    array.name
                ));
            }
        }
    }
    warnings
}
