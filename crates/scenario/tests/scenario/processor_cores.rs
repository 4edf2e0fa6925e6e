//! Processors with several cores, and what of their work is serialized.

use strewn_scenario::{ProcessorWork, Scenario};

use crate::common::refusal;

const CORES: &str = r#"
schema = 1
name = "cores"
title = "Cores"
seed = 1
segments = 1
segment = "10 s"

[workload]
access_specification = "file-server"
file = "1 GiB"

[[array]]
name = "EVA4400"
controller = "eva4400"
outstanding = 4
lun = "2 GiB"

[array.processor]
cores = 4
serial_domains = [["operations", "network"], ["commands"]]
"#;

#[test]
fn domains_are_read_and_are_a_filers_by_default() {
    let processor =
        |text: &str| Scenario::parse(text, "cores.toml").unwrap().arrays.remove(0).processor;
    use ProcessorWork::{Commands, Network, Operations};
    let given = processor(CORES);
    assert_eq!(given.cores, 4);
    assert_eq!(given.serial_domains, [vec![Operations, Network], vec![Commands]]);
    let line = "serial_domains = [[\"operations\", \"network\"], [\"commands\"]]\n";
    let default = processor(&CORES.replace(line, ""));
    assert_eq!(default.serial_domains, [vec![Operations, Commands]]);
    let none = processor(&CORES.replace(line, "serial_domains = []\n"));
    assert!(none.serial_domains.is_empty());
}

#[test]
fn what_is_wrong_with_cores_is_said_with_its_place() {
    let key = "array[EVA4400].processor.serial_domains: ";
    for (from, to, expected) in [
        (
            "cores = 4",
            "cores = 0",
            "array[EVA4400].processor.cores: is zero; give one or more".into(),
        ),
        (
            "cores = 4",
            "cores = 5000",
            "array[EVA4400].processor.cores: is 5000; give at most 1024".into(),
        ),
        (
            "cores = 4\n",
            "",
            format!("{key}one core does one thing at a time in any case; leave the key out"),
        ),
        ("[\"commands\"]", "[\"comands\"]", format!("{key}`comands` is not known here; did you")),
        ("[\"commands\"]", "[\"network\"]", format!("{key}has `network` twice; give each kind")),
        ("[\"commands\"]", "\"commands\"", format!("{key}has a domain that is not an array")),
        ("[\"commands\"]", "[]", format!("{key}has a domain that is not an array")),
        (
            "[[\"operations\", \"network\"], [\"commands\"]]",
            "\"operations\"",
            format!("{key}is a string, not an array of arrays; write serial_domains = [["),
        ),
    ] {
        let refusal = refusal(&CORES.replacen(from, to, 1));
        let (_, problem) = refusal.split_once(' ').unwrap();
        assert!(problem.starts_with(&expected), "{problem:?} instead of {expected:?}");
    }
}
