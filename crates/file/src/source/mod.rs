//! Sources of extents.

mod csv;
#[cfg(target_os = "linux")]
mod fiemap;
mod filefrag;
mod image;
mod image_map;
mod list;
mod list_writer;
mod other_lists;
#[cfg(target_os = "linux")]
mod seek;
mod stored_lengths;
mod text;
mod xfs_bmap;
mod zdb;
mod zdb_config;

#[cfg(target_os = "linux")]
pub use fiemap::fiemap_extents;
#[cfg(target_os = "linux")]
pub(crate) use fiemap::is_unsupported;
pub use image::{
    ComposedExtents, ImageFormat, ImageLayer, LayerExtents, compose, image_layers,
    names_other_files,
};
pub use image_map::{MapRange, MapReader, map_image};
pub use list::{ExtentListReader, ListDialect, ListedFile};
pub use list_writer::ExtentListWriter;
#[cfg(target_os = "linux")]
pub use seek::{SeekExtents, seek_extents};
pub use stored_lengths::StoredLengths;
#[cfg(target_os = "linux")]
pub(crate) use zdb::sync_pool;
pub use zdb::zdb_extents;
pub use zdb_config::{PoolLayout, VdevLayout, pool_layout};
