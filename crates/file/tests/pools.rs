//! Saved lists of pools' free space: those of real OpenZFS 2.3.2, and what is wrong with others.
//!
//! `zdb-mm.txt` and `zdb-mmm.txt` are of a RAID-Z2 pool of file vdevs, made by `crates/zfs/reference/real_pool`. The
//! dumps of Ceph follow its documentation and source: no OSD was at hand.
#![allow(clippy::unwrap_used)]

use strewn_file::{PoolFreeSpace, parse_pool_list};

const MM: &str = include_str!("data/zdb-mm.txt");
const MMM: &str = include_str!("data/zdb-mmm.txt");
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
    let score = pool.ceph_score.unwrap();
    assert!(score > 0.0 && score < 0.1, "{score}");
    assert!((pool.next_writes[1].whole_share - 128.0 / 132.0).abs() < 1e-9);
    // Versions before Pacific: no unit, and decimal numbers.
    let old = CEPH.replace("    \"alloc_unit\": 4096,\n", "").replace("\"0x1000\"", "\"4096\"");
    assert_eq!(parsed(&old).ceph_score, pool.ceph_score);
    assert_eq!(parsed(&old).caveats.len(), 1);
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
    refused("block:\n{\"fragmentation_rating\": 0.02}\n", &["free-score", "free-dump"]);
    refused("{\"extents\": []}", &["no byte is free"]);
    refused("{\"extents\": 3}", &["line 1"]);
}
