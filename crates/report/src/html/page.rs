//! The page around the sections: template, style, script, data.

use crate::beside::Beside;
use crate::chart::ChartError;
use crate::headline::{headline, run_line};
use crate::html::sections;
use crate::shown::shown_text;
use crate::theme::{Theme, page_variables};
use crate::value_mark::escaped;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::Serialize;
use strewn_results::{LayoutMap, RealSpindles, Results, ResultsError, Severity};

// What the blocks of a section look like stands before both: an include needs more of the template engine.
pub(super) const TEMPLATE: &str = concat!(include_str!("blocks.html"), include_str!("report.html"));
const ONE_SECTION: &str = concat!(include_str!("blocks.html"), "{{ blocks(section) }}");
const STYLE: &str = include_str!("report.css");
/// Script of a page with charts: what a mark says when it is pointed at.
pub const TIPS_SCRIPT: &str = include_str!("tips.js");
/// Script of a page with a map.
pub const MAP_SCRIPT: &str = include_str!("map.js");
const SCRIPT: &str =
    concat!(include_str!("tips.js"), include_str!("map.js"), include_str!("report.js"));

/// A map with more bytes of JSON than this loses columns, so that the page opens at once.
const LONGEST_MAP_BYTES: usize = 1_200_000;
/// Fewer columns would show nothing.
const FEWEST_COLUMNS: u32 = 128;

/// The sources of a report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The results.
    pub results: &'a Results,
    /// The map of the same run, if there is one.
    pub map: Option<&'a LayoutMap>,
    /// The text of the scenario, if it is known.
    pub scenario: Option<&'a str>,
}

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A chart of it cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// Results or map cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The template cannot be filled in.
    #[error("report: {0}")]
    Template(String),
}

impl From<minijinja::Error> for ReportError {
    fn from(error: minijinja::Error) -> Self {
        Self::Template(format!("{error:#}"))
    }
}

impl Report<'_> {
    /// Returns the text of `report.html`.
    ///
    /// # Errors
    ///
    /// If a chart cannot be drawn, or a figure is infinite or not a number.
    pub fn to_html(&self) -> Result<String, ReportError> {
        let results = self.results;
        let map = self.map.map(map_text).transpose()?;
        let repeatable = match results.real_spindles {
            None => "The same scenario, seed and version give the same figures on any machine.",
            Some(_) => "Real time and real spindles: no two runs give the same figures.",
        };
        // Real spindles are not a shortfall: they have a style of their own.
        let real_spindles: Vec<String> =
            results.real_spindles.iter().flat_map(RealSpindles::sentences).collect();
        let environment = environment();
        let page = environment.template_from_named_str("report.html", TEMPLATE)?;
        Ok(page.render(context! {
            version => results.strewn,
            title => format!("{}, seed {}", results.scenario, results.seed),
            style => page_style(),
            run => run_line(results),
            heading => headline(results),
            real_spindles,
            shortfalls => caveats(results),
            sections => sections::all(self.results, self.map, self.scenario, &Beside::default())?,
            skip_to => "summary",
            skip_words => "summary",
            source => "results.json",
            footer => format!("; schema {}, seed {}. {repeatable}", results.schema, results.seed),
            // Leaves out what differs from run to run.
            results => within_script(&results.without_wall_time().to_json_string()?),
            layout_map => within_script(map.as_deref().unwrap_or("null")),
            script => SCRIPT,
        })?)
    }

    /// Returns the parts of `report.html`, with more beside the results.
    ///
    /// # Errors
    ///
    /// As [`to_html`](Self::to_html).
    pub fn to_parts(&self, beside: &Beside<'_>) -> Result<ReportParts, ReportError> {
        let environment = environment();
        let template = environment.template_from_named_str("section.html", ONE_SECTION)?;
        let sections = sections::all(self.results, self.map, self.scenario, beside)?;
        let rendered = sections.into_iter().map(|section| {
            let html = template.render(context! { section })?;
            Ok::<_, ReportError>(ReportSection { id: section.id, title: section.title, html })
        });
        Ok(ReportParts {
            run: run_line(self.results),
            heading: headline(self.results),
            notes: caveats(self.results),
            accuracy: self.results.accuracy(),
            sections: rendered.collect::<Result<_, _>>()?,
        })
    }
}

/// Returns why figures are not, or do not show, what a reader may take them for.
fn caveats(results: &Results) -> Vec<String> {
    let shortfalls = [&results.shortfalls(), results.out_of_proportion()].concat();
    let findings = results.findings.iter().filter(|finding| finding.severity != Severity::Note);
    shortfalls.into_iter().chain(findings.map(|finding| finding.text.clone())).collect()
}

/// A report in parts, for a page that has more than a report.
#[derive(Clone, Debug, Serialize)]
pub struct ReportParts {
    /// What was run.
    pub run: String,
    /// What came of it, in a sentence.
    pub heading: String,
    /// Why these are not the results of a whole run.
    pub notes: Vec<String>,
    /// How near to those of full scale they are, if they are of another one.
    pub accuracy: Option<String>,
    /// The sections.
    pub sections: Vec<ReportSection>,
}

/// A section of a report.
#[derive(Clone, Debug, Serialize)]
pub struct ReportSection {
    /// What links to it and style sheets call it.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its contents as HTML, in the style of `report.html`.
    pub html: String,
}

/// Returns a template engine that escapes whatever is not declared safe, and refuses undefined names.
pub(super) fn environment() -> Environment<'static> {
    // With what templates use and no more: a module for browsers has room for little else.
    let mut environment = Environment::empty();
    environment.add_filter("safe", minijinja::filters::safe);
    environment.add_function("range", minijinja::functions::range);
    environment.add_test("none", minijinja::tests::is_none);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, _, value| match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&escaped(text))?),
        _ => Ok(write!(out, "{value}")?),
    });
    environment.set_keep_trailing_newline(true);
    environment
}

/// Returns a page made of a template, whose values are escaped unless it declares them safe.
///
/// # Errors
///
/// If the template is wrong, or names a value that `values` lacks.
pub fn render_page(
    name: &str,
    template: &str,
    values: impl Serialize,
) -> Result<String, ReportError> {
    let environment = environment();
    Ok(environment.template_from_named_str(name, template)?.render(values)?)
}

/// Returns the style sheet with the colours of both themes.
#[must_use]
pub fn page_style() -> String {
    STYLE
        .replace("{{light}}", &page_variables(Theme::Light))
        .replace("{{dark}}", &page_variables(Theme::Dark))
}

/// Returns the text of the map, with as many columns as fit.
fn map_text(map: &LayoutMap) -> Result<String, ResultsError> {
    let text = map.to_json_string()?;
    let columns = map.arrays.iter().map(|array| array.columns).max().unwrap_or_default();
    if text.len() <= LONGEST_MAP_BYTES || columns / 2 < FEWEST_COLUMNS {
        return Ok(text);
    }
    map_text(&map.halved())
}

/// Returns JSON that cannot end its script element, and misleads nobody who reads it: `<` and harmful letters are
/// written as escapes, which are the same string.
#[must_use]
pub fn within_script(json: &str) -> String {
    shown_text(json.trim_end()).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_escaped_and_not_looked_at_again() {
        let text = "{{ y }} <b>'\"&";
        let filled =
            environment().render_str("a {{ x }} b {{ y }}", context! { x => text, y => 1 });
        assert_eq!(filled.unwrap(), "a {{ y }} &lt;b&gt;&#39;&quot;&amp; b 1");
        assert!(environment().render_str("{{ unknown }}", context! {}).is_err());
    }

    #[test]
    fn a_script_is_not_ended_from_within() {
        assert_eq!(within_script("\"</script>\"\n"), "\"\\u003c/script>\"");
    }
}
