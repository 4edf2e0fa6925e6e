//! The free space of whole pools, of this machine or from saved lists.

use std::fs::File;
use std::io;
use std::path::Path;

use strewn::file::{
    Extent, PoolFreeSpace, VdevFreeSpace, parse_pool_list, read_whole, saved_text, zfs_pool,
};
use strewn::report;
use strewn::results::{FileCost, FilePerformance, SIGNIFICANT_DIGITS, rounded};
use strewn::terminal::{self, Ending, Failure};

use super::bad_input;
use super::measure::{Depth, Measuring};
use super::subject::Subject;
use crate::command::arguments::{FileArguments, Format};

/// Bytes of the file that is imagined to be written. Chosen: a small image of a virtual machine.
const NEXT_FILE_BYTES: u64 = 1 << 30;

/// A pool, and what a file costs that is written into it.
struct Pool {
    space: PoolFreeSpace,
    next_file: Option<NextFile>,
}

/// A file that is imagined to be written into free space.
struct NextFile {
    bytes: u64,
    extents: u64,
    cost: FileCost,
}

impl Pool {
    fn json(&self) -> serde_json::Result<serde_json::Value> {
        let mut json = serde_json::to_value(&self.space)?;
        if let Some(file) = &self.next_file {
            json["next_file"] = serde_json::json!({
                "bytes": file.bytes, "extents": file.extents, "cost": file.cost,
            });
        }
        Ok(json)
    }
}

/// Prints what is known of free space.
pub(super) fn pools(arguments: &FileArguments, measuring: &Measuring) -> Result<Ending, Failure> {
    let format = arguments.format.format();
    if !matches!(format, Format::Text | Format::Json) || arguments.out.is_some() {
        return Err(Failure::bad_input(
            "free space of pools is printed as text or JSON, and not written to files",
            "leave --format and --out out, or give --json",
        ));
    }
    let live = arguments.pool.iter().map(|pool| zfs_pool(pool).map_err(bad_input));
    let spaces = live.chain(arguments.pool_from.iter().map(|path| read(path)));
    let pool = |space: PoolFreeSpace| Pool { next_file: next_file(&space, measuring), space };
    let pools = spaces.map(|space| space.map(pool)).collect::<Result<Vec<_>, _>>()?;
    let text = match format == Format::Json {
        true => {
            let pools = pools.iter().map(Pool::json).collect::<Result<Vec<_>, _>>();
            let json = pools.and_then(|pools| serde_json::to_string_pretty(&pools));
            json.map_err(|error| Failure::failed(error.to_string()))? + "\n"
        }
        false => pools.iter().map(described).collect::<Vec<_>>().join("\n"),
    };
    terminal::print(&text)?;
    Ok(Ending::Complete)
}

/// Measures a file that is imagined to be written into the free space; none if its size is not known.
fn next_file(space: &PoolFreeSpace, measuring: &Measuring) -> Option<NextFile> {
    let extents = space.next_file(NEXT_FILE_BYTES, measuring.seed)?;
    let device_bytes = extents.last().and_then(|last| {
        last.place.address().map(|at| at.byte.saturating_add(last.bytes)).max(space.whole_bytes)
    });
    let count = extents.len() as u64;
    let bytes = extents.last().map_or(0, Extent::end);
    let subject = Subject::imagined("the next file".to_owned(), extents, device_bytes);
    let record = measuring.record(&subject, Depth::Full).ok()?;
    record.cost.map(|cost| NextFile { bytes, extents: count, cost })
}

fn read(path: &Path) -> Result<PoolFreeSpace, Failure> {
    let (name, bytes) = match path.to_str() {
        Some("-") => ("standard input".to_owned(), read_whole(io::stdin().lock())),
        _ => (path.display().to_string(), File::open(path).and_then(read_whole)),
    };
    let text = bytes.and_then(|bytes| saved_text(&bytes)).map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::InvalidData => "save it as UTF-8 or UTF-16",
            _ => "give the file that the list was saved to",
        };
        Failure::bad_input(format!("--pool-from {name}: {error}"), help)
    })?;
    parse_pool_list(&name, &text).map_err(bad_input)
}

fn described(pool: &Pool) -> String {
    let Pool { space, next_file } = pool;
    let name = space.name.as_deref().map_or_else(|| "a pool".to_owned(), report::shown_path);
    let mut text = format!(
        "{name}, by {}: {} free in {} runs, free-space score {:.4}\n",
        space.source,
        binary(space.free_bytes as f64),
        space.runs,
        space.score
    );
    if let Some(zpool) = &space.zpool {
        text += &format!(
            "{}, {} % full, {} (zpool)\n",
            binary(zpool.bytes as f64),
            percent_of(zpool.allocated_bytes, zpool.bytes),
            zpool.health.to_lowercase()
        );
    }
    let told = space.frag_percent.map(|percent| format!("{percent} %"));
    let zpool = space.zpool.as_ref().and_then(|zpool| zpool.frag_percent);
    let zpool = zpool.map(|percent| format!("{percent} % by zpool"));
    let table = space.frag_percent_by_table;
    let table = table.map(|percent| format!("{percent} % by the table of OpenZFS 2.3"));
    let frags: Vec<String> = [told, zpool, table].into_iter().flatten().collect();
    if !frags.is_empty() {
        text += &format!("FRAG {}\n", frags.join("; "));
    }
    if let Some(score) = space.ceph_score {
        let told = score.told.map_or_else(String::new, |told| format!("{told:.4} by Ceph; "));
        text += &format!(
            "Ceph's fragmentation score {told}{:.4} by the formula of Squid, {:.4} by that before (0 is one run)\n",
            score.computed, score.computed_before_squid
        );
    }
    if space.vdevs.len() > 1 {
        text += &vdevs(&space.vdevs);
    }
    text += "\n  runs of        number   share of free bytes, at least\n";
    for class in &space.histogram {
        let share =
            100.0 * class.from_bytes as f64 * class.runs as f64 / space.free_bytes.max(1) as f64;
        text += &format!(
            "  {:<10} {:>10}   {share:.1} %\n",
            binary(class.from_bytes as f64),
            class.runs
        );
    }
    text += "\n  next writes of   in runs of   pieces   share of free bytes where it is whole\n";
    for write in &space.next_writes {
        text += &format!(
            "  {:<14} {:>12} {:>8.2}   {:.1} %\n",
            binary(write.bytes as f64),
            binary(write.run_bytes),
            write.pieces,
            100.0 * write.whole_share
        );
    }
    text += next_file.as_ref().map(cost).unwrap_or_default().as_str();
    text += "\n  if writes take places from all free bytes alike\n";
    for caveat in &space.caveats {
        text += &format!("  {caveat}\n");
    }
    text
}

/// A table of vdevs.
fn vdevs(vdevs: &[VdevFreeSpace]) -> String {
    let mut text =
        "\n  vdev                  free        runs    score    FRAG   by the table\n".to_owned();
    for vdev in vdevs {
        let name = vdev.name.as_deref().map(report::shown_path);
        let name = name.unwrap_or_else(|| vdev.vdev.to_string());
        let name = vdev.class.iter().fold(name, |name, class| format!("{name} ({class})"));
        let percent = |of: Option<u64>| of.map_or("-".to_owned(), |of| format!("{of} %"));
        text += &format!(
            "  {name:<16} {:>9} {:>11}   {:.4}   {:>5}   {:>5}\n",
            binary(vdev.free_bytes as f64),
            vdev.runs,
            vdev.score,
            percent(vdev.frag_percent),
            percent(vdev.frag_percent_by_table)
        );
    }
    text
}

/// What a file costs that is written into the free space.
fn cost(file: &NextFile) -> String {
    let Some(simulated) = &file.cost.simulated else { return String::new() };
    let mut text = format!(
        "\n  a file of {} written into it, in {} extents, beside a contiguous one (simulated on {}):\n",
        binary(file.bytes as f64),
        file.extents,
        simulated.on
    );
    let own = (&file.cost.access, file.cost.is_sequential, &simulated.now, &simulated.contiguous);
    let others = simulated.others.iter();
    let others = others.map(|one| (&one.access, one.is_sequential, &one.now, &one.contiguous));
    for (access, is_sequential, now, contiguous) in std::iter::once(own).chain(others) {
        let figure = |of: &FilePerformance| {
            rounded(if is_sequential { of.mb_per_s } else { of.iops }, SIGNIFICANT_DIGITS.min(3))
        };
        let unit = if is_sequential { "MB/s" } else { "IOPS" };
        text +=
            &format!("  {access:<28} {} instead of {} {unit}\n", figure(now), figure(contiguous));
    }
    text
}

fn percent_of(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))) as u64
}

/// Writes bytes with three digits.
fn binary(bytes: f64) -> String {
    let mut value = bytes;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    match value {
        whole if whole.fract() == 0.0 || whole >= 100.0 => format!("{whole:.0} {unit}"),
        value if value >= 10.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}
