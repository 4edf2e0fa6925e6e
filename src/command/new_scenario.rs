//! `strewn new`.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use strewn::Replacement;
use strewn::scenario::{Scenario, Template};
use strewn::sweep::shell_word;
use strewn::terminal::{self, Ending, Failure};

use super::arguments::NewArguments;
use super::out_directory::check_replaceable;

/// What `--out` calls standard output.
const STANDARD_OUTPUT: &str = "-";

/// Writes a commented scenario that runs, or lists what there is to start from.
pub(crate) fn new(arguments: &NewArguments) -> Result<Ending, Failure> {
    if arguments.list {
        terminal::print(&list())?;
        return Ok(Ending::Complete);
    }
    let template = arguments.from.unwrap_or(Template::BOTH);
    if arguments.out.as_deref() == Some(Path::new(STANDARD_OUTPUT)) {
        return print(template);
    }
    let path = match (&arguments.out, &arguments.name) {
        (Some(out), _) => out.clone(),
        (None, Some(name)) => name.with_extension("toml"),
        (None, None) => PathBuf::from(format!("{}.toml", template.name)),
    };
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| !name.contains(['"', '\\']) && !name.contains(char::is_control));
    let name = name.ok_or_else(|| {
        Failure::bad_input(
            format!("{} cannot be the name of a scenario", path.display()),
            "give a name without quotes and backslashes, such as strewn new my-array",
        )
    })?;
    let text = template.scenario(&name);
    // Whatever the name is, what is written can be run.
    Scenario::parse(&text, &path)?;
    let published = template.published(&name).map(|(file, text)| (path.with_file_name(file), text));
    // Refused before either file is written.
    let beside = published.as_ref().map(|(file, _)| file);
    for file in [Some(&path), beside].into_iter().flatten() {
        if !arguments.force && file.symlink_metadata().is_ok() {
            return Err(is_there(file));
        }
        check_replaceable(file, "give another name")?;
    }
    // The scenario comes last, so that one without its figures is never there.
    if let Some((file, text)) = &published {
        write(file, text, arguments.force)?;
    }
    write(&path, &text, arguments.force)?;
    let also = beside.map_or(String::new(), |file| format!(" and {}", file.display()));
    let word = shell_word(&path);
    let shown = path.display();
    terminal::print(&format!("Written to {shown}{also}. Try it: strewn run {word} --quick\n"))?;
    Ok(Ending::Complete)
}

/// Prints a scenario with the template's name, as `strewn run -` reads it.
fn print(template: &Template) -> Result<Ending, Failure> {
    if template.published(template.name).is_some() {
        return Err(Failure::bad_input(
            format!("the template {} has two files, and standard output holds one", template.name),
            "give a file, such as --out my-array.toml",
        ));
    }
    terminal::print(&template.scenario(template.name))?;
    Ok(Ending::Complete)
}

/// Returns a line for each template: its name, and what it compares.
fn list() -> String {
    let widest = Template::ALL.iter().map(|template| template.name.len()).max().unwrap_or(0);
    let line = |template: &Template| format!("{:widest$}  {}\n", template.name, template.compares);
    Template::ALL.iter().map(line).collect()
}

/// Writes a new file, or with `force` one that takes the place of another.
fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let written = if force {
        Replacement::write(path, text.as_bytes()).and_then(Replacement::put_in_place)
    } else {
        write_new(path, text)
    };
    written.map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        match error.kind() {
            ErrorKind::AlreadyExists => is_there(path),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::WriteZero => {
                Failure::failed(message).with_help("make room")
            }
            _ => Failure::bad_input(message, "give a name in a directory that you may write to"),
        }
    })
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| {
        // A part of a scenario is none.
        let _ = std::fs::remove_file(path);
    })
}

fn is_there(path: &Path) -> Failure {
    Failure::bad_input(
        format!("{} is there already", path.display()),
        "give another name, or --force to replace it",
    )
}
