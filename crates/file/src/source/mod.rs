//! Sources of extents.

mod csv;
#[cfg(target_os = "linux")]
mod fiemap;
mod filefrag;
mod fsutil;
mod image;
mod image_map;
mod list;
mod list_writer;
mod lvm;
mod lvm_columns;
mod lvm_tool;
mod other_lists;
mod parser;
#[cfg(target_os = "linux")]
mod seek;
mod stored_lengths;
mod text;
mod utf8_reader;
mod whole_text;
mod xfs_bmap;
mod zdb;
mod zdb_config;
mod zdb_tool;

#[cfg(target_os = "linux")]
pub use fiemap::fiemap_extents;
#[cfg(target_os = "linux")]
pub(crate) use fiemap::is_unsupported;
pub use image::{
    ComposedExtents, ImageFormat, ImageLayer, LayerExtents, compose, image_layers,
    names_other_files,
};
pub use image_map::{MapRange, MapReader, map_image};
pub use list::{ExtentListReader, ListDialect};
pub use list_writer::ExtentListWriter;
pub use lvm::{LogicalVolume, VolumeListing, is_volume_listing, listed_device};
pub use parser::ListedFile;
#[cfg(target_os = "linux")]
pub use seek::{SeekExtents, seek_extents};
pub use stored_lengths::StoredLengths;
pub use whole_text::{read_whole, saved_text};
#[cfg(target_os = "linux")]
pub(crate) use zdb_tool::sync_pool;
#[cfg(target_os = "linux")]
pub(crate) use zdb_tool::zdb_objects;
pub use zdb_tool::{pool_layout, zdb_extents};
pub(crate) use zdb_tool::{start_metaslab_list, start_pool_list};
