//! Pools that OpenZFS 2.3.2 aged: what its zdb prints is what its own traversal of the blocks found.
//!
//! `tests/data/zdb-*.csv` are the blocks by `traverse_dataset` of libzpool; an absent block has an allocated size of 0.

use strewn_file::{
    Address, ExtentListReader, LayoutPass, ListDialect, Place, PoolLayout, VdevKind, VdevShape,
};

use crate::{data, files};

/// A block by OpenZFS itself.
struct Block {
    at: Address,
    allocated: u64,
    stored: u64,
    is_gang: bool,
}

fn blocks(csv: &str) -> Vec<Block> {
    let block = |row: &str| {
        let fields: Vec<u64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        let at = Address { volume: fields[1].try_into().unwrap(), byte: fields[2] };
        Block { at, allocated: fields[3], stored: fields[4], is_gang: fields[6] != 0 }
    };
    csv.lines().skip(1).map(block).collect()
}

fn pool(name: &str) -> PoolLayout {
    PoolLayout::read(data(&format!("zdb-{name}.config.txt")).as_bytes(), name).unwrap()
}

/// Compares all blocks, and returns how many were holes, stored whole, compressed, and gang blocks.
fn compare(name: &str, block_bytes: u64) -> [usize; 4] {
    let layout = pool(name);
    let text = data(&format!("zdb-{name}.txt"));
    let list = ExtentListReader::zdb(text.as_bytes(), name, Some(layout.clone()));
    let (file, extents) = files(list).unwrap().remove(0);
    let blocks = blocks(&data(&format!("zdb-{name}.csv")));
    assert_eq!(file.path.as_deref(), Some("tank/vol"));
    assert_eq!(file.block_bytes, Some(block_bytes));
    assert_eq!(file.file_bytes, Some(blocks.len() as u64 * block_bytes));
    let mut extents = extents.iter().peekable();
    let mut kinds = [0; 4];
    for (number, block) in blocks.iter().enumerate() {
        let offset = number as u64 * block_bytes;
        let extent = extents.next_if(|extent| extent.offset == offset);
        let Some(extent) = extent else {
            assert_eq!(block.allocated, 0, "block {number} is a hole");
            kinds[0] += 1;
            continue;
        };
        assert_eq!(extent.bytes, block_bytes);
        let (at, stored) = (block.at, block.stored);
        let vdev = &layout.vdevs[usize::from(at.volume)];
        let whole = Place::Block { at, stored_bytes: stored, allocated_bytes: block.allocated };
        let (kind, place) = match (block.is_gang, stored == block_bytes) {
            (true, _) => (3, Place::Unknown),
            (false, true) => (1, whole),
            (false, false) => (2, whole),
        };
        assert_eq!(extent.place, place, "block {number}");
        let plain = vdev.shape.allocated_bytes(stored);
        assert_eq!(plain == Some(block.allocated), kind != 3, "block {number}");
        kinds[kind] += 1;
    }
    assert_eq!(extents.next(), None);
    kinds
}

#[test]
fn raidz_blocks_are_where_openzfs_has_them() {
    assert_eq!(compare("raidz", 8192), [0, 128, 0, 0]);
}

/// Extents, and runs of each MiB once sorted, by what zage counts: a block follows where the allocation of another
/// ends.
#[test]
fn blocks_follow_each_other_by_their_allocation() {
    for (name, block_bytes) in [("raidz", 8192), ("mirror", 16384), ("compressed", 32768)] {
        let text = data(&format!("zdb-{name}.txt"));
        let (file, extents) = crate::listed(&text).unwrap().remove(0);
        let mut pass = LayoutPass::new(file.file_bytes.unwrap(), block_bytes);
        extents.iter().for_each(|extent| pass.add(extent));
        let measures = pass.finish();
        let blocks = blocks(&data(&format!("zdb-{name}.csv")));
        let breaks = |blocks: &[&Block]| {
            let follows = |pair: &[&Block]| {
                pair[0].allocated > 0 && pair[1].at == pair[0].at.after(pair[0].allocated)
            };
            blocks.windows(2).filter(|pair| pair[1].allocated > 0 && !follows(pair)).count() as u64
        };
        let all: Vec<&Block> = blocks.iter().collect();
        assert_eq!(measures.extents, 1 + breaks(&all), "{name}");
        let (mut windows, mut runs) = (0, 0);
        for window in blocks.chunks((1 << 20) / block_bytes as usize) {
            let mut placed: Vec<&Block> = window.iter().filter(|one| one.allocated > 0).collect();
            placed.sort_by_key(|block| block.at);
            (windows, runs) = (windows + 1, runs + 1 + breaks(&placed));
        }
        assert_eq!(measures.extents_per_mib_window, runs as f64 / f64::from(windows), "{name}");
        let compressed = blocks.iter().filter(|one| one.allocated > 0 && one.stored < block_bytes);
        assert_eq!(measures.encoded_bytes, compressed.count() as u64 * block_bytes, "{name}");
    }
}

#[test]
fn blocks_on_two_mirrors_are_where_openzfs_has_them() {
    assert_eq!(compare("mirror", 16384), [0, 64, 0, 0]);
}

#[test]
fn compressed_blocks_have_their_stored_size_and_zeros_are_holes() {
    let [holes, whole, compressed, gang] = compare("compressed", 32768);
    assert_eq!((holes, whole, compressed, gang), (16, 16, 32, 0));
}

#[test]
fn gang_blocks_are_told_apart_by_their_allocation() {
    let [_, whole, _, gang] = compare("gang", 65536);
    assert_eq!((whole, gang), (8, 8));
}

#[test]
fn vdevs_are_as_the_pool_was_made() {
    let raidz = pool("compressed");
    assert_eq!((raidz.name.as_str(), raidz.vdevs.len()), ("tank", 1));
    let vdev = &raidz.vdevs[0];
    let shape = VdevShape { kind: VdevKind::RaidZ { parity: 2 }, ashift: 12, children: 5 };
    assert_eq!(vdev.shape, shape);
    assert_eq!(vdev.devices[4], "/pool/vdev.0.4");
    let mirrors = pool("mirror");
    assert_eq!(mirrors.vdevs[1].shape.kind, VdevKind::Mirror);
    assert_eq!(mirrors.vdevs[1].devices, ["/pool/vdev.1.0", "/pool/vdev.1.1"]);
    let single = pool("gang");
    assert_eq!(single.vdevs[0].shape.kind, VdevKind::Disk);
    assert_eq!(single.vdevs[0].devices, ["/pool/vdev.0.0"]);
    assert_eq!(single.vdevs[0].bytes, Some(129_499_136));
}

#[test]
fn what_cannot_be_mapped_is_named() {
    let config = data("zdb-raidz.config.txt");
    let kind = |config: &str| {
        let pool = PoolLayout::read(config.as_bytes(), "config").unwrap();
        pool.vdevs[0].shape.kind.clone()
    };
    let draid = kind(&config.replace("'raidz'", "'draid'"));
    assert!(matches!(draid, VdevKind::Unsupported(why) if why.starts_with("draid")));
    let expanded =
        config.replace("nparity: 1", "nparity: 1\n                raidz_expand_txgs[0]: 7");
    assert!(matches!(kind(&expanded), VdevKind::Unsupported(why) if why.contains("expanded")));
    // A device under replacement counts by its old one.
    let leaf = "type: 'file'\n                    id: 1\n";
    let replacing = "type: 'replacing'\n                    id: 1\n                    children[0]:\n                        \
                     path: '/old'\n                    children[1]:\n                        path: '/new'\n";
    assert!(config.contains(leaf));
    let pool = PoolLayout::read(config.replace(leaf, replacing).as_bytes(), "config").unwrap();
    assert_eq!(pool.vdevs[0].devices, ["/pool/vdev.0.0", "/old", "/pool/vdev.0.2"]);
}

/// The lines of a file are those of openzfs/zfs issue 10042 and openzfs/openzfs pull request 280.
#[test]
fn files_have_a_path_a_size_and_embedded_blocks() {
    let text = "Dataset wrongdu [ZPL], ID 54, cr_txg 1, 249M, 7 objects\n\n    Object  lvl   iblk   dblk  dsize  dnsize  \
                lsize   %full  type\n         2    2   128K     1M   249M     512   256M  100.00  ZFS plain file\n    \
                                           176   bonus  System attributes\n\tdnode flags: USED_BYTES \n\tdnode \
                maxblkid: 255\n\tpath\t/testfile\n\tuid     0\n\tsize\t268435456\n\tlinks\t1\nIndirect blocks:\n         \
                      0 L1  0:3006a000:4000 20000L/3000P F=256 B=14/14\n               0  L0 EMBEDDED et=0 200L/31P \
                B=2219\n          100000  L0 DVA[0]=<0:4800:800> DVA[1]=<0:2004800:800> [L0 ZFS plain file] fletcher4 \
                lz4 unencrypted LE contiguous unique triple size=4000L/800P birth=4L/4P fill=1\n\n\t\tsegment \
                [0000000000000000, 0000000010000000) size  256M\n";
    let (file, extents) = crate::listed(text).unwrap().remove(0);
    assert_eq!(file.path.as_deref(), Some("/testfile"));
    assert_eq!((file.file_bytes, file.block_bytes), (Some(1 << 28), Some(1 << 20)));
    assert_eq!((extents[0].bytes, extents[0].place), (512, Place::Inline));
    let stored =
        Place::Block { at: Address::new(0x4800), stored_bytes: 0x800, allocated_bytes: 0x800 };
    assert_eq!((extents[1].offset, extents[1].bytes, extents[1].place), (1 << 20, 0x4000, stored));
}

#[test]
fn the_configuration_of_the_pool_comes_before_its_blocks() {
    let (config, text) = (data("zdb-gang.config.txt"), data("zdb-gang.txt"));
    let both = format!("{config}\n{text}");
    let mut list = ExtentListReader::new(both.as_bytes(), "both");
    let file = list.next_file().unwrap().unwrap();
    assert_eq!(file.path.as_deref(), Some("tank/vol"));
    assert_eq!(list.pool(), Some(&pool("gang")));
    assert_eq!(list.dialect().map(ListDialect::as_str), Some("zdb"));
    let unknown = list.extents().filter(|one| one.as_ref().unwrap().place == Place::Unknown);
    assert_eq!(unknown.count(), 8);
    let cut = format!("MOS Configuration:\n        name: 'tank'\n{text}");
    let error = crate::listed(&cut).unwrap_err().to_string();
    assert!(error.starts_with("list:3: before this line, there is no vdev_tree"), "{error}");
}

#[test]
fn zdb_that_is_not_installed_is_named_with_its_package() {
    if std::process::Command::new("zdb").output().is_err() {
        let error = strewn_file::zdb_extents("tank/vol", 1, None).unwrap_err().to_string();
        assert!(error.contains("`zdb` is not installed") && error.contains("zfsutils"), "{error}");
    }
    assert!(strewn_file::zdb_extents("-U/etc/shadow", 1, None).is_err());
}

/// `zdb -ddddd DATASET` of all objects: what a directory holds, and extended attributes, may be called like attributes,
/// and what is no file has blocks too.
#[test]
fn entries_of_directories_are_no_attributes() {
    let title = "\n    Object  lvl   iblk   dblk  dsize  dnsize  lsize   %full  type\n";
    let head = "Dataset tank/data [ZPL], ID 139, cr_txg 11, 160K, 8 objects, rootbp DVA[0]=<0:23400:200> [L0 DMU \
                objset] fletcher4\n";
    let master = "         1    1   128K    512      0     512    512  100.00  ZFS master node\n\tdnode maxblkid: \
                  0\n\tmicrozap: 512 bytes, 1 entries\n\n\t\tVERSION = 5 \nIndirect blocks:\n               0 L0 \
                  0:4000:1000 200L/200P F=1 B=11/11\n";
    let directory = "        34    1   128K    512      0     512    512  100.00  ZFS directory\n\tdnode maxblkid: \
                     0\n\tpath\t/sub\n\tsize\t3\n\tmicrozap: 512 bytes, 3 entries\n\n\t\tsize = 3 (type: Regular \
                     File)\n\t\tpath = 4 (type: Regular File)\n\t\tdnode maxblkid: 7 = 5 (type: Regular \
                     File)\n\t\tObject lvl iblk dblk = 6 (type: Directory)\nIndirect blocks:\n               0 L0 \
                     EMBEDDED et=0 200L/3aP B=11\n";
    let file = "         3    1   128K     4K     4K     512     4K  100.00  ZFS plain file\n\tdnode maxblkid: \
                0\n\tpath\t/sub/size\n\tsize\t4000\n\tSA xattrs: 80 bytes, 1 entries\n\n\t\tsize = \
                12\n\t\tuser.path = /x\nIndirect blocks:\n               0 L0 0:8000:1000 1000L/1000P F=1 B=11/11\n";
    let all = [head, title, master, title, directory, title, file].concat();
    let read = |text: &str| {
        let list = ExtentListReader::new(text.as_bytes(), "list");
        files(list)
            .unwrap()
            .into_iter()
            .map(|(file, extents)| (file.path.unwrap(), file.file_bytes, extents.len()))
            .collect::<Vec<_>>()
    };
    let listed = [("/sub".to_owned(), Some(3), 1), ("/sub/size".to_owned(), Some(4000), 1)];
    assert_eq!(read(&all), listed);
    // Where a copy of the text has spaces for tabs.
    assert_eq!(read(&all.replace('\t', "    ")), listed);
    // `zdb -ddddd -O tank/data sub/size` has the line of the dataset only with more d's.
    let path = "obj=3 dataset=tank/data path=/sub/size type=19 bonustype=44\n";
    assert_eq!(read(&[path, title, file].concat()), listed[1..]);
    assert_eq!(read(&[&title[1..], file].concat()), listed[1..]);
    // Of the dataset's own objects alone, nothing is a file.
    assert_eq!(read(&[head, title, master].concat()), []);
}
