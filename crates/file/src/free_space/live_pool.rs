//! The free space of a ZFS pool of this machine.

use super::pool::PoolFreeSpace;
use super::zdb_metaslabs::parse_metaslab_list;
use super::zpool_list::{COLUMNS, ZpoolFigures, parse_zpool_list};
use crate::error::FileError;
use crate::source::{read_whole, start_metaslab_list, start_pool_list};
use crate::tool::ToolOutput;

/// Reads the free space of the pool `pool` of this machine: from `zdb`, as of the last transaction group, and from
/// `zpool list`.
///
/// # Errors
/// If zdb is not installed, knows no such pool, has no permission, or prints what is not understood; the message says
/// what to do. That zpool says nothing is a caveat.
pub fn zfs_pool(pool: &str) -> Result<PoolFreeSpace, FileError> {
    let output = start_metaslab_list(pool)?;
    let name = format!("`{}`", output.command());
    let parsed = parse_metaslab_list(&name, &text(output, &name)?);
    let mut found = parsed.map_err(|error| match error {
        // Nothing was saved.
        FileError::Input { message, .. } => {
            FileError::input(message, "run zdb by itself to see more")
        }
        error => error,
    })?;
    found.name.get_or_insert_with(|| pool.to_owned());
    let listed = start_pool_list(pool, COLUMNS).and_then(|output| {
        let name = format!("`{}`", output.command());
        parse_zpool_list(&name, &text(output, &name)?)
    });
    match listed {
        Ok(figures) => {
            found.take_zpool(figures);
        }
        Err(error) => found.caveats.push(format!("zpool does not tell its figures: {error}")),
    }
    Ok(found)
}

fn text(output: ToolOutput, name: &str) -> Result<String, FileError> {
    let bytes = read_whole(output).map_err(|error| FileError::reading(name, error))?;
    // Paths of devices may be of any bytes.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl PoolFreeSpace {
    /// Takes in what zpool says. zdb counts vdevs and zpool names them: if both have as many for data, in order.
    pub(super) fn take_zpool(&mut self, figures: ZpoolFigures) {
        let named: Vec<&str> = figures
            .vdevs
            .iter()
            .filter(|vdev| vdev.class.is_none())
            .map(|vdev| vdev.name.as_str())
            .collect();
        let is_of_data = |vdev: &&mut super::VdevFreeSpace| vdev.class.is_none() && vdev.runs > 0;
        if self.vdevs.iter_mut().filter(is_of_data).count() == named.len() {
            for (vdev, name) in self.vdevs.iter_mut().filter(is_of_data).zip(named) {
                vdev.name = Some(name.to_owned());
            }
        }
        self.zpool = Some(figures);
    }
}
