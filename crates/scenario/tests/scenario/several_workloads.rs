//! Workloads with names, on LUNs with names.

use strewn_scenario::{NoFiles, Scenario, SettingValue};

use crate::common::{GOOD, error_of, refusal};

const CONSOLIDATION: &str = include_str!("../../../../scenarios/consolidation.toml");

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text, "scenarios/consolidation.toml").unwrap()
}

/// The problem of the scenario with the first `from` changed to `to`: its line, field, message and remedy.
fn refused(from: &str, to: &str) -> String {
    assert!(CONSOLIDATION.contains(from), "there is no {from:?}");
    refusal(&CONSOLIDATION.replacen(from, to, 1))
}

#[test]
fn workloads_work_on_the_luns_that_they_name() {
    let scenario = parsed(CONSOLIDATION);
    let array = scenario.array("FAS2050").unwrap();
    assert_eq!(array.outstanding, 48 + 2 + 8 + 1);
    let files: Vec<u64> =
        array.luns.iter().map(|lun| scenario.file_bytes_of(array, lun) >> 30).collect();
    assert_eq!(files, [60, 40, 8]);
    assert_eq!((scenario.file_bytes(array) >> 30, array.lun_bytes()), (108, 420_000_000_000));
    let volumes: Vec<_> = array.luns.iter().map(|lun| lun.volume.as_deref()).collect();
    assert_eq!(volumes, [Some("files"), Some("databases"), Some("databases")]);
}

#[test]
fn a_scenario_of_several_workloads_is_written_and_read_back() {
    let scenario = parsed(CONSOLIDATION);
    assert_eq!(parsed(&scenario.to_toml().unwrap()), scenario);
    scenario.check().unwrap();
    let settings = scenario.settings();
    let value = |name: &str| {
        let found = settings.iter().find(|(setting, _)| setting == name);
        found.unwrap_or_else(|| panic!("no {name}: {settings:?}")).1.clone()
    };
    assert_eq!(value("workload.4.name"), SettingValue::Text("log".into()));
    assert_eq!(value("workload.4.access.1.bytes"), SettingValue::Text("64 KiB".into()));
    assert_eq!(value("array.FAS2050.lun.2.size"), SettingValue::Text("200 GB".into()));
    assert!(settings.iter().all(|(name, _)| name != "array.FAS2050.outstanding"));
    let set = [("workload.1.outstanding".to_owned(), "4".to_owned())];
    let (changed, _) = Scenario::parse_with(CONSOLIDATION, "c.toml", &set, &NoFiles).unwrap();
    assert_eq!(changed.arrays[1].outstanding, 4 + 2 + 8 + 1);
}

#[test]
fn files_and_luns_are_scaled_down_one_by_one() {
    let (scaled, changes) = parsed(CONSOLIDATION).scaled_down(8);
    let files: Vec<u64> = scaled.workloads.iter().map(|one| one.file_bytes >> 20).collect();
    assert_eq!(files, [7_680, 5_120, 5_120, 1_024]);
    assert!(changes.contains(&"file of log 8 GiB -> 1 GiB".to_owned()), "{changes:?}");
    assert!(changes.iter().any(|change| change.starts_with("LUN log of EVA4400 20 GB ->")));
}

#[test]
fn a_workload_may_run_on_some_arrays_only() {
    let only = "arrays = [\"FAS2050\"]\nlun = \"log\"";
    let text = CONSOLIDATION.replacen("lun = \"log\"", only, 1);
    // The LUN that nothing works on is the last of the last array.
    let (text, _) = text.rsplit_once("[[array.lun]]").unwrap();
    let scenario = parsed(text);
    assert_eq!((scenario.arrays[0].outstanding, scenario.arrays[1].outstanding), (59, 58));
    assert_eq!(parsed(&scenario.to_toml().unwrap()), scenario);
}

#[test]
fn mistakes_are_refused_with_place_and_remedy() {
    let cases = [
        (
            "name = \"warehouse updates\"",
            "name = \"log\"",
            "workload[4].name: there is another workload `log`; results tell workloads apart by name",
        ),
        (
            "lun = \"log\"",
            "lun = \"lgo\"",
            "workload[log].lun: array `FAS2050` has no LUN `lgo`; did you mean `log`?",
        ),
        (
            "name = \"log\"\nsize = \"20 GB\"\nvolume",
            "name = \"files\"\nsize = \"20 GB\"\nvolume",
            "array[FAS2050].lun[3].name: another LUN of this array has the same name",
        ),
        (
            "file = \"60 GiB\"",
            "file = \"600 GiB\"",
            "workload[file server].file: a file of 600 GiB is larger than the LUN of FAS2050, 200 GB",
        ),
        (
            "controller = \"fas2050\"\n",
            "controller = \"fas2050\"\noutstanding = 3\n",
            "array[FAS2050].outstanding: is given beside the outstanding operations of each [[workload]]; leave it out here",
        ),
        (
            "controller = \"eva4400\"\n\n[[array.lun]]\n",
            "controller = \"eva4400\"\n[[array.lun]]\nvolume = \"a\"\n",
            "array[EVA4400].lun[1].volume: an array in place has no volumes; leave the key out",
        ),
        (
            "size = \"200 GB\"",
            "size = \"3 TB\"",
            "array[FAS2050].lun: 3 LUNs of 3220 GB together are larger than the array's usable 2.1 TiB",
        ),
        (
            "lun = \"files\"",
            "arrays = [\"FAS2040\"]\nlun = \"files\"",
            "workload[file server].arrays: there is no array `FAS2040`; did you mean `FAS2050`?",
        ),
        ("outstanding = 48\n", "", "workload[file server].outstanding: is missing"),
        (
            "operations_per_second = 300",
            "operations_per_second = 0",
            "workload[warehouse updates].operations_per_second: is zero",
        ),
    ];
    for (from, to, problem) in cases {
        let text = CONSOLIDATION.replacen(from, to, 1);
        assert_ne!(text, CONSOLIDATION, "there is no {from:?}");
        let error = error_of(&text);
        let found: Vec<String> = error
            .problems()
            .iter()
            .map(|problem| format!("{problem}; {}", problem.help()))
            .collect();
        assert!(found.iter().any(|one| one.starts_with(problem)), "{problem}\n{found:#?}");
    }
}

#[test]
fn what_is_to_be_written_is_toml() {
    let wrong = |from: &str, to: &str| {
        let error = error_of(&CONSOLIDATION.replacen(from, to, 1));
        error.problems().iter().map(|problem| problem.help().to_owned()).collect::<Vec<_>>()
    };
    let fas2050 = "controller = \"fas2050\"\n";
    let snapshots = format!("{fas2050}[array.write_anywhere]\nsnapshots = true\n");
    let helps = wrong(fas2050, &snapshots);
    assert_eq!(helps, ["write [array.write_anywhere.snapshots] and its keys below"]);
    let helps = wrong(fas2050, &format!("{fas2050}[array.write_anywhere.group]\n"));
    assert_eq!(helps, ["write [[array.write_anywhere.group]] before the keys of each"]);
    let (without_luns, _) = CONSOLIDATION.split_once("[[array.lun]]").unwrap();
    let helps: Vec<_> =
        error_of(without_luns).problems().iter().map(|one| one.help().to_owned()).collect();
    assert_eq!(
        helps,
        ["add [[array.lun]] with the name and the size of each LUN that workloads work on"]
    );
}

#[test]
fn more_workloads_than_are_measured_are_refused() {
    let (before, array) = CONSOLIDATION.split_once("[[array]]").unwrap();
    let more = |number: u32| {
        format!(
            "[[workload]]\nname = \"{number}\"\nlun = \"log\"\noutstanding = 1\nfile = \"1 GiB\"\n\
             access_specification = \"file-server\"\n"
        )
    };
    let text = |count: u32| {
        let more: String = (0..count).map(more).collect();
        format!("{before}{more}[[array]]{array}")
    };
    parsed(&text(60));
    assert!(refusal(&text(61)).contains("there are 65 workloads; 64 are the most"));
}

#[test]
fn luns_with_names_and_a_workload_without_one_do_not_go_together() {
    let lun = |name| format!("[[array.lun]]\nname = \"{name}\"\nsize = \"500 GB\"\n");
    let luns = lun("a") + &lun("b");
    let text = GOOD.replacen("lun = \"1000 GB\"\n", "", 1);
    let (before, after) = text.split_once("[array.processor]").unwrap();
    let text = format!("{before}{luns}[array.processor]{after}");
    let problem = refusal(&text);
    assert!(
        problem.contains("there are LUNs with names, and [workload] works on none"),
        "{problem}"
    );
    let idle = refused(
        "[[array.lun]]\nname = \"log\"",
        "[[array.lun]]\nname = \"idle\"\nsize = \"1 GB\"\n[[array.lun]]\nname = \"log\"",
    );
    assert!(idle.contains("array[FAS2050].lun: no workload works on LUN `idle`"), "{idle}");
}
