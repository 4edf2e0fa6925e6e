//! Clients that compute parity over blades.

use strewn_scenario::{ClientRaid, LostBlade, Scenario};

use crate::common::{error_of, refusal};

/// Two clients, each with a link, before ten blades with a link each.
pub const TWO_CLIENTS: &str = r#"
schema = 1
name = "two-clients"
title = "Two clients of ten blades"
seed = 1
segments = 2
segment = "10 s"

[[host]]
name = "one"
path = ["client"]

[[host]]
name = "other"
path = ["client"]

[[link]]
name = "client"
kind = "ethernet-10g"

[[link]]
name = "blade"
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
name = "shelf"
controller = "eva4400"

[[array.lun]]
name = "data"
size = "2 GiB"

[array.in_place]
layout = "raid-0"
spindles = 2

[array.front_end]
protocol = "iscsi"

[array.client_raid]
blades = 10
blade_link = "blade"
lost_blade = 3
lost_at = "5 s"
"#;

#[test]
fn blades_and_what_is_not_given() {
    let scenario = Scenario::parse(TWO_CLIENTS, "two-clients.toml").unwrap();
    let expected = ClientRaid {
        blades: 10,
        width: 9,
        stripe_unit_bytes: 64 << 10,
        group_depth: 1,
        largest_request_bytes: 512 << 10,
        parity_kib_ns: 0,
        copy_kib_ns: 0,
        blade_link: Some("blade".to_owned()),
        lost: Some(LostBlade { blade: 3, at_ns: 5_000_000_000 }),
    };
    assert_eq!(scenario.arrays[0].client_raid, Some(expected));
    assert!(scenario.arrays[0].front_end.as_ref().unwrap().path.is_empty());
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), "copy.toml").unwrap(), scenario);
    // Fewer segments than it speaks of are a run that ends earlier.
    let shorter = Scenario { segments: 1, segment_ns: 1_000_000_000, ..scenario };
    shorter.check().unwrap();
}

#[test]
fn a_file_is_a_share_of_it_on_each_blade() {
    let scenario = Scenario::parse(TWO_CLIENTS, "two-clients.toml").unwrap();
    let raid = scenario.arrays[0].client_raid.as_ref().unwrap();
    // 2 GiB are 4,096 stripes of 8 + 1 units, of which a blade has nine tenths: 3,686.4.
    assert_eq!(raid.object_bytes(2 << 30), 3_687 * 65_536);
    let layouts = [0, 1, 2].map(|file| raid.object_layout(file, 1 << 30).unwrap());
    let first = layouts.map(|layout| layout.unit(0, strewn_raid::Member(0)).blade);
    assert_eq!(first, [0, 9, 8]);
}

#[test]
fn what_is_scaled_down() {
    let scenario = Scenario::parse(TWO_CLIENTS, "two-clients.toml").unwrap();
    let (scaled, changes) = scenario.scaled_down(10);
    let lost = scaled.arrays[0].client_raid.as_ref().unwrap().lost.unwrap();
    assert_eq!(lost.at_ns, 500_000_000);
    assert!(changes.contains(&"loss of blade 3 of shelf 5 s -> 500 ms".to_owned()), "{changes:?}");
}

/// The only problem of the scenario with the first `from` changed to `to`, without its line.
fn refused(from: &str, to: &str) -> String {
    assert!(TWO_CLIENTS.contains(from), "there is no {from:?}");
    let refusal = refusal(&TWO_CLIENTS.replacen(from, to, 1));
    refusal.split_once(' ').unwrap().1.to_owned()
}

#[test]
fn what_is_wrong_with_blades_is_said_with_its_place() {
    let table = "array[shelf].client_raid";
    for (from, to, expected) in [
        ("blades = 10", "", "is missing; add a line such as blades = 10"),
        ("blades = 10", "blades = 2", "blades: is 2; give 3 to 256"),
        ("blades = 10", "blades = 257", "blades: is 257; give 3 to 256"),
        (
            "blades = 10",
            "blades = 10\nwidth = 11",
            "width: a parity group of 11 objects needs as many blades, and there are 10; give 3 to 10",
        ),
        ("blades = 10", "blades = 10\nwidth = 2", "width: is 2; give 3 to 64"),
        ("blades = 10", "blades = 10\nwidth = 65", "width: is 65; give 3 to 64"),
        (
            "blades = 10",
            "blades = 10\nstripe_unit = \"6 KiB\"",
            "stripe_unit: is 6 KiB; give a multiple of 4 KiB, from 4 KiB to 64 MiB",
        ),
        (
            "blades = 10",
            "blades = 10\nlargest_request = \"1 KiB\"",
            "largest_request: is 1 KiB; give 4 KiB to 64 MiB",
        ),
        ("blades = 10", "blades = 10\ngroup_depth = 0", "group_depth: is 0; give 1 to 1000000"),
        ("blades = 10", "blades = 10\nparity_per_kib = \"2 s\"", "parity_per_kib: is 2 s; "),
        (
            "blade_link = \"blade\"",
            "blade_link = \"balde\"",
            "blade_link: there is no link `balde`; did you mean `blade`?",
        ),
        (
            "blade_link = \"blade\"",
            "blade_links = \"blade\"",
            "blade_links: unknown key; did you mean `blade_link`?",
        ),
        ("lost_blade = 3", "lost_blade = 0", "lost_blade: is 0; give 1 to 256"),
        ("lost_blade = 3", "lost_blade = 11", "lost_blade: there is no blade 11; give 1 to 10"),
        ("lost_blade = 3", "", "lost_at: no blade is lost; give `lost_blade` too, or leave it out"),
        ("lost_at = \"5 s\"", "lost_at = \"20 s\"", "lost_at: is 20 s, and the run ends at 20 s; "),
    ] {
        let error = error_of(&TWO_CLIENTS.replacen(from, to, 1));
        let problems: Vec<String> =
            error.problems().iter().map(|one| format!("{one}; {}", one.help())).collect();
        let expected = match expected.starts_with("is missing") {
            true => format!("{table}.blades: {expected}"),
            false => format!("{table}.{expected}"),
        };
        assert!(
            problems.iter().any(|problem| problem.starts_with(&expected)),
            "{problems:?} instead of {expected:?}"
        );
    }
}

#[test]
fn what_is_wrong_around_blades_is_said_with_its_place() {
    for (from, to, expected) in [
        (
            "[array.front_end]\nprotocol = \"iscsi\"\n",
            "[array.front_end]\nprotocol = \"iscsi\"\npath = [\"blade\"]\n",
            "array[shelf].front_end.path: the link `blade` is in it or in a host's, and each blade has one like it; \
             leave it out of paths",
        ),
        (
            "path = [\"client\"]",
            "path = [\"blade\"]",
            "array[shelf].front_end.path: the link `blade` is in it or in a host's, and each blade has one like it; ",
        ),
        (
            "kind = \"ethernet-1g\"",
            "kind = \"ethernet-1g-jumbo\"",
            "array[shelf].front_end.path: its links from host `one` have frames of different sizes",
        ),
        (
            "kind = \"ethernet-1g\"",
            "kind = \"fc-2g\"",
            "array[shelf].front_end.path: a link of kind fc-2g from host `one` does not carry this protocol",
        ),
        (
            "blade_link = \"blade\"\n",
            "",
            "array[shelf].front_end.path: is missing; add a line such as path = [\"gigabit\"]",
        ),
        (
            "[array.client_raid]",
            "[[array.failure]]\nat = \"5 s\"\nspindle = 0\n[array.client_raid]",
            "array[shelf].failure: clients cannot do without a spindle of a blade; leave it out, or give `lost_blade`",
        ),
    ] {
        let refused = refused(from, to);
        assert!(refused.starts_with(expected), "{refused:?} instead of {expected:?}");
    }
}

#[test]
fn files_fit_their_blades() {
    let size = "size = \"2 GiB\"";
    let text = TWO_CLIENTS.replacen(size, "size = \"2000 GiB\"", 1);
    Scenario::parse(&text, "fits.toml").unwrap();
    assert_eq!(
        refused(size, "size = \"4000 GiB\""),
        "array[shelf].lun: the files take 450 GiB of each blade, which has 273.5 GiB; give smaller LUNs, or more or larger \
         blades: each has 2 drives of 136.7 GiB"
    );
}

#[test]
fn blades_without_a_front_end_are_out_of_reach() {
    let text = TWO_CLIENTS.replace("[array.front_end]\nprotocol = \"iscsi\"\n", "");
    let text = text.replace("[[host]]\nname = \"one\"\npath = [\"client\"]\n", "");
    let text = text.replace("[[host]]\nname = \"other\"\npath = [\"client\"]\n", "");
    let text = text.replace("host = \"one\"\n", "").replace("host = \"other\"\n", "");
    let refusal = refusal(&text);
    let expected =
        "array[shelf].client_raid: there is no way from clients to blades; add [array.front_end]";
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn what_a_blade_cannot_be_is_refused() {
    let text = TWO_CLIENTS.replace("controller = \"eva4400\"", "controller = \"fas2050\"");
    let text = text.replace("[array.in_place]\nlayout = \"raid-0\"\nspindles = 2\n", "");
    let refused = refusal(&text);
    assert!(
        refused.contains("a blade is simulated as an array that updates in place"),
        "{refused}"
    );
    let group = "[[array.in_place.group]]\nspindles = 2\n[array.front_end]";
    let refused = refusal(&TWO_CLIENTS.replace("[array.front_end]", group));
    assert!(refused.contains("in_place.group: a blade has one disk group"), "{refused}");
    let router = "protocol = \"iscsi\"\nrouter = {}\npath = [\"client\"]";
    let error = error_of(&TWO_CLIENTS.replace("protocol = \"iscsi\"", router));
    let all: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert!(
        all.iter()
            .any(|one| one.ends_with("front_end.router: clients reach blades without a router"))
            || all.iter().any(|one| one.contains("front_end.path")),
        "{all:?}"
    );
}

#[test]
fn objects_have_numbers() {
    let text = TWO_CLIENTS.replace("blades = 10", "blades = 256");
    let luns: String = (0..200)
        .map(|number| {
            format!(
                "[[array.lun]]\nname = \"{number}\"\nsize = \"1 MiB\"\n\
                 [[workload]]\nname = \"w{number}\"\nlun = \"{number}\"\nhost = \"one\"\noutstanding = 1\n\
                 access_specification = \"file-server\"\nfile = \"1 MiB\"\n"
            )
        })
        .collect();
    let error = error_of(&format!("{text}{luns}"));
    let all: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    let expected = "array[shelf].client_raid.blades: 2 hosts have 201 LUNs on 256 blades each: 102912 objects in all";
    // There are too many workloads, too.
    assert!(all.contains(&expected.to_owned()), "{all:?}");
}

#[test]
fn a_page_cache_whose_requests_are_less_than_a_stripe_is_run_with_a_warning() {
    let text = |size: &str| {
        format!("{TWO_CLIENTS}[array.page_cache]\nsize = \"1 GiB\"\nlargest_request = \"{size}\"\n")
    };
    let warnings = |size| Scenario::parse(&text(size), "cached.toml").unwrap().warnings();
    assert_eq!(warnings("512 KiB"), [""; 0]);
    let expected = "array[shelf].page_cache.largest_request is 256 KiB, and a stripe of [array.client_raid] has 512 KiB: \
                    no request writes a whole stripe, and each reads and writes parity";
    assert_eq!(warnings("256 KiB"), [expected]);
}

#[test]
fn blades_have_no_price() {
    let overhead = "[overhead]\nusd_per_spindle = 1000.0\n[[overhead.configuration]]\narray = \"shelf\"\n\
                    name = \"a\"\nsource = \"a test\"\n";
    let refused = refusal(&format!("{TWO_CLIENTS}{overhead}"));
    assert!(
        refused.contains("shelf is many blades, and parity between them is the clients'"),
        "{refused}"
    );
}
