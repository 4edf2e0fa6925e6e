//! `strewn new`, and what a scenario need not give.

use crate::common::{Folder, PROJECT};
use strewn::results::Results;
use strewn::scenario::{Scenario, Template};

#[test]
fn a_new_scenario_runs_as_it_is() {
    let folder = Folder::new();
    for (name, from, arrays) in [
        ("first", &[][..], &["FAS2050", "EVA4400"][..]),
        ("filer", &["--from", "fas2050"], &["FAS2050"]),
        ("block", &["--from", "eva4400"], &["EVA4400"]),
    ] {
        let said = folder.strewn(&[&["new", name], from].concat()).succeeded();
        assert!(said.contains(&format!("strewn run {name}.toml --quick")), "{said}");
        let text = folder.read(&format!("{name}.toml"));
        assert!(text.lines().filter(|line| line.contains('#')).count() > 8, "{text}");
        let run = ["run", &format!("{name}.toml"), "--quick", "--segments", "1", "--json"];
        let run = [&run[..], &["--set", "segment=16 s"]].concat();
        let results = Results::from_json(&folder.strewn(&run).succeeded()).unwrap();
        let names: Vec<&str> = results.arrays.iter().map(|array| array.name.as_str()).collect();
        assert_eq!(names, arrays);
    }
    let said = folder.strewn(&["new", "two words"]).succeeded();
    assert!(said.contains("strewn run 'two words.toml' --quick"), "{said}");
    folder.strewn(&["new", "first"]).refused(&["first.toml is there already"]);
    folder.strewn(&["new", "none/first"]).refused(&["cannot write none/first.toml"]);
    folder.strewn(&["new", "first", "--from", "fas9000"]).refused(&["fas2050"]);
}

#[test]
fn every_template_is_listed_and_runs_as_it_is() {
    let folder = Folder::new();
    let list = folder.strewn(&["new", "--list"]).succeeded();
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), Template::ALL.len(), "{list}");
    for (template, line) in Template::ALL.iter().zip(lines) {
        let (name, compares) = line.split_once(' ').unwrap();
        assert_eq!((name, compares.trim()), (template.name, template.compares));
        assert!(line.len() <= 100, "{line}");

        let printed = folder.strewn(&["new", "--from", name, "--out", "-"]);
        match template.published(name) {
            None => assert_eq!(printed.succeeded(), template.scenario(name)),
            Some(_) => printed.refused(&["two files", "--out my-array.toml"]),
        }
        let said = folder.strewn(&["new", "--from", name, "--out", "mine.of"]).succeeded();
        assert!(said.contains("Try it: strewn run mine.of --quick"), "{said}");
        folder.strewn(&["new", "--from", name]).succeeded();
        let text = folder.read(&format!("{name}.toml"));
        assert!(text.contains(&format!("strewn run {name}.toml --quick")), "{text}");
        assert_eq!(folder.read("mine.of"), template.scenario("mine"));
        let published = template.published(name).map(|(file, text)| (folder.read(&file), text));
        assert!(published.is_none_or(|(written, text)| written == text));

        // What is said on standard error, such as a warning, would fail it.
        let run = ["run", &format!("{name}.toml"), "--scale-down", "64", "--json"];
        let results = Results::from_json(&folder.strewn(&run).succeeded()).unwrap();
        assert_eq!(results.scenario, name);
        assert!(results.arrays.iter().all(|array| !array.segments.is_empty()));
        for file in ["mine.of", "mine.published.toml"] {
            let _ = std::fs::remove_file(folder.path(file));
        }
    }
}

#[test]
fn a_template_that_is_not_there_is_refused_with_the_nearest() {
    let folder = Folder::new();
    for (slip, meant) in
        [("raid5", "raid-5"), ("ageing", "aging"), ("raid-level", "raid-levels"), ("bth", "both")]
    {
        let refused = folder.strewn(&["new", "--from", slip]);
        refused.refused(&[&format!("invalid value '{slip}'")]);
        let tip = refused.stderr.lines().find(|line| line.contains("tip:"));
        assert!(tip.is_some_and(|tip| tip.contains(&format!("'{meant}'"))), "{}", refused.stderr);
    }
}

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = Folder::new();
    folder.strewn(&["new"]).refused(&["NAME"]);
    folder.strewn(&["new", "one", "--out", "two.toml"]).refused(&["--out"]);
    folder.strewn(&["new", "--list", "--force"]).refused(&["--list"]);
    folder.write("mine.published.toml", "my own");
    let published = ["new", "mine", "--from", "published"];
    folder.strewn(&published).refused(&["mine.published.toml is there already", "--force"]);
    assert!(!folder.path("mine.toml").exists());
    folder.write("mine.toml", "my own");
    folder.strewn(&["new", "mine"]).refused(&["mine.toml is there already", "--force"]);
    folder.strewn(&["new", "--out", "mine.toml"]).refused(&["mine.toml is there already"]);
    assert_eq!((folder.read("mine.toml"), folder.read("mine.published.toml")), own());

    let said = folder.strewn(&[&published[..], &["--force"]].concat()).succeeded();
    assert!(said.contains("Written to mine.toml and mine.published.toml."), "{said}");
    let text = folder.read("mine.toml");
    assert!(text.contains("published = \"mine.published.toml\""), "{text}");
}

fn own() -> (String, String) {
    ("my own".to_owned(), "my own".to_owned())
}

/// The constants of the published experiment are those of the shipped scenario, and what is fitted too.
#[test]
fn the_published_template_is_the_shipped_experiment() {
    let folder = Folder::new();
    folder.strewn(&["new", "--from", "published"]).succeeded();
    let new = Scenario::load(folder.path("published.toml")).unwrap();
    let shipped = format!("{PROJECT}/scenarios/making-sense-of-wafl-4.toml");
    let shipped = Scenario::load(shipped).unwrap();
    assert_eq!(new.arrays, shipped.arrays);
    assert_eq!(new.workloads, shipped.workloads);
    assert_eq!((new.segments, new.segment_ns), (shipped.segments, shipped.segment_ns));
}

/// With `STREWN_WRITE_DOCS=1` it writes the table.
#[test]
fn the_table_of_templates_in_the_documents_is_current() {
    let path = format!("{PROJECT}/docs/scenarios.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let row = |one: &Template| format!("| `{}` | {} |\n", one.name, one.compares);
    let rows: String = Template::ALL.iter().map(row).collect();
    let [begin, end] = ["<!-- templates -->\n", "<!-- end of templates -->"];
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let current = format!("{before}{begin}| template | |\n|---|---|\n{rows}{end}{after}");
    if std::env::var_os("STREWN_WRITE_DOCS").is_some() {
        std::fs::write(&path, current).unwrap();
    } else {
        let help = "STREWN_WRITE_DOCS=1 cargo test --test command -- new::the_table";
        assert!(text == current, "docs/scenarios.md is not current: {help}");
    }
}

/// The controllers that ship are those of the shipped scenario, to the last digit.
#[test]
fn controllers_are_those_of_the_shipped_scenario() {
    let folder = Folder::new();
    folder.strewn(&["new", "first"]).succeeded();
    let new = Scenario::load(folder.path("first.toml")).unwrap();
    let shipped = format!("{PROJECT}/scenarios/making-sense-of-wafl-4.toml");
    let shipped = Scenario::load(shipped).unwrap();
    for (new, shipped) in new.arrays.iter().zip(&shipped.arrays) {
        let mut new = new.clone();
        new.fitted.clone_from(&shipped.fitted);
        assert_eq!(new, *shipped);
    }
}

#[test]
fn an_array_needs_no_more_than_what_makes_it_itself() {
    let folder = Folder::new();
    folder.write(
        "short.toml",
        "schema = 1\nname = \"short\"\ntitle = \"short\"\nseed = 1\nsegments = 1\nsegment = \"10 s\"\n\
         [workload]\naccess_specification = \"file-server\"\nfile = \"256 MiB\"\n\
         [[array]]\nname = \"a\"\noutstanding = 8\nlun = \"1 GiB\"\n\
         [array.processor]\nhost_operation = \"50 us\"\nspindle_command = \"50 us\"\nper_kib = \"0.5 us\"\n\
         [array.write_anywhere]\ndata_spindles = 4\nright_sized = \"1 GiB\"\n\
         [[array]]\nname = \"b\"\ncontroller = \"fas2050\"\noutstanding = 8\nlun = \"1 GiB\"\n\
         [array.write_anywhere]\npolicy = \"first-fit\"\n",
    );
    let explained = folder.strewn(&["run", "short.toml", "--explain"]).succeeded();
    let has = |line: &str| {
        let squeezed: Vec<String> = explained
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(squeezed.iter().any(|found| found == line), "no {line} in {explained}");
    };
    has("array.a.scheduler = sptf (default)");
    has("array.a.write_anywhere.chunk_blocks = 64 (default)");
    has("array.a.write_anywhere.data_spindles = 4");
    has("array.b.write_anywhere.data_spindles = 18 (controller fas2050)");
    has("array.b.write_anywhere.spares = 0 (default)");
    has("array.b.write_anywhere.policy = first-fit");
    has("array.b.processor.host_operation = 66179 ns (controller fas2050)");
    folder.strewn(&["run", "short.toml"]).succeeded();
    let explained = folder.strewn(&["run", "short.toml", "--explain", "--seed", "7"]).succeeded();
    assert_eq!(
        explained.lines().find(|line| line.starts_with("seed")).unwrap().trim_end().chars().last(),
        Some('7')
    );

    let wrong = folder.read("short.toml").replace("fas2050", "fas2060");
    folder.write("wrong.toml", &wrong);
    let refused = folder.strewn(&["run", "wrong.toml"]);
    refused.refused(&["`fas2060` is not known", "did you mean `fas2050`?"]);
    // What the controller would have given is not said to be missing.
    assert!(!refused.stderr.contains("missing"), "{}", refused.stderr);
    let wrong = folder.read("short.toml").replace("policy =", "polcy =");
    folder.write("wrong.toml", &wrong);
    folder.strewn(&["run", "wrong.toml"]).refused(&["did you mean `policy`?"]);
}

#[test]
fn results_say_where_numbers_come_from_as_explain_does() {
    let folder = Folder::new();
    let published = "title = \"Rows\"\nauthor = \"a test\"\nyear = 2026\n[[row]]\nname = \"b\"\narray = \"b\"\n\
                     metric = \"iops\"\nfigure = 10.0\n";
    folder.write("short.published.toml", published);
    folder.write(
        "short.toml",
        "schema = 1\nname = \"short\"\ntitle = \"short\"\nseed = 1\nsegments = 1\nsegment = \"10 s\"\n\
         published = \"short.published.toml\"\n\
         [workload]\naccess_specification = \"file-server\"\nfile = \"256 MiB\"\n\
         [[array]]\nname = \"a\"\ncontroller = \"fas2050\"\noutstanding = 8\nlun = \"1 GiB\"\n\
         [array.write_anywhere]\nbuffer_cache = \"1 GiB\"\n\
         [[array]]\nname = \"b\"\noutstanding = 8\nlun = \"1 GiB\"\n\
         [array.processor]\nhost_operation = \"50 us\"\nspindle_command = \"50 us\"\nper_kib = \"0.5 us\"\n\
         [array.in_place]\nlayout = \"raid-5\"\nspindles = 4\n\
         [[fitted]]\nparameter = \"b.processor.host_operation\"\nrows = [\"b\"]\n",
    );
    // At full scale the run would find that it is not fitted.
    folder.strewn(&["run", "short.toml", "--scale-down", "2", "--out", "out"]).succeeded();
    let results = Results::from_json(&folder.read("out/results.json")).unwrap();
    let explained = folder.strewn(&["run", "short.toml", "--explain"]).succeeded();
    let page = folder.read("out/report.html");
    for (array, name, source) in [
        (0, "processor.host_operation", "controller fas2050"),
        (0, "write_anywhere.buffer_cache", "scenario"),
        (0, "write_anywhere.protected_percent", "controller fas2050"),
        (1, "processor.host_operation", "fitted"),
        (1, "processor.spindle_command", "scenario"),
        (1, "in_place.write_cache", "default"),
        (1, "commands_per_spindle", "default"),
    ] {
        let array = &results.arrays[array];
        let parameter = array.parameters.iter().find(|one| one.name == name).unwrap();
        assert_eq!(parameter.source, source, "{} {name}", array.name);
        assert_eq!(parameter.fitted, source == "fitted", "{} {name}", array.name);
        let full = format!("array.{}.{name}", array.name);
        let line = explained.lines().find(|line| line.starts_with(&format!("{full} "))).unwrap();
        let from_file = source == "scenario";
        assert_eq!(line.ends_with(&format!("   ({source})")), !from_file, "{line}");
        let own = results.setting_sources.get(&full);
        assert_eq!(own.map_or("scenario", String::as_str), source, "{full}");
    }
    assert!(page.contains("neither gives it"));
    // Results of older versions say "scenario" of what they do not know to be fitted.
    let older = Results { setting_sources: Default::default(), ..results };
    folder.write("out/results.json", &older.to_json_string().unwrap());
    // It is of the results that were there before.
    std::fs::remove_file(folder.path("out/provenance.json")).unwrap();
    folder.strewn(&["report", "out"]).succeeded();
    assert!(!folder.read("out/report.html").contains("neither gives it"));
    // A switch is listed too.
    let row = page.split("in_place.full_stripe_destage").nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert!(row.contains("default") && !row.contains("scenario"), "{row}");
    let full = folder.strewn(&["run", "short.toml", "--json"]).succeeded();
    let full = Results::from_json(&full).unwrap();
    assert!(full.fitted_settings[0].off_percent.is_some(), "{full:?}");
    assert_eq!(full.arrays[1].parameters.iter().find(|one| one.fitted), None);
}
