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

#[test]
fn a_run_says_what_its_consistency_points_cover() {
    let scenario = blocks_at_random("100 GiB", 0, "fas2050");
    let small = at_scale(&scenario, 8);
    let placed = |results: &Results| {
        let segment = results.arrays[0].segments.last().unwrap();
        let points = segment.consistency_points.unwrap();
        points.blocks_per_cp * points.count as f64 / segment.ops as f64
    };
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

#[test]
fn random_reads_among_those_of_streams_are_named_where_they_cost() {
    let random = blocks_at_random("4 GiB", 100, "eva4400");
    let scan = "[[workload]]\nname = \"scan\"\nlun = \"l\"\nfile = \"4 GiB\"\noutstanding = 4\n\
                [[workload.access]]\nbytes = \"64 KiB\"\npercent = 100\nread_percent = 100\nrandom_percent = 0\n[[array]]";
    let both = random.replace("[[array]]", scan);
    let small = at_scale(&both, 64);
    let [said] = small.out_of_proportion() else { panic!("{:?}", small.out_of_proportion()) };
    assert!(
        said.contains("16 streams may cover 25 % of the file here, 0.39 % at full scale"),
        "{said}"
    );
    assert!(at_scale(&both, 8).out_of_proportion().is_empty());
}
