//! What documents claim, with verdicts, as a Markdown table.

use crate::columns::{Columns, Drawing, TableForm};
use crate::rows_table::shown;
use strewn_results::{Claim, ClaimTest, ClaimVerdict, ClaimedOf, JudgedClaim, JudgedFigure};

/// What the verdicts mean.
const MEANING: &str = "\
Reproduced: every figure is within the bounds that the claim's own words set. Contradicted: one is not. A claim about a system
says so of the system; of a figure that was measured, a contradiction is a miss of the simulation as much as of the document.
Fitted rows are no evidence for the claim that they were fitted to.
";

/// Returns the claims as Markdown: a sentence with the counts, then a table for each document. A [`Drawing`] for
/// programs has one table for each document.
#[must_use]
pub fn claims_table(judged: &[JudgedClaim<'_>]) -> String {
    let mut text = format!("{}\n{MEANING}", counts(judged));
    let mut documents: Vec<&str> = Vec::new();
    for claim in judged {
        if !documents.contains(&claim.claim.document.as_str()) {
            documents.push(&claim.claim.document);
        }
    }
    for document in documents {
        let of_document: Vec<&JudgedClaim<'_>> =
            judged.iter().filter(|judged| judged.claim.document == document).collect();
        let table = match Drawing::form() {
            TableForm::Plain | TableForm::Markdown => columns(true).markdown(&of_document),
            TableForm::Latex | TableForm::Csv | TableForm::Json => {
                columns(false).render(&of_document)
            }
        };
        text.push_str(&format!("\n## {document}\n\n{table}"));
    }
    text
}

/// Returns a line for each claim that was tested: whether it has the verdict that is stated with it. A claim
/// that has another one is followed by its figures. At the end are the counts.
#[must_use]
pub fn claims_check(judged: &[JudgedClaim<'_>]) -> String {
    let mut text = String::new();
    let (mut as_stated, mut tested) = (0, 0);
    for claim in judged {
        let Some(is_as_stated) = claim.is_as_stated() else { continue };
        tested += 1;
        as_stated += usize::from(is_as_stated);
        let mark = if is_as_stated { "ok    " } else { "MISSED" };
        let verdict = claim.verdict.as_str();
        let Claim { document, claim: words, stated, .. } = claim.claim;
        text.push_str(&format!("{mark} {verdict:12} {document}: {words}\n"));
        if !is_as_stated {
            text.push_str(&format!("       stated: {}\n", stated.as_str()));
            for figure in &claim.figures {
                let (value, bounds) = (simulated(figure), bounds(figure));
                text.push_str(&format!("       {value}, holds if {bounds}: {}\n", source(figure)));
            }
        }
    }
    text.push_str(&format!(
        "\n{as_stated} of {tested} claims have the verdict that is stated with them.\n"
    ));
    text
}

fn columns<'a>(is_markdown: bool) -> Columns<'a, &'a JudgedClaim<'a>> {
    let between = if is_markdown { "<br>" } else { "; " };
    let each = move |judged: &JudgedClaim<'_>, words: &dyn Fn(&JudgedFigure<'_>) -> String| {
        judged.figures.iter().map(words).collect::<Vec<_>>().join(between)
    };
    Columns::new()
        .words("claim", |judged: &&JudgedClaim<'_>| judged.claim.claim.clone())
        .words("verdict", move |judged| {
            let verdict = judged.verdict.as_str();
            match (&judged.claim.test, judged.verdict) {
                (ClaimTest::NotTestable(why), _) => format!("{verdict}: {why}"),
                (_, ClaimVerdict::Contradicted) if is_markdown => format!("**{verdict}**"),
                _ => verdict.to_owned(),
            }
        })
        .words("simulated", move |judged| each(judged, &simulated))
        .words("holds if", move |judged| each(judged, &bounds))
        .words("by which run", move |judged| each(judged, &source))
}

fn counts(judged: &[JudgedClaim<'_>]) -> String {
    let count = |verdict| judged.iter().filter(|judged| judged.verdict == verdict).count();
    let mut text = format!(
        "{} claims: {} reproduced, {} contradicted, {} not testable",
        judged.len(),
        count(ClaimVerdict::Reproduced),
        count(ClaimVerdict::Contradicted),
        count(ClaimVerdict::NotTestable)
    );
    match count(ClaimVerdict::NoResults) {
        0 => text.push_str(".\n"),
        some => text.push_str(&format!(", {some} without results.\n")),
    }
    text
}

fn simulated(figure: &JudgedFigure<'_>) -> String {
    match figure.value {
        Some(value) if figure.is_fitted => {
            format!("{}, fitted", with_unit(&shown(value), figure.unit))
        }
        Some(value) => with_unit(&shown(value), figure.unit),
        None => "-".to_owned(),
    }
}

fn bounds(judged: &JudgedFigure<'_>) -> String {
    let words = match (judged.figure.least, judged.figure.most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    };
    with_unit(&words, judged.unit)
}

fn with_unit(words: &str, unit: &str) -> String {
    if unit.is_empty() { words.to_owned() } else { format!("{words} {unit}") }
}

/// Says what a figure is of: the scenario, and what of it.
fn source(judged: &JudgedFigure<'_>) -> String {
    let run = &judged.figure.run;
    let of = match &judged.figure.of {
        ClaimedOf::Row(name) => return format!("{run}: {name}"),
        ClaimedOf::Figure(of) => of,
    };
    let mut words = format!("{run}: {}, {}", of.array, of.metric.as_str());
    let parts =
        [("", &of.phase), ("workload ", &of.workload), ("link ", &of.link), ("over ", &of.over)];
    for (what, name) in parts {
        if let Some(name) = name {
            words.push_str(&format!(", {what}{name}"));
        }
    }
    if let Some(segment) = of.segment {
        words.push_str(&format!(", segment {segment}"));
    }
    if let Some(segment) = of.over_segment {
        words.push_str(&format!(", over segment {segment}"));
    }
    words
}
