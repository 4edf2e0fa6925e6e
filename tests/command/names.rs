//! Names from files that someone else wrote act on nobody's terminal, and mislead nobody.

use crate::common::{Folder, Ran, SMALL};

/// An escape sequence, a link of a terminal, a control sequence in one letter, and a mark that turns the text around.
const NAME: &str = "\\u001b[31mX\\u001b]8;;http://x\\u0007\\u009b1m\\u202etfel\\u2066";

fn is_harmful(letter: char) -> bool {
    letter.is_control() && letter != '\n'
        || ('\u{202a}'..='\u{202e}').contains(&letter)
        || ('\u{2066}'..='\u{2069}').contains(&letter)
}

#[track_caller]
fn assert_harmless(text: &str) {
    let found = text.find(is_harmful);
    let near = found.map(|at| text[at..].chars().take(20).collect::<String>());
    assert_eq!(near.map(|near| near.escape_debug().to_string()), None);
}

fn of_run(ran: &Ran) -> &str {
    assert_harmless(&ran.stdout);
    assert_harmless(&ran.stderr);
    &ran.stdout
}

#[test]
fn of_a_scenario_are_harmless_in_every_output() {
    let folder = Folder::new();
    let named = SMALL
        .replace("published = \"small.published.toml\"\n", "")
        .replace("name = \"anywhere\"", &format!("name = \"{NAME}\""))
        .replace("title = \"", &format!("title = \"{NAME}"));
    let named = named.split("[overhead]").next().unwrap();
    let fitted = "[array.fitted]\nparameters = [\"processor.host_operation\"]\nsegments = [1]\n";
    folder.write("evil.toml", &named.replace(fitted, ""));
    let ran = folder.strewn(&["run", "evil.toml", "--segments", "2", "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(of_run(&ran).contains("\\u001b[31mX"), "{}", ran.stdout);
    let pictures = folder.contents_of("out");
    let drawn =
        pictures.iter().filter(|(name, _)| name.ends_with(".svg") || name.ends_with(".html"));
    let mut count = 0;
    for (name, bytes) in drawn {
        assert_harmless(&String::from_utf8_lossy(bytes).replace('\r', ""));
        assert!(!name.is_empty());
        count += 1;
    }
    assert!(count > 3, "{count}");
    // JSON has the name itself.
    let json = folder.strewn(&["run", "evil.toml", "--segments", "1", "--json"]);
    let results = strewn::results::Results::from_json(of_run(&json)).unwrap();
    assert!(results.arrays.iter().any(|array| array.name.contains("\u{1b}[31mX")));
    for words in [
        &["run", "evil.toml", "--explain"][..],
        &["report", "out"],
        &["compare", "out", "out"],
        &["run", "evil.toml", "--set", "array.nowhere.outstanding=1"],
    ] {
        of_run(&folder.strewn(words));
    }
}

#[test]
fn of_workloads_and_lists_are_harmless() {
    let folder = Folder::new();
    let name = "a\u{1b}[31m\u{202e}b";
    folder.write(
        "j.fio",
        &format!("[{name}]\nrw=read\nsize=1m\nnumber_ios=9\n[b]\nrw=write\nsize=1m\n"),
    );
    let own = SMALL.replace("published = \"small.published.toml\"\n", "");
    let own = own.split("[overhead]").next().unwrap();
    let fitted = "[array.fitted]\nparameters = [\"processor.host_operation\"]\nsegments = [1]\n";
    folder.write("own.toml", &own.replace(fitted, ""));
    let ran = folder.strewn(&["run", "own.toml", "--fio-job", "j.fio", "--quick"]);
    of_run(&ran);
    let ran = folder.strewn(&["run", "own.toml", "--fio-job", "j.fio"]);
    assert!(of_run(&ran).contains("a\\u001b[31m\\u202eb"), "{}{}", ran.stdout, ran.stderr);
    folder.write("bad.fio", &format!("[{name}]\nrw=read\nsize=1m\n{name}=1\n"));
    of_run(&folder.strewn(&["run", "own.toml", "--fio-job", "bad.fio"]));
    folder.write("list.csv", &format!("path,offset,bytes,address\n\"{name}\",0,4096,8192\n"));
    for words in [&["file", "--from", "list.csv"][..], &["file", "--from", "list.csv", "--json"]] {
        let ran = folder.strewn(words);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        of_run(&ran);
    }
    of_run(&folder.strewn(&["run", name]));
}

/// The first line is the headline, and stays one.
#[test]
fn of_a_scenario_have_one_line() {
    let folder = Folder::new();
    for setting in ["name = \"anywhere\"", "title = \""] {
        let begins = setting.trim_end_matches("anywhere\"");
        folder.write(
            "two.toml",
            &SMALL.replace(setting, &setting.replace(begins, &format!("{begins}two\\n"))),
        );
        let ran = folder.strewn(&["run", "two.toml", "--segments", "1"]);
        ran.refused(&["two.toml", "has a line break", "write it in one line"]);
    }
}

#[test]
fn csv_is_csv_on_standard_output_too() {
    let folder = Folder::new();
    folder.write("list.csv", "offset,bytes,address\n0,65536,1048576\n");
    let printed = folder.strewn(&["file", "--from", "list.csv", "--format", "csv"]).succeeded();
    assert!(printed.lines().count() == 2 && printed.ends_with("\r\n"), "{printed:?}");
    assert!(!printed.contains('\\'), "{printed:?}");
}
