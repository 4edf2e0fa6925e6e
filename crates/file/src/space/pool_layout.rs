//! The vdevs of a ZFS pool, as its configuration has them.

use super::VdevShape;

/// The vdevs of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolLayout {
    /// The name of the pool; empty if the configuration has none.
    pub name: String,
    /// Its top-level vdevs, in the order of their numbers.
    pub vdevs: Vec<VdevLayout>,
}

/// A top-level vdev.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VdevLayout {
    /// Its number, which addresses name.
    pub id: u16,
    /// How it lays out blocks.
    pub shape: VdevShape,
    /// Bytes of its address space, if known. Of a raidz this includes parity.
    pub bytes: Option<u64>,
    /// The paths of its devices; empty where one is not known. Of a device that is being replaced, the old one.
    pub devices: Vec<String>,
}
