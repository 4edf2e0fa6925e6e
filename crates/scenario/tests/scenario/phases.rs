//! Parts of a run with workloads of their own.

use strewn_scenario::{NoFiles, Scenario, SettingValue};

use crate::common::{GOOD, error_of, refusal};

const AGE_AND_SCAN: &str = include_str!("../../../../scenarios/age-and-scan.toml");

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text, "scenarios/age-and-scan.toml").unwrap()
}

/// The problem of the scenario with the first `from` changed to `to`: its line, field, message and remedy.
fn refused(from: &str, to: &str) -> String {
    assert!(AGE_AND_SCAN.contains(from), "there is no {from:?}");
    refusal(&AGE_AND_SCAN.replacen(from, to, 1))
}

#[test]
fn the_run_is_as_long_as_its_phases() {
    let scenario = parsed(AGE_AND_SCAN);
    assert_eq!(scenario.segments, 1 + 12 + 1 + 12 + 1);
    let of = |segment| scenario.phase_of(segment).map(|phase| phase.name.as_str());
    assert_eq!(
        [1, 2, 13, 14].map(of),
        ["fresh scan", "first ageing", "first ageing", "second scan"].map(Some)
    );
    assert_eq!((of(27), of(28)), (Some("third scan"), None));
    // Never all workloads together: the phase with most counts.
    assert_eq!(scenario.arrays[0].outstanding, 8);
    assert_eq!(Scenario::default().phase_of(1), None);
}

#[test]
fn phases_are_written_and_read_back() {
    let scenario = parsed(AGE_AND_SCAN);
    assert_eq!(parsed(&scenario.to_toml().unwrap()), scenario);
    scenario.check().unwrap();
    let settings = scenario.settings();
    let value = |name: &str| {
        settings.iter().find(|(setting, _)| setting == name).map(|(_, value)| value.clone())
    };
    assert_eq!(value("phase.2.segments"), Some(SettingValue::Count(12)));
    assert_eq!(value("phase.2.workloads"), Some(SettingValue::List(vec!["updates".into()])));
    assert_eq!(value("segments"), None);
    let set = [("phase.2.segments".to_owned(), "3".to_owned())];
    let (changed, text) = Scenario::parse_with(AGE_AND_SCAN, "c.toml", &set, &NoFiles).unwrap();
    assert_eq!((changed.phases[1].segments, changed.segments), (3, 18));
    assert_eq!(parsed(&text), changed);
    let both = [("phase.1.workloads".to_owned(), "[\"scan\", \"updates\"]".to_owned())];
    let (changed, _) = Scenario::parse_with(AGE_AND_SCAN, "c.toml", &both, &NoFiles).unwrap();
    assert_eq!(changed.arrays[0].outstanding, 16);
}

#[test]
fn a_quick_run_has_the_same_phases_of_shorter_segments() {
    let scenario = parsed(AGE_AND_SCAN);
    let (quick, _) = scenario.scaled_down(8);
    assert_eq!((&quick.phases, quick.segments), (&scenario.phases, scenario.segments));
    assert_eq!(quick.segment_ns, scenario.segment_ns / 8);
}

#[test]
fn code_may_change_phases_and_is_told_of_mistakes() {
    let mut scenario = parsed(AGE_AND_SCAN);
    scenario.phases[0].workloads.push("scna".to_owned());
    let error = scenario.check().unwrap_err();
    assert_eq!(error.problems()[0].field(), "phase[fresh scan].workloads");
}

#[test]
fn mistakes_are_refused_with_place_and_remedy() {
    let cases = [
        (
            "workloads = [\"scan\"]",
            "workloads = [\"scna\"]",
            "phase[fresh scan].workloads: there is no workload `scna`; did you mean `scan`?",
        ),
        (
            "workloads = [\"scan\"]",
            "workloads = [\"scan\", \"scan\"]",
            "phase[fresh scan].workloads: `scan` is listed twice; list it once",
        ),
        (
            "workloads = [\"scan\"]",
            "workloads = []",
            "phase[fresh scan].workloads: is empty; write workloads",
        ),
        ("segments = 1\n", "segments = 0\n", "phase[fresh scan].segments: is zero; "),
        (
            "segments = 12\n",
            "",
            "phase[first ageing].segments: is missing; add a line such as segments = 6",
        ),
        (
            "name = \"third scan\"",
            "name = \"second scan\"",
            "phase[5].name: there is another phase `second scan`; results tell phases apart by name",
        ),
        (
            "segment = \"10 min\"",
            "segment = \"10 min\"\nsegments = 27",
            "segments: is given beside [[phase]], each of which has its own; leave it out here",
        ),
        (
            "[[phase]]\nname = \"fresh scan\"",
            "[[workload]]\nname = \"idle\"\nlun = \"database\"\nfile = \"1 GiB\"\noutstanding = 1\n\
             access_specification = \"file-server\"\n[[phase]]\nname = \"fresh scan\"",
            "workload[idle].name: no phase runs the workload; name it in the `workloads` of a [[phase]], or leave it out",
        ),
        (
            "name = \"updates\"\n",
            "name = \"updates\"\narrays = [\"FAS2050\"]\n",
            "phase[first ageing].workloads: no workload of the phase runs on array `EVA4400`; add one that does, or \
             \"EVA4400\" to",
        ),
        (
            "name = \"fresh scan\"\n",
            "name = \"fresh scan\"\nlenght = 3\n",
            "phase[fresh scan].lenght: unknown key; ",
        ),
    ];
    for (from, to, problem) in cases {
        let text = AGE_AND_SCAN.replacen(from, to, 1);
        assert_ne!(text, AGE_AND_SCAN, "there is no {from:?}");
        let error = error_of(&text);
        let found: Vec<String> = error
            .problems()
            .iter()
            .map(|problem| format!("{problem}; {}", problem.help()))
            .collect();
        assert!(found.iter().any(|one| one.starts_with(problem)), "{problem}\n{found:#?}");
    }
    let unknown = refused("workloads = [\"scan\"]", "workloads = [\"scna\"]");
    assert!(unknown.contains("there is no workload `scna`"), "{unknown}");
    let line = AGE_AND_SCAN.lines().position(|line| line == "name = \"third scan\"").unwrap() + 1;
    let twice = refused("name = \"third scan\"", "name = \"fresh scan\"");
    assert!(twice.starts_with(&format!("{line} phase[5].name: ")), "{twice}");
}

#[test]
fn phases_of_a_workload_without_a_name_are_refused_once() {
    let phases = "[[phase]]\nname = \"a\"\nsegments = 1\nworkloads = [\"x\"]\n\
                  [[phase]]\nname = \"b\"\nsegments = 1\nworkloads = [\"x\"]\n[workload]";
    let text = GOOD.replacen("[workload]", phases, 1);
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("segments =") || line.ends_with(" 1"))
        .fold(String::new(), |text, line| text + line + "\n");
    let text: String = text.replace("published = ", "# published = ");
    let error = error_of(&text);
    let fields: Vec<&str> = error.problems().iter().map(strewn_scenario::Problem::field).collect();
    assert_eq!(fields.iter().filter(|field| **field == "workload").count(), 1, "{error:?}");
    assert!(
        error.problems().iter().any(|one| one.help().starts_with("write [[workload]] with a name"))
    );
}

#[test]
fn more_phases_than_a_host_keeps_are_refused() {
    let text = |count: usize| {
        let (before, rest) = AGE_AND_SCAN.split_once("[[phase]]").unwrap();
        let more: String = (0..count)
            .map(|number| {
                format!("[[phase]]\nname = \"{number}\"\nsegments = 1\nworkloads = [\"scan\"]\n")
            })
            .collect();
        format!("{before}{more}[[phase]]{rest}")
    };
    parsed(&text(27));
    assert!(refusal(&text(28)).contains("phase: there are 33 phases; give at most 32"));
}
