//! `strewn spindle --from-datasheet FIGURES`.

use std::path::Path;

use strewn::Replacement;
use strewn::spindle::data_sheet::{DataSheet, DataSheetError};
use strewn::terminal::{self, Ending, Failure};

use crate::command::spindle_fit::profile_file;

/// Name of a profile that is not written to a file.
const UNNAMED: &str = "data-sheet";

/// Writes the profile of a drive with these figures to `out` or standard output, and what was assumed to standard
/// error.
pub(crate) fn run(figures: &str, out: Option<&Path>, force: bool) -> Result<Ending, Failure> {
    let file = out.map(|out| profile_file(out, force)).transpose()?;
    let name = out.and_then(Path::file_stem).map(|name| name.to_string_lossy());
    let name = name.as_deref().unwrap_or(UNNAMED);
    let made = DataSheet::parse(figures).and_then(|sheet| sheet.profile(name)).map_err(failure)?;
    match (file, out) {
        (Some(file), Some(out)) => {
            let written = Replacement::write(&file, made.toml.as_bytes());
            written.and_then(Replacement::put_in_place).map_err(|error| {
                Failure::failed(format!("cannot write the profile to {}: {error}", out.display()))
            })?;
        }
        _ => terminal::print(&made.toml)?,
    }
    for assumption in &made.assumptions {
        terminal::say(&format!("assumed: {assumption}"));
    }
    Ok(Ending::Complete)
}

/// The failure with all faults, each with its place and remedy.
fn failure(error: DataSheetError) -> Failure {
    let mut failures = error
        .faults
        .into_iter()
        .map(|fault| Failure::bad_input(format!("--from-datasheet, {fault}"), fault.remedy));
    match failures.next() {
        Some(first) => first.with_others(failures),
        None => Failure::failed("--from-datasheet: cannot be read"),
    }
}
