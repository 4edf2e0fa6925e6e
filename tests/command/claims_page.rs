//! `docs/claims.md` is what `strewn claims` prints.

use std::fs;
use std::path::Path;

use strewn_testing::cases;

use crate::common::{FULL_RUNS, Folder, PROJECT, Ran, full_run};

/// The documents whose scenarios run in seconds, at full scale; the last two take twenty seconds of processor time
/// each, and the last one is of the long form. The others take minutes: of these only the claims are compared, not
/// their figures.
const QUICK: [&str; 4] = ["cisco-sn5420", "nas-gateways", "juniper-fas3040c", "panasas-arista"];
const SLOW: [&str; 3] = ["panasas-arista", "making-sense-of-wafl-4", "oracle-pool-practices"];

/// Returns the rows of a document's table.
fn section<'t>(page: &'t str, document: &str) -> Vec<&'t str> {
    let heading = format!("## {document}\n");
    let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("no {heading}"));
    let rest = rest.split("\n## ").next().unwrap_or(rest);
    rest.lines().filter(|line| line.starts_with("| ")).collect()
}

#[test]
fn the_page_of_claims_is_what_the_runs_say() {
    let quick = &QUICK[..cases(3, 4) as usize];
    for name in quick {
        full_run(name);
    }
    let words = [&["claims"], quick].concat();
    let printed = Folder::new().command(&words).current_dir(FULL_RUNS).output().unwrap();
    let printed = Ran::of(printed).stdout;
    // Each has the verdict that is stated with it.
    let words = [&["claims", "--check"], quick].concat();
    let checked = Folder::new().command(&words).current_dir(FULL_RUNS).output().unwrap();
    Ran::of(checked).succeeded();
    let page = fs::read_to_string(Path::new(PROJECT).join("docs/claims.md")).unwrap();
    for document in quick {
        assert_eq!(section(&page, document), section(&printed, document), "{document}");
    }
    // Only claims about these runs are printed.
    assert!(!printed.contains("## making-sense-of-wafl-4"), "{printed}");
    // Claims of slow runs are on the page as they are in the file, each with a verdict.
    let printed = Folder::new().strewn(&["claims"]).stdout;
    let claim = |row: &&str| row.split(" | ").next().unwrap_or_default().to_owned();
    for slow in SLOW {
        let [on_page, in_file] = [&page, &printed].map(|text| section(text, slow));
        let claims = |rows: &[&str]| rows.iter().map(claim).collect::<Vec<_>>();
        assert_eq!(claims(&on_page), claims(&in_file));
    }
    assert!(!page.contains("no results"), "a claim has no verdict");
}
