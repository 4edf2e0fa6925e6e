//! Scenarios with thick and thin volumes.

use strewn::results::Results;

use crate::common::Folder;

/// A thin volume that is filled until it finds no room, beside a thick one with snapshots: the first of them comes
/// while there is room in the usable blocks for what it claims.
const SCENARIO: &str = r#"
schema = 1
name = "thin"
title = "A thin volume runs out of space"
seed = 3
segments = 4
segment = "10 s"

[[workload]]
name = "database"
lun = "database"
access_specification = "file-server"
file = "128 MiB"
outstanding = 8

[[workload]]
name = "archive"
lun = "archive"
file = "2 GiB"
outstanding = 4
[[workload.access]]
bytes = "64 KiB"
percent = 100
read_percent = 0
random_percent = 0

[[array]]
name = "filer"
controller = "fas2050"

[array.write_anywhere]
data_spindles = 4
right_sized = "256 MiB"
area_stripes = 256
buffer_cache = "16 MiB"
log_half = "4 MiB"

[[array.lun]]
name = "database"
size = "128 MiB"
volume = "database"
[[array.lun]]
name = "archive"
size = "8 GiB"
volume = "archive"
laid_out = "0 B"

[[array.volume]]
name = "database"
size = "200 MiB"
snapshots = { every = "4 s", keep = 6 }
[[array.volume]]
name = "archive"
thin = true
"#;

#[test]
fn a_thin_volume_that_runs_out_is_refused_writes_and_a_thick_one_is_not() {
    let folder = Folder::new();
    folder.write("thin.toml", SCENARIO);
    let run = folder.strewn(&["run", "thin.toml", "--out", "out"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let (shown, warned) = (run.stdout, run.stderr);
    assert!(
        warned.contains(
            "warning: array[filer].volume: the volumes may come to hold 8392 MiB, and the array's usable capacity is 921.6 \
             MiB, the reserve aside: once they hold that, writes to thin volumes are refused"
        ),
        "{warned}"
    );
    assert!(shown.contains("filer: by volume") && shown.contains("reserved"), "{shown}");
    let results = Results::from_json(&folder.read("out/results.json")).unwrap();
    let segments = &results.arrays[0].segments;
    assert!(segments.iter().any(|one| one.refused.is_some()), "{segments:#?}");
    let sentence = results.arrays[0].refused_sentence().unwrap();
    assert!(shown.contains(&sentence), "{sentence}\n{shown}");

    let last = segments.last().unwrap();
    let of = |name: &str| last.volumes.iter().find(|volume| volume.name == name).unwrap();
    let (database, archive) = (of("database"), of("archive"));
    // All but what is kept for the thick volume and for consistency points.
    // The usable 921.6 MiB, of which the claims of the thick volume and its snapshots are a part.
    let held = archive.used_blocks + database.used_blocks + database.reserved_blocks;
    assert!(held + database.held_blocks < 236_000, "{archive:?} {database:?}");
    assert!(archive.used_blocks > 120_000 && archive.snapshots == 0, "{archive:?}");
    assert!(database.snapshots > 0 && database.held_blocks > 100, "{database:?}");
    assert!(database.reserved_blocks > 20_000, "{database:?}");
    // The thick volume's writes go on as they did before.
    let writes = |segment: usize| {
        let found = segments[segment].by_workload.iter().find(|one| one.name == "database");
        found.unwrap().writes.ops
    };
    assert!(writes(3) > 500, "{} writes", writes(3));
}
