//! Clients that compute parity over blades: built from a scenario, and what they did as figures.

use strewn_base::SECTOR_BYTES;
use strewn_results::ClientRaidFigures;
use strewn_scenario::{Array, Scenario};
use strewn_sim::{AnyHost, ClientRaid, ClientRaidConfig, LostBlade, Segment};

use strewn_scenario::build::machine;
use strewn_scenario::build::{self, BuildError};

/// Makes `host` the clients of an array's blades, if it has any.
pub(crate) fn with_client_raid(
    scenario: &Scenario,
    host: AnyHost,
    array: &Array,
) -> Result<AnyHost, BuildError> {
    let Some(raid) = &array.client_raid else { return Ok(host) };
    let settings = ClientRaidConfig {
        largest_request_sectors: raid.largest_request_bytes / SECTOR_BYTES,
        parity_kib_ns: raid.parity_kib_ns,
        cores: machine::host_cores(scenario, array),
        lost: raid
            .lost
            .map(|lost| LostBlade { blade: lost.blade.saturating_sub(1), at_ns: lost.at_ns }),
        copy_kib_ns: raid.copy_kib_ns,
    };
    let luns = build::luns(array).into_iter().enumerate();
    let files = luns.map(|(files_before, lun)| raid.object_layout(files_before, lun.bytes));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    Ok(ClientRaid::new(host.boxed(), settings, files)?.into())
}

/// Returns how many bytes a stripe of an array's files has, if clients compute their parity.
pub(crate) fn stripe_bytes(array: &Array) -> Option<u64> {
    array.client_raid.as_ref().map(strewn_scenario::ClientRaid::stripe_bytes)
}

/// Returns what the clients of an array's blades did.
pub(crate) fn figures(segment: &Segment) -> Option<ClientRaidFigures> {
    let measured = segment.client_raid.as_ref()?;
    let length_ns = segment.length_ns.max(1) as f64;
    let of_operations = |count: u64| match segment.operations {
        0 => 0.0,
        operations => count as f64 / operations as f64,
    };
    let mib_per_s =
        |sectors: u64| (sectors * SECTOR_BYTES) as f64 / f64::from(1 << 20) * 1e9 / length_ns;
    let stripes = measured.stripes_written;
    Some(ClientRaidFigures {
        reads_per_op: of_operations(measured.reads.count),
        update_reads_per_op: of_operations(measured.update_reads.count),
        writes_per_op: of_operations(measured.writes.count),
        read_mib_per_s: mib_per_s(measured.reads.sectors),
        update_read_mib_per_s: mib_per_s(measured.update_reads.sectors),
        written_mib_per_s: mib_per_s(measured.writes.sectors),
        parity_mib_per_s: mib_per_s(measured.parity_sectors),
        full_stripe_percent: (stripes > 0)
            .then(|| 100.0 * measured.full_stripes as f64 / stripes as f64),
        reconstructed_mib_per_s: mib_per_s(measured.reconstructed_sectors),
        stripe_wait_ms: of_operations(measured.stripe_wait_ns) / 1e6,
        parity_cores: measured.parity_busy_ns.iter().sum::<u64>() as f64 / length_ns,
    })
}
