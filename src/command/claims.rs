//! `strewn claims`.

use std::path::Path;

use strewn::report;
use strewn::results::{self, Claim, ClaimTest, ClaimVerdict, Claims, JudgedClaim, Results};
use strewn::scenario::Scenario;
use strewn::terminal::{self, Ending, Failure};

use super::arguments::ClaimsArguments;
use super::output_files::SCENARIO;
use super::results_directory;

/// What documents claim, of those from which Strewn was made and others.
const SHIPPED: &str = include_str!("../../docs/claims.toml");
const SHIPPED_NAME: &str = "docs/claims.toml";

/// What gives the results that verdicts are stated of.
const HOW_TO_RUN: &str =
    "run the scenario at full scale, with the seed and settings that it ships with";

/// Prints what documents claim, with what runs say of it.
pub(crate) fn claims(arguments: &ClaimsArguments) -> Result<Ending, Failure> {
    let claims = read(arguments.claims.as_deref())?;
    if arguments.list {
        let lines = claims.runs().into_iter().map(|run| format!("{run}\n"));
        terminal::print(&lines.collect::<String>())?;
        return Ok(Ending::Complete);
    }
    if claims.claims.is_empty() {
        return Err(Failure::bad_input(
            "the file of claims has no claims",
            "give each a table [[claim]], as docs/claims.toml does",
        ));
    }
    let mut runs: Vec<Results> = Vec::new();
    // Why a run is not the one that verdicts are stated of.
    let mut others: Vec<String> = Vec::new();
    // What is kept of the tables says it too.
    let mut notes = String::new();
    for path in &arguments.runs {
        let (results, edited) = results_directory::results_and_edits(path)?;
        match edited {
            Some(edited) if arguments.check => {
                return Err(Failure::failed(edited).with_help(
                    "bring back the results that the run wrote, or run the scenario again",
                ));
            }
            Some(edited) => terminal::say(&format!("warning: {edited}")),
            None => {}
        }
        others.extend(difference(&results, path, arguments.claims.is_none()));
        others.extend(shortfall(&results));
        if runs.iter().any(|other| other.scenario == results.scenario) {
            return Err(Failure::bad_input(
                format!(
                    "{}: there is another run of {} before it",
                    path.display(),
                    results.scenario
                ),
                "give one run of each scenario",
            ));
        }
        for caveat in results.caveats() {
            terminal::say(&format!("warning: {}: {caveat}", path.display()));
            notes.push_str(&format!("\n{}: {caveat}\n", results.scenario));
        }
        runs.push(results);
    }
    let is_there = |name: &&str| runs.iter().any(|results| results.scenario == **name);
    let about = about(&claims, |run| runs.is_empty() || is_there(&run));
    if about.is_empty() {
        let names: Vec<&str> = runs.iter().map(|results| results.scenario.as_str()).collect();
        return Err(Failure::bad_input(
            format!("there are no claims about {}", names.join(", ")),
            format!(
                "claims are about {}; --claims gives a file of others",
                claims.runs().join(", ")
            ),
        ));
    }
    let judged: Vec<JudgedClaim<'_>> =
        about.iter().map(|claim| results::judge(claim, &runs)).collect();
    if arguments.check && judged.iter().all(|claim| claim.is_as_stated().is_none()) {
        return Err(Failure::bad_input(
            "no claim was tested",
            "give the results of a run: strewn claims --check results/*",
        ));
    }
    let text = match arguments.check {
        true => report::claims_check(&judged) + &notes,
        false => arguments.format.draw(|| report::claims_table(&judged) + &notes),
    };
    terminal::print(&text)?;
    let of_claims = judged.iter().flat_map(|judged| &judged.figures);
    let mut missing: Vec<&str> = Vec::new();
    for name in of_claims.map(|figure| figure.figure.run.as_str()) {
        if !is_there(&name) && !missing.contains(&name) {
            missing.push(name);
        }
    }
    if !missing.is_empty() {
        terminal::say(&format!(
            "There are no results of {}. Run each: strewn run scenarios/NAME.toml --out results/NAME; then strewn claims \
             results/*",
            missing.join(", ")
        ));
    }
    let without = |judged: &JudgedClaim<'_>| judged.verdict == ClaimVerdict::NoResults;
    let stale = judged.iter().find(|judged| {
        let there = |figure: &results::JudgedFigure<'_>| is_there(&figure.figure.run.as_str());
        without(judged) && judged.figures.iter().all(there)
    });
    match stale {
        Some(judged) => Err(Failure::bad_input(
            format!("the results have no figure of \"{}\"", judged.claim.claim),
            "correct the names under [[claim.figure]], or run the scenario to its end",
        )),
        None if arguments.check => checked(&judged, &others),
        None => Ok(Ending::Complete),
    }
}

/// Returns how a run is another than the one that verdicts are stated of: the scenario's own, at full scale. Of claims
/// that ship, that is the scenario that ships.
fn difference(results: &Results, path: &Path, claims_ship: bool) -> Option<String> {
    let name = &results.scenario;
    if let Some(scaled) = &results.scaled {
        return Some(format!("{name} was run at 1/{} of full scale", scaled.by));
    }
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let beside = || std::fs::read_to_string(folder?.join(SCENARIO)).ok();
    let shipped = strewn::shipped_scenario(name).filter(|_| claims_ship).map(str::to_owned);
    let scenario = Scenario::parse(&shipped.or_else(beside)?, SCENARIO).ok()?;
    (scenario.seed != results.seed).then(|| {
        format!("{name} was run with seed {}, and its own is {}", results.seed, scenario.seed)
    })
}

/// Returns how a run ended before it was to.
fn shortfall(results: &Results) -> Option<String> {
    let name = &results.scenario;
    if results.partial {
        return Some(format!("{name} ended early"));
    }
    let missed = results.findings.iter().find(|finding| finding.kind == "goal_missed")?;
    Some(format!("{name} did not come as far as it says: {}", missed.text))
}

/// Fails if a claim has another verdict than stated, or if a run is not the one that verdicts are stated of.
fn checked(judged: &[JudgedClaim<'_>], others: &[String]) -> Result<Ending, Failure> {
    let is_as_stated: Vec<bool> = judged.iter().filter_map(JudgedClaim::is_as_stated).collect();
    let missed = is_as_stated.iter().filter(|is_as_stated| !**is_as_stated).count();
    if missed > 0 {
        return Err(Failure::failed(format!(
            "{missed} of {} claims have another verdict than the one stated with them",
            is_as_stated.len()
        ))
        .with_help(HOW_TO_RUN));
    }
    if !others.is_empty() {
        return Err(Failure::failed(format!(
            "verdicts are not stated of such runs: {}",
            others.join("; ")
        ))
        .with_help(HOW_TO_RUN));
    }
    Ok(Ending::Complete)
}

/// Returns the claims that are tested by a figure of one of these runs, with those of their documents that cannot be
/// tested.
fn about(claims: &Claims, is_meant: impl Fn(&str) -> bool) -> Vec<&Claim> {
    let is_tested = |claim: &Claim| match &claim.test {
        ClaimTest::Figures(figures) => figures.iter().any(|figure| is_meant(&figure.run)),
        ClaimTest::NotTestable(_) => false,
    };
    let documents: Vec<&str> = claims
        .claims
        .iter()
        .filter(|claim| is_tested(claim))
        .map(|claim| claim.document.as_str())
        .collect();
    let is_about = |claim: &&Claim| match &claim.test {
        ClaimTest::Figures(_) => is_tested(claim),
        ClaimTest::NotTestable(_) => documents.contains(&claim.document.as_str()),
    };
    claims.claims.iter().filter(is_about).collect()
}

fn read(path: Option<&Path>) -> Result<Claims, Failure> {
    let wrong = |error: results::TomlError| {
        Failure::bad_input(error.to_string(), "correct the file of claims")
    };
    let Some(path) = path else {
        return Claims::from_toml(SHIPPED, SHIPPED_NAME).map_err(wrong);
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::bad_input(
            format!("{} cannot be read: {error}", path.display()),
            "give a file of claims, such as docs/claims.toml",
        )
    })?;
    Claims::from_toml(&text, path).map_err(wrong)
}
