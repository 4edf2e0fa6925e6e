//! Operations that begin at an offset into the file, and settings of workloads and phases by their names.

use crate::common::GOOD;
use strewn_scenario::{NoFiles, Scenario};

fn set(settings: &[(&str, &str)]) -> Result<Scenario, strewn_scenario::SetError> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    Scenario::parse_with(GOOD, "good.toml", &settings, &NoFiles).map(|(scenario, _)| scenario)
}

#[test]
fn an_offset_is_whole_sectors_within_the_file() {
    let scenario = set(&[("workload.offset", "32256 B")]).unwrap();
    assert_eq!(scenario.workloads[0].offset_bytes, 63 * 512);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), "again.toml").unwrap(), scenario);
    // A quick run keeps it: it says where blocks are straddled.
    assert_eq!(scenario.scaled_down(8).0.workloads[0].offset_bytes, 63 * 512);

    let odd = set(&[("workload.offset", "100 B")]).unwrap_err();
    assert!(odd.to_string().contains("not whole sectors"), "{odd}");
    let long = set(&[("workload.file", "64 KiB"), ("workload.offset", "512 B")]).unwrap_err();
    assert!(long.to_string().contains("is shorter than the offset of"), "{long}");
}

#[test]
fn without_an_offset_nothing_is_listed() {
    let settings = set(&[]).unwrap().settings();
    assert!(!settings.iter().any(|setting| format!("{setting:?}").contains("offset")));
}

#[test]
fn workloads_and_phases_go_by_their_names() {
    const STREAMS: &str = include_str!("../../../../scenarios/streams.toml");
    let settings = [
        ("workload.large reads.threads", "2"),
        ("workload.one stream.access.1.bytes", "128 KiB"),
        ("phase.ageing.segments", "5"),
    ]
    .map(|(path, value)| (path.to_owned(), value.to_owned()));
    let (scenario, _) = Scenario::parse_with(STREAMS, "streams.toml", &settings, &NoFiles).unwrap();
    assert_eq!(scenario.workloads[9].threads(), 2);
    assert_eq!(scenario.workloads[0].longest_bytes(), 128 << 10);
    assert_eq!(scenario.phases[3].segments, 5);
}
