//! Settings that are fitted to rows of published tables.

use crate::common::refusal;
use strewn_scenario::{Scenario, SettingValue, with_settings};

/// A filer reached by two ways over one link, with one cost.
const TEXT: &str = r#"
schema = 1
name = "two ways"
title = "Two ways"
seed = 1
segments = 1
segment = "10 s"
published = "two-ways.published.toml"

[workload]
access_specification = "file-server"
file = "1 GiB"

[[link]]
name = "gigabit"
kind = "ethernet-1g"

[[fitted]]
parameter = "host_per_kib"
rows = ["NFS, read"]

[[array]]
name = "NFS"
controller = "fas2050"
outstanding = 8
lun = "100 GB"
[array.front_end]
protocol = "nfs"
path = ["gigabit"]
host_per_kib = "1 us"      # the same number

[[array]]
name = "iSCSI"
controller = "fas2050"
outstanding = 8
lun = "100 GB"
[array.front_end]
protocol = "iscsi"
path = ["gigabit"]
host_per_kib = "1 us"
"#;

#[test]
fn a_setting_that_several_arrays_have_is_one_number() {
    let scenario = Scenario::parse(TEXT, "two-ways.toml").unwrap();
    let values = scenario.fitted_values("host_per_kib").unwrap();
    let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["array.NFS.front_end.host_per_kib", "array.iSCSI.front_end.host_per_kib"]);
    assert!(values.iter().all(|(_, value)| *value == SettingValue::Text("1 us".to_owned())));
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let text = with_settings(TEXT, &names, "\"2.5 us\"").unwrap();
    // Nothing else changes, not even comments.
    assert_eq!(text.replace("\"2.5 us\"", "\"1 us\""), TEXT);
    assert_eq!(text.matches("\"2.5 us\"").count(), 2);
    // A setting that the text leaves to its default has no place in it.
    assert_eq!(with_settings(TEXT, &["array.NFS.scheduler".to_owned()], "\"fifo\""), None);
}

#[test]
fn a_scenario_with_fitted_rows_is_written_and_read_back() {
    let scenario = Scenario::parse(TEXT, "two-ways.toml").unwrap();
    let text = scenario.to_toml().unwrap();
    assert_eq!(Scenario::parse(&text, "two-ways.toml").unwrap(), scenario);
}

#[test]
fn mistakes_are_refused_with_place_and_remedy() {
    for (from, to, error) in [
        (
            "parameter = \"host_per_kib\"",
            "parameter = \"host_per_kb\"",
            "fitted[1].parameter: there is no setting `host_per_kb`; did you mean",
        ),
        (
            "published = \"two-ways.published.toml\"\n",
            "",
            "fitted[1].parameter: there are no published figures to fit to; add `published`",
        ),
        ("rows = [\"NFS, read\"]", "rows = []", "fitted[1].rows: "),
        (
            "[[array]]\nname = \"NFS\"",
            "[[fitted]]\nparameter = \"host_pdu\"\nrows = [\"NFS, read\"]\n[[array]]\nname = \"NFS\"",
            "fitted[2].rows: `NFS, read` is fitted to already; a row has one setting that is fitted to it",
        ),
    ] {
        assert!(TEXT.contains(from));
        let found = refusal(&TEXT.replacen(from, to, 1));
        assert!(found.contains(error), "{found:?} instead of {error:?}");
    }
}
