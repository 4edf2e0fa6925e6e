//! Good scenarios, and what is read from them.

use std::path::{Path, PathBuf};

use crate::common::{GOOD, changed, good};
use strewn_scenario::{
    AccessSpecificationChoice, Fitted, NoFiles, Parity, Processor, ProcessorWork, ProtectionLevel,
    Scenario, SpindleChoice, SpindleFailure,
};

/// A text that is checked has no files beside it.
#[test]
fn published_figures_are_not_looked_for() {
    let text = changed("seed = 7", "published = \"gone.toml\"\nseed = 7");
    let scenario = Scenario::parse(&text, crate::common::NAME).unwrap();
    let folder = std::path::Path::new(crate::common::NAME).parent().unwrap();
    assert_eq!(scenario.published, Some(folder.join("gone.toml")));
}

#[test]
fn values_are_in_base_units() {
    let scenario = good();
    assert_eq!(scenario.segment_ns, 1_200_000_000_000);
    assert_eq!(scenario.spindle_stretch, 1);
    assert_eq!(scenario.workloads[0].file_bytes, 100 << 30);
    assert_eq!(scenario.workloads[0].alignment_bytes, 512);
    let array = scenario.array("anywhere").unwrap();
    assert_eq!(array.lun_bytes(), 1_000_000_000_000);
    let processor = Processor {
        host_operation_ns: 76_000.0,
        spindle_command_ns: 110_000.0,
        per_kib_ns: 500.0,
        write_back_percent: 50,
        cores: 1,
        serial_domains: vec![vec![ProcessorWork::Operations, ProcessorWork::Commands]],
        allocated_block_ns: 0.0,
        freed_block_ns: 0.0,
        metadata_block_ns: 0.0,
        parity_per_kib_ns: 0.0,
        interrupt_ns: 0.0,
    };
    assert_eq!(array.processor, processor);
    let layout = array.layout.write_anywhere().unwrap();
    assert_eq!((layout.parity, layout.data_spindles), (Parity::RaidDp, 18));
    assert_eq!(layout.right_sized_bytes, 136_000 << 20);
    assert_eq!(layout.log_record_header_bytes, 160);
    assert_eq!(layout.checkpoint_interval_ns, 10_000_000_000);
    let array = scenario.array("inplace").unwrap();
    let layout = array.layout.in_place().unwrap();
    let [group] = &layout.groups[..] else { panic!("{layout:?}") };
    assert_eq!(group.redundancy_sets, [10, 10]);
    assert_eq!(group.protection_level, ProtectionLevel::Single);
    assert_eq!(
        array.fitted,
        Some(Fitted {
            parameters: vec!["in_place.destages_per_spindle".to_owned()],
            segments: vec![1],
            row_scatter_percent: 0.0
        })
    );
    let overhead = scenario.overhead.as_ref().unwrap();
    assert_eq!(overhead.configurations[0].root, 3);
    assert_eq!(overhead.configurations[0].protection_level, None);
    assert_eq!(overhead.configurations[1].protection_level, Some(ProtectionLevel::Double));
    assert!(!overhead.configurations[1].used_by_results);
}

#[test]
fn an_access_specification_may_be_written_out() {
    let lines = "alignment = \"4 KiB\"
        [[workload.access]]
        bytes = \"4 KiB\"
        percent = 60
        read_percent = 100
        random_percent = 100
        [[workload.access]]
        bytes = \"64 KiB\"
        percent = 40
        read_percent = 50.0
        random_percent = 0";
    let text = changed("access_specification = \"file-server\"\n", "");
    let text = text.replace("file = \"100 GiB\"", &format!("file = \"100 GiB\"\n{lines}"));
    let scenario = Scenario::parse(&text, crate::common::NAME).unwrap();
    let AccessSpecificationChoice::Inline(lines) = &scenario.workloads[0].access_specification
    else {
        panic!("{:?}", scenario.workloads);
    };
    assert_eq!((lines.len(), lines[1].bytes), (2, 65_536));
    let specification = scenario.workloads[0].specification().unwrap();
    assert_eq!(specification.alignment_bytes(), 4096);
    assert!((specification.read_fraction() - 0.8).abs() < 1e-12);
}

#[test]
fn a_shipped_specification_is_taken_at_the_alignment() {
    let text = changed("file = \"100 GiB\"", "file = \"100 GiB\"\nalignment = \"4 KiB\"");
    let workload = Scenario::parse(&text, crate::common::NAME).unwrap().workloads.remove(0);
    let specification = workload.specification().unwrap();
    assert_eq!((specification.name(), specification.alignment_bytes()), ("file-server", 4096));
}

#[test]
fn parts_may_be_left_out() {
    let text = GOOD.split("[overhead]").next().unwrap();
    let text = text.replace(
        "[array.fitted]\nparameters = [\"in_place.destages_per_spindle\"]\nsegments = [1]\n",
        "",
    );
    let scenario = Scenario::parse(&text, crate::common::NAME).unwrap();
    assert_eq!(scenario.overhead, None);
    assert_eq!(scenario.arrays[1].fitted, None);
    assert_eq!(scenario.published, None);
}

#[test]
fn spindles_may_fail_and_are_scaled_with_the_segments() {
    let text = changed(
        "\n[[array]]\nname = \"inplace\"",
        "spares = 1\n\n[[array.failure]]\nat = \"2 h\"\nspindle = 4\n[[array.failure]]\nat = \"3 h\"\n\
         spindle = 19\n\n[[array]]\nname = \"inplace\"",
    );
    let scenario = Scenario::parse(&text, crate::common::NAME).unwrap();
    let [anywhere, inplace] = &scenario.arrays[..] else { panic!("{:?}", scenario.arrays) };
    assert!(inplace.failures.is_empty());
    assert_eq!(anywhere.rebuild_steps_in_flight, 2);
    let layout = anywhere.layout.write_anywhere().unwrap();
    assert_eq!(layout.spares, 1);
    let hour_ns = 3_600_000_000_000;
    assert_eq!(anywhere.failures[0], SpindleFailure { at_ns: 2 * hour_ns, spindle: 4 });
    let (smaller, what) = scenario.scaled_down(8);
    assert_eq!(
        smaller.arrays[0].failures[1],
        SpindleFailure { at_ns: 3 * hour_ns / 8, spindle: 19 }
    );
    assert!(
        what.iter().any(|one| one.starts_with("failure of spindle 19 of anywhere")),
        "{what:?}"
    );
}

#[test]
fn an_aggregate_may_have_further_groups_some_of_them_later() {
    let text = changed(
        "\n[[array]]\nname = \"inplace\"",
        "\n[[array.write_anywhere.group]]\ndata_spindles = 4\nparity = \"raid-4\"\n\
         [[array.write_anywhere.group]]\ndata_spindles = 9\nat = \"2 h\"\n\
         [[array.failure]]\nat = \"2 h\"\nspindle = 35\n\n[[array]]\nname = \"inplace\"",
    );
    let scenario = Scenario::parse(&text, crate::common::NAME).unwrap();
    let layout = scenario.arrays[0].layout.write_anywhere().unwrap();
    let groups = layout.groups();
    let hour_ns = 3_600_000_000_000;
    assert_eq!(
        groups
            .iter()
            .map(|group| (group.first_spindle, group.end(), group.from_ns))
            .collect::<Vec<_>>(),
        [(0, 20, 0), (20, 25, 0), (25, 36, 2 * hour_ns)]
    );
    assert_eq!([1, 2].map(|index| groups[index].parity), [Parity::Raid4, Parity::RaidDp]);
    assert_eq!(layout.data_spindles_at_start(), 22);
    // A LUN that the first group alone has no room for.
    let larger = text.replace("lun = \"1000 GB\"", "lun = \"2.7 TB\"");
    Scenario::parse(&larger, crate::common::NAME).unwrap();

    let (smaller, what) = scenario.scaled_down(8);
    let layout = smaller.arrays[0].layout.write_anywhere().unwrap();
    assert_eq!(layout.further_groups[1].at_ns, Some(2 * hour_ns / 8));
    assert!(
        what.iter().any(|one| one.starts_with("addition of parity group 3 of anywhere")),
        "{what:?}"
    );

    let set = [
        ("group.2.at".to_owned(), "90 min".to_owned()),
        ("group.1.data_spindles".to_owned(), "7".to_owned()),
    ];
    let (changed, text) = Scenario::parse_with(&text, crate::common::NAME, &set, &NoFiles)
        .unwrap_or_else(|error| panic!("{error}"));
    let layout = changed.arrays[0].layout.write_anywhere().unwrap();
    assert_eq!(layout.groups()[2].from_ns, hour_ns * 3 / 2);
    assert_eq!(layout.groups()[1].data_spindles, 7);
    assert_eq!(Scenario::parse(&text, "again").unwrap(), changed);
}

#[test]
fn paths_start_from_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let profile = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../spindle/profiles/seagate-cheetah-15k5-st3146855fc.toml");
    std::fs::copy(profile, folder.path().join("drive.toml")).unwrap();
    std::fs::write(folder.path().join("figures.toml"), "").unwrap();
    let text = changed("seed = 7", "seed = 7\npublished = \"figures.toml\"")
        .replace("\"seagate-cheetah-15k5-st3146855fc\"", "\"drive.toml\"");
    let path = folder.path().join("scenario.toml");
    std::fs::write(&path, text).unwrap();

    let scenario = Scenario::load(&path).unwrap();
    assert_eq!(scenario.published, Some(folder.path().join("figures.toml")));
    let spindle = &scenario.arrays[0].spindle;
    let SpindleChoice::File(file) = spindle else { panic!("{spindle:?}") };
    assert_eq!(file.path(), folder.path().join("drive.toml"));
    assert_eq!(spindle.profile().unwrap().name, "seagate-cheetah-15k5-st3146855fc");

    // A file that is not a profile is a problem of the scenario, with its reason.
    std::fs::write(folder.path().join("drive.toml"), "rpm = 0").unwrap();
    let error = Scenario::load(&path).unwrap_err();
    assert_eq!(error.problems().len(), 2);
    assert!(error.problems()[0].message().contains("missing field"), "{error:?}");
}

/// Returns every scenario that ships.
pub fn shipped() -> Vec<Scenario> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "scenarios"].iter().collect();
    let mut loaded = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".toml")
            && !name.ends_with(".published.toml")
            && !name.ends_with(".sensitivity.toml")
        {
            loaded.push(Scenario::load(&path).unwrap());
        }
    }
    loaded
}

#[test]
fn shipped_scenarios() {
    let loaded = shipped();
    let sense = loaded.iter().find(|scenario| scenario.name == "making-sense-of-wafl-4").unwrap();
    let arrays: Vec<&str> = sense.arrays.iter().map(|array| array.name.as_str()).collect();
    assert_eq!(arrays, ["FAS2050", "EVA4400"]);
    assert!(sense.published.as_ref().is_some_and(|path| path.is_file()));
    assert_eq!(sense.overhead.as_ref().unwrap().configurations.len(), 9);
}
