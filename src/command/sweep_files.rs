//! The files of a sweep: its table, charts and report.

use strewn::report::{self, Sweep};
use strewn::sweep::{self, Plan, Store};
use strewn::terminal::{self, Failure};

use super::arguments::PictureArguments;
use super::output_files::picture;

/// Prints the table of a sweep, as text with what the study says of it or as JSON, and writes its files.
pub(crate) fn publish(
    sweep: &Sweep,
    plan: &Plan,
    store: &Store,
    is_json: bool,
    pictures: &PictureArguments,
) -> Result<(), Failure> {
    let text = match is_json {
        true => sweep.to_json_string().map_err(|error| Failure::failed(error.to_string()))?,
        false => report::sweep_table(sweep) + &report::study_summary(sweep, &plan.study.text),
    };
    let printed = terminal::print(&text);
    let mut names = Vec::new();
    for (name, bytes) in sweep::files(sweep, &plan.study)? {
        store.write(&name, &bytes)?;
        if let (Some(stem), true) = (name.strip_suffix(".svg"), pictures.png) {
            let svg = String::from_utf8_lossy(&bytes).into_owned();
            for (name, bytes) in picture(stem, svg, pictures)? {
                store.write(&name, &bytes)?;
            }
        }
        names.push(name);
    }
    if !is_json {
        terminal::print(&format!(
            "\nWritten into {}: {}.\n",
            store.directory().display(),
            names.join(", ")
        ))?;
    }
    printed
}
