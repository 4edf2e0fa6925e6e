//! Runs at a smaller scale: they are as near to full scale as they say, and say what cannot be divided in proportion.

use crate::common::Folder;
use strewn::results::{ArrayResults, Results};

/// A closed loop of single blocks at random, with `read_percent` reads, on `controller`.
fn blocks_at_random(file: &str, read_percent: u32, controller: &str) -> String {
    format!(
        "schema = 1\nname = \"scales\"\ntitle = \"scales\"\nseed = 1\nsegments = 2\nsegment = \"10 min\"\n\
         [[workload]]\nname = \"w\"\nlun = \"l\"\nfile = \"{file}\"\nalignment = \"4 KiB\"\noutstanding = 64\n\
         [[workload.access]]\nbytes = \"4 KiB\"\npercent = 100\nread_percent = {read_percent}\nrandom_percent = 100\n\
         [[array]]\nname = \"A\"\ncontroller = \"{controller}\"\n[[array.lun]]\nname = \"l\"\nsize = \"400 GB\"\n"
    )
}

fn at_scale(scenario: &str, by: u32) -> Results {
    let folder = Folder::new();
    folder.write("scales.toml", scenario);
    let by = by.to_string();
    let json = folder.strewn(&["run", "scales.toml", "--scale-down", &by, "--json"]).succeeded();
    Results::from_json(&json).unwrap()
}

fn last(results: &Results) -> (&ArrayResults, f64, f64) {
    let array = &results.arrays[0];
    let segment = array.segments.last().unwrap();
    (array, segment.iops, segment.commands_per_host_op())
}

/// At 1/64, 4 GiB are so few blocks that random reads continue one another by chance: 1.7 commands for each operation
/// were read ahead for nobody, where full scale has 0.6.
#[test]
fn random_reads_of_a_small_file_take_as_many_commands_as_at_full_scale() {
    let scenario = blocks_at_random("4 GiB", 90, "fas2050");
    let full = at_scale(&scenario, 1);
    let (_, full_iops, full_commands) = last(&full);
    assert!((0.55..0.7).contains(&full_commands), "{full_commands}");
    assert!(full.scaled.is_none());
    for by in [8, 64] {
        let (small, matches) = (at_scale(&scenario, by), if by == 8 { 3 } else { 4 });
        let (array, iops, commands) = last(&small);
        assert!((commands / full_commands - 1.0).abs() < 0.03, "1/{by}: {commands}");
        assert!((iops / full_iops - 1.0).abs() < 0.03, "1/{by}: {iops}");
        assert!(array.segments.iter().all(|one| one.cache.read_ahead.is_none()), "1/{by}");
        let said = format!("reads in a row that begin a stream of A 2 -> {matches}");
        assert!(small.scaled.unwrap().what.contains(&said), "1/{by}");
    }
}

/// At a scale at which a pool's drives have no room for metaslabs, or a workload's file none for an operation, the
/// scale is named as the cause.
#[test]
fn a_scale_that_is_too_small_is_named() {
    let pool = |further: &str| {
        format!(
            "schema = 1\nname = \"scales\"\ntitle = \"scales\"\nseed = 1\nsegments = 1\nsegment = \"1 min\"\n\
             [workload]\nfile = \"100 GiB\"\n[[workload.access]]\nbytes = \"16 KiB\"\npercent = 100\n\
             read_percent = 50\nrandom_percent = 100\n[[array]]\nname = \"A\"\nlun = \"100 GiB\"\noutstanding = 8\n\
             spindle = \"seagate-barracuda-es2-st3500320ns\"\n[array.processor]\nhost_operation = \"20 us\"\n\
             spindle_command = \"5 us\"\nper_kib = \"0.2 us\"\n[array.zfs]\n{further}"
        )
    };
    let draid = "redundancy = \"draid2\"\ndrives = 12\ndraid_data = 4\ndraid_spares = 1\n";
    let log = "redundancy = \"mirror\"\ndrives = 2\nvdevs = 3\nsync = \"always\"\n[[array.zfs.vdev]]\nclass = \"log\"\n\
               drives = 2\nright_sized = \"8 GiB\"\n";
    for (scenario, by, vdev) in [(draid, "65536", "normal"), (log, "2048", "log")] {
        let folder = Folder::new();
        folder.write("scales.toml", &pool(scenario));
        folder.strewn(&["run", "scales.toml", "--scale-down", by]).refused(&[
            &format!("cannot be set up at 1/{by} of its scale"),
            "are too small for metaslabs",
            &format!("{vdev} vdev"),
            "smaller --scale-down",
        ]);
    }
}

#[test]
fn a_run_says_what_its_consistency_points_cover() {
    let scenario = blocks_at_random("100 GiB", 0, "fas2050");
    let small = at_scale(&scenario, 8);
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    for part in [
        "A: a consistency point places 7,8",
        "blocks of data here (0.24 % of the file), about 15,7",
        "at full scale (0.06 %): logs and intervals are not divided by 8, but by 2.",
        "Not as at full scale: blocks placed for each block written (18 % fewer), IOPS, commands for each operation.",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert!(small.caveats().contains(said));
    // What is estimated is near what is so.
    let full = at_scale(&scenario, 1);
    let fewer = 1.0 - placed(&small) / placed(&full);
    assert!((0.15..0.25).contains(&fewer), "{fewer}");
    assert!(full.out_of_proportion().is_empty());

    let folder = Folder::new();
    folder.write("scales.toml", &scenario);
    let tables = folder.strewn(&["run", "scales.toml", "--quick", "--out", "out"]).succeeded();
    assert!(tables.contains(said), "{tables}");
    assert!(folder.read("out/report.html").contains(said));
    assert!(folder.read("out/results.json").contains(said));
}

/// The blocks that consistency points of the last segment placed for each host operation.
fn placed(results: &Results) -> f64 {
    let segment = results.arrays[0].segments.last().unwrap();
    let points = segment.consistency_points.unwrap();
    points.blocks_per_cp * points.count as f64 / segment.ops as f64
}

/// Has its hosts issue this many operations a second.
fn paced(scenario: &str, a_second: u32) -> String {
    scenario.replace(
        "outstanding = 64\n",
        &format!("outstanding = 32\noperations_per_second = {a_second}\n"),
    )
}

/// At multiples of 512 bytes, an operation of 4 KiB touches two blocks, which share their metadata. The estimate
/// counted them as two operations: it said 25 %.
#[test]
fn the_estimate_of_blocks_placed_counts_accesses_that_are_not_aligned() {
    let scenario = paced(&blocks_at_random("10 GiB", 50, "fas2050"), 500)
        .replace("alignment = \"4 KiB\"\n", "");
    let small = at_scale(&scenario, 8);
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    assert!(said.ends_with("blocks placed for each block written (15 % fewer)."), "{said}");
    let fewer = 1.0 - placed(&small) / placed(&at_scale(&scenario, 1));
    assert!((0.13..0.17).contains(&fewer), "{fewer}");
}

/// Where the log is not divided at all, a consistency point covers more of the file all the same.
#[test]
fn a_run_at_a_third_says_what_its_consistency_points_cover() {
    let scenario = blocks_at_random("100 GiB", 0, "fas2050");
    let small = at_scale(&scenario, 3);
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    assert!(
        said.contains("at full scale (0.06 %): logs and intervals are not divided. Not"),
        "{said}"
    );
    assert!(said.contains("blocks placed for each block written (14 % fewer)"), "{said}");
    let fewer = 1.0 - placed(&small) / placed(&at_scale(&scenario, 1));
    assert!((0.1..0.18).contains(&fewer), "{fewer}");
}

#[test]
fn iops_are_not_named_where_hosts_set_the_rate() {
    let said = |scenario: &str| {
        let small = at_scale(scenario, 8);
        let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
        said.clone()
    };
    let writes = blocks_at_random("100 GiB", 0, "fas2050");
    let kept = said(&paced(&writes, 1000));
    assert!(kept.ends_with("% fewer), commands for each operation."), "{kept}");
    // A limit that the array does not come up to sets nothing.
    let missed = said(&paced(&writes, 100_000));
    assert!(missed.ends_with("% fewer), IOPS, commands for each operation."), "{missed}");
}

/// A consistency point of 4.2 tetrises: the last of them is not filled, and a fifth of all stripes are not whole.
#[test]
fn stripes_that_are_not_whole_because_consistency_points_end_are_named() {
    let scenario = blocks_at_random("8 GiB", 50, "fas2050").replace("\"400 GB\"", "\"40 GiB\"")
        + "[array.write_anywhere]\nparity = \"raid-dp\"\ndata_spindles = 6\nright_sized = \"20 GiB\"\n";
    let whole = |results: &Results| {
        let points = results.arrays[0].segments.last().unwrap().consistency_points.unwrap();
        points.full_stripe_percent.unwrap()
    };
    let (full, small) = (at_scale(&scenario, 1), at_scale(&scenario, 64));
    assert!(whole(&full) > 97.0 && whole(&small) < 87.0, "{} {}", whole(&full), whole(&small));
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    assert!(said.contains("stripes written whole"), "{said}");
    let eighth = at_scale(&scenario, 8);
    let [said] = eighth.out_of_proportion() else { panic!("{:?}", eighth.out_of_proportion()) };
    assert!(!said.contains("stripes written whole"), "{said}");
}

/// VRAID keeps its segments of 2 MiB: 64 MiB lie in 40 of them, parity included, on 20 spindles.
#[test]
fn a_file_in_few_segments_of_vraid_is_named() {
    let scenario = blocks_at_random("4 GiB", 100, "eva4400").replace("\"4 KiB\"", "\"64 KiB\"");
    let (full, some, few) =
        (at_scale(&scenario, 1), at_scale(&scenario, 32), at_scale(&scenario, 64));
    let of_full = |results| last(results).1 / last(&full).1;
    assert!((0.9..1.0).contains(&of_full(&some)), "{}", of_full(&some));
    assert!(some.out_of_proportion().is_empty(), "{:?}", some.out_of_proportion());
    assert!((0.65..0.85).contains(&of_full(&few)), "{}", of_full(&few));
    let [said] = few.out_of_proportion() else { panic!("{:?}", few.out_of_proportion()) };
    assert!(
        said.starts_with("A: a spindle has 2 segments of the file here, 130 at full scale"),
        "{said}"
    );
    assert!(said.ends_with("Not as at full scale: IOPS, response times."), "{said}");
}

#[test]
fn nothing_is_said_of_what_no_figure_depends_on() {
    for (scenario, what) in [
        (blocks_at_random("4 GiB", 100, "fas2050"), "reads alone"),
        (
            blocks_at_random("4 GiB", 0, "fas2050")
                .replace("random_percent = 100", "random_percent = 0"),
            "in order",
        ),
        (
            blocks_at_random("4 GiB", 0, "fas2050").replace("\"4 KiB\"", "\"64 KiB\""),
            "large writes",
        ),
        (blocks_at_random("100 GiB", 0, "eva4400"), "a cache that is small beside its file"),
        (paced(&blocks_at_random("4 GiB", 50, "eva4400"), 300), "a cache that is nearly empty"),
    ] {
        let small = at_scale(&scenario, 8);
        assert!(small.out_of_proportion().is_empty(), "{what}: {:?}", small.out_of_proportion());
    }
}

#[test]
fn a_write_cache_that_holds_much_of_the_file_is_named() {
    let small = at_scale(&blocks_at_random("4 GiB", 0, "eva4400"), 8);
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    assert!(
        said.starts_with("A: the write cache holds 50 % of the file here, 12 % at full scale"),
        "{said}"
    );
    assert!(said.ends_with("Not as at full scale: IOPS, commands for each operation."), "{said}");
}

/// Full scale fills its write cache in the second segment, and falls; an eighth would in the sixth.
#[test]
fn a_write_cache_that_fills_later_in_the_run_is_named() {
    let scenario = blocks_at_random("8 GiB", 50, "eva4400")
        .replace("segments = 2", "segments = 3")
        .replace("\"10 min\"", "\"4 min\"")
        .replace("outstanding = 64", "outstanding = 32")
        .replace("\"400 GB\"", "\"40 GiB\"")
        + "[array.in_place]\nlayout = \"raid-5\"\nspindles = 8\n";
    let (full, small) = (at_scale(&scenario, 1), at_scale(&scenario, 8));
    let of_full = last(&small).1 / last(&full).1;
    assert!(of_full > 1.15, "{of_full}");
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    let takes =
        "it takes 4 times as much of the run to fill as at full scale, and here it is never full.";
    assert!(said.contains(takes), "{said}");
    let longer = scenario.replace("segments = 3", "segments = 6");
    let small = at_scale(&longer, 4);
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    assert!(said.contains("here it is not full before segment "), "{said}");
}

/// Seen from half the scale on: chunks that lie apart cost sequential reads as much as the chunks passed over.
#[test]
fn the_head_gives_the_largest_error_that_was_seen() {
    let scenario = blocks_at_random("8 GiB", 100, "eva4400")
        .replace("bytes = \"4 KiB\"", "bytes = \"64 KiB\"")
        .replace("random_percent = 100", "random_percent = 0")
        .replace("\"400 GB\"", "\"40 GiB\"")
        + "[array.in_place]\nlayout = \"raid-5\"\nspindles = 8\n";
    let full = last(&at_scale(&scenario, 1)).1;
    for by in [2, 8] {
        let small = at_scale(&scenario, by);
        let less = 100.0 * (1.0 - last(&small).1 / full);
        assert!((40.0..50.5).contains(&less), "1/{by}: {less}");
        assert!(
            small
                .accuracy()
                .unwrap()
                .contains("sequential reads of an in-place array by up to 50 %")
        );
    }
}

#[test]
fn random_reads_among_those_of_streams_are_named_where_they_cost() {
    let random = blocks_at_random("4 GiB", 100, "eva4400");
    let scan = "[[workload]]\nname = \"scan\"\nlun = \"l\"\nfile = \"4 GiB\"\noutstanding = 4\n\
                [[workload.access]]\nbytes = \"64 KiB\"\npercent = 100\nread_percent = 100\nrandom_percent = 0\n[[array]]";
    let both = random.replace("[[array]]", scan);
    let small = at_scale(&both, 64);
    // The first sentence is about segments of VRAID.
    let [_, said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    assert!(
        said.contains("16 streams may cover 25 % of the file here, 0.39 % at full scale"),
        "{said}"
    );
    assert!(at_scale(&both, 8).out_of_proportion().is_empty());
}
