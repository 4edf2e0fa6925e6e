//! Flexible volumes: files, snapshots and clones in an aggregate.

mod background;
mod consistency_point;
mod container;
mod error;
mod flexible;
mod image;
mod metadata;
mod names;
mod space;
mod teardown;
mod tree;
mod verify;
mod volumes;

pub use error::VolumeError;
pub use image::Image;
pub use metadata::{Damage, METADATA_BYTES, PageName, Root, RootError, VolumesMountError};
pub use names::{
    BlockName, BlockSource, Fbn, FileId, MetadataPage, Move, SnapshotId, VirtualVbn, VolumeId,
};
pub use space::{Space, VolumeSpace};
pub use verify::VolumeViolation;
pub use volumes::Volumes;
pub(crate) use volumes::Withheld;
