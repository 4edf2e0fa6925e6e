//! The mix of operations of a workload: one setting on the page, several in a scenario.

use strewn_scenario::{AccessLine, AccessSpecificationChoice, Scenario, Workload};
use strewn_workload::shipped_names;

use crate::control::{Choice, Control};

/// The name of the setting below a workload.
pub(crate) const KEY: &str = "access_specification";

/// A line that is the whole mix: its size, and how much of it is reads, and random.
struct Mix {
    words: &'static str,
    bytes: &'static str,
    read_percent: u8,
    random_percent: u8,
}

/// What people measure with, besides the specifications that ship.
const MIXES: [Mix; 6] = [
    Mix {
        words: "4 KiB, 67 % reads, random",
        bytes: "4 KiB",
        read_percent: 67,
        random_percent: 100,
    },
    Mix { words: "4 KiB writes, random", bytes: "4 KiB", read_percent: 0, random_percent: 100 },
    Mix { words: "4 KiB reads, random", bytes: "4 KiB", read_percent: 100, random_percent: 100 },
    Mix {
        words: "8 KiB, 70 % reads, random",
        bytes: "8 KiB",
        read_percent: 70,
        random_percent: 100,
    },
    Mix {
        words: "64 KiB reads, sequential",
        bytes: "64 KiB",
        read_percent: 100,
        random_percent: 0,
    },
    Mix { words: "64 KiB writes, sequential", bytes: "64 KiB", read_percent: 0, random_percent: 0 },
];

/// What a mix is called that has no name.
const OWN: &str = "as the text says";

/// Returns the control of the workload whose setting this is.
pub(crate) fn control(scenario: &Scenario, path: String, of: &str, label: &'static str) -> Control {
    let number = path.split('.').nth(1).and_then(|number| number.parse::<usize>().ok());
    let workload = scenario.workloads.get(number.unwrap_or(1) - 1);
    let value = workload.map_or_else(String::new, name_of);
    let choice = |name: &str| Choice { value: name.to_owned(), label: name.to_owned() };
    let named = shipped_names().iter().copied().chain(MIXES.iter().map(|mix| mix.words));
    let mut choices: Vec<Choice> = named.map(choice).collect();
    if !choices.iter().any(|choice| choice.value == value) {
        choices.push(choice(&value));
    }
    let about = "Sizes of operations, and how many of them are reads, and random.";
    Control::choice(path, of, label, about, value, choices)
}

fn name_of(workload: &Workload) -> String {
    let is = |line: &AccessLine, mix: &Mix| {
        mix.bytes == format!("{} KiB", line.bytes / 1024)
            && (mix.read_percent, mix.random_percent) == (line.read_percent, line.random_percent)
    };
    match &workload.access_specification {
        AccessSpecificationChoice::Shipped(name) => name.clone(),
        AccessSpecificationChoice::Inline(lines) => match lines.as_slice() {
            [line] => {
                MIXES.iter().find(|mix| is(line, mix)).map_or(OWN, |mix| mix.words).to_owned()
            }
            _ => OWN.to_owned(),
        },
    }
}

/// Returns the settings that make a mix; none if it has another name. `before` is what comes before the names of the
/// workload's settings, and `has_lines` is whether the workload has lines of its own.
pub(crate) fn settings(
    before: &str,
    value: &str,
    has_lines: bool,
) -> Option<Vec<(String, Option<String>)>> {
    let own = |key: &str, value: Option<&str>| (format!("{before}{key}"), value.map(str::to_owned));
    let without_lines = has_lines.then(|| own("access", None));
    if shipped_names().contains(&value) {
        return Some(without_lines.into_iter().chain([own(KEY, Some(value))]).collect());
    }
    let mix = MIXES.iter().find(|mix| mix.words == value)?;
    let mut settings: Vec<_> = without_lines.into_iter().chain([own(KEY, None)]).collect();
    for (key, value) in [
        ("access.1.bytes", mix.bytes.to_owned()),
        ("access.1.percent", "100".to_owned()),
        ("access.1.read_percent", mix.read_percent.to_string()),
        ("access.1.random_percent", mix.random_percent.to_string()),
    ] {
        settings.push(own(key, Some(&value)));
    }
    Some(settings)
}
