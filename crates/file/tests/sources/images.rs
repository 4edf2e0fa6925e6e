//! Images that qemu-img made: what lies at the composed places is what the guest reads.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use strewn_file::{
    Address, Extent, FileError, ImageFormat, LayerExtents, MapRange, Place, compose, image_layers,
    map_image,
};
use tempfile::TempDir;

const DISK_BYTES: u64 = 64 << 20;

fn run(directory: &Path, program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).current_dir(directory).output();
    let Ok(output) = output else { return false };
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    true
}

/// A base image with patterns at random clusters, compressed and zero clusters, and an overlay of it; `None` without
/// qemu.
fn images() -> Option<TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    if Command::new("qemu-io").arg("--version").output().is_err() {
        return None;
    }
    run(path, "qemu-img", &["create", "-q", "-f", "qcow2", "base.qcow2", "64M"]).then_some(())?;
    let mut commands = Vec::new();
    let mut state = 1u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for pattern in 1..=200 {
        let (at, bytes) = (random(700) * 65536, (1 + random(4)) * 16384);
        commands.push(format!("write -P {pattern} {at} {bytes}"));
    }
    // Clusters of their own: compressed, and zeros with space behind them.
    commands.extend(
        (0..20).map(|at| format!("write -c -P {} {} 64k", at + 1, (50 << 20) + at * 131_072)),
    );
    commands.push("write -P 77 56M 1M".to_owned());
    commands.push("write -z 56M 512k".to_owned());
    qemu_io(path, "base.qcow2", &commands);
    run(
        path,
        "qemu-img",
        &["create", "-q", "-f", "qcow2", "-b", "base.qcow2", "-F", "qcow2", "over.qcow2"],
    );
    let commands: Vec<_> = (1..=60)
        .map(|pattern| format!("write -P {} {} 64k", pattern + 100, random(700) * 65536))
        .chain(["write -z 51M 256k".to_owned()])
        .collect();
    qemu_io(path, "over.qcow2", &commands);
    Some(directory)
}

fn qemu_io(directory: &Path, image: &str, commands: &[String]) {
    let mut arguments = vec!["-f", "qcow2"];
    for command in commands {
        arguments.extend(["-c", command]);
    }
    arguments.push(image);
    run(directory, "qemu-io", &arguments);
}

/// What the guest reads, by qemu-img itself.
fn guest_bytes(directory: &Path, image: &str) -> Vec<u8> {
    let raw = format!("{image}.raw");
    run(directory, "qemu-img", &["convert", "-O", "raw", image, &raw]);
    let mut bytes = Vec::new();
    File::open(directory.join(raw)).unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, DISK_BYTES);
    bytes
}

/// Bytes of the guest whose place was found and compared, of unknown place, and of compressed clusters.
#[derive(Debug, PartialEq)]
struct Compared {
    placed: u64,
    unwritten: u64,
    unknown: u64,
    compressed: u64,
}

/// Composes an image with files whose addresses are their own bytes (the volume is the depth), and compares contents.
fn compare(directory: &Path, image: &str) -> Compared {
    let layers = image_layers(&directory.join(image)).unwrap();
    assert_eq!(layers[0].guest_bytes, DISK_BYTES);
    let mut files = Vec::new();
    let mut extents = Vec::new();
    for (depth, layer) in layers.iter().enumerate() {
        let path = directory.join(layer.data_path.as_ref().unwrap());
        let file = File::open(path).unwrap();
        let volume = u16::try_from(depth).unwrap();
        let whole = Extent {
            offset: 0,
            bytes: file.metadata().unwrap().len(),
            place: Place::At(Address { volume, byte: 0 }),
            shared: false,
        };
        // In pieces of 24 KiB, so that clusters are divided.
        let pieces = (0..whole.bytes.div_ceil(24_576))
            .filter_map(|piece| whole.within(piece * 24_576..(piece + 1) * 24_576));
        extents.push(Some(pieces.collect::<LayerExtents>()));
        files.push(file);
    }
    let expected = guest_bytes(directory, image);
    let mut composed = compose(map_image(&directory.join(image)).unwrap(), extents);
    let mut compared = Compared { placed: 0, unwritten: 0, unknown: 0, compressed: 0 };
    let mut end = 0;
    for extent in composed.by_ref() {
        let extent = extent.unwrap();
        assert!(extent.offset >= end);
        assert_zero(&expected, end, extent.offset);
        end = extent.end();
        let range = extent.offset as usize..end as usize;
        match extent.place {
            Place::At(at) => {
                let mut stored = vec![0; extent.bytes as usize];
                files[usize::from(at.volume)].read_exact_at(&mut stored, at.byte).unwrap();
                assert!(stored == expected[range], "{extent:?}");
                compared.placed += extent.bytes;
            }
            Place::Unwritten(_) => {
                assert_zero(&expected, extent.offset, end);
                compared.unwritten += extent.bytes;
            }
            Place::Unknown => compared.unknown += extent.bytes,
            other => panic!("{other:?}"),
        }
    }
    assert_zero(&expected, end, DISK_BYTES);
    compared.compressed = composed.unplaced_compressed_bytes();
    compared
}

fn assert_zero(bytes: &[u8], from: u64, to: u64) {
    let range = &bytes[from as usize..to as usize];
    assert!(range.iter().all(|byte| *byte == 0), "{from}..{to} is not zero");
}

#[test]
fn composed_places_have_the_bytes_that_the_guest_reads() {
    let Some(directory) = images() else { return };
    let path = directory.path();
    let base = compare(path, "base.qcow2");
    assert!(base.placed > 8 << 20, "{base:?}");
    assert_eq!((base.unknown, base.compressed), (20 << 16, 20 << 16));
    let over = compare(path, "over.qcow2");
    assert!(over.placed > 8 << 20 && over.unknown < base.unknown, "{over:?}");

    for (subformat, compressed) in [
        ("monolithicSparse", false),
        ("streamOptimized", true),
        ("twoGbMaxExtentSparse", false),
        ("monolithicFlat", false),
    ] {
        let image = format!("{subformat}.vmdk");
        let option = format!("subformat={subformat}");
        run(path, "qemu-img", &["convert", "-O", "vmdk", "-o", &option, "over.qcow2", &image]);
        let compared = compare(path, &image);
        assert_eq!(compared.placed == 0, compressed, "{subformat}: {compared:?}");
        assert_eq!(compared.unknown > 0, compressed, "{subformat}: {compared:?}");
        assert_eq!(compared.compressed, compared.unknown);
        let mut first = [0; 24];
        File::open(path.join(&image)).unwrap().read_exact(&mut first).unwrap();
        let format = match subformat {
            "monolithicSparse" | "streamOptimized" => ImageFormat::Vmdk,
            _ => ImageFormat::VmdkDescriptor,
        };
        assert_eq!(ImageFormat::recognise(&first), Some(format));
    }
    let mut first = [0; 24];
    File::open(path.join("base.qcow2")).unwrap().read_exact(&mut first).unwrap();
    assert_eq!(ImageFormat::recognise(&first), Some(ImageFormat::Qcow2));
}

#[test]
fn data_files_are_found_and_several_are_not_distinguished() {
    let Some(directory) = images() else { return };
    let path = directory.path();
    let option = format!("data_file={}", path.join("external.raw").display());
    let create = ["create", "-q", "-f", "qcow2", "-o", &option, "x.qcow2", "64M"];
    run(path, "qemu-img", &create);
    qemu_io(path, "x.qcow2", &["write -P 5 1M 1M".to_owned(), "write -P 6 9M 64k".to_owned()]);
    let compared = compare(path, "x.qcow2");
    assert_eq!((compared.placed, compared.unknown), ((1 << 20) + 65536, 0));
    let parts =
        ["create", "-q", "-f", "vmdk", "-o", "subformat=twoGbMaxExtentSparse", "y.vmdk", "5G"];
    run(path, "qemu-img", &parts);
    assert_eq!(image_layers(&path.join("y.vmdk")).unwrap()[0].data_path, None);
}

#[test]
fn backing_files_whose_extents_are_not_given_are_unknown() {
    let Some(directory) = images() else { return };
    let image = directory.path().join("over.qcow2");
    let whole =
        Extent { offset: 0, bytes: 1 << 40, place: Place::At(Address::new(0)), shared: false };
    let map = || map_image(&image).unwrap();
    let ranges: Vec<MapRange> = map().collect::<Result<_, _>>().unwrap();
    let has_space = |range: &&MapRange| range.data || range.image_offset.is_some();
    let of_backing = ranges.iter().filter(|range| range.depth == 1).filter(has_space);
    let expected: u64 = of_backing.map(|range| range.bytes).sum();
    let composed = compose(map(), vec![Some(LayerExtents::new([whole]))]);
    let extents = composed.collect::<Result<Vec<_>, _>>().unwrap();
    let unknown = extents.iter().filter(|extent| extent.place == Place::Unknown);
    assert_eq!(unknown.map(|extent| extent.bytes).sum::<u64>(), expected);
}

#[test]
fn what_qemu_img_says_of_a_failure_comes_through() {
    let Some(directory) = images() else { return };
    let missing = directory.path().join("missing.qcow2");
    let error: FileError = map_image(&missing).unwrap().next().unwrap().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("No such file or directory") && error.contains("qemu-img"), "{error}");
    assert!(image_layers(&missing).unwrap_err().to_string().contains("No such file"));
    // A program that is no longer read is ended.
    drop(map_image(&directory.path().join("base.qcow2")).unwrap());
}
