//! Volumes of a write-anywhere array: read, written back, scaled, and refused with place and remedy.

use strewn_scenario::{NoFiles, Scenario, SettingValue, SnapshotSchedule};

use crate::common::{NAME, refusal};

/// Two volumes on an array of 36 GiB usable: a thick one and a thin one that may outgrow the array.
const THIN: &str = include_str!("data/volumes.toml");

const MINUTE_NS: u64 = 60_000_000_000;

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text, NAME).unwrap()
}

fn changed(from: &str, to: &str) -> String {
    assert!(THIN.contains(from), "there is no {from:?}");
    THIN.replacen(from, to, 1)
}

#[test]
fn volumes_are_read_and_luns_name_them() {
    let scenario = parsed(THIN);
    let array = &scenario.arrays[0];
    let parts = array.luns_by_volume();
    let found: Vec<_> = parts
        .iter()
        .map(|part| {
            (part.name.unwrap(), part.is_thin(), part.bytes() >> 30, part.reserved_bytes() >> 30)
        })
        .collect();
    assert_eq!(found, [("db", false, 8, 8), ("archive", true, 1024, 0), ("log", false, 2, 2)]);
    let laid_out: Vec<u64> =
        array.luns.iter().map(|lun| scenario.laid_out_bytes_of(array, lun) >> 30).collect();
    assert_eq!(laid_out, [4, 1, 1]);
    // The volume that only a LUN names has the array's schedule, and each of the others its own or that one.
    let of_array = SnapshotSchedule { every_ns: 2 * MINUTE_NS, keep: 4 };
    let of_db = SnapshotSchedule { every_ns: 3 * MINUTE_NS, keep: 2 };
    assert_eq!(array.snapshot_schedules(), [(of_array, vec![1, 2]), (of_db, vec![0])]);
}

#[test]
fn volumes_are_written_and_read_back_and_set_by_name() {
    let scenario = parsed(THIN);
    assert_eq!(parsed(&scenario.to_toml().unwrap()), scenario);
    scenario.check().unwrap();
    let settings = scenario.settings();
    let value = |name: &str| settings.iter().find(|(one, _)| one == name).map(|(_, value)| value);
    assert_eq!(value("array.filer.volume.2.thin"), Some(&SettingValue::Flag(true)));
    assert_eq!(value("array.filer.lun.2.laid_out"), Some(&SettingValue::Text("1 GiB".into())));
    assert_eq!(value("array.filer.volume.2.size"), Some(&SettingValue::Text("1 TiB".into())));
    let set = [("volume.1.snapshots.keep".to_owned(), "1".to_owned())];
    let (with, _) = Scenario::parse_with(THIN, NAME, &set, &NoFiles).unwrap();
    assert_eq!(with.arrays[0].volumes[0].snapshots.unwrap().keep, 1);
}

#[test]
fn volumes_are_scaled_with_their_luns() {
    let (smaller, what) = parsed(THIN).scaled_down(8);
    let array = &smaller.arrays[0];
    assert_eq!(array.volumes[0].bytes, Some(1 << 30));
    assert_eq!(array.volumes[0].snapshots.unwrap().every_ns, 3 * MINUTE_NS / 8);
    assert_eq!(array.luns[1].laid_out_bytes, Some(1 << 27));
    for line in [
        "volume archive of filer 1 TiB -> 128 GiB",
        "laid out of LUN archive of filer 1 GiB -> 128 MiB",
        "snapshots of volume db of filer every 3 min -> 22.5 s",
    ] {
        assert!(what.iter().any(|one| one == line), "{line}\n{what:#?}");
    }
}

#[test]
fn thin_volumes_that_promise_more_than_there_is_are_warned_of() {
    let warnings = parsed(THIN).warnings();
    let thin = "array[filer].volume: the volumes may come to hold 1034 GiB, and the array's usable capacity is 36 GiB, \
                the reserve aside: once they hold that, writes to thin volumes are refused";
    assert!(warnings.iter().any(|one| one == thin), "{warnings:#?}");
    let small = changed("size = \"1 TiB\"", "size = \"20 GiB\"").replace("500 GiB", "20 GiB");
    let warnings = parsed(&small.replace("60 GiB", "20 GiB")).warnings();
    assert!(warnings.iter().all(|one| !one.contains("thin")), "{warnings:#?}");
}

#[test]
fn what_cannot_be_is_refused_with_its_place_and_a_remedy() {
    let volume = |name: &str, rest: &str| format!("[[array.volume]]\nname = \"{name}\"\n{rest}\n");
    let before =
        |text: &str| changed("[array.write_anywhere]", &format!("{text}[array.write_anywhere]"));
    let cases = [
        (
            changed("size = \"8 GiB\"", "size = \"5 GiB\""),
            "51 array[filer].volume[db].size: is 5 GiB, and its LUN is 6 GiB; give at least 6 GiB, or smaller \
             LUNs",
        ),
        (
            changed("volume = \"log\"", "volume = \"db\"").replace("8 GiB\"\nsn", "7 GiB\"\nsn"),
            "51 array[filer].volume[db].size: is 7 GiB, and its LUNs together are 8 GiB; give at least 8 GiB, or \
             smaller LUNs",
        ),
        (
            changed("size = \"8 GiB\"", "size = \"40 GiB\""),
            "49 array[filer].volume: thick volumes reserve 42 GiB together, more than the array's usable 36 GiB; \
             write thin = true in some of them, or give them at most 36 GiB, or a larger array: it has 5 data \
             spindles of 8 GiB, less the reserve of 10 %",
        ),
        (
            changed("thin = true", "thin = false"),
            "49 array[filer].volume: thick volumes reserve 1034 GiB together, more than the array's usable 36 \
             GiB; write thin = true in some of them, or give them at most 36 GiB, or a larger array: it has 5 \
             data spindles of 8 GiB, less the reserve of 10 %",
        ),
        (
            before(&volume("db", "")),
            "60 array[filer].volume[3].name: another volume of this array has the same name; LUNs refer to \
             volumes by name: give each its own",
        ),
        (
            before(&volume("dv", "")),
            "60 array[filer].volume[dv].name: no LUN is in the volume; write volume = \"dv\" in the \
             [[array.lun]] that it is for, or leave the volume out",
        ),
        (
            changed("laid_out = \"1 GiB\"\n", ""),
            "33 array[filer].lun: 65 GiB are laid out before the run, which with the 5 GiB that thick volumes \
             reserve beside it is more than the array's usable 36 GiB; write a smaller laid_out in LUNs of thin \
             volumes, or give a larger array: it has 5 data spindles of 8 GiB, less the reserve of 10 %",
        ),
        (
            changed("volume = \"log\"", "laid_out = \"2 GiB\""),
            "33 array[filer].lun: 2 GiB of LUN `log` are to be laid out, but workloads work on 1 GiB of it; give \
             a laid_out of at most 1 GiB, or leave it out",
        ),
        (
            changed("size = \"8 GiB\"", "size = \"33 GiB\"").replace("\"4 GiB\"", "\"6 GiB\""),
            "49 array[filer].volume[db]: no snapshot of volume `db` fits: one needs room to overwrite the 6 GiB \
             that are laid out, and 0 B are left; leave `snapshots` out, make the volume thin, or give less to \
             others",
        ),
        (
            changed("every = \"3 min\", keep = 2", "every = \"13 min\", keep = 2"),
            "52 array[filer].volume[db].snapshots.every: is 13 min, and the run ends at 12 min; give less than 12 \
             min, or more segments, or leave `snapshots` out",
        ),
        (
            changed("thin = true", "thin = 1"),
            "57 array[filer].volume[archive].thin: is an integer, not true or false; write true or false, \
             without quotes",
        ),
        (
            changed("size = \"8 GiB\"", "size = \"8 GiB\"\nthick = true"),
            "52 array[filer].volume[db].thick: unknown key; the keys here are name, size, thin, snapshots",
        ),
        (
            changed(
                "data_spindles = 5",
                "data_spindles = 5\nother_data = { full_percent = 100, run_blocks = 8 }",
            ),
            "59 array[filer].write_anywhere: other data leaves 0 B, and thick volumes reserve 5 GiB beside \
             what is laid out; give a full_percent of at most 86.1, or make volumes thin: they reserve nothing",
        ),
    ];
    for (text, expected) in &cases {
        assert_eq!(refusal(text), *expected);
    }
}

#[test]
fn an_array_in_place_has_no_volumes() {
    let text = crate::common::GOOD.replacen(
        "[array.in_place]",
        "[[array.volume]]\nname = \"a\"\n[array.in_place]",
        1,
    );
    let found = refusal(&text);
    let expected = "volume: an array in place has no volumes; leave [[array.volume]] out: each LUN has chunks of its own";
    assert!(found.ends_with(expected), "{found}");
}
