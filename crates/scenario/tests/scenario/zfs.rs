//! ZFS pools in scenarios.

use proptest::prelude::*;
use strewn_scenario::Scenario;

use crate::common::{NAME, error_of, refusal};

/// A pool with the lines of its table.
fn pool(lines: &str) -> String {
    format!(
        "schema = 1\nname = \"pool\"\ntitle = \"A pool\"\nseed = 1\nsegments = 2\nsegment = \"5 min\"\n\
         [workload]\nfile = \"100 GiB\"\nalignment = \"16 KiB\"\n[[workload.access]]\nbytes = \"16 KiB\"\npercent = 100\n\
         read_percent = 50\nrandom_percent = 100\n[[array]]\nname = \"tank\"\nlun = \"100 GiB\"\noutstanding = 8\n\
         spindle = \"seagate-cheetah-15k5-st3146855fc\"\n[array.processor]\nhost_operation = \"20 us\"\n\
         spindle_command = \"5 us\"\nper_kib = \"0.2 us\"\n[array.zfs]\n{lines}\n"
    )
}

#[test]
fn a_pool_needs_little() {
    let text = pool("redundancy = \"raid-z2\"\ndrives = 6");
    let scenario = Scenario::parse(&text, NAME).unwrap();
    assert_eq!(scenario.arrays[0].layout.spindles(), 6);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
}

#[test]
fn what_no_pool_can_be_is_refused_with_a_remedy() {
    let refused = [
        ("redundancy = \"raid-z2\"\ndrives = 2", "2 drives are not a RAID-Z2 vdev"),
        ("redundancy = \"raid-z3\"\ndrives = 3", "3 drives are not a RAID-Z3 vdev"),
        ("redundancy = \"mirror\"\ndrives = 5", "5 drives are not a mirror"),
        ("redundancy = \"none\"\ndrives = 2", "2 drives are not a vdev without redundancy"),
        ("redundancy = \"draid2\"\ndrives = 2", "2 drives are not a dRAID2 vdev"),
        ("redundancy = \"draid1\"\ndrives = 256", "256 drives are not a dRAID1 vdev"),
        (
            "redundancy = \"draid2\"\ndrives = 12\ndraid_data = 10\ndraid_spares = 1",
            "groups of 10 data and 2 parity drives with 1 distributed spares do not fit 12 drives",
        ),
        (
            "redundancy = \"draid3\"\ndrives = 12\ndraid_spares = 9",
            "9 distributed spares are too many for 12 drives",
        ),
        ("redundancy = \"draid1\"\ndrives = 200\ndraid_spares = 101", "are too many for 200"),
        ("redundancy = \"raid-z2\"\ndrives = 6\ndraid_data = 4", "has no groups across its drives"),
        (
            "redundancy = \"mirror\"\ndrives = 2\ndraid_spares = 1",
            "has no groups across its drives",
        ),
        ("redundancy = \"raid-z1\"\ndrives = 300", "300 drives are not a RAID-Z1 vdev"),
        ("redundancy = \"mirror\"\ndrives = 2\nvdevs = 1000", "2000 drives are too many"),
        (
            "redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\nvolblocksize = \"12 KiB\"",
            "no power of two",
        ),
        (
            "redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\nashift = 13\nvolblocksize = \"4 KiB\"",
            "smaller than a sector of 8 KiB",
        ),
        (
            "redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\narc = \"1 GiB\"",
            "less than dirty_limit",
        ),
        ("redundancy = \"none\"\ndrives = 1\nvolblocksize = \"128 KiB\"\nashift = 17", "is 17"),
        (
            "redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\nrecordsize = \"96 KiB\"",
            "no power of two",
        ),
        ("redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\nrecordsize = \"2 MiB\"", "recordsize"),
        (
            "redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\nrecordsize = \"1 MiB\"\nvolblocksize = \"16 KiB\"",
            "volblocksize is there too",
        ),
        (
            "redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\n[array.zfs.rewrite]\nbegins = \"1 h\"",
            "the run ends at",
        ),
        (
            "redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\n[array.zfs.rewrite]\nbegins = \"1 min\"\n\
             [array.zfs.send]\nbegins = \"1 min\"",
            "rewritten or sent",
        ),
    ];
    for (lines, expected) in refused {
        let error = error_of(&pool(lines));
        let found = error.problems().iter().find(|one| one.to_string().contains(expected));
        let problem = found.unwrap_or_else(|| panic!("{lines}: {error}"));
        assert!(!problem.help().is_empty(), "{lines}");
    }
}

/// Figures by an independent model of `spa_get_slop_space` and `zvol_volsize_to_reservation`, in GiB.
#[test]
fn volumes_get_what_zfs_would_let_them_reserve() {
    let most = |lines: &str| {
        let text = pool(lines)
            .replace("seagate-cheetah-15k5-st3146855fc", "seagate-barracuda-es2-st3500320ns")
            .replace("lun = \"100 GiB\"", "lun = \"900 TiB\"");
        let error = refusal(&text);
        let (_, after) = error.split_once("give at most ").unwrap();
        let gib: u64 = after.split(' ').next().unwrap().parse().unwrap();
        (gib, error)
    };
    let large = "volblocksize = \"1 MiB\"\ndirty_limit = \"4 MiB\"";
    // The second and the third keep 128 GiB free, half of them metaslabs of the intent log.
    for (pool, gib) in [
        ("redundancy = \"mirror\"\ndrives = 2\nvdevs = 20", 9_133),
        ("redundancy = \"mirror\"\ndrives = 2\nvdevs = 40", 18_331),
        ("redundancy = \"mirror\"\ndrives = 2\nvdevs = 100", 45_924),
        ("redundancy = \"raid-z3\"\ndrives = 11", 3_606),
        ("redundancy = \"raid-z3\"\ndrives = 11\nvdevs = 4", 14_762),
    ] {
        assert_eq!(most(&format!("{pool}\n{large}")).0, gib, "{pool}");
    }
    // A volume reserves what it has uncompressed, unless it is sparse.
    let compressed = "redundancy = \"mirror\"\ndrives = 2\nvdevs = 20\ncompressed_percent = 50.0";
    let (thick, error) = most(compressed);
    assert!(error.contains("reserves 16640 bytes of data and metadata, uncompressed"), "{error}");
    let (sparse, _) = most(&format!("{compressed}\nsparse = true"));
    assert!(thick < 9_136 && sparse > 17_000, "{thick}, {sparse}");
}

#[test]
fn a_record_that_cannot_be_has_the_words_of_zfs_create() {
    let text = pool("redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\nrecordsize = \"96 KiB\"");
    let error = error_of(&text);
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!(problem.field(), "array[tank].zfs.recordsize");
    assert!(problem.help().contains("'recordsize' must be power of 2 from 512B to 16M"), "{error}");
    assert!(problem.help().contains("give 128 KiB"), "{error}");
}

#[test]
fn records_snapshots_and_rewrites_are_read_and_written() {
    let text = pool(
        "redundancy = \"raid-z2\"\ndrives = 6\nrecordsize = \"1 MiB\"\n[array.zfs.snapshots]\nevery = \"1 min\"\n\
         keep = 3\n[array.zfs.rewrite]\nbegins = \"1 min\"\nper_second = \"50 MiB\"",
    );
    let scenario = Scenario::parse(&text, NAME).unwrap();
    assert_eq!(scenario.arrays[0].snapshot_schedules()[0].0.keep, 3);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
}

#[test]
fn small_blocks_on_raid_z_are_allowed_and_their_price_is_said() {
    let text = pool("redundancy = \"raid-z2\"\ndrives = 6\nvolblocksize = \"4 KiB\"");
    let scenario = Scenario::parse(&text, NAME).unwrap();
    let [warning] = &scenario.warnings()[..] else { panic!("{:?}", scenario.warnings()) };
    assert!(warning.contains("a block of 4 KiB takes 12 KiB of RAID-Z2"), "{warning}");
}

#[test]
fn draid_takes_eight_data_drives_or_what_there_is_and_says_what_small_blocks_cost() {
    let warned = |lines: &str| {
        let scenario = Scenario::parse(&pool(lines), NAME).unwrap();
        assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
        (scenario.arrays[0].layout.spindles(), scenario.warnings())
    };
    let (spindles, warnings) = warned("redundancy = \"draid2\"\ndrives = 20\ndraid_spares = 1");
    assert_eq!(spindles, 20);
    assert!(warnings[0].contains("a block of 16 KiB takes 40 KiB of dRAID2"), "{warnings:?}");
    // Four data drives are left.
    let (_, warnings) = warned("redundancy = \"draid2\"\ndrives = 7\ndraid_spares = 1");
    assert_eq!(warnings, Vec::<String>::new());
    let (_, warnings) = warned("redundancy = \"draid1\"\ndrives = 20\ndraid_data = 4");
    assert_eq!(warnings, Vec::<String>::new());
}

/// A pool of mirrors with a further table.
fn with_further(lines: &str) -> String {
    pool(&format!("redundancy = \"mirror\"\ndrives = 2\nvdevs = 4\n{lines}"))
}

#[test]
fn further_vdevs_have_their_spindles_behind_the_first() {
    let text = with_further(
        "special_small_blocks = \"8 KiB\"\n[[array.zfs.vdev]]\nclass = \"special\"\ndrives = 3\n\
         right_sized = \"20 GiB\"\n[[array.zfs.vdev]]\nclass = \"log\"\nredundancy = \"none\"\ndrives = 1\n\
         [[array.zfs.vdev]]\nredundancy = \"raid-z1\"\ndrives = 3\nvdevs = 2\nat = \"4 min\"",
    );
    let scenario = Scenario::parse(&text, NAME).unwrap();
    let layout = &scenario.arrays[0].layout;
    assert_eq!(layout.spindles(), 18);
    let firsts: Vec<u16> = layout.groups().iter().map(|group| group.first_spindle).collect();
    assert_eq!(firsts, [0, 2, 4, 6, 8, 11, 12, 15]);
    assert_eq!(layout.groups_added_ns(), [240_000_000_000; 2]);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
}

#[test]
fn vdevs_of_any_class_may_be_added() {
    let text = with_further(
        "special_small_blocks = \"8 KiB\"\n[[array.zfs.vdev]]\nclass = \"special\"\ndrives = 2\nat = \"2 min\"\n\
         [[array.zfs.vdev]]\nclass = \"log\"\ndrives = 2\nat = \"3 min\"",
    );
    let scenario = Scenario::parse(&text, NAME).unwrap();
    assert_eq!(scenario.arrays[0].layout.groups_added_ns(), [120_000_000_000, 180_000_000_000]);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
}

#[test]
fn a_cache_device_is_none_of_the_spindles() {
    let text = with_further(
        "autotrim = true\n[array.zfs.l2arc]\nsize = \"400 GB\"\nlatency = \"60 us\"\nwrite_max = \"8 MiB\"\n\
         noprefetch = false",
    );
    let scenario = Scenario::parse(&text, NAME).unwrap();
    assert_eq!(scenario.arrays[0].layout.spindles(), 8);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
    let (_, changes) = scenario.scaled_down(64);
    assert!(changes.iter().any(|change| change.contains("L2ARC of ")), "{changes:?}");
    let error = error_of(&with_further("[array.zfs.l2arc]\nsize = \"1 MiB\""));
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!(problem.field(), "array[tank].zfs.l2arc.size");
    assert!(problem.help().contains("at least 64 MiB"), "{error}");
}

#[test]
fn further_vdevs_that_cannot_be_are_refused_with_a_remedy() {
    let special = "[[array.zfs.vdev]]\nclass = \"special\"\n";
    let log = "[[array.zfs.vdev]]\nclass = \"log\"\n";
    let refused = [
        (format!("{special}redundancy = \"none\"\ndrives = 1"), "mismatched replication level"),
        (format!("{log}redundancy = \"raid-z1\"\ndrives = 3"), "unsupported 'log' device"),
        (format!("{special}redundancy = \"raid-z1\"\ndrives = 3"), "unsupported 'special' device"),
        (format!("{special}drives = 2\nright_sized = \"4 TiB\""), "more than the whole drive"),
        (format!("{special}drives = 2\nright_sized = \"16 MiB\""), "too small for metaslabs"),
        (format!("{special}drives = 5"), "5 drives are not a mirror"),
        (format!("special_small_blocks = \"12 KiB\"\n{special}drives = 2"), "no power of two"),
        ("special_small_blocks = \"8 KiB\"".to_owned(), "there is no special vdev"),
        ("[[array.zfs.vdev]]\ndrives = 2\nvdevs = 1000".to_owned(), "2008 drives in all"),
        ("[[array.zfs.vdev]]\ndrives = 2\nat = \"10 min\"".to_owned(), "the run ends at"),
        ("[[array.zfs.vdev]]\ndrives = 2\nat = \"0 s\"".to_owned(), "the run has not begun"),
        (
            "[[array.zfs.vdev]]\ndrives = 2\nat = \"1 min\"\n[[array.zfs.vdev]]\ndrives = 2".to_owned(),
            "list vdevs in the order",
        ),
        (
            "[[array.zfs.vdev]]\ndrives = 2\nat = \"2 min\"\n[[array.failure]]\nspindle = 8\nat = \"1 min\""
                .to_owned(),
            "its vdev is added at 2 min",
        ),
    ];
    for (lines, expected) in refused {
        let error = error_of(&with_further(&lines));
        let said = |one: &str| one.contains(expected);
        let found = error.problems().iter().find(|one| said(&one.to_string()) || said(one.help()));
        let problem = found.unwrap_or_else(|| panic!("{lines}: {error}"));
        assert!(!problem.help().is_empty(), "{lines}");
    }
}

#[test]
fn it_is_said_if_all_data_goes_to_special_vdevs() {
    let further = "[[array.zfs.vdev]]\nclass = \"special\"\ndrives = 2\nright_sized = \"256 MiB\"";
    let text = with_further(&format!("special_small_blocks = \"16 KiB\"\n{further}"));
    let warnings = Scenario::parse(&text, NAME).unwrap().warnings();
    assert!(warnings.iter().any(|one| one.contains("all go to the special vdevs")), "{warnings:?}");
    assert!(warnings.iter().any(|one| one.contains("have no room for up to")), "{warnings:?}");
}

#[test]
fn it_is_said_if_log_vdevs_have_nothing_to_do() {
    let warnings = |sync: &str| {
        let text = with_further(&format!("{sync}[[array.zfs.vdev]]\nclass = \"log\"\ndrives = 2"));
        Scenario::parse(&text, NAME).unwrap().warnings().join("\n")
    };
    assert!(warnings("").contains("log vdevs have nothing to do"), "{}", warnings(""));
    assert_eq!(warnings("sync = \"always\"\n"), "");
}

/// A small drive, and a profile that does not load.
#[test]
fn what_a_small_pool_is_advised_is_possible_and_an_unknown_drive_has_one_error() {
    let small = pool(
        "redundancy = \"mirror\"\ndrives = 2\ndirty_limit = \"4 MiB\"\n[[array.zfs.vdev]]\nclass = \"log\"\ndrives = 2\n\
         right_sized = \"64 MiB\"",
    )
    .replace("lun = \"100 GiB\"", "lun = \"900 GiB\"");
    assert!(refusal(&small).contains("give at most 129 GiB"), "{}", refusal(&small));
    let text =
        pool("redundancy = \"mirror\"\ndrives = 2").replace("lun = \"100 GiB\"", "lun = \"9 TiB\"");
    let unknown = error_of(&text.replace("seagate-cheetah-15k5-st3146855fc", "no-such-drive"));
    let [problem] = unknown.problems() else { panic!("{unknown}") };
    assert!(problem.field().ends_with("spindle"), "{unknown}");
}

#[test]
fn a_pool_has_no_rebuild_steps() {
    let text = pool("redundancy = \"mirror\"\ndrives = 2")
        .replace("outstanding = 8", "outstanding = 8\nrebuild_steps_in_flight = 3");
    let error = error_of(&text);
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!(problem.field(), "array[tank].rebuild_steps_in_flight");
}

#[test]
fn compression_that_saves_nothing_and_snapshots_without_room_are_said() {
    let warnings = |lines: &str, file: &str| {
        let text = pool(&format!("redundancy = \"raid-z2\"\ndrives = 6\n{lines}"))
            .replace("\"100 GiB\"", &format!("\"{file}\""));
        Scenario::parse(&text, NAME).unwrap().warnings().join("\n")
    };
    // 12 KiB and 16 KiB take 24 KiB, parity and padding included; 4 KiB take 12.
    let of_12 = warnings("compressed_percent = 67.0", "100 GiB");
    assert!(
        of_12.contains("compression to 67 % saves nothing: a block of 16 KiB takes 24 KiB"),
        "{of_12}"
    );
    assert!(!warnings("compressed_percent = 25.0", "100 GiB").contains("saves nothing"));
    assert!(!warnings("", "100 GiB").contains("saves nothing"));
    let snapshots = "[array.zfs.snapshots]\nevery = \"1 min\"\nkeep = 3";
    let full = warnings(snapshots, "300 GiB");
    assert!(full.contains("no snapshot will be taken"), "{full}");
    assert!(full.contains("sparse = true reserves nothing"), "{full}");
    assert!(!warnings(snapshots, "100 GiB").contains("no snapshot"));
    assert!(!warnings(&format!("sparse = true\n{snapshots}"), "300 GiB").contains("no snapshot"));
}

/// An idle LUN does not age: `--until "rewritten N %"` and the column of what moved leave it out.
#[test]
fn only_luns_that_are_written_to_age() {
    let text = pool("redundancy = \"mirror\"\ndrives = 2")
        .replace("lun = \"100 GiB\"\noutstanding = 8\n", "")
        .replace("[workload]\nfile", "[[workload]]\nname = \"vm\"\nlun = \"vm\"\noutstanding = 8\nfile")
        .replace("\"100 GiB\"", "\"10 GiB\"")
        .replace(
            "[array.processor]",
            "[[array.lun]]\nname = \"vm\"\nsize = \"10 GiB\"\n[[array.lun]]\nname = \"rest\"\nsize = \"30 GiB\"\n\
             [array.processor]",
        )
        .replace(
            "[[array]]\n",
            "[[workload]]\nname = \"rest\"\nlun = \"rest\"\noutstanding = 1\nfile = \"30 GiB\"\n\
             [[workload.access]]\nbytes = \"16 KiB\"\npercent = 100\nread_percent = 100\nrandom_percent = 100\n[[array]]\n",
        );
    let scenario = Scenario::parse(&text, NAME).unwrap();
    let array = &scenario.arrays[0];
    assert_eq!(scenario.file_bytes(array), 40 << 30);
    assert_eq!(scenario.written_file_bytes(array), 10 << 30);
    let only_reads = text.replace("read_percent = 50", "read_percent = 100");
    let scenario = Scenario::parse(&only_reads, NAME).unwrap();
    assert_eq!(scenario.written_file_bytes(&scenario.arrays[0]), 40 << 30);
}

proptest! {
    /// Whatever is given, a pool is read or refused.
    #[test]
    fn no_combination_panics(
        redundancy in prop::sample::select(vec![
            "none", "mirror", "raid-z1", "raid-z2", "raid-z3", "draid1", "draid2", "draid3",
        ]),
        drives in 0u32..300,
        vdevs in 0u32..40,
        draid in prop::option::of((0u32..20, 0u32..110)),
        ashift in 0u32..20,
        block in prop::sample::select(vec!["1 B", "512 B", "4 KiB", "12 KiB", "128 KiB", "1 MiB", "2 MiB"]),
        compressed in prop::sample::select(vec!["0.0", "0.1", "37.5", "100.0", "101.0"]),
    ) {
        let draid = draid.map_or_else(String::new, |(data, spares)| {
            format!("draid_data = {data}\ndraid_spares = {spares}\n")
        });
        let text = pool(&format!(
            "{draid}redundancy = \"{redundancy}\"\ndrives = {drives}\nvdevs = {vdevs}\nashift = {ashift}\n\
             volblocksize = \"{block}\"\ncompressed_percent = {compressed}"
        ));
        if let Ok(scenario) = Scenario::parse(&text, NAME) {
            let _ = (scenario.warnings(), scenario.scaled_down(64));
        }
    }
}

/// A pool with LUNs of so many GiB, on each of which a workload works, and the lines of its clones.
fn with_clones(luns: &[(&str, u32)], lines: &str) -> String {
    let text = with_further(lines).replace("lun = \"100 GiB\"\noutstanding = 8\n", "");
    let (before, rest) = text.split_once("[workload]\n").unwrap();
    let (workload, array) = rest.split_once("[[array]]").unwrap();
    let workloads: String = luns
        .iter()
        .map(|(lun, _)| {
            format!(
                "[[workload]]\nname = \"on {lun}\"\nlun = \"{lun}\"\noutstanding = 8\n{workload}"
            )
        })
        .collect();
    let luns: String = luns
        .iter()
        .map(|(lun, gib)| format!("[[array.lun]]\nname = \"{lun}\"\nsize = \"{gib} GiB\"\n"))
        .collect();
    format!("{before}{workloads}[[array]]{array}{luns}")
}

#[test]
fn clones_take_no_room_until_they_are_written() {
    let luns = [("a", 240), ("b", 240), ("c", 240)];
    let clones = "clone = [{ lun = \"b\", of = \"a\" }, { lun = \"c\", of = \"a\" }]";
    let text = with_clones(&luns, clones);
    let scenario = Scenario::parse(&text, NAME).unwrap();
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
    let error = error_of(&with_clones(&luns, ""));
    assert!(error.to_string().contains("3 LUNs of 720 GiB together are larger"), "{error}");
    // Their snapshot must leave room to overwrite what is reserved.
    let larger = [("a", 300), ("b", 300), ("c", 300)];
    let error = error_of(&with_clones(&larger, clones));
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!(problem.field(), "array[tank].zfs.clone");
    assert!(problem.help().contains("sparse = true"), "{error}");
    let sparse = with_clones(&larger, &format!("sparse = true\n{clones}"));
    Scenario::parse(&sparse, NAME).unwrap();
}

#[test]
fn what_no_clone_can_be_is_refused_with_a_remedy() {
    let refused = [
        ("{ lun = \"b\", of = \"z\" }", "the array has no LUN \"z\""),
        ("{ lun = \"y\", of = \"a\" }", "the array has no LUN \"y\""),
        ("{ lun = \"b\", of = \"b\" }", "it is the LUN itself"),
        ("{ lun = \"b\", of = \"a\" }, { lun = \"c\", of = \"b\" }", "it is a clone itself"),
        ("{ lun = \"b\", of = \"a\" }, { lun = \"b\", of = \"a\" }", "it is a clone already"),
        ("{ lun = \"d\", of = \"a\" }", "a clone of a has 120 GiB, and its origin 100 GiB"),
        ("{ lun = \"b\" }", "is missing"),
    ];
    for (clones, expected) in refused {
        let luns = [("a", 100), ("b", 100), ("c", 100), ("d", 120)];
        let error = error_of(&with_clones(&luns, &format!("clone = [{clones}]")));
        let [problem] = error.problems() else { panic!("{error}") };
        assert!(problem.field().starts_with("array[tank].zfs.clone["), "{error}");
        assert!(error.to_string().contains(expected), "{clones}: {error}");
        assert!(!problem.help().is_empty(), "{error}");
    }
}
