//! Runs zdb, and zpool.

use std::ffi::OsStr;

use super::list::ExtentListReader;
use super::text::shortened;
use crate::error::FileError;
use crate::space::PoolLayout;
use crate::tool::ToolOutput;

/// Runs `zdb -C` for the vdevs of a pool. A dataset may be given too.
///
/// # Errors
/// If zdb is not installed, or fails, or prints no vdevs.
pub fn pool_layout(pool: &str) -> Result<PoolLayout, FileError> {
    refuse_option(pool, "pool")?;
    let pool = pool.split(['/', '@']).next().unwrap_or(pool);
    let output = start_zdb(&["-C", pool].map(OsStr::new))?;
    let name = format!("`{}`", output.command());
    PoolLayout::read(output, &name)
}

/// Runs `zdb` for the blocks of object `object` of `dataset`. The object of a file is its inode number, and its dataset
/// the source of its mount; object 1 is the data of a volume. With the vdevs of `pool` gang blocks are told from plain
/// ones. What was written within the last few seconds may be missing: `sync` first.
///
/// # Errors
/// If zdb is not installed. What it says itself about a failure comes with the first file.
pub fn zdb_extents(
    dataset: &str,
    object: u64,
    pool: Option<PoolLayout>,
) -> Result<ExtentListReader<ToolOutput>, FileError> {
    zdb_objects(dataset, &[object], pool)
}

/// Runs one `zdb` for several objects of `dataset`, as [`zdb_extents`] does for one. zdb ends at the first that is not
/// there.
pub(crate) fn zdb_objects(
    dataset: &str,
    objects: &[u64],
    pool: Option<PoolLayout>,
) -> Result<ExtentListReader<ToolOutput>, FileError> {
    refuse_option(dataset, "dataset")?;
    let objects: Vec<String> = objects.iter().map(u64::to_string).collect();
    // -P: exact sizes.
    let words = ["-Pddddd", dataset].into_iter().chain(objects.iter().map(String::as_str));
    let output = start_zdb(&words.map(OsStr::new).collect::<Vec<_>>())?;
    let name = format!("`{}`", output.command());
    Ok(ExtentListReader::zdb(output, &name, pool))
}

/// Runs `zdb` for the metaslabs of a pool, each vdev and the whole, with exact sizes.
pub(crate) fn start_metaslab_list(pool: &str) -> Result<ToolOutput, FileError> {
    refuse_option(pool, "pool")?;
    start_zdb(&["-PmmM", pool].map(OsStr::new))
}

/// Runs `zpool list` for `columns` of a pool and its vdevs.
pub(crate) fn start_pool_list(pool: &str, columns: &str) -> Result<ToolOutput, FileError> {
    refuse_option(pool, "pool")?;
    let arguments = ["list", "-Hpv", "-o", columns, pool].map(OsStr::new);
    ToolOutput::start("zpool", PACKAGE, &arguments, "check the name with `zpool list`")
}

/// Refuses a name that zdb takes for an option.
fn refuse_option(name: &str, what: &str) -> Result<(), FileError> {
    if name.is_empty() || name.starts_with('-') {
        let message = format!("`{}` is not the name of a {what}", shortened(name));
        return Err(FileError::input(message, "give its name as `zfs list` prints it"));
    }
    Ok(())
}

/// Starts zdb.
fn start_zdb(arguments: &[&OsStr]) -> Result<ToolOutput, FileError> {
    ToolOutput::start("zdb", PACKAGE, arguments, remedy())
}

const PACKAGE: &str = "zfsutils-linux (on Debian and Ubuntu; zfs elsewhere)";

/// Has `pool` commit a transaction group.
///
/// # Errors
/// If zpool is not installed, or fails.
#[cfg(target_os = "linux")]
pub(crate) fn sync_pool(pool: &str) -> Result<(), FileError> {
    refuse_option(pool, "pool")?;
    ToolOutput::start("zpool", PACKAGE, &["sync", pool].map(OsStr::new), "run it as root")?.run()
}

/// What to do if zdb fails.
fn remedy() -> &'static str {
    match is_root() {
        Some(false) => "run it as root: zdb reads the pool's devices",
        Some(true) => {
            "check the names with `zpool list` and `zfs list`; for a pool that is not in the cache file, set cachefile \
             with `zpool set`"
        }
        None => "run it as root, and check the names with `zfs list`",
    }
}

#[cfg(target_os = "linux")]
fn is_root() -> Option<bool> {
    use std::os::unix::fs::MetadataExt as _;
    // The owner of a process's own directory is its effective user.
    std::fs::metadata("/proc/self").ok().map(|metadata| metadata.uid() == 0)
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> Option<bool> {
    None
}
