//! What is printed for other programs.

use crate::common::Folder;
use serde_json::Value;
use strewn::scenario::Template;

#[test]
fn the_schema_is_json_and_of_this_version() {
    let text = Folder::new().strewn(&["schema"]).succeeded();
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["properties"]["schema"]["const"], 1);
    assert!(schema["properties"]["array"]["items"]["properties"]["write_anywhere"].is_object());
}

/// The page of the documentation is written by the command.
#[test]
fn the_reference_of_settings_is_of_this_version() {
    let text = Folder::new().strewn(&["schema", "--markdown"]).succeeded();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/settings.md"));
    assert_eq!(page.unwrap(), text, "write it again: strewn schema --markdown > docs/settings.md");
}

#[test]
fn completions_and_the_manual_know_every_verb() {
    let folder = Folder::new();
    let help = folder.strewn(&["--help"]).succeeded();
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs: Vec<&str> = verbs
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.contains(&"run") && verbs.contains(&"bench"), "{verbs:?}");
    let manual = folder.strewn(&["man"]).succeeded();
    for verb in &verbs {
        assert!(manual.contains(&format!(".TH strewn-{verb} 1")), "no page for {verb}");
    }
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let completions = folder.strewn(&["completions", shell]).succeeded();
        for verb in &verbs {
            assert!(completions.contains(verb), "no {verb} for {shell}");
        }
    }
    // The templates of `strewn new`, with what each compares where the format has room for it.
    let manual = manual.replace("\\-", "-").replace("\\*(Aq", "'");
    let bash = folder.strewn(&["completions", "bash"]).succeeded();
    let fish = folder.strewn(&["completions", "fish"]).succeeded();
    for template in Template::ALL {
        assert!(bash.contains(template.name), "{}", template.name);
        assert!(fish.replace('\\', "").contains(template.compares), "{}", template.name);
        assert!(manual.contains(template.compares), "{}", template.name);
    }
    folder.strewn(&["completions", "fis"]).refused(&["fish"]);
    folder.strewn(&["completions"]).refused(&["SHELL"]);
}

/// Columns of the terminal that help must fit, and its lines.
const SCREEN: (usize, usize) = (100, 40);

#[test]
fn short_help_of_every_command_fits_a_screen() {
    let folder = Folder::new();
    let mut commands = vec![Vec::<String>::new()];
    let mut count = 0;
    while let Some(command) = commands.pop() {
        let help_of = |flag: &str| {
            let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
            words.push(flag);
            folder.strewn(&words).succeeded()
        };
        let help = help_of("-h");
        let (columns, lines) = SCREEN;
        // A line that is too long goes on in the next one of the terminal; only lists of values may.
        let is_long = |line: &&str| line.len() > columns && !line.contains("[possible values: ");
        assert_eq!(help.lines().find(is_long), None, "{command:?}");
        let shown: usize = help.lines().map(|line| line.len().div_ceil(columns).max(1)).sum();
        assert!(shown <= lines, "{command:?}: {shown} lines\n{help}");
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{help}"));
        assert_eq!(examples.lines().count(), 3, "{help}");
        assert!(examples.lines().all(|line| line.contains("strewn ")), "{help}");
        let long = help_of("--help");
        assert!(long.len() >= help.len() && long.contains(examples.trim_end()), "{long}");

        let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in verbs.take_while(|line| !line.is_empty()) {
            let verb = line.split_whitespace().next().unwrap();
            if verb != "help" {
                commands.push(command.iter().cloned().chain([verb.to_owned()]).collect());
            }
        }
        count += 1;
    }
    assert!(count > 18, "{count} commands");
}

#[test]
fn messages_are_coloured_when_asked_to() {
    let folder = Folder::new();
    for words in [&["run", "no.toml"][..], &["run", "--no-such-flag"]] {
        let stderr = |color: &[&str]| {
            let output = folder.command(&[words, color].concat()).output().unwrap();
            String::from_utf8(output.stderr).unwrap()
        };
        let escape = '\u{1b}';
        assert!(stderr(&["--color", "always"]).contains(escape), "{words:?}");
        assert!(stderr(&["--color=always"]).contains(escape), "{words:?}");
        assert!(!stderr(&["--color", "never"]).contains(escape), "{words:?}");
        assert!(!stderr(&[]).contains(escape), "{words:?}");
    }
    folder.strewn(&["run", "small.toml", "--color", "sometimes"]).refused(&["always", "never"]);
}
