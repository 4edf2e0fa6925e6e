//! Hosts by name, each with links of its own before those that it shares.

use strewn_scenario::{NoFiles, Scenario};

use crate::common::refusal;

/// Two hosts, each with a link and a workload of its own, behind one more link.
pub const TWO_HOSTS: &str = r#"
schema = 1
name = "two-hosts"
title = "Two hosts share a link"
seed = 1
segments = 1
segment = "10 s"

[[host]]
name = "one"
path = ["one"]
cores = 4

[[host]]
name = "other"
path = ["other"]

[[link]]
name = "one"
kind = "ethernet-1g"

[[link]]
name = "other"
kind = "ethernet-100m"

[[link]]
name = "shared"
kind = "ethernet-1g"

[[workload]]
name = "first"
lun = "data"
host = "one"
outstanding = 4
access_specification = "file-server"
file = "1 GiB"

[[workload]]
name = "second"
lun = "data"
host = "other"
outstanding = 4
access_specification = "file-server"
file = "1 GiB"

[[array]]
name = "EVA4400"
controller = "eva4400"

[[array.lun]]
name = "data"
size = "2 GiB"

[array.front_end]
protocol = "iscsi"
path = ["shared"]
"#;

#[test]
fn parts_that_do_nothing_are_warned_of() {
    let idle = TWO_HOSTS.replace(
        "[[host]]\nname = \"one\"",
        "[[link]]\nname = \"idle\"\nkind = \"fc-4g\"\n[[host]]\nname = \"one\"",
    );
    let warnings = Scenario::parse(&idle, "two-hosts.toml").unwrap().warnings();
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("link[idle] is in no path"),
        "{warnings:?}"
    );
    let failover =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/failover.toml");
    let text = std::fs::read_to_string(failover).unwrap();
    assert_eq!(Scenario::parse(&text, "failover.toml").unwrap().warnings(), Vec::<String>::new());
    let lopsided = text.replace("controller = 2\n", "controller = 1\n");
    let warnings = Scenario::parse(&lopsided, "failover.toml").unwrap().warnings();
    assert!(warnings[0].contains("no LUN at controller 2"), "{warnings:?}");
}

/// With fewer segments, what happens later is left out, and is no error.
#[test]
fn fewer_segments_may_end_before_links_fail_and_partners_take_over() {
    let down = TWO_HOSTS.replace("segments = 1\n", "segments = 4\n").replace(
        "kind = \"ethernet-100m\"\n",
        "kind = \"ethernet-100m\"\ndown = \"30 s\"\nup = \"33 s\"\n",
    );
    let mut scenario = Scenario::parse(&down, "two-hosts.toml").unwrap();
    scenario.segments = 1;
    assert_eq!(scenario.check().map_err(|error| error.to_string()), Ok(()));
    let (scaled, changes) = scenario.scaled_down(8);
    assert_eq!(scaled.links.iter().find_map(|link| link.down_ns), Some(3_750_000_000));
    assert!(changes.iter().any(|change| change.starts_with("timers of links")), "{changes:?}");
}

#[test]
fn workloads_belong_to_hosts() {
    let scenario = Scenario::parse(TWO_HOSTS, "two-hosts.toml").unwrap();
    let hosts: Vec<_> = scenario.hosts.iter().map(|host| (&*host.name, host.cores)).collect();
    assert_eq!(hosts, [("one", 4), ("other", 1)]);
    let of: Vec<_> =
        scenario.workloads.iter().map(|one| scenario.host_of("EVA4400", one)).collect();
    assert_eq!(of, [0, 1]);
}

/// The second host is on Fibre Channel, with an array of its own.
#[test]
fn a_host_takes_part_only_where_it_has_a_workload() {
    let text = TWO_HOSTS
        .replace("kind = \"ethernet-100m\"", "kind = \"fc-4g\"")
        .replace(
            "lun = \"data\"\nhost = \"one\"",
            "lun = \"data\"\narrays = [\"EVA4400\"]\nhost = \"one\"",
        )
        .replace(
            "lun = \"data\"\nhost = \"other\"",
            "lun = \"data\"\narrays = [\"FC\"]\nhost = \"other\"",
        );
    let on_fibre_channel = "
[[link]]
name = \"to the array\"
kind = \"fc-4g\"

[[array]]
name = \"FC\"
controller = \"eva4400\"
[[array.lun]]
name = \"data\"
size = \"2 GiB\"
[array.front_end]
protocol = \"fcp\"
path = [\"to the array\"]
";
    let scenario = Scenario::parse(&(text + on_fibre_channel), "two-hosts.toml").unwrap();
    let names = |array| -> Vec<&str> {
        scenario.hosts_of(array).into_iter().map(|host| host.name.as_str()).collect()
    };
    assert_eq!((names("EVA4400"), names("FC")), (vec!["one"], vec!["other"]));
    assert_eq!(scenario.host_of("FC", &scenario.workloads[1]), 0);
}

#[test]
fn links_with_a_rate_of_their_own_and_workloads_with_an_end() {
    let text = TWO_HOSTS
        .replacen("kind = \"ethernet-1g\"", "kind = \"ethernet-1g\"\nper_second = \"50 MB\"", 1)
        .replacen("file = \"1 GiB\"", "file = \"1 GiB\"\ntotal = \"3 GiB\"", 1);
    let scenario = Scenario::parse(&text, "two-hosts.toml").unwrap();
    assert_eq!(scenario.links[0].bytes_per_second, Some(50_000_000));
    assert_eq!(scenario.workloads[0].total_bytes, Some(3 << 30));
    assert_eq!(scenario.scaled_down(8).0.workloads[0].total_bytes, Some(3 << 27));
    // By the name of the link, where several have it.
    let set = [("link.one.per_second".to_owned(), "60 MB".to_owned())];
    let (scenario, _) = Scenario::parse_with(&text, "two-hosts.toml", &set, &NoFiles).unwrap();
    assert_eq!(scenario.links[0].bytes_per_second, Some(60_000_000));
    let set = [("host_read_per_kib".to_owned(), "2 us".to_owned())];
    let (scenario, _) = Scenario::parse_with(&text, "two-hosts.toml", &set, &NoFiles).unwrap();
    let cost = scenario.arrays[0].front_end.as_ref().unwrap().host_per_kib;
    assert_eq!((cost.read_ns(), cost.write_ns()), (2_000.0, 0.0));
}

/// The only problem of the scenario with the first `from` changed to `to`, without its line.
fn refused(from: &str, to: &str) -> String {
    assert!(TWO_HOSTS.contains(from), "there is no {from:?}");
    let refusal = refusal(&TWO_HOSTS.replacen(from, to, 1));
    refusal.split_once(' ').unwrap().1.to_owned()
}

#[test]
fn what_is_wrong_with_hosts_is_said_with_its_place() {
    for (from, to, expected) in [
        (
            "kind = \"ethernet-100m\"\n",
            "kind = \"ethernet-100m\"\nper_second = \"0 B\"\n",
            "link[other].per_second: is zero; give a size of one byte or more",
        ),
        (
            "file = \"1 GiB\"\n",
            "file = \"1 GiB\"\ntotal = \"0 B\"\n",
            "workload[first].total: is zero; give a size of one byte or more",
        ),
        (
            "host = \"one\"\n",
            "",
            "workload[first].name: there are hosts, and it is not said which one has the workload; \
             add host = \"one\", or another one",
        ),
        (
            "host = \"other\"",
            "host = \"othre\"",
            "workload[second].host: there is no host `othre`; did you mean `other`?",
        ),
        (
            "path = [\"other\"]",
            "path = [\"otter\"]",
            "host[other].path: there is no link `otter`; did you mean `other`?",
        ),
        ("path = [\"other\"]", "path = []", "host[other].path: "),
        ("cores = 4", "cores = 0", "host[one].cores: is zero; give one or more"),
        ("cores = 4", "core = 4", "host[one].core: unknown key; did you mean `cores`?"),
        (
            "path = [\"shared\"]",
            "path = [\"one\"]",
            "array[EVA4400].front_end.path: the link `one` is in the path of host `one` already; \
             leave it out here or there",
        ),
        (
            "kind = \"ethernet-100m\"",
            "kind = \"fc-2g\"",
            "array[EVA4400].front_end.path: a link of kind fc-2g from host `other` does not carry this \
             protocol; it goes over Ethernet or InfiniBand",
        ),
        (
            "kind = \"ethernet-100m\"",
            "kind = \"ethernet-1g-jumbo\"",
            "array[EVA4400].front_end.path: its links from host `other` have frames of different sizes",
        ),
        (
            "path = [\"shared\"]",
            "path = [\"shared\"]\nhost_cores = 2",
            "array[EVA4400].front_end.host_cores: is given beside [[host]], each of which has its own; \
             leave it out here",
        ),
        (
            "[array.front_end]\nprotocol = \"iscsi\"\npath = [\"shared\"]\n",
            "",
            "array[EVA4400].front_end: there are several hosts, and no way from them to the array; \
             add [array.front_end]",
        ),
        (
            "[[link]]\nname = \"one\"",
            "[[host]]\nname = \"idle\"\n[[link]]\nname = \"one\"",
            "host[idle].name: it has no workload; add a [[workload]] with host = \"idle\"",
        ),
    ] {
        let refused = refused(from, to);
        assert!(refused.starts_with(expected), "{refused:?} instead of {expected:?}");
    }
}

#[test]
fn hosts_of_the_same_name_are_refused() {
    let text = TWO_HOSTS.replace("name = \"other\"\npath", "name = \"one\"\npath");
    let text = text.replace("host = \"other\"", "host = \"one\"");
    let refusal = refusal(&text);
    assert!(refusal.contains("host[2].name: another host has the same name"), "{refusal}");
}

#[test]
fn a_host_without_hosts_is_refused() {
    let text = TWO_HOSTS.replace("[[host]]\nname = \"one\"\npath = [\"one\"]\ncores = 4\n", "");
    let text = text.replace("[[host]]\nname = \"other\"\npath = [\"other\"]\n", "");
    let text = text.replace("host = \"other\"\n", "");
    let refusal = refusal(&text);
    assert!(
        refusal
            .contains("workload[first].host: there is no host `one`, nor any other; add [[host]]"),
        "{refusal}"
    );
}

/// A quick run of a small file had operations that were longer than the file.
#[test]
fn regression_a_file_is_not_scaled_below_its_longest_operation() {
    let text = TWO_HOSTS.replace("file = \"1 GiB\"", "file = \"256 KiB\"");
    let (scaled, _) = Scenario::parse(&text, "two-hosts.toml").unwrap().scaled_down(256);
    // The file server's longest operation has 64 KiB.
    assert!(
        scaled.workloads.iter().all(|one| one.file_bytes == 64 << 10),
        "{:?}",
        scaled.workloads
    );
}

/// The parts of a workload's threads reached beyond the end of its file.
#[test]
fn regression_a_file_is_not_scaled_below_an_operation_for_each_thread() {
    let text = TWO_HOSTS.replace("outstanding = 4", "outstanding = 4\nthreads = 8");
    let (scaled, _) = Scenario::parse(&text, "two-hosts.toml").unwrap().scaled_down(4096);
    assert!(scaled.workloads.iter().all(|one| one.file_bytes == 8 * (64 << 10)));
}
