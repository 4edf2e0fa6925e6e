//! `strewn trace`.

use strewn::report::{self, TRACE_CHARTS};
use strewn::results;
use strewn::terminal::{self, Ending, Failure, ReadingTerminal};
use strewn::{TraceView, trace_figures};

use super::arguments::TraceArguments;
use super::out_directory::OutDirectory;
use super::output_files::{picture, picture_names};

/// Name of the figures' file in the directory of `--out`, beside the charts.
const FIGURES_FILE: &str = "trace.json";

/// Counts what is in a trace; prints tables or JSON, and draws charts.
pub(crate) fn trace(arguments: &TraceArguments) -> Result<Ending, Failure> {
    let TraceArguments { file, out, pictures, .. } = arguments;
    pictures.check_against(out.as_deref())?;
    let stem = |name: &'static str| name.strip_suffix(".svg").unwrap_or(name);
    let charts = TRACE_CHARTS.map(|chart| stem(chart.file_name()));
    let out = out.as_deref().map(|out| {
        let charts = charts.iter().flat_map(|stem| picture_names(stem, pictures));
        let names = std::iter::once(FIGURES_FILE.to_owned()).chain(charts).collect();
        OutDirectory::check(out, arguments.force, names)
    });
    let out = out.transpose()?;
    let view = TraceView {
        format: arguments.trace_format,
        action: arguments.moments.action(),
        volumes: arguments.volumes.clone(),
        at_whole_seconds: arguments.moments.at_whole_seconds,
    };
    let reading = ReadingTerminal::watch();
    let figures = trace_figures(file, &view, &mut |read, length| reading.progress(read, length));
    let was_stopped = reading.was_stopped();
    // Clear the progress bar before anything is printed.
    drop(reading);
    let figures = match figures {
        Err(_) if was_stopped => return Err(Failure::stopped("stopped while the trace was read")),
        figures => figures?,
    };
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let json = results::figures_json(&figures).map_err(|error| failed(&error))?;
    // Print first, whether or not there is room for the files.
    let text = arguments.format.tables_or(|| Ok(json.clone()), || report::trace_text(&figures))?;
    terminal::print(&text)?;
    if let Some(out) = out {
        let mut files = vec![(FIGURES_FILE.to_owned(), json.into_bytes())];
        for (chart, stem) in TRACE_CHARTS.into_iter().zip(charts) {
            let svg = chart.draw(&figures, pictures.style()).map_err(|error| failed(&error))?;
            files.extend(picture(stem, svg, pictures)?);
        }
        out.write(&files, |_| "make room, and repeat the command".to_owned())?;
    }
    Ok(Ending::Complete)
}
