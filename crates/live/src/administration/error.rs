//! Why a change is refused, and the remedy.

use serde::{Deserialize, Serialize};

use super::{LunName, SnapshotName, VolumeName};
use crate::configuration::Size;

/// Why a change is refused. Unless the array has stopped, nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeError {
    /// No volume has this name.
    #[error("there is no volume {0}")]
    NoSuchVolume(VolumeName),
    /// No LUN has this name.
    #[error("there is no LUN {0}")]
    NoSuchLun(LunName),
    /// No snapshot has this name.
    #[error("there is no snapshot {0}")]
    NoSuchSnapshot(SnapshotName),
    /// The name is taken.
    #[error("{0} exists already")]
    Exists(String),
    /// Clients use it.
    #[error("{what} is in use by {clients} NBD {}", if *clients == 1 { "client" } else { "clients" })]
    InUse {
        /// What is in use.
        what: String,
        /// How many clients use it.
        clients: u64,
    },
    /// The size is zero, or not a multiple of 4 KiB.
    #[error(
        "a size of {bytes} bytes is not possible: give a multiple of 4 KiB, and at least 4 KiB"
    )]
    BadSize {
        /// Size that was asked for.
        bytes: u64,
    },
    /// A LUN would be larger than its volume.
    #[error(
        "a LUN of {} does not fit its volume, which has {}, of which other LUNs leave {}",
        Size(*lun_bytes), Size(*volume_bytes), Size(*left_bytes)
    )]
    LunTooLarge {
        /// Size of the LUN.
        lun_bytes: u64,
        /// Size of the volume.
        volume_bytes: u64,
        /// What its other LUNs leave of it.
        left_bytes: u64,
    },
    /// A volume that is not thin would reserve more than the aggregate has free.
    #[error(
        "volumes that are not thin would promise {}, and the aggregate has room for {}", Size(*bytes), Size(*free_bytes)
    )]
    VolumeTooLarge {
        /// Size of the volume.
        bytes: u64,
        /// What it could have.
        free_bytes: u64,
    },
    /// The volume has LUNs or snapshots.
    #[error("volume {volume} is not empty: it has {luns} LUNs and {snapshots} snapshots")]
    NotEmpty {
        /// Name of the volume.
        volume: VolumeName,
        /// How many LUNs it has.
        luns: u64,
        /// How many snapshots it has.
        snapshots: u64,
    },
    /// There are clones of the snapshot.
    #[error("snapshot {snapshot} has clones: {}", list(clones))]
    HasClones {
        /// Name of the snapshot.
        snapshot: SnapshotName,
        /// Volumes that are clones of it.
        clones: Vec<VolumeName>,
    },
    /// The volume is no clone.
    #[error("volume {0} is not a clone")]
    NotAClone(VolumeName),
    /// There is no room for another entry in the on-disk format.
    #[error("there are {most} {what}, the most there can be")]
    TooMany {
        /// The objects, in the plural.
        what: String,
        /// The most there can be.
        most: u64,
    },
    /// There would be too little room to overwrite everything once more.
    #[error(
        "there would be too little room to overwrite everything once more: {} more must be free",
        Size(*lacking_bytes)
    )]
    NoRoom {
        /// The room that is lacking.
        lacking_bytes: u64,
    },
    /// The volume would be smaller than its LUNs.
    #[error("its LUNs have {} together", Size(*lun_bytes))]
    SmallerThanLuns {
        /// What they have.
        lun_bytes: u64,
    },
    /// The catalog has no room for another entry.
    #[error("the catalog, which lists volumes, LUNs and snapshots, would exceed its 64 KiB")]
    CatalogFull,
    /// The smaller LUN would lose data.
    #[error("this would cut off data: the smallest possible size is {}", Size(*smallest_bytes))]
    WouldCutData {
        /// The smallest size that keeps all data.
        smallest_bytes: u64,
    },
    /// In-place arrays have one LUN and no snapshots.
    #[error("an array in place has one volume with one LUN, and no snapshots")]
    InPlace,
    /// There is no space under the devices. The change may take effect when there is.
    #[error("the change cannot be written: {0}")]
    NoSpace(String),
    /// It is the last.
    #[error("it is the only {0} of the array")]
    Last(String),
    /// The array cannot have it.
    #[error("the array cannot be changed so: {0}")]
    Impossible(String),
    /// The array has stopped.
    #[error("the array has stopped: {0}")]
    Stopped(String),
    /// Metadata can be neither read nor recomputed.
    #[error("metadata cannot be read: {0}")]
    Unreadable(String),
}

impl ChangeError {
    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoSuchVolume(_) => "`strewn array volume list DIR` lists the volumes".into(),
            Self::NoSuchLun(_) => "`strewn array lun list DIR` lists the LUNs".into(),
            Self::NoSuchSnapshot(_) => {
                "`strewn array snapshot list DIR` lists the snapshots".into()
            }
            Self::Exists(_) => "give it another name".into(),
            Self::InUse { .. } => "disconnect the clients first: NBD cannot tell them of the change".into(),
            Self::BadSize { .. } => "give a size such as 1GiB".into(),
            Self::LunTooLarge { .. } => {
                "make the LUN smaller, or the volume larger: `strewn array volume resize`".into()
            }
            Self::VolumeTooLarge { .. } => {
                "make it smaller; add spindles with `strewn array add-group`; or create a volume with --thin, and watch that the aggregate does not fill up"
                    .into()
            }
            Self::NotEmpty { .. } => "delete its LUNs and its snapshots first".into(),
            Self::HasClones { .. } => {
                "delete the clones first: `strewn array clone delete DIR VOLUME`".into()
            }
            Self::NotAClone(_) => "delete a volume with `strewn array volume delete`".into(),
            Self::TooMany { .. } => "delete one first".into(),
            Self::NoRoom { .. } => {
                "delete a snapshot, if there is one, or add spindles with `strewn array add-group`"
                    .into()
            }
            Self::SmallerThanLuns { .. } => {
                "give a larger size, or make its LUNs smaller or fewer first".into()
            }
            Self::CatalogFull => "delete a snapshot that is not needed, or give shorter names".into(),
            Self::WouldCutData { .. } => {
                "unmap the end of the LUN first, or give a larger size".into()
            }
            Self::Last(_) => {
                "create another one first; or destroy the array: `strewn array destroy DIR`".into()
            }
            Self::Impossible(_) => "give other sizes or times".into(),
            Self::InPlace => {
                "create a write-anywhere array for that: --layout raid-dp or --layout raid-4".into()
            }
            Self::NoSpace(_) => "make room on the file systems of the devices".into(),
            Self::Stopped(_) | Self::Unreadable(_) => {
                "`strewn array status` and `strewn array check` say what is wrong".into()
            }
        }
    }

    /// Returns whether the change was refused because of what the array has: another time, or for another array, the
    /// same change may be possible.
    #[must_use]
    pub fn is_of_contents(&self) -> bool {
        matches!(
            self,
            Self::LunTooLarge { .. }
                | Self::VolumeTooLarge { .. }
                | Self::NotEmpty { .. }
                | Self::HasClones { .. }
                | Self::NoRoom { .. }
                | Self::Exists(_)
                | Self::Last(_)
                | Self::SmallerThanLuns { .. }
                | Self::Impossible(_)
                | Self::WouldCutData { .. }
        )
    }

    /// Returns whether the array failed, rather than refused.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::NoSpace(_) | Self::Stopped(_) | Self::Unreadable(_))
    }
}

fn list(volumes: &[VolumeName]) -> String {
    volumes.iter().map(VolumeName::as_str).collect::<Vec<_>>().join(", ")
}
