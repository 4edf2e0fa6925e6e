//! Disk images: the extents of a guest's disk on the host's devices.

use std::io::Read as _;
use std::path::PathBuf;

use serde::Deserialize;

use super::image_map::{MapRange, start_qemu_img};
use crate::error::FileError;
use crate::extent::{Extent, Place};

/// Bytes of the longest description of an image that is read.
const MAX_INFORMATION_BYTES: u64 = 1 << 24;

/// A format of disk images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// QEMU's, of any version.
    Qcow2,
    /// VMware's, in one file.
    Vmdk,
    /// VMware's: a text that names the files with the data.
    VmdkDescriptor,
}

impl ImageFormat {
    /// The format of a file that begins with `first`; 24 bytes are enough.
    #[must_use]
    pub fn recognise(first: &[u8]) -> Option<Self> {
        match first {
            // Version 1 (`qcow`) has the same magic, and `qemu-img map` tells the same of it.
            [b'Q', b'F', b'I', 0xfb, ..] => Some(Self::Qcow2),
            [b'K', b'D', b'M', b'V', ..] => Some(Self::Vmdk),
            _ if first.starts_with(b"# Disk DescriptorFile") => Some(Self::VmdkDescriptor),
            _ => None,
        }
    }
}

/// Whether an image that begins with `first`, at least 104 bytes of it, names other files, which qemu-img would open: a
/// backing file, a file with the data, extents. Such a name can be a device or the address of a server.
#[must_use]
pub fn names_other_files(first: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| {
        let field = first.get(at..at + bytes)?;
        Some(field.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    match ImageFormat::recognise(first) {
        // docs/interop/qcow2.txt of QEMU: version, offset of the backing file's name, incompatible features (bit 2: the
        // data are in another file).
        Some(ImageFormat::Qcow2) => {
            let has_backing = number(8, 8) != Some(0);
            let has_data_file =
                number(4, 4) != Some(2) && number(72, 8).is_none_or(|bits| bits & 4 != 0);
            has_backing || has_data_file
        }
        // A descriptor is text, inside the file or alone, and can name any file.
        Some(ImageFormat::Vmdk | ImageFormat::VmdkDescriptor) => true,
        None => false,
    }
}

/// An image of a chain: the image itself, its backing file, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLayer {
    /// Its file.
    pub path: PathBuf,
    /// Its format by QEMU's name, such as `qcow2`.
    pub format: String,
    /// Bytes of the guest's disk.
    pub guest_bytes: u64,
    /// Bytes of a cluster, if it has clusters.
    pub cluster_bytes: Option<u64>,
    /// The file that offsets of the map refer to: usually `path`; another one for a VMDK descriptor or an external data
    /// file. `None` if there are several, between which the map does not distinguish.
    pub data_path: Option<PathBuf>,
}

/// Runs `qemu-img info` for an image and its backing files; the index of a layer is [`MapRange::depth`]. A virtual
/// machine may be using the image.
///
/// # Errors
/// If qemu-img is not installed, or fails, or prints something else than expected.
pub fn image_layers(image: &std::path::Path) -> Result<Vec<ImageLayer>, FileError> {
    let arguments = ["info", "--output=json", "--force-share", "--backing-chain"];
    let mut output = start_qemu_img(&arguments, image)?;
    let name = format!("`{}`", output.command());
    let mut text = Vec::new();
    let read = output.by_ref().take(MAX_INFORMATION_BYTES).read_to_end(&mut text);
    read.map_err(|error| FileError::reading(&name, error))?;
    layers(&text, &name)
}

/// What `qemu-img info --output=json` says of an image.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Information {
    filename: PathBuf,
    #[serde(default)]
    format: String,
    virtual_size: u64,
    cluster_size: Option<u64>,
    #[serde(default)]
    children: Vec<Child>,
    format_specific: Option<FormatSpecific>,
}

#[derive(Debug, Deserialize)]
struct FormatSpecific {
    data: serde_json::Value,
}

impl Information {
    /// The external data file of a qcow2. QEMU opens a relative path from the current directory, not the image's.
    fn data_file(&self) -> Option<PathBuf> {
        let path = self.format_specific.as_ref()?.data.get("data-file")?.as_str()?;
        Some(PathBuf::from(path))
    }
}

#[derive(Debug, Deserialize)]
struct Child {
    name: String,
    info: Box<Information>,
}

fn layers(text: &[u8], name: &str) -> Result<Vec<ImageLayer>, FileError> {
    let all: Vec<Information> = serde_json::from_slice(text).map_err(|error| {
        let message = format!("{name}: {error}");
        FileError::input(message, "check that this is qemu-img of QEMU 5 or later")
    })?;
    let layer = |information: Information| {
        // `file` has the metadata; `extents.0` and so on of a VMDK have data.
        let mut data = information.children.iter().filter(|child| child.name != "file");
        let data_path = match (data.next(), data.next()) {
            (None, _) => Some(information.data_file().unwrap_or(information.filename.clone())),
            (Some(child), None) => Some(child.info.filename.clone()),
            (Some(_), Some(_)) => None,
        };
        ImageLayer {
            path: information.filename,
            format: information.format,
            guest_bytes: information.virtual_size,
            cluster_bytes: information.cluster_size,
            data_path,
        }
    };
    Ok(all.into_iter().map(layer).collect())
}

/// The extents of an image file, looked up at any offset. Takes 64 bytes an extent: 128 MB for 2 million, and up to
/// twice that where the number is not known beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayerExtents {
    extents: Vec<Extent>,
}

impl LayerExtents {
    /// Takes extents in the order of the file. What an earlier extent covered is left out, which happens when a file
    /// changes meanwhile.
    pub fn new(extents: impl IntoIterator<Item = Extent>) -> Self {
        let mut end = 0;
        let mut kept = Vec::new();
        for extent in extents {
            if let Some(extent) = extent.within(end..u64::MAX) {
                end = extent.end();
                kept.push(extent);
            }
        }
        Self { extents: kept }
    }

    /// The index of the first extent that ends behind `offset`.
    fn index(&self, offset: u64) -> usize {
        self.extents.partition_point(|extent| extent.end() <= offset)
    }
}

impl FromIterator<Extent> for LayerExtents {
    fn from_iter<I: IntoIterator<Item = Extent>>(extents: I) -> Self {
        Self::new(extents)
    }
}

/// The extents of a guest's disk on the host's devices, from the map of its image and the extents of the image's files:
/// guest offset, offset in the image, address. Takes a binary search a range of the map, and a step an extent.
///
/// `layers[n]` are the extents of the data file of the image at depth `n` ([`image_layers`]), `None` if they are not
/// known.
///
/// | range of the map | extent of the image | extent of the guest |
/// |---|---|---|
/// | data with an offset | any | the same part of it, with its kind |
/// | data with an offset | hole | hole |
/// | data with an offset, compressed | any with an address | encoded from there on, of unknown length |
/// | data without an offset | | unknown; qemu-img 10.0 gives none for compressed clusters of qcow2 and VMDK |
/// | zeros with an offset: an allocated cluster | any with an address | unwritten there |
/// | zeros without an offset, or not present | | hole |
/// | data, or an offset, of a layer without extents | | unknown |
pub fn compose<I>(map: I, layers: Vec<Option<LayerExtents>>) -> ComposedExtents<I::IntoIter>
where
    I: IntoIterator<Item = Result<MapRange, FileError>>,
{
    ComposedExtents { map: map.into_iter(), layers, current: None, unplaced_compressed_bytes: 0 }
}

/// The extents that [`compose`] finds, in the order of the guest's disk.
#[derive(Debug)]
pub struct ComposedExtents<I> {
    map: I,
    layers: Vec<Option<LayerExtents>>,
    /// What is left of a range, and the index of the next extent of the image for it.
    current: Option<(MapRange, usize)>,
    unplaced_compressed_bytes: u64,
}

impl<I> ComposedExtents<I> {
    /// Bytes up to now that are compressed in the image, and of which qemu-img does not say where they lie.
    #[must_use]
    pub fn unplaced_compressed_bytes(&self) -> u64 {
        self.unplaced_compressed_bytes
    }

    /// Begins with a range. Returns its extent if there is one for all of it.
    fn begin(&mut self, range: MapRange) -> Option<Extent> {
        if range.compressed && range.image_offset.is_none() {
            let before = self.unplaced_compressed_bytes;
            self.unplaced_compressed_bytes = before.saturating_add(range.bytes);
        }
        let MapRange { offset, bytes, .. } = range;
        let unknown = Extent { offset, bytes, place: Place::Unknown, shared: false };
        let layer = self.layers.get(range.depth as usize).and_then(Option::as_ref);
        match (range.image_offset, layer) {
            (None, _) => range.data.then_some(unknown),
            (Some(_), None) => (range.data || range.zero).then_some(unknown),
            (Some(image_offset), Some(layer)) => {
                self.current = Some((range, layer.index(image_offset)));
                None
            }
        }
    }

    /// The next extent of the current range.
    fn step(&mut self) -> Option<Extent> {
        let (range, index) = self.current.take()?;
        let layer = self.layers.get(range.depth as usize)?.as_ref()?;
        let image_offset = range.image_offset?;
        let image_end = image_offset.checked_add(range.bytes)?;
        let part = layer.extents.get(index)?.within(image_offset..image_end)?;
        let skipped = part.offset - image_offset;
        let place = match part.place {
            Place::At(at)
            | Place::Encoded { at, .. }
            | Place::Block { at, .. }
            | Place::Unwritten(at)
                if !range.data =>
            {
                Place::Unwritten(at)
            }
            Place::At(at) | Place::Encoded { at, .. } if range.compressed => {
                Place::Encoded { at, stored_bytes: None }
            }
            other => other,
        };
        let extent = Extent { offset: range.offset.checked_add(skipped)?, place, ..part };
        if part.end() < image_end {
            let done = part.end() - image_offset;
            let rest = MapRange {
                offset: range.offset.checked_add(done)?,
                bytes: range.bytes - done,
                image_offset: Some(part.end()),
                ..range
            };
            self.current = Some((rest, index + 1));
        }
        Some(extent)
    }
}

impl<I: Iterator<Item = Result<MapRange, FileError>>> Iterator for ComposedExtents<I> {
    type Item = Result<Extent, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(extent) = self.step() {
                return Some(Ok(extent));
            }
            match self.map.next()? {
                Ok(range) => {
                    if let Some(extent) = self.begin(range) {
                        return Some(Ok(extent));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::Address;

    fn range(offset: u64, bytes: u64, image_offset: Option<u64>) -> MapRange {
        let (depth, zero, data, compressed) = (0, false, true, false);
        MapRange { offset, bytes, depth, zero, data, compressed, image_offset }
    }

    fn at(offset: u64, bytes: u64, byte: u64) -> Extent {
        Extent { offset, bytes, place: Place::At(Address::new(byte)), shared: false }
    }

    fn composed(map: &[MapRange], layers: Vec<Option<LayerExtents>>) -> Vec<Extent> {
        let map = map.iter().map(|range| Ok(*range)).collect::<Vec<_>>();
        compose(map, layers).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_range_takes_parts_of_several_extents_and_leaves_out_holes() {
        let layer = LayerExtents::new([at(0, 100, 1000), at(100, 50, 5000), at(200, 100, 8000)]);
        let map = [range(0, 250, Some(40)), range(1000, 10, Some(0))];
        let expected = [at(0, 60, 1040), at(60, 50, 5000), at(160, 90, 8000), at(1000, 10, 1000)];
        assert_eq!(composed(&map, vec![Some(layer)]), expected);
    }

    #[test]
    fn every_kind_of_range_is_as_documented() {
        let map = [
            MapRange { zero: true, data: false, ..range(0, 10, Some(5)) },
            MapRange { zero: true, data: false, ..range(10, 10, None) },
            MapRange { compressed: true, ..range(20, 10, Some(5)) },
            MapRange { compressed: true, ..range(30, 10, None) },
            MapRange { depth: 1, ..range(40, 10, Some(5)) },
            MapRange { depth: 9, ..range(50, 10, Some(5)) },
        ];
        let layer = LayerExtents::new([at(0, 100, 1000)]);
        let at = Address::new(1005);
        let places = composed(&map, vec![Some(layer), None]).into_iter().map(|extent| extent.place);
        let encoded = Place::Encoded { at, stored_bytes: None };
        let unknown = Place::Unknown;
        let expected = [Place::Unwritten(at), encoded, unknown, unknown, unknown];
        assert_eq!(places.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn two_million_extents_in_reverse_take_no_quadratic_time() {
        let number = 2_000_000;
        let layer =
            (0..number).map(|block| at(block * 4096, 4096, (number - block) * 8192)).collect();
        let map = (0..number)
            .map(|block| Ok(range(block * 4096, 4096, Some((number - 1 - block) * 4096))));
        let mut blocks = 0;
        for (block, extent) in compose(map, vec![Some(layer)]).enumerate() {
            assert_eq!(extent.unwrap().place, Place::At(Address::new((block as u64 + 1) * 8192)));
            blocks += 1;
        }
        assert_eq!(blocks, number);
    }

    #[test]
    fn an_extent_takes_what_the_documentation_says() {
        assert_eq!(size_of::<Extent>(), 64);
    }

    #[test]
    fn images_are_recognised_by_their_first_bytes() {
        assert_eq!(ImageFormat::recognise(b"QFI\xfb\0\0\0\x03"), Some(ImageFormat::Qcow2));
        assert_eq!(ImageFormat::recognise(b"KDMV\x01\0"), Some(ImageFormat::Vmdk));
        let descriptor = b"# Disk DescriptorFile\nversion=1";
        assert_eq!(ImageFormat::recognise(descriptor), Some(ImageFormat::VmdkDescriptor));
        assert_eq!(ImageFormat::recognise(b"QFI"), None);
        assert_eq!(ImageFormat::recognise(b""), None);
    }
}
