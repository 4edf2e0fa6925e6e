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

/// A list as OpenZFS 0.8 prints it, and as 0.7 does.
fn of_older_versions(list: &str) -> [String; 2] {
    let without = |list: &str, starts: &[&str]| {
        let is_left_out = |line: &&str| starts.iter().any(|start| line.trim().starts_with(start));
        let kept = list.lines().filter(|line| !line.trim().is_empty() && !is_left_out(line));
        kept.map(|line| format!("{line}\n")).collect::<String>()
    };
    let before_log = list.split("\nLog Space Maps").next().unwrap();
    let before_log = before_log.replace("ms_unflushed_phys", "");
    let of_0_8 = without(&before_log, &["Flush data", "unflushed"]);
    let of_0_7 = without(&of_0_8, &["space map object", "smp_"]);
    [of_0_8, of_0_7]
}

#[test]
fn a_list_that_was_cut_anywhere_is_refused_or_has_all_that_counts() {
    for whole in [MM, MMM, POOL] {
        for list in [whole.to_owned()].into_iter().chain(of_older_versions(whole)) {
            let expected = parsed(&list);
            assert_eq!(expected.runs, parsed(whole).runs);
            // What a list without the vdevs' own histograms lacks.
            let figures =
                |pool: &PoolFreeSpace| (pool.runs, pool.histogram.clone(), pool.whole_bytes);
            // Where a vdev ends, and nothing tells that another follows.
            let one_vdev = list.match_indices("\tvdev ").nth(1).map(|(at, _)| at);
            let is_open = !list.contains("Flush data") && whole != MMM;
            let mut refused = 0;
            for cut in 0..list.len() {
                match parse_pool_list("list", &list[..cut]) {
                    Ok(pool) if figures(&pool) == figures(&expected) => {}
                    Ok(_)
                        if is_open
                            && one_vdev.is_some_and(|at| (at - 1..=at + 4).contains(&cut)) => {}
                    Ok(pool) => panic!("{:?}\nhas {:?}", &list[..cut], figures(&pool)),
                    Err(error) => {
                        refused += 1;
                        let text = error.to_string();
                        assert!(text.contains("; save "), "{text}");
                    }
                }
            }
            assert!(refused > list.len() / 3, "{refused} of {}", list.len());
        }
    }
}

#[test]
fn what_is_missing_in_a_list_of_metaslabs_is_named() {
    let lines = |list: &str, keep: &dyn Fn(usize, &str) -> bool| -> String {
        let kept = (1..).zip(list.lines()).filter(|(number, line)| keep(*number, line));
        kept.map(|(_, line)| format!("{line}\n")).collect()
    };
    let whole = "save the list again, whole";
    refused(
        &lines(MM, &|number, _| number <= 100),
        &["list, line 3: the list breaks off: vdev 0 lists 5 of 15 metaslabs", whole],
    );
    // The space map of the first metaslab, which the others have; then its histogram.
    let without_map = lines(MM, &|number, _| !(15..=17).contains(&number));
    refused(&without_map, &["line 6", "metaslab 0 of vdev 0 has no space map", whole]);
    let without_histogram = lines(MM, &|number, _| !(7..=14).contains(&number));
    refused(&without_histogram, &["line 6", "metaslab 0 of vdev 0 has no histogram"]);
    let without_flush = MM.replacen("\tunflushed txg=43\n", "", 1);
    refused(&without_flush, &["metaslab 0 of vdev 0 has no flush data"]);
    let cut = MM.find("Log Space Maps").unwrap();
    refused(&MM[..cut], &["no log of space maps follows this metaslab", whole]);
    let without_third = lines(MM, &|_, line| !line.trim().starts_with("metaslab      2"));
    refused(&without_third, &["metaslab 2 of vdev 0 is not before it", whole]);
    // A vdev, the beginning, the histogram of the pool, a list twice.
    let second = POOL.find("\tvdev          1").unwrap();
    refused(&POOL[second..], &["line 1: vdev 0 is not before it", whole]);
    refused(&MM[MM.find("\tmetaslab ").unwrap()..], &["line 1: a metaslab before a vdev", whole]);
    let pool = MMM.find("\tpool ").unwrap();
    refused(&MMM[..pool], &["no histogram of the pool follows that of vdev 0", whole]);
    let fewer = MMM.replacen("14:  12076", "14:  1207", 1);
    refused(&fewer, &["line 17: the pool has more segments of 2^14 bytes than its vdevs", whole]);
    refused(&MM.replace("158M", "158G"), &["has more free bytes than its", whole]);
    for unit in ["0", "1000"] {
        let odd = CEPH.replace("\"alloc_unit\": 4096", &format!("\"alloc_unit\": {unit}"));
        refused(&odd, &["no power of two", "as Ceph prints it"]);
    }
    refused(&format!("{MM}{MM}"), &["vdev 0 is listed a second time", whole]);
    refused(&format!("{MMM}{MMM}"), &["vdev 0 is listed a second time", whole]);
}

#[test]
fn a_special_vdev_beside_the_histogram_of_the_pool_is_no_missing_one() {
    // OpenZFS lists it with -MM, and not in the sum of the pool.
    let special = "\tvdev          1\t\tmetaslabs   15\t\tfragmentation  0%\n\t\t\t 33:      1 *\n";
    let list = MMM.replace("\tpool real", &format!("{special}\tpool real"));
    assert_eq!(parsed(&list).runs, parsed(MMM).runs);
}

#[test]
fn extents_of_ceph_are_those_of_one_device() {
    let with = |extent: &str| CEPH.replace("\"0x1000\", \"length\": \"0x1000\"", extent);
    let whole = "save the list again, whole";
    for (extent, what) in [
        // Within the other extent, over its beginning, over its end, and the same place.
        ("\"0x11000\", \"length\": \"0x1000\"", "extent 1: it overlaps extent 0"),
        ("\"0xf000\", \"length\": \"0x2000\"", "extent 1: it overlaps extent 0"),
        ("\"0x2f000\", \"length\": \"0x2000\"", "extent 1: it overlaps extent 0"),
        ("\"0x10000\", \"length\": \"0x20000\"", "extent 1: it overlaps extent 0"),
        // The end of the device, and of all addresses.
        (
            "\"0xff000\", \"length\": \"0x1001\"",
            "extent 0: it ends at byte 0x100001, behind the capacity",
        ),
        ("\"0xfffffffffffff000\", \"length\": \"0x1000\"", "extent 0: it ends beyond 2^64 bytes"),
        ("\"0x10000000000000000\", \"length\": \"1\"", "extent 0: offset"),
    ] {
        refused(&with(extent), &[what, whole]);
    }
    // Neighbours, and the last byte of the device.
    for extent in ["\"0xf000\", \"length\": \"0x1000\"", "\"0xff000\", \"length\": \"0x1000\""] {
        assert_eq!(parsed(&with(extent)).runs, 2);
    }
    // Allocators that have two parts list one after the other.
    let backwards = with("\"0x40000\", \"length\": \"0x1000\"");
    assert_eq!(parsed(&backwards).free_bytes, 0x21000);
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
