//! The files of a sweep: its table, charts and report.

use std::fs;
use std::path::{Path, PathBuf};

use strewn::report::{self, StudySource};
use strewn::results::Sweep;
use strewn::studies::without_dots;
use strewn::sweep::{self, Plan, Store, shell_word};
use strewn::terminal::{self, Failure};

use super::arguments::{Format, FormatArguments, PictureArguments};
use super::out_directory::check_own;
use super::output_files::picture;

/// Prints the table of a sweep, with what the study says of it where that is for a person, and writes its files.
pub(crate) fn publish(
    sweep: &Sweep,
    plan: &Plan,
    store: &Store,
    format: &FormatArguments,
    pictures: &PictureArguments,
) -> Result<(), Failure> {
    let text = match format.format() {
        Format::Csv => {
            let mut csv = Vec::new();
            let written = report::write_sweep_csv(sweep, &mut csv);
            written.map_err(|error| Failure::failed(error.to_string()))?;
            String::from_utf8_lossy(&csv).into_owned()
        }
        _ => format.tables_or(
            || sweep.to_json_string(),
            || report::sweep_table(sweep) + &report::study_summary(sweep, &plan.study.text),
        )?,
    };
    let printed = terminal::print(&text);
    let mut files = sweep::files(sweep, &plan.study, pictures.style())?;
    let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    if pictures.png {
        let charts = files.iter().filter_map(|(name, bytes)| {
            Some((name.strip_suffix(".svg")?, String::from_utf8_lossy(bytes).into_owned()))
        });
        let drawn = charts.map(|(stem, svg)| picture(stem, svg, pictures));
        let drawn = drawn.collect::<Result<Vec<_>, _>>()?;
        for file in drawn.into_iter().flatten() {
            files.retain(|(name, _)| *name != file.0);
            files.push(file);
        }
    }
    store.publish(&files)?;
    if !format.is_for_programs() {
        terminal::print(&format!(
            "\nWritten into {}: {}.\n",
            store.directory().display(),
            names.join(", ")
        ))?;
    }
    printed
}

/// Refuses a page of a study, or a chart of it, in the place of a file that this program has not written.
pub(crate) fn check_page(pages: &Path, file: &str) -> Result<(), Failure> {
    let is_own = match file.ends_with(".svg") {
        true => report::is_sweep_chart,
        false => report::is_study_page,
    };
    check_own(&pages.join(file), is_own).map_err(|what| {
        Failure::bad_input(
            format!("--pages {}: {file}: {what}", pages.display()),
            "move it away, or give another directory",
        )
    })
}

/// Writes a study's page and charts.
pub(crate) fn write_page(
    pages: &Path,
    plan: &Plan,
    sweep: &Sweep,
    source: &StudySource,
) -> Result<(), Failure> {
    fs::create_dir_all(pages).map_err(|error| {
        Failure::failed(format!("cannot create {}: {error}", pages.display()))
            .with_help("give a directory that you may write to")
    })?;
    let files = sweep::page(sweep, &plan.study, source)?;
    files.iter().try_for_each(|(file, _)| check_page(pages, file))?;
    for (file, bytes) in &files {
        Store::new(pages).write(file, bytes)?;
    }
    terminal::say(&format!("{}: written", pages.join(format!("{}.md", plan.study.name)).display()));
    Ok(())
}

/// Returns what the page of a study of one's own says that it comes from.
pub(crate) fn source_of(plan: &Plan, pages: &Path) -> StudySource {
    let file = plan.study.file.as_deref();
    let name = file.and_then(Path::file_name).map(Path::new);
    StudySource {
        command: format!("strewn sweep {}", shell_word(name.unwrap_or(Path::new("STUDY.toml")))),
        link: file.map(|file| {
            let link = link_from(&std::path::absolute(pages).unwrap_or_default(), file);
            link.to_string_lossy().replace('\\', "/")
        }),
    }
}

/// Returns the path of a file from a directory, both given from the root.
fn link_from(directory: &Path, file: &Path) -> PathBuf {
    let parts = |path: &Path| -> Vec<PathBuf> {
        without_dots(path).components().map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let (directory, file) = (parts(directory), parts(file));
    let shared = directory.iter().zip(&file).take_while(|(one, other)| one == other).count();
    let up = directory[shared..].iter().map(|_| PathBuf::from(".."));
    up.chain(file[shared..].iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_from_the_page_to_the_study() {
        let link = |directory: &str, file: &str| link_from(Path::new(directory), Path::new(file));
        assert_eq!(link("/a/pages", "/a/studies/one.toml"), Path::new("../studies/one.toml"));
        assert_eq!(link("/a", "/a/b/../one.toml"), Path::new("one.toml"));
        assert_eq!(link("/a/b/c", "/a/one.toml"), Path::new("../../one.toml"));
    }
}
