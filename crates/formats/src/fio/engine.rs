//! fio's I/O engines, and what each does with a job's accesses.

/// What an engine does with accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineKind {
    /// It keeps `iodepth` accesses outstanding.
    Asynchronous,
    /// It waits for each access: `FIO_SYNCIO` in fio.
    Synchronous,
    /// It makes no reads and writes of blocks.
    NoBlockIo,
}

use EngineKind::{Asynchronous, NoBlockIo, Synchronous};

/// Why an engine without reads and writes of blocks is refused.
pub(super) const NO_BLOCK_IO: &str = "the engine makes no reads and writes of blocks";

/// The engines in `engines/*.c` of fio, with the aliases that it takes for `libaio`.
const ENGINES: &[(&str, EngineKind)] = &[
    ("libaio", Asynchronous),
    ("aio", Asynchronous),
    ("linuxaio", Asynchronous),
    ("io_uring", Asynchronous),
    ("io_uring_cmd", Asynchronous),
    ("posixaio", Asynchronous),
    ("solarisaio", Asynchronous),
    ("windowsaio", Asynchronous),
    ("libblkio", Asynchronous),
    ("xnvme", Asynchronous),
    ("null", Asynchronous),
    ("nbd", Asynchronous),
    ("nfs", Asynchronous),
    ("rados", Asynchronous),
    ("rbd", Asynchronous),
    ("dfs", Asynchronous),
    ("gfapi_async", Asynchronous),
    ("ime_aio", Asynchronous),
    ("guasi", Asynchronous),
    ("sync", Synchronous),
    ("psync", Synchronous),
    ("vsync", Synchronous),
    ("pvsync", Synchronous),
    ("pvsync2", Synchronous),
    ("mmap", Synchronous),
    ("splice", Synchronous),
    ("sg", Synchronous),
    ("mtd", Synchronous),
    ("libpmem", Synchronous),
    ("pmemblk", Synchronous),
    ("dev-dax", Synchronous),
    ("libhdfs", Synchronous),
    ("libiscsi", Synchronous),
    ("http", Synchronous),
    ("ime_psync", Synchronous),
    ("ime_psyncv", Synchronous),
    ("gfapi", Synchronous),
    ("libcufile", Synchronous),
    ("libzbc", Synchronous),
    ("fusion-aw-sync", Synchronous),
    ("cpuio", NoBlockIo),
    ("exec", NoBlockIo),
    ("filecreate", NoBlockIo),
    ("filestat", NoBlockIo),
    ("filedelete", NoBlockIo),
    ("dircreate", NoBlockIo),
    ("dirstat", NoBlockIo),
    ("dirdelete", NoBlockIo),
    ("ftruncate", NoBlockIo),
    ("falloc", NoBlockIo),
    ("e4defrag", NoBlockIo),
    ("net", NoBlockIo),
    ("netsplice", NoBlockIo),
    ("rdma", NoBlockIo),
    ("librpma_apm_client", NoBlockIo),
    ("librpma_apm_server", NoBlockIo),
    ("librpma_gpspm_client", NoBlockIo),
    ("librpma_gpspm_server", NoBlockIo),
];

/// Returns what the engine called `name` does; none if fio has no such engine.
pub(super) fn kind(name: &str) -> Option<EngineKind> {
    ENGINES.iter().find(|(engine, _)| *engine == name).map(|(_, kind)| *kind)
}

/// Returns the names of all engines.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().map(|(engine, _)| *engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_of_fio_3_33_is_of_one_kind() {
        // As `fio --enghelp` of a Debian package lists them.
        let listed = "cpuio mmap sync psync vsync pvsync pvsync2 null net netsplice ftruncate filecreate filestat \
                      filedelete exec posixaio falloc e4defrag splice gfapi gfapi_async mtd sg io_uring \
                      io_uring_cmd nbd libaio rdma rados rbd pmemblk dev-dax libpmem";
        for name in listed.split_whitespace() {
            assert_eq!(ENGINES.iter().filter(|(engine, _)| *engine == name).count(), 1, "{name}");
        }
        let mut names: Vec<&str> = ENGINES.iter().map(|(engine, _)| *engine).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ENGINES.len());
    }
}
