//! The free space of whole pools, from saved lists.

use std::io::{self, Read};
use std::path::Path;

use strewn::file::{PoolFreeSpace, parse_pool_list};
use strewn::report;
use strewn::terminal::{self, Ending, Failure};

use super::bad_input;
use super::output::read_bounded;
use crate::command::arguments::{FileArguments, Format};

/// Prints what lists say of free space.
pub(super) fn pools(arguments: &FileArguments) -> Result<Ending, Failure> {
    let pools = arguments.pool_from.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let text = match arguments.format.format() == Format::Json {
        true => {
            let json = serde_json::to_string_pretty(&pools);
            json.map_err(|error| Failure::failed(error.to_string()))? + "\n"
        }
        false => pools.iter().map(described).collect::<Vec<_>>().join("\n"),
    };
    terminal::print(&text)?;
    Ok(Ending::Complete)
}

fn read(path: &Path) -> Result<PoolFreeSpace, Failure> {
    let name = path.display().to_string();
    let text = match name.as_str() {
        "-" => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => read_bounded(path),
    };
    let text = text.map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::InvalidData => "save it as UTF-8: a redirection of PowerShell does not",
            _ => "give the file that the list was saved to",
        };
        Failure::bad_input(format!("--pool-from {name}: {error}"), help)
    })?;
    parse_pool_list(&name, &text).map_err(bad_input)
}

fn described(pool: &PoolFreeSpace) -> String {
    let name = pool.name.as_deref().map_or_else(|| "a pool".to_owned(), report::shown_path);
    let mut text = format!(
        "{name}, by {}: {} free in {} runs, free-space score {:.4}\n",
        pool.source,
        binary(pool.free_bytes as f64),
        pool.runs,
        pool.score
    );
    match (pool.frag_percent, pool.frag_percent_by_table) {
        (Some(told), Some(table)) => {
            text += &format!("FRAG {told} %; {table} % by the table of OpenZFS 2.3\n");
        }
        (Some(told), None) => text += &format!("FRAG {told} %\n"),
        (None, Some(table)) => text += &format!("FRAG {table} % by the table of OpenZFS 2.3\n"),
        (None, None) => {}
    }
    if let Some(score) = pool.ceph_score {
        text += &format!("Ceph's fragmentation score {score:.4} (0 is one run)\n");
    }
    text += "\n  runs of        number   share of free bytes, at least\n";
    for class in &pool.histogram {
        let share =
            100.0 * class.from_bytes as f64 * class.runs as f64 / pool.free_bytes.max(1) as f64;
        text += &format!(
            "  {:<10} {:>10}   {share:.1} %\n",
            binary(class.from_bytes as f64),
            class.runs
        );
    }
    text += "\n  next writes of   in runs of   pieces   share of free bytes where it is whole\n";
    for write in &pool.next_writes {
        text += &format!(
            "  {:<14} {:>12} {:>8.2}   {:.1} %\n",
            binary(write.bytes as f64),
            binary(write.run_bytes),
            write.pieces,
            100.0 * write.whole_share
        );
    }
    text += "\n  if writes take places from all free bytes alike\n";
    for caveat in &pool.caveats {
        text += &format!("  {caveat}\n");
    }
    text
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
