//! Saved lists of pools' free space: those of real OpenZFS 2.3.2, and what is wrong with others.
//!
//! `zdb-mm.txt` and `zdb-mmm.txt` are of a RAID-Z2 pool of file vdevs, `zdb-pool.txt` is `zdb -PmmM` of one of two
//! RAID-Z vdevs, made by `crates/zfs/reference/real_pool`. What zpool lists follows its source: it needs a kernel with
//! ZFS. The dumps of Ceph follow its documentation and source: no OSD was at hand.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strewn_file::{PoolFreeSpace, parse_pool_list, parse_zpool_list};

const MM: &str = include_str!("data/zdb-mm.txt");
const MMM: &str = include_str!("data/zdb-mmm.txt");
const POOL: &str = include_str!("data/zdb-pool.txt");
const ZPOOL: &str = "tank\t603979776\t180355072\t423624704\t31\t29\tONLINE\n\traidz1-0\t301989888\t90177536\t211812352\t30\t29\tONLINE\n\t\
                     sda1\t-\t-\t-\t-\t-\tONLINE\n\traidz1-1\t301989888\t90177536\t211812352\t33\t29\tONLINE\n\
                     special\t-\t-\t-\t-\t-\t-\n\tmirror-2\t1048576\t4096\t1044480\t0\t0\tONLINE\n\tnvme0n1\t-\t-\t-\t-\t-\tONLINE\n\
                     cache\t-\t-\t-\t-\t-\t-\n\tsdz\t1048576\t0\t1048576\t0\t0\tONLINE\n";
const CEPH: &str = r#"block:
{
    "capacity": 1048576,
    "alloc_unit": 4096,
    "alloc_type": "hybrid",
    "alloc_name": "block",
    "extents": [
        { "offset": "0x1000", "length": "0x1000" },
        { "offset": "0x10000", "length": "0x20000" }
    ]
}
"#;

fn parsed(text: &str) -> PoolFreeSpace {
    parse_pool_list("list", text).unwrap()
}

#[track_caller]
fn refused(text: &str, fragments: &[&str]) {
    let error = parse_pool_list("list", text).unwrap_err().to_string();
    for fragment in fragments {
        assert!(error.contains(fragment), "no {fragment:?} in {error}");
    }
}

#[test]
fn frag_by_the_table_is_what_a_real_pool_says() {
    let pool = parsed(MM);
    // `zdb -MMM` of the same pool prints it.
    assert_eq!(pool.frag_percent_by_table, Some(21));
    assert_eq!(pool.source, "zdb -mm");
    let whole = parsed(MMM);
    assert_eq!((whole.frag_percent, whole.name.as_deref()), (Some(21), Some("real")));
    assert_eq!(whole.frag_percent_by_table, None);
}

#[test]
fn metaslabs_add_up_to_the_pool_and_untouched_ones_are_free() {
    let (by_metaslab, whole) = (parsed(MM), parsed(MMM));
    let runs = |pool: &PoolFreeSpace, from: u64| {
        pool.histogram.iter().find(|class| class.from_bytes == from).map_or(0, |class| class.runs)
    };
    // Two metaslabs were never written. zdb lists the embedded log's metaslab too, which is not in the pool's sum.
    assert_eq!(runs(&by_metaslab, 256 << 20), 2);
    assert_eq!(runs(&whole, 256 << 20), 0);
    assert!(runs(&by_metaslab, 16 << 10) >= runs(&whole, 16 << 10));
    assert_eq!(runs(&whole, 16 << 10), 12_076);
    let writes = &whole.next_writes;
    assert_eq!(
        writes.iter().map(|write| write.bytes).collect::<Vec<_>>(),
        [8 << 10, 128 << 10, 1 << 20]
    );
    assert!((writes[0].whole_share - 1.0).abs() < 1e-9);
    assert!(writes[2].pieces > writes[1].pieces && writes[1].pieces > writes[0].pieces);
}

#[test]
fn each_vdev_has_the_figures_that_zdb_prints_of_it() {
    let pool = parsed(POOL);
    let frags = |of: fn(&strewn_file::VdevFreeSpace) -> Option<u64>| {
        pool.vdevs.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!((pool.source, pool.frag_percent), ("zdb -mm", Some(31)));
    assert_eq!(frags(|vdev| vdev.frag_percent), [Some(30), Some(33)]);
    assert_eq!(frags(|vdev| vdev.frag_percent_by_table), [Some(30), Some(33)]);
    assert_eq!(pool.frag_percent_by_table, Some(31));
    let runs: u64 = pool.vdevs.iter().map(|vdev| vdev.runs).sum();
    let free: u64 = pool.vdevs.iter().map(|vdev| vdev.free_bytes).sum();
    assert_eq!((runs, free), (pool.runs, pool.free_bytes));
    assert_eq!(pool.whole_bytes, Some(2 * 8 * (32 << 20)));
    // A special vdev takes no data: it is listed, and not in the sums.
    let special = parsed(&POOL.replace("vdev          1   ", "vdev          1   special"));
    assert_eq!(special.vdevs[1].class.as_deref(), Some("special"));
    assert_eq!(special.free_bytes, pool.vdevs[0].free_bytes);
    assert_eq!(special.frag_percent_by_table, Some(30));
    assert_eq!(special.vdevs[1].frag_percent_by_table, Some(33));
}

#[test]
fn zpool_list_has_the_pool_and_its_vdevs() {
    let listed = parse_zpool_list("zpool", ZPOOL).unwrap();
    assert_eq!((listed.bytes, listed.allocated_bytes), (603_979_776, 180_355_072));
    assert_eq!((listed.frag_percent, listed.health.as_str()), (Some(31), "ONLINE"));
    let vdevs: Vec<_> =
        listed.vdevs.iter().map(|vdev| (vdev.name.as_str(), vdev.class.as_deref())).collect();
    let expected = [
        ("raidz1-0", None),
        ("raidz1-1", None),
        ("mirror-2", Some("special")),
        ("sdz", Some("cache")),
    ];
    assert_eq!(vdevs, expected);
    assert_eq!(parse_zpool_list("zpool", &ZPOOL.replace('\n', "\r\n")).unwrap(), listed);
    // A read-only pool has no FRAG, and older versions a percent sign.
    let old = ZPOOL.replacen("\t31\t29\t", "\t-\t29%\t", 1);
    assert_eq!(parse_zpool_list("zpool", &old).unwrap().frag_percent, None);
    let error = parse_zpool_list("zpool", &ZPOOL.replace("180355072", "168M")).unwrap_err();
    assert!(error.to_string().contains("zpool, line 1: \"168M\" is no number"), "{error}");
    assert!(parse_zpool_list("zpool", "cannot open 'tank'\n").is_err());
}

#[test]
fn a_file_written_into_a_pool_is_laid_in_its_runs() {
    let pool = parsed(POOL);
    let file = pool.next_file(64 << 20, 1).unwrap();
    let end = file.last().unwrap().end();
    assert!(end <= 64 << 20 && end > (64 << 20) - 4096 * 32, "{end}");
    // Never two runs in one, and not so far apart that the file would not fit.
    let places: Vec<u64> = file.iter().map(|extent| extent.place.address().unwrap().byte).collect();
    assert!(places.windows(2).zip(&file).all(|(two, first)| two[0] + first.bytes < two[1]));
    assert!(places.last().unwrap() < &pool.whole_bytes.unwrap());
    // zdb -MMM does not say how large the pool is.
    assert!(parsed(MMM).next_file(1 << 20, 1).is_none());
}

proptest! {
    #[test]
    fn lists_cut_or_damaged_anywhere_do_not_panic(
        list in proptest::sample::select(vec![MM, MMM, POOL, ZPOOL, CEPH]),
        cut in any::<prop::sample::Index>(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = list.as_bytes()[..cut.index(list.len())].to_vec();
        for (index, byte) in edits.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            let at = index.index(bytes.len());
            bytes[at] = *byte;
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(pool) = parse_pool_list("list", &text) {
            let _ = pool.next_file(1 << 20, 1);
        }
        let _ = parse_zpool_list("list", &text);
    }
}

#[test]
fn lists_of_other_systems_are_read() {
    let crlf = MM.replace('\n', "\r\n");
    assert_eq!(parsed(&crlf), parsed(MM));
    assert_eq!(parsed(&format!("\u{feff}{MMM}")), parsed(MMM));
    // A pool without the feature spacemap_histogram has no figure; before 0.7 there is no line of unflushed space.
    let old = MM
        .replace("fragmentation 73", "fragmentation -")
        .replace("ms_unflushed_phys object 75", "");
    assert_eq!(parsed(&old).frag_percent_by_table, Some(21));
    assert_eq!(parsed(&MM.replace("free     158M", "free     158,0M")), parsed(MM));
    assert_eq!(parsed(&CEPH.replace('\n', "\r\n")), parsed(CEPH));
}

#[test]
fn a_dump_of_ceph_has_its_score_and_its_runs() {
    let pool = parsed(CEPH);
    assert_eq!((pool.free_bytes, pool.runs, pool.name.as_deref()), (0x21000, 2, Some("block")));
    assert_eq!((pool.score, pool.unit_bytes), (1.0 - 1.0 / 32.0, 4096));
    let scores = pool.ceph_score.unwrap();
    assert_eq!((scores.told, scores.agrees()), (None, true));
    assert!(scores.computed > 0.0 && scores.computed < 0.1, "{scores:?}");
    assert!(scores.computed_before_squid < scores.computed, "{scores:?}");
    assert!((pool.next_writes[1].whole_share - 128.0 / 132.0).abs() < 1e-9);
    // Versions before Pacific: no unit, and decimal numbers.
    let old = CEPH.replace("    \"alloc_unit\": 4096,\n", "").replace("\"0x1000\"", "\"4096\"");
    assert_eq!(parsed(&old).ceph_score, pool.ceph_score);
    assert_eq!(parsed(&old).caveats.len(), 1);
}

#[test]
fn a_score_of_ceph_is_shown_beside_ours() {
    let scores = parsed(CEPH).ceph_score.unwrap();
    let with = |name: &str, rating: f64| {
        format!("{CEPH}{name}:\n{{\n    \"fragmentation_rating\": {rating}\n}}\n\n")
    };
    for rating in [scores.computed, scores.computed_before_squid] {
        for list in [with("block", rating), with("block", rating).replace('\n', "\r\n")] {
            let both = parsed(&list);
            assert_eq!(both.ceph_score.unwrap().told, Some(rating));
            assert!(both.ceph_score.unwrap().agrees() && both.caveats.is_empty(), "{both:?}");
        }
    }
    // The order does not matter, nor do the allocators of BlueFS.
    let score =
        "block:\n{\"fragmentation_rating\": 0.5}\n\nbluefs-db:\n{\"fragmentation_rating\": 0.1}\n";
    let db = CEPH.replace("block", "bluefs-db").replace("0x20000", "0x30000");
    let both = parsed(&format!("{score}{db}\n{CEPH}"));
    assert_eq!((both.name.as_deref(), both.free_bytes), (Some("block"), 0x21000));
    assert_eq!(both.ceph_score.unwrap().told, Some(0.5));
    let caveats = both.caveats.join("; ");
    for part in ["other allocators are left out: bluefs-db", "0.5 is neither", "free-fragmentation"]
    {
        assert!(caveats.contains(part), "{caveats}");
    }
    // Messages of the log between.
    let logged = CEPH.replacen("block:", "2026-01-01T00:00:00 -1 bdev open: x\nblock:", 1);
    assert_eq!(parsed(&logged), parsed(CEPH));
    // Of a socket: no names of allocators before the JSON.
    let socket = format!("{}{{\"fragmentation_rating\": 0.25}}", CEPH.replace("block:\n", ""));
    assert_eq!(parsed(&socket).ceph_score.unwrap().told, Some(0.25));
}

#[test]
fn what_is_no_whole_list_is_refused_with_place_and_remedy() {
    refused("", &["list: the list is empty", "zdb -mm POOL"]);
    refused("\r\n\r\n", &["the list is empty"]);
    refused(
        "NAME SIZE ALLOC FREE FRAG CAP\ntank 1T 2G 3G 5% 1%\n",
        &["line 1", "`zpool list`", "zdb -mm"],
    );
    refused("hello\n", &["line 1", "no list of a pool's free space"]);
    let cut: String = MM.lines().take(100).map(|line| format!("{line}\n")).collect();
    refused(&cut, &["15 metaslabs are announced, and 5 are listed", "save it again, whole"]);
    refused(
        &MM.replace("14:   1890", "14:   many"),
        &["line 9", "no number of segments of 2^14 bytes"],
    );
    refused(&MM.replace("14:   1890", "64:   1890"), &["line 9", "2^64"]);
    refused(
        &MM.replace("offset     10000000", "offset     zzz"),
        &["line 21", "hexadecimal offset"],
    );
    refused("pool real fragmentation 21%\n", &["no histogram", "zdb -mm"]);
    refused(&CEPH[..CEPH.len() - 40], &["the list breaks off", "save it again, whole"]);
    refused(&CEPH.replace("0x20000", "0xzz"), &["extent 1", "length \"0xzz\"", "0x1000"]);
    refused(&CEPH.replace("0x20000", "0x0"), &["extent 1", "length"]);
    refused(
        "block:\n{\"fragmentation_rating\": 0.02}\n",
        &["score of 0.02 and no runs", "`free-score`", "`free-dump` too, into the same file"],
    );
    refused("{\"extents\": []}", &["no byte is free"]);
    refused("{\"extents\": 3}", &["line 1"]);
}
