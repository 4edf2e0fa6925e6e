//! `strewn new`.

use std::fs::File;
use std::io::{ErrorKind, Write};

use strewn::scenario::{Scenario, Template};
use strewn::sweep::shell_word;
use strewn::terminal::{self, Ending, Failure};

use super::arguments::{NewArguments, Preset};

impl Preset {
    const fn template(self) -> Template {
        match self {
            Self::Both => Template::Both,
            Self::Fas2050 => Template::Fas2050,
            Self::Eva4400 => Template::Eva4400,
        }
    }
}

/// Writes a commented scenario that runs.
pub(crate) fn new(arguments: &NewArguments) -> Result<Ending, Failure> {
    let path = arguments.name.with_extension("toml");
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| !name.contains(['"', '\\']) && !name.contains(char::is_control));
    let name = name.ok_or_else(|| {
        Failure::bad_input(
            format!("{} cannot be the name of a scenario", arguments.name.display()),
            "give a name without quotes and backslashes, such as strewn new my-array",
        )
    })?;
    let text = arguments.from.template().scenario(&name);
    // Whatever the name is, what is written can be run.
    Scenario::parse(&text, &path)?;
    let shown = path.display();
    let mut file = File::create_new(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::bad_input(
            format!("{shown} is there already"),
            "give another name, or move it away",
        ),
        _ => Failure::bad_input(
            format!("cannot write {shown}: {error}"),
            "give a name in a directory that you may write to",
        ),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // A part of a scenario is none.
        let _ = std::fs::remove_file(&path);
        Failure::failed(format!("cannot write {shown}: {error}")).with_help("make room")
    })?;
    let word = shell_word(&path);
    terminal::print(&format!("Written to {shown}. Try it: strewn run {word} --quick\n"))?;
    Ok(Ending::Complete)
}
