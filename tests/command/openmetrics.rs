//! A checker of OpenMetrics 1.0 text that shares nothing with what writes it.

use std::collections::{BTreeMap, BTreeSet};

/// The samples of a text by name and labels, as they are written.
pub type Samples = BTreeMap<String, f64>;

/// Checks the form of a text, and returns its samples.
#[track_caller]
pub fn checked(text: &str) -> Samples {
    assert!(text.ends_with("# EOF\n"), "no end in {text}");
    let body = text.strip_suffix("# EOF\n").unwrap();
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let mut family = "";
    let mut samples = Samples::new();
    let mut buckets: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in body.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        if line.starts_with('#') {
            let [_, what, name, value] = words[..] else { panic!("{line}") };
            match what {
                "TYPE" => {
                    assert!(matches!(value, "gauge" | "counter" | "histogram"), "{line}");
                    assert_eq!(kinds.insert(name, value), None, "twice: {line}");
                    family = name;
                }
                "UNIT" => assert!(name == family && name.ends_with(&format!("_{value}")), "{line}"),
                "HELP" => assert!(name == family && value.ends_with('.'), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite(), "{line}");
        let name = key.split('{').next().unwrap();
        let suffixes: &[&str] = match kinds[family] {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => &[""],
        };
        assert!(
            suffixes.iter().any(|suffix| name == format!("{family}{suffix}")),
            "{line} in {family}"
        );
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
        assert!(kinds[family] == "gauge" || value >= 0.0, "{line}");
        if name.ends_with("_bucket") {
            let (rest, bound) = key.rsplit_once("le=\"").unwrap();
            let bound = bound.strip_suffix("\"}").unwrap();
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
            buckets.entry(rest.to_owned()).or_default().push((bound, value));
        }
        assert_eq!(samples.insert(key.to_owned(), value), None, "twice: {line}");
    }
    for (name, buckets) in &buckets {
        assert!(buckets.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1), "{name}");
        let count = name.replace("_bucket", "_count").replace(",}", "}");
        let count = count.trim_end_matches(',').trim_end_matches('{');
        let count = if count.contains('{') { format!("{count}}}") } else { count.to_owned() };
        let (last, all) = buckets.last().unwrap();
        assert!(last.is_infinite() && samples[&count] == *all, "{name}");
    }
    let names: BTreeSet<&str> = samples.keys().map(|key| key.split('{').next().unwrap()).collect();
    assert!(names.len() >= kinds.len(), "a family without samples in {text}");
    samples
}
