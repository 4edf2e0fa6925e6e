//! Lists of extents: what is written is read, and so is what tools print.

use proptest::prelude::*;
use strewn_file::{
    Address, Extent, ExtentListReader, ExtentListWriter, ListDialect, ListedFile, Place,
};

use crate::{data, listed};

fn at(offset: u64, bytes: u64, byte: u64) -> Extent {
    Extent { offset, bytes, place: Place::At(Address::new(byte)), shared: false }
}

/// `filefrag -v` (e2fsprogs 1.47) of an ext4: contiguous, sparse, and reserved.
#[test]
fn filefrag_of_several_files() {
    let files = listed(&data("filefrag.txt")).unwrap();
    let paths: Vec<_> = files.iter().map(|(file, _)| file.path.as_deref().unwrap()).collect();
    assert_eq!(paths, ["/srv/f1", "/srv/f2", "/srv/f3"]);
    assert_eq!(files[0].1, [at(0, 768 * 4096, 40_747_520 * 4096)]);
    assert_eq!((files[1].0.file_bytes, files[1].0.block_bytes), (Some(380_928), Some(4096)));
    let sparse: Vec<_> = files[1].1.iter().map(|extent| extent.offset / 4096).collect();
    assert_eq!(sparse, [10, 50, 90]);
    assert!(matches!(files[2].1[0].place, Place::Unwritten(_)));
}

/// The same file with blocks of one byte.
#[test]
fn filefrag_of_bytes_tells_the_same() {
    let bytes = "Filesystem type is: ef53\nFile size of /srv/f2 is 380928 (380928 blocks of 1 bytes)\n ext:     \
                 logical_offset:        physical_offset: length:   expected: flags:\n   0:    40960..   53247: \
                 178205007872..178205020159:  12288:      40960:\n   1:   204800..  217087: \
                 178205171712..178205183999:  12288:            \n   2:   368640..  380927: \
                 178205335552..178205347839:  12288:             last,eof\n/srv/f2: 1 extent found\n";
    assert_eq!(listed(bytes).unwrap()[0].1, listed(&data("filefrag.txt")).unwrap()[1].1);
}

/// btrfs: compressed, and in the tree.
#[test]
fn filefrag_of_encoded_and_inline_extents() {
    let files = listed(&data("filefrag-btrfs.txt")).unwrap();
    assert_eq!(files[0].1.len(), 8);
    let second = Place::Encoded { at: Address::new(3329 * 4096), stored_bytes: None };
    assert_eq!(files[0].1[1].place, second);
    assert_eq!((files[1].1[0].bytes, files[1].1[0].place), (4096, Place::Inline));
}

/// e2fsprogs 1.47 prints the length 0 of an extent without a place, and 1.42 printed the number of its blocks.
#[test]
fn filefrag_of_extents_without_a_place() {
    let list = |rows: &str| {
        format!(
            "Filesystem type is: ef53\nFile size of new is 8392704 (2049 blocks of 4096 bytes)\n ext:     \
             logical_offset:        physical_offset: length:   expected: flags:\n{rows}new: 1 extent found\n"
        )
    };
    let flags = ["last,unknown_loc,delalloc,eof", "unknown_loc,delalloc", "delalloc", "unknown"];
    for (length, flags) in [0, 2048].into_iter().flat_map(|length| flags.map(|of| (length, of))) {
        let row = format!(
            "   0:        0..    2047:          0..         0:   {length}:             {flags}\n"
        );
        let files = listed(&list(&row)).unwrap();
        assert_eq!(files[0].1, [Extent { place: Place::Unknown, ..at(0, 8 << 20, 0) }], "{flags}");
    }
    // Others have as many blocks as their range, and files behind one without a place are read.
    let rows = "   0:        0..    2047:          0..         0:      0:             unknown_loc,delalloc\n   1:     \
                2048..    2048:      34816..     34816:      1:             last,eof\n";
    let both = format!("{}{}", list(rows), list(""));
    let files = listed(&both).unwrap();
    assert_eq!((files.len(), files[0].1[1]), (2, at(2048 * 4096, 4096, 34_816 * 4096)));
    let wrong =
        list("   0:        0..    2047:       7..         8:      0:             last,eof\n");
    assert!(listed(&wrong).unwrap_err().to_string().contains("0..2047 is not 0 blocks long"));
}

/// Before e2fsprogs 1.42, as in RHEL 6: columns without colons, and no `expected` for an extent that follows another.
#[test]
fn filefrag_of_old_versions() {
    let text = "Filesystem type is: ef53\nFilesystem cylinder groups is approximately 132\nFile size of /swap (1) is \
                16777216 (4096 blocks, blocksize 4096)\n ext logical physical expected length flags\n   0       0    \
                24576              12 merged\n   1      12    24589    24587   3988 merged,unwritten\n   2    4000  \
                        0             96 unknown,delalloc,eof\n/swap (1): 2 extents found, perfection would be 1 extent\n";
    let (file, extents) = listed(text).unwrap().remove(0);
    assert_eq!(file.path.as_deref(), Some("/swap (1)"));
    assert_eq!((file.file_bytes, file.block_bytes), (Some(16 << 20), Some(4096)));
    let reserved = Place::Unwritten(Address::new(24_589 * 4096));
    let unknown = Extent { place: Place::Unknown, ..at(4000 * 4096, 96 * 4096, 0) };
    let second = Extent { place: reserved, ..at(12 * 4096, 3988 * 4096, 0) };
    assert_eq!(extents, [at(0, 12 * 4096, 24_576 * 4096), second, unknown]);
    // From the thousandth on the numbers are not indented, and one with flags may have none.
    let many: String =
        (0..1100).map(|n| format!("{n:4} {n:7} {:8} {:8} {:6} \n", 2 * n, "", 1)).collect();
    let long = text.replace("   0       0    24576              12 merged\n", "");
    let head = long.split("   1 ").next().unwrap();
    let extents = listed(&format!("{head}{many}")).unwrap().remove(0).1;
    assert_eq!((extents.len(), extents[1099]), (1100, at(1099 * 4096, 4096, 2198 * 4096)));
}

/// Without -p there is no title above the flags, and only extents that have one show any.
#[test]
fn xfs_flags_without_a_title() {
    let list = |title: &str, rows: &str| {
        let text = format!("output.dat:\n EXT: FILE-OFFSET      {title}\n{rows}");
        listed(&text).unwrap().remove(0).1
    };
    let rows = "   0: [0..7]:      192..199        0 (192..199)     8 100000\n   1: [8..15]:      hole              \
                                 8\n   2: [16..23]:      400..407        0 (400..407)     8\n   3: [24..31]:      \
                500..507        0 (500..507)     8 010000\n";
    for title in [
        "BLOCK-RANGE      AG AG-OFFSET        TOTAL",
        "BLOCK-RANGE      AG AG-OFFSET        TOTAL FLAGS",
    ] {
        let extents = list(title, rows);
        assert_eq!(extents[0], Extent { shared: true, ..at(0, 4096, 192 * 512) }, "{title}");
        assert_eq!(extents[1], at(8192, 4096, 400 * 512), "{title}");
        assert_eq!(extents[2].place, Place::Unwritten(Address::new(500 * 512)), "{title}");
    }
    // A realtime device has no allocation groups.
    let rows = "   0: [0..7]:      192..199     8 100000\n   1: [8..15]:      400..407     8\n";
    let extents = list("RT-BLOCK-RANGE  TOTAL", rows);
    assert!(extents[0].shared && !extents[1].shared);
    // `xfs_bmap -l`.
    let plain = listed("f:\n\t0: [0..7]: 192..199 8 blocks\n").unwrap();
    assert_eq!(plain[0].1, [at(0, 4096, 192 * 512)]);
}

/// `xfs_bmap -vp` and `fiemap -v` of xfs_io tell the same of one file.
#[test]
fn xfs_in_units_of_512_bytes() {
    let files = listed(&data("xfs_bmap.txt")).unwrap();
    assert_eq!(files[0].0.path.as_deref(), Some("f1"));
    assert_eq!(files[0].1, [Extent { shared: true, ..at(0, 6144 * 512, 8384 * 512) }]);
    assert_eq!(files[1].1[1], at(400 * 512, 24 * 512, 104 * 512));
    let reserved = Place::Unwritten(Address::new(192 * 512));
    assert_eq!(files[2].1[0].place, reserved);
    // `fiemap -v` of the third and of a clone of the first.
    let others = listed(&data("xfs_io.txt")).unwrap();
    assert_eq!((&others[0].1, &others[1].1), (&files[2].1, &files[0].1));
    // `xfs_bmap -vv` of the third, with its legend.
    assert_eq!(others[2].1, files[2].1);
    let bare = "f2:\n\t0: [0..79]: hole\n\t1: [80..103]: 80..103\n\t2: [104..399]: delalloc\nempty: no extents\n";
    let bare = listed(bare).unwrap();
    assert_eq!(bare[0].1[0], at(80 * 512, 24 * 512, 80 * 512));
    assert_eq!(bare[0].1[1].place, Place::Unknown);
    assert_eq!((bare[1].0.path.as_deref(), bare[1].1.len()), (Some("empty"), 0));
}

#[test]
fn columns_come_in_any_order_and_paths_divide_files() {
    let text = "# block_bytes = 4096\n# of: two files\n\npath,address,shared,bytes,offset,note\n\"a,\"\"b\"\"\",81920,1,4096,0,\
                x\n\"a,\"\"b\"\"\",0,false,1,5000,\nc,7,true,1,0,\n";
    let files = listed(text).unwrap();
    assert_eq!(files[0].0.path.as_deref(), Some("a,\"b\""));
    assert_eq!(files[0].1, [Extent { shared: true, ..at(0, 4096, 81920) }, at(5000, 1, 0)]);
    assert_eq!((files[1].0.path.as_deref(), files[1].0.block_bytes), (Some("c"), Some(4096)));
    assert_eq!(files[1].1, [Extent { shared: true, ..at(0, 1, 7) }]);
}

#[test]
fn files_without_extents_are_files() {
    assert_eq!(listed("offset,bytes,address\n").unwrap(), [(ListedFile::default(), vec![])]);
    let text = "# path = a\n# file_bytes = 5\n# path = b\noffset,bytes,address\n";
    let files = listed(text).unwrap();
    assert_eq!((files[0].0.file_bytes, files[1].0.file_bytes), (Some(5), None));
}

#[test]
fn what_is_left_of_a_file_is_passed_over() {
    let text = data("filefrag.txt");
    let mut list = ExtentListReader::new(text.as_bytes(), "list");
    let mut paths = Vec::new();
    while let Some(file) = list.next_file().unwrap() {
        paths.extend(file.path);
    }
    assert_eq!(paths.len(), 3);
    assert_eq!(list.dialect().map(ListDialect::as_str), Some("filefrag"));
    assert_eq!(list.next_extent().unwrap(), None);
}

fn place() -> impl Strategy<Value = Place> {
    let address = (any::<u16>(), 0..1u64 << 60).prop_map(|(volume, byte)| Address { volume, byte });
    let stored_bytes = proptest::option::of(0..1u64 << 60);
    prop_oneof![
        address.clone().prop_map(Place::At),
        address.clone().prop_map(Place::Unwritten),
        (address.clone(), stored_bytes)
            .prop_map(|(at, stored_bytes)| Place::Encoded { at, stored_bytes }),
        (address, 0..1u64 << 60, 0..1u64 << 60).prop_map(|(at, stored_bytes, allocated_bytes)| {
            Place::Block { at, stored_bytes, allocated_bytes }
        }),
        Just(Place::Inline),
        Just(Place::Unknown),
    ]
}

fn file() -> impl Strategy<Value = (ListedFile, Vec<Extent>)> {
    let described =
        ("\\PC{1,20}|[ \"#,=\\n\\r\\t\\\\a]{0,9}", any::<u64>(), 1..u64::MAX, any::<u64>());
    let listed = described.prop_map(|(path, file_bytes, block_bytes, device_bytes)| ListedFile {
        path: Some(path),
        file_bytes: Some(file_bytes),
        block_bytes: Some(block_bytes),
        device_bytes: Some(device_bytes),
    });
    let steps = (0..1u64 << 50, 1..1u64 << 50, place(), any::<bool>());
    (listed, proptest::collection::vec(steps, 0..20)).prop_map(|(listed, steps)| {
        let mut offset = 0;
        let extent = |(hole, bytes, place, shared)| {
            let extent = Extent { offset: offset + hole, bytes, place, shared };
            offset = extent.end();
            extent
        };
        (listed, steps.into_iter().map(extent).collect())
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(files in proptest::collection::vec(file(), 1..4)) {
        let mut writer = ExtentListWriter::new(Vec::new());
        for (file, extents) in &files {
            writer.file(file).unwrap();
            for extent in extents {
                writer.extent(extent).unwrap();
            }
        }
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        prop_assert_eq!(listed(&text).unwrap(), files, "{}", text);
    }

    #[test]
    fn damaged_lists_do_not_panic(
        name in proptest::sample::select(vec![
            "filefrag.txt", "filefrag-btrfs.txt", "xfs_bmap.txt", "xfs_io.txt", "zdb-mirror.txt", "fsutil.txt",
        ]),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
        is_utf_16 in any::<bool>(),
    ) {
        let mut bytes = data(name).into_bytes();
        if is_utf_16 {
            let text = format!("\u{feff}{}", data(name));
            bytes = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        }
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let mut list = ExtentListReader::new(bytes.as_slice(), "list");
        while let Ok(Some(_)) = list.next_file() {
            let mut end = 0;
            for extent in list.extents().map_while(Result::ok) {
                prop_assert!(extent.offset >= end && extent.bytes > 0);
                end = extent.offset.checked_add(extent.bytes).unwrap();
            }
        }
    }

    #[test]
    fn damaged_configurations_do_not_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = data("zdb-raidz.config.txt").into_bytes();
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = strewn_file::PoolLayout::read(bytes.as_slice(), "config");
    }
}
