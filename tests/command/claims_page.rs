//! `docs/claims.md` is what `strewn claims` prints.

use std::fs;
use std::path::Path;

use crate::common::{Folder, PROJECT};

/// The documents whose scenarios run in seconds, at full scale. The others take minutes: of these only the claims are compared,
/// not their figures.
const QUICK: [&str; 4] = ["cisco-sn5420", "juniper-fas3040c", "nas-gateways", "panasas-arista"];

/// Returns the rows of a document's table.
fn section<'t>(page: &'t str, document: &str) -> Vec<&'t str> {
    let heading = format!("## {document}\n");
    let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("no {heading}"));
    let rest = rest.split("\n## ").next().unwrap_or(rest);
    rest.lines().filter(|line| line.starts_with("| ")).collect()
}

#[test]
fn the_page_of_claims_is_what_the_runs_say() {
    let folder = Folder::new();
    let mut words = vec!["claims".to_owned()];
    for name in QUICK {
        let scenario = Path::new(PROJECT).join(format!("scenarios/{name}.toml"));
        folder.strewn(&["run", &scenario.to_string_lossy(), "--out", name]).succeeded();
        words.push(name.to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let printed = folder.strewn(&words).stdout;
    let page = fs::read_to_string(Path::new(PROJECT).join("docs/claims.md")).unwrap();
    for document in QUICK {
        assert_eq!(section(&page, document), section(&printed, document), "{document}");
    }
    // Claims of slow runs are on the page as they are in the file, each with a verdict.
    let claim = |row: &&str| row.split(" | ").next().unwrap_or_default().to_owned();
    let slow = "making-sense-of-wafl-4";
    let [on_page, in_file] = [&page, &printed].map(|text| section(text, slow));
    let claims = |rows: &[&str]| rows.iter().map(claim).collect::<Vec<_>>();
    assert_eq!(claims(&on_page), claims(&in_file));
    assert!(!page.contains("no results"), "a claim has no verdict");
}
