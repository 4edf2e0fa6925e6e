//! The list of what a rule finds and lets pass, each with its reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;

/// The list, a file beside this one.
pub const LIST: &str = include_str!("exceptions.txt");

/// Between what is excepted and the reason.
const DASH: &str = " — ";

/// What `rule` finds beyond the list, and what the list has that the rule no longer finds: one line each.
pub fn compare(rule: &str, found: &[Finding], list: &str) -> Vec<String> {
    let listed = read(list, rule);
    let keys: BTreeSet<&str> = found.iter().map(|finding| &*finding.key).collect();
    let beyond = found.iter().filter(|finding| !listed.contains_key(&*finding.key));
    let mut lines: Vec<String> = beyond
        .map(|finding| {
            format!("{finding}\n    (an exception would be: {}{DASH}REASON)", finding.key)
        })
        .collect();
    for (key, reason) in listed {
        if !keys.contains(key) {
            lines.push(format!(
                "exceptions.txt, [{rule}]: `{key}` is no longer needed: remove the line"
            ));
        }
        if reason.is_none_or(|reason| reason.trim().len() < 3) {
            lines.push(format!(
                "exceptions.txt, [{rule}]: `{key}` has no reason: write one behind{DASH}"
            ));
        }
    }
    lines
}

/// The entries of `rule`, and their reasons.
fn read<'a>(list: &'a str, rule: &str) -> BTreeMap<&'a str, Option<&'a str>> {
    let header = format!("[{rule}]");
    let lines = list
        .lines()
        .skip_while(|line| *line != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    entries
        .map(|line| line.split_once(DASH).map_or((line, None), |(key, reason)| (key, Some(reason))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_covers_what_is_found_and_nothing_else() {
        let finding = |key: &str| Finding {
            file: "f".into(),
            line: 1,
            what: "w".into(),
            remedy: "r",
            key: key.into(),
        };
        let list = "# text\n[one]\na b — because\nc — because\nd\n\n[two]\ne — because\n";
        let lines = compare("one", &[finding("a b"), finding("d"), finding("e")], list);
        assert_eq!(
            lines,
            [
                "f:1: w: r\n    (an exception would be: e — REASON)",
                "exceptions.txt, [one]: `c` is no longer needed: remove the line",
                "exceptions.txt, [one]: `d` has no reason: write one behind — ",
            ]
        );
    }
}
