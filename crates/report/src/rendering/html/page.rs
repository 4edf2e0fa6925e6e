//! The page around the sections: template, style, script, data.

use super::sections::{self, Section};
use super::{Report, ReportError};
use crate::data::layout_map::LayoutMap;
use crate::data::live::RealSpindles;
use crate::rendering::theme::{Theme, page_variables};
use crate::rendering::value_mark::escaped;

const TEMPLATE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// A longer text of the map than this gets fewer columns, so that the page stays one that opens at once.
const LONGEST_MAP_BYTES: usize = 1_200_000;
/// Fewer columns than this would show nothing.
const FEWEST_COLUMNS: u32 = 128;

/// The text of the map, as sharp as it can be.
fn map_text(map: &LayoutMap) -> Result<String, ReportError> {
    let text = map.to_json_string()?;
    let columns = map.arrays.iter().map(|array| array.columns).max().unwrap_or_default();
    if text.len() <= LONGEST_MAP_BYTES || columns / 2 < FEWEST_COLUMNS {
        return Ok(text);
    }
    map_text(&map.halved())
}

pub(super) fn page(report: &Report<'_>) -> Result<String, ReportError> {
    let results = report.results;
    let sections = sections::all(report)?;
    let nav =
        |section: &Section| format!("<a href=\"#{}\">{}</a>", section.id, escaped(section.title));
    let main = |section: &Section| {
        let Section { id, title, html } = section;
        let title = escaped(title);
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{html}</section>\n"
        )
    };
    let style = filled(
        STYLE,
        &[("light", &page_variables(Theme::Light)), ("dark", &page_variables(Theme::Dark))],
    );
    let paragraph =
        |class: &str, words: &str| format!("<p class=\"{class}\">{}</p>\n", escaped(words));
    // That spindles are real keeps a run from nothing.
    let of_real = results.real_spindles.iter().flat_map(RealSpindles::sentences);
    let of_real = of_real.map(|words| paragraph("of-real", &words));
    let shortfalls = results.shortfalls().into_iter().map(|words| paragraph("caveat", &words));
    let caveats: String = of_real.chain(shortfalls).collect();
    let map = report.map.map(map_text).transpose()?;
    // Without what differs from run to run.
    let text = results.without_wall_time().to_json_string()?;
    let repeatable = match results.real_spindles {
        None => "The same scenario, seed and version give the same figures on any machine.",
        Some(_) => "Real time and real spindles: no two runs give the same figures.",
    };
    Ok(filled(
        TEMPLATE,
        &[
            ("version", &escaped(&results.strewn)),
            ("title", &escaped(&format!("{}, seed {}", results.scenario, results.seed))),
            ("style", &style),
            ("run", &escaped(&sections::run_line(results))),
            ("heading", &escaped(&sections::headline(results))),
            ("caveats", &caveats),
            ("nav", &sections.iter().map(nav).collect::<String>()),
            ("main", &sections.iter().map(main).collect::<String>()),
            ("schema", &results.schema.to_string()),
            ("seed", &results.seed.to_string()),
            ("repeatable", repeatable),
            ("results", &within_script(&text)),
            ("map", &within_script(map.as_deref().unwrap_or("null"))),
            ("script", SCRIPT),
        ],
    ))
}

/// A template with its `{{names}}` replaced; what is put in is not looked at again.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("{{") {
        text.push_str(before);
        let (name, after) = from.split_once("}}").unwrap_or((from, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        debug_assert!(value.is_some(), "the template has an unknown name: {name}");
        text.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    text + rest
}

/// JSON that cannot end the script element that it is in: `<` is written by its number, which is the same string.
fn within_script(json: &str) -> String {
    json.trim_end()
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_not_looked_at_again() {
        assert_eq!(filled("a {{x}} b {{y}}", &[("x", "{{y}}"), ("y", "1")]), "a {{y}} b 1");
    }

    #[test]
    fn a_script_is_not_ended_from_within() {
        assert_eq!(within_script("\"</script>\"\n"), "\"\\u003c/script>\"");
    }
}
