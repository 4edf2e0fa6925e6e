//! Output for other programs: the schema of scenarios, completions, the manual.

use clap::Command;
use clap_complete::Shell;
use strewn::scenario::{schema_json, settings_markdown};
use strewn::terminal::{self, Ending, Failure};

use super::arguments::{self, SchemaArguments};

const NAME: &str = "strewn";

/// Prints the JSON schema of scenarios, or the reference of their settings.
pub(crate) fn schema(arguments: &SchemaArguments) -> Result<Ending, Failure> {
    if arguments.markdown {
        return print(settings_markdown().as_bytes());
    }
    print(schema_json().as_bytes())
}

/// Prints completions for `shell`.
pub(crate) fn completions(shell: Shell) -> Result<Ending, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut arguments::command(), NAME, &mut text);
    print(&text)
}

/// Prints the manual page of the command, then one per subcommand; a subcommand precedes its own subcommands.
pub(crate) fn man() -> Result<Ending, Failure> {
    let mut command = arguments::command();
    command.build();
    let mut text = Vec::new();
    for page in pages(&command) {
        clap_mangen::Man::new(page)
            .render(&mut text)
            .map_err(|error| Failure::failed(format!("the manual cannot be made: {error}")))?;
    }
    print(&text)
}

fn pages(command: &Command) -> Vec<Command> {
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    std::iter::once(command.clone()).chain(verbs.flat_map(pages)).collect()
}

fn print(text: &[u8]) -> Result<Ending, Failure> {
    terminal::print(&String::from_utf8_lossy(text))?;
    Ok(Ending::Complete)
}
