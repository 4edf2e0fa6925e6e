//! Draws every chart of a directory of results into another: `draw_charts RESULTS OUT [dark]`.

use std::path::Path;
use strewn_report::{ChartSize, ChartStyle, LayoutMap, RESULTS_CHARTS, Results, Theme};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, rest @ ..] = &words[..] else { return Err("give RESULTS and OUT".into()) };
    let results =
        Results::from_json(&std::fs::read_to_string(Path::new(from).join("results.json"))?)?;
    let map = std::fs::read_to_string(Path::new(from).join("map.json")).ok();
    let map = map.map(|text| LayoutMap::from_json(&text)).transpose()?;
    let theme = if rest.is_empty() { Theme::Light } else { Theme::Dark };
    std::fs::create_dir_all(to)?;
    for chart in RESULTS_CHARTS {
        let style = ChartStyle { size: ChartSize::default(), theme };
        if let Some(svg) = chart.draw(&results, map.as_ref(), style)? {
            std::fs::write(Path::new(to).join(chart.file_stem()).with_extension("svg"), svg)?;
        }
    }
    Ok(())
}
