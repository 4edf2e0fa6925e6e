//! Dead links in Markdown pages, and pictures in `docs/` that no page shows or that are too large.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::finding::Finding;
use crate::repository::{Repository, normal};

/// Bytes of a picture at most.
const PICTURE_BYTES: u64 = 100_000;

/// Checks the links of all pages.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        repository.ending(".md").map(|(path, text)| (path, anchors(text))).collect();
    let mut found = Vec::new();
    for (path, text) in repository.ending(".md") {
        for (line, target) in links(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = resolved(path, file);
            let fault = if !repository.has(&file) {
                format!("`{target}` leads to no file")
            } else if !anchor.is_empty()
                && anchors.get(&*file).is_some_and(|anchors| !anchors.contains(anchor))
            {
                format!("`{target}` leads to no heading")
            } else {
                continue;
            };
            let remedy = "correct or remove the link";
            found.push(Finding {
                file: path.into(),
                line,
                what: fault,
                remedy,
                key: format!("{path} {target}"),
            });
        }
    }
    found
}

/// Checks the pictures in `docs/`.
pub fn check_pictures(repository: &Repository) -> Vec<Finding> {
    let shown: BTreeSet<String> = repository
        .ending(".md")
        .flat_map(|(path, text)| {
            links(text).into_iter().map(move |(_, target)| resolved(path, target))
        })
        .collect();
    let mut found = Vec::new();
    for (path, bytes) in &repository.lengths {
        if !path.starts_with("docs/")
            || ![".svg", ".png", ".jpg"].iter().any(|end| path.ends_with(end))
        {
            continue;
        }
        let fault = if !shown.contains(path) {
            ("no page shows it".into(), "remove it, or show it")
        } else if *bytes > PICTURE_BYTES {
            (format!("a picture of {} kB", bytes / 1_000), "draw less: 100 kB are the limit")
        } else {
            continue;
        };
        found.push(Finding {
            file: path.clone(),
            line: 0,
            what: fault.0,
            remedy: fault.1,
            key: path.clone(),
        });
    }
    found
}

fn resolved(page: &str, target: &str) -> String {
    if target.is_empty() {
        return page.into();
    }
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    normal(&folder.join(target.trim_end_matches('/')))
}

/// The lines of a page outside of fences, without code spans.
fn prose(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    })
}

/// Targets of links and pictures, with their lines.
fn links(text: &str) -> Vec<(u32, &str)> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        let definition = text
            .strip_prefix('[')
            .and_then(|text| text.split_once("]: "))
            .map(|(_, target)| target);
        found.extend(definition.map(|target| (line, target.trim())));
        let mut at = 0;
        while let Some(open) = text[at..].find("](") {
            let start = at + open + 2;
            let end = text[start..].find(')').map_or(text.len(), |end| start + end);
            // In a code span, it is no link.
            if text[..start].matches('`').count() % 2 == 0 {
                found.push((line, text[start..end].split(' ').next().unwrap_or_default()));
            }
            at = end;
        }
    }
    found
}

/// What the headings of a page are called in links, as GitHub names them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        if let Some(name) = line.split("<a id=\"").nth(1).and_then(|rest| rest.split('"').next()) {
            found.insert(name.to_string());
        }
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let name: String = unlinked(title.trim())
            .to_lowercase()
            .chars()
            .filter(|mark| mark.is_alphanumeric() || matches!(mark, ' ' | '-' | '_'))
            .map(|mark| if mark == ' ' { '-' } else { mark })
            .collect();
        let repeated = (1..).map(|count| format!("{name}-{count}"));
        let free = std::iter::once(name.clone()).chain(repeated).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

/// A heading's text, with links as their words.
fn unlinked(title: &str) -> String {
    let mut text = String::new();
    let mut rest = title;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> Repository {
        Repository::of(&[
            (
                "README.md",
                "# A `b`, c\n# A `b`, c\n[good](docs/a.md#deep-one) [twice](#a-b-c-1) [no](#d) [web](https://x.y/z)\n",
            ),
            (
                "docs/a.md",
                "## Deep [one](../README.md)\n[gone](b.md) `[code](c.md)` ![shown](shown.svg)\n[ref]: ../docs/\n",
            ),
            ("docs/shown.svg", &"x".repeat(100_001)),
            ("docs/hidden.svg", ""),
        ])
    }

    #[test]
    fn dead_links_are_found() {
        let found: Vec<String> = check(&repository())
            .iter()
            .map(|finding| format!("{}:{} {}", finding.file, finding.line, finding.what))
            .collect();
        assert_eq!(
            found,
            ["README.md:3 `#d` leads to no heading", "docs/a.md:2 `b.md` leads to no file"]
        );
    }

    #[test]
    fn hidden_and_large_pictures_are_found() {
        let found: Vec<String> = check_pictures(&repository())
            .iter()
            .map(|finding| format!("{} {}", finding.file, finding.what))
            .collect();
        assert_eq!(
            found,
            ["docs/hidden.svg no page shows it", "docs/shown.svg a picture of 100 kB"]
        );
    }
}
