//! Changing single settings of a scenario's text by name, as `--set` does.

use std::path::Path;

use toml_edit::TomlError;

use crate::array::Array;
use crate::edit::{self, EditedText, SettingPath};
use crate::fields::{Context, absent_names};
use crate::files::{Files, Profiles};
use crate::nearest::near;
use crate::problem::{Problem, ProblemKind, ScenarioError};
use crate::scenario::{Scenario, syntax_remedy};
use crate::workload::AccessSpecificationChoice;

/// The beginning of the names of an array's settings, before its name.
pub(crate) const OF_ARRAYS: &str = "array.";
/// The beginning of the names of a link's settings, before its number.
const OF_LINKS: &str = "link.";
/// The beginning of the names of a workload's settings, before its number.
const OF_WORKLOADS: &str = "workload.";
/// The beginning of the names of a phase's settings, before its number.
const OF_PHASES: &str = "phase.";
/// The beginning of a name that means the setting of every array that has it.
const OF_EVERY_ARRAY: &str = "*.";
/// Most names that an error lists.
const MOST_LISTED: usize = 6;

/// Why a setting cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// No setting has this name.
    #[error("there is no setting `{path}`")]
    Unknown {
        /// The name given.
        path: String,
        /// The nearest names, or the beginnings that there are.
        nearest: Vec<String>,
    },
    /// Several settings have this name.
    #[error("`{path}` is ambiguous")]
    Ambiguous {
        /// The name given.
        path: String,
        /// The settings, each by a name of its own.
        candidates: Vec<String>,
    },
    /// The scenario is not valid with the setting.
    #[error("{setting}: {}", .problems.iter().map(in_a_line).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// The setting, as its name and value.
        setting: String,
        /// What is wrong then.
        problems: Vec<Problem>,
    },
    /// The scenario is not valid without the settings.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

fn in_a_line(problem: &Problem) -> String {
    format!("{} {}", problem.field(), problem.message())
}

impl SetError {
    /// Returns the remedy, if the message does not give it already.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let listed = |names: &[String]| {
            let names: Vec<String> =
                names.iter().take(MOST_LISTED).map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        match self {
            Self::Unknown { nearest, .. } if nearest.is_empty() => {
                Some("`strewn run SCENARIO --explain` lists every setting".to_owned())
            }
            Self::Unknown { nearest, .. } => Some(format!(
                "did you mean {}? `strewn run SCENARIO --explain` lists every setting",
                listed(nearest)
            )),
            Self::Ambiguous { path, candidates } => {
                let one = format!("say which one: {}", listed(candidates));
                // Those of workloads or links have no name in common.
                let all = path.strip_prefix(OF_ARRAYS).unwrap_or(path);
                let are_of_arrays = candidates.iter().all(|one| one.ends_with(&format!(".{all}")));
                Some(match are_of_arrays && !path.starts_with(OF_WORKLOADS) {
                    true => format!("{one}; or `{OF_EVERY_ARRAY}{all}` for every array"),
                    false => one,
                })
            }
            Self::Invalid { problems, .. } => {
                problems.first().map(|problem| problem.help().to_owned())
            }
            Self::Scenario(error) => error.help().map(str::to_owned),
        }
    }
}

/// The names of a scenario's settings.
pub(crate) struct SettingNames {
    /// Those that it has, defaults included.
    there: Vec<String>,
    /// Those that arrays do not have and may be given.
    absent: Vec<String>,
}

impl Scenario {
    /// Reads a scenario's text as [`parse_with_files`](Self::parse_with_files) does, with settings changed by name.
    /// Returns the scenario, and a text that reads as it: the other one with these values in it, and otherwise as it
    /// was, comments included; only dotted keys of one table that are apart come together. Tables that are not there
    /// are added.
    ///
    /// A name is one of [`settings`](Self::settings), or its end: `write_anywhere.policy` or `policy` if only one array
    /// has that setting, `FAS2050.policy` or `array.FAS2050.write_anywhere.policy` if several have. `array.policy` is
    /// that of the only array that has one, and `*.policy` that of every array that has one. A value is written as in
    /// the file; quotes around a string may be left out.
    /// Settings that are valid only together may be given in any order.
    ///
    /// # Errors
    ///
    /// If the text is not valid, a name is unknown or ambiguous, or the scenario is not valid with the settings.
    pub fn parse_with(
        text: &str,
        name: impl AsRef<Path>,
        settings: &[(String, String)],
        files: &dyn Files,
    ) -> Result<(Self, String), SetError> {
        let (name, profiles) = (name.as_ref(), Profiles::from(files));
        let mut scenario = Self::parse_at(text, name, &profiles)?;
        if settings.is_empty() {
            return Ok((scenario, text.to_owned()));
        }
        let mut edited = EditedText::of(text).map_err(|error| not_toml(text, name, &error))?;
        let mut changed_text = String::new();
        // A setting may need a later one, as a layout of "raid-5" needs other `redundancy_sets` than those in the file.
        // Only what is refused once all are there is a mistake: that of the first setting since which none was
        // accepted.
        let mut refused: Option<(String, Vec<Problem>)> = None;
        for (path, value) in settings {
            let all = match (scenario.settings_named(path), refused.take()) {
                // The refused setting may be the one that brings this name.
                (Err(SetError::Unknown { .. }), Some((setting, problems))) => {
                    return Err(SetError::Invalid { setting, problems });
                }
                (all, before) => {
                    refused = before;
                    all?
                }
            };
            for full in &all {
                edited.put(scenario.path_of(full), edit::written(value));
            }
            changed_text = edited.to_string();
            refused = match Self::parse_at(&changed_text, name, &profiles) {
                Ok(changed) => {
                    scenario = changed;
                    None
                }
                Err(error) => {
                    let first =
                        refused.map_or_else(|| format!("{path}={value}"), |(first, _)| first);
                    // Their places are in a text that nobody has seen.
                    Some((first, error.problems().to_vec()))
                }
            };
        }
        if let Some((setting, problems)) = refused {
            return Err(SetError::Invalid { setting, problems });
        }
        Ok((scenario, changed_text))
    }

    /// Returns a text of this scenario with settings changed: each is set to a value, written as in the file, or
    /// removed if there is none, with the table that is empty then. The rest of the text stays as it is, comments
    /// included.
    ///
    /// Names are those that [`parse_with`](Self::parse_with) takes. They are looked up in this scenario, which was read
    /// from `text` or from what it was before: the text must be TOML, but need be no valid scenario, before or after. A
    /// setting that the text does not give can be removed, which changes nothing. A whole table can be removed too, by
    /// its full name.
    ///
    /// ```
    /// use strewn_scenario::{Scenario, Template};
    ///
    /// let text = Template::named("fas2050").expect("it ships").scenario("mine");
    /// let scenario = Scenario::parse(&text, "mine.toml")?;
    /// let slow = [("buffer_cache".to_owned(), Some("64 MiB".to_owned()))];
    /// let text = scenario.edited(&text, &slow)?;
    /// assert!(text.contains("buffer_cache = \"64 MiB\""));
    ///
    /// // And back to what the controller has.
    /// let default = scenario.edited(&text, &[("buffer_cache".to_owned(), None)])?;
    /// assert_eq!(Scenario::parse(&default, "mine.toml")?, scenario);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is not TOML, or a name is unknown or ambiguous. The text is changed in all settings or in none.
    pub fn edited(
        &self,
        text: &str,
        settings: &[(String, Option<String>)],
    ) -> Result<String, SetError> {
        let not_toml = |error: TomlError| not_toml(text, Path::new(&self.name), &error);
        let mut edited = EditedText::of(text).map_err(not_toml)?;
        let names = self.setting_names();
        for (path, value) in settings {
            let full = match self.named_among_all(path, &names) {
                Err(SetError::Unknown { .. })
                    if value.is_none() && names.there.iter().any(|name| is_below(name, path)) =>
                {
                    path.clone()
                }
                full => full?,
            };
            let is_placed = match value {
                Some(value) => edited.put(self.path_of(&full), edit::written(value)),
                None => {
                    edited.remove(self.path_of(&full));
                    true
                }
            };
            // The text is another one than the scenario was read from.
            if !is_placed {
                return Err(SetError::Unknown { path: path.clone(), nearest: Vec::new() });
            }
        }
        Ok(edited.to_string())
    }

    /// Returns the full names of the settings that `path` names: one, or that of every array that has one.
    fn settings_named(&self, path: &str) -> Result<Vec<String>, SetError> {
        let names = self.setting_names();
        let Some(below) = path.strip_prefix(OF_EVERY_ARRAY) else {
            return Ok(vec![self.named_among_all(path, &names)?]);
        };
        let of_array = |array: &Array| {
            self.named_among_all(&format!("{OF_ARRAYS}{}.{below}", array.name), &names)
        };
        let of_arrays: Vec<_> = self.arrays.iter().map(of_array).collect();
        let is_there = |named: &Result<_, _>| !matches!(named, Err(SetError::Unknown { .. }));
        if !of_arrays.iter().any(is_there) {
            let all = names.there.iter().chain(&names.absent).map(String::as_str);
            return Err(SetError::Unknown { path: path.to_owned(), nearest: near(below, all) });
        }
        of_arrays.into_iter().filter(is_there).collect()
    }

    /// Returns the names of all settings.
    pub(crate) fn setting_names(&self) -> SettingNames {
        let there = self.every_setting().into_iter().map(|(name, _)| name).collect();
        SettingNames { there, absent: self.absent_names() }
    }

    /// Returns the full name of the one of these that `path` names. One that arrays have comes before one that they do
    /// not have.
    pub(crate) fn named_among_all(
        &self,
        path: &str,
        names: &SettingNames,
    ) -> Result<String, SetError> {
        for names in [&names.there, &names.absent] {
            for path in std::iter::once(path.to_owned()).chain(self.numbered(path)) {
                if let Some(found) = self.named_among(&path, names)? {
                    return Ok(found);
                }
            }
        }
        let all = names.there.iter().chain(&names.absent).map(String::as_str);
        Err(SetError::Unknown { path: path.to_owned(), nearest: near(path, all) })
    }

    /// Returns what a name that begins with a link, a workload or a phase by its name may mean, with its number
    /// instead, as settings have it.
    fn numbered(&self, path: &str) -> Vec<String> {
        let links = self.links.iter().map(|link| link.name.as_str());
        let workloads = self.workloads.iter();
        let workloads = workloads.map(|one| one.named.as_ref().map_or("", |named| &named.name));
        let phases = self.phases.iter().map(|phase| phase.name.as_str());
        let mut found = numbered_among(OF_LINKS, links, path);
        found.extend(numbered_among(OF_WORKLOADS, workloads, path));
        found.extend(numbered_among(OF_PHASES, phases, path));
        found
    }

    /// Returns the names of settings that it does not have and may be given.
    fn absent_names(&self) -> Vec<String> {
        let mut names = absent_names(&mut self.clone(), Context::default());
        // Either, and the other one is what the workload has.
        names.extend(
            (1..)
                .zip(&self.workloads)
                .filter_map(|(number, workload)| {
                    let of_it = match workload.named {
                        None => "workload".to_owned(),
                        Some(_) => format!("{OF_WORKLOADS}{number}"),
                    };
                    let is_shipped = matches!(
                        workload.access_specification,
                        AccessSpecificationChoice::Shipped(_)
                    );
                    is_shipped.then(|| {
                        let keys = ["bytes", "percent", "read_percent", "random_percent"];
                        keys.map(|key| format!("{of_it}.access.1.{key}"))
                    })
                })
                .flatten(),
        );
        names
    }

    /// Returns the one of `names` that `path` names, if any is.
    fn named_among(&self, path: &str, names: &[String]) -> Result<Option<String>, SetError> {
        if names.iter().any(|name| name == path) {
            return Ok(Some(path.to_owned()));
        }
        let ends_so = |name: &str, end: &str| {
            name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let matches = |name: &&String| match self.array_of(name) {
            None => ends_so(name, path),
            Some((array, below)) => {
                let of_named = path.strip_prefix(OF_ARRAYS).unwrap_or(path);
                let of_named = of_named.strip_prefix(array).and_then(|rest| rest.strip_prefix('.'));
                let of_any = path.strip_prefix(OF_ARRAYS).unwrap_or(path);
                of_named.is_some_and(|end| ends_so(below, end)) || ends_so(below, of_any)
            }
        };
        let found: Vec<&String> = names.iter().filter(matches).collect();
        match found.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some((*only).clone())),
            several => {
                let short =
                    |name: &&String| name.strip_prefix(OF_ARRAYS).unwrap_or(name).to_owned();
                let candidates = several.iter().map(short).collect();
                Err(SetError::Ambiguous { path: path.to_owned(), candidates })
            }
        }
    }

    /// Returns the array that a setting is of, and its name below the array.
    fn array_of<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = name.strip_prefix(OF_ARRAYS)?;
        self.arrays.iter().find_map(|array| {
            Some((array.name.as_str(), rest.strip_prefix(&array.name)?.strip_prefix('.')?))
        })
    }

    /// Returns where a setting belongs, by its full name.
    fn path_of<'a>(&'a self, full: &'a str) -> SettingPath<'a> {
        match self.array_of(full) {
            None => SettingPath { array: None, below: full },
            Some((array, below)) => SettingPath { array: Some(array), below },
        }
    }

    /// Returns the arrays whose figures depend on a setting: the one that has it, or all.
    ///
    /// # Errors
    ///
    /// If the name is unknown or ambiguous.
    pub fn arrays_of_setting(&self, path: &str) -> Result<Vec<usize>, SetError> {
        let full = self.named_among_all(path, &self.setting_names())?;
        let of = self.array_of(&full).map(|(array, _)| array);
        let arrays = self.arrays.iter().enumerate();
        let depends = arrays.filter(|(_, array)| of.is_none_or(|of| of == array.name));
        Ok(depends.map(|(index, _)| index).collect())
    }
}

/// Returns whether a setting is in this table.
fn is_below(name: &str, table: &str) -> bool {
    name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns what `path` may mean if it begins with `of` and one of these names, with the number of the name instead.
fn numbered_among<'a>(of: &str, names: impl Iterator<Item = &'a str>, path: &str) -> Vec<String> {
    let rest = path.strip_prefix(of).unwrap_or_default();
    let found = (1..).zip(names).filter_map(|(number, name)| {
        let below = rest.strip_prefix(name)?.strip_prefix('.')?;
        Some(format!("{of}{number}.{below}"))
    });
    found.collect()
}

/// Returns the error of a text that cannot be changed.
fn not_toml(text: &str, name: &Path, error: &TomlError) -> SetError {
    let (span, message) = (error.span().unwrap_or_default(), error.message().trim());
    let remedy = syntax_remedy(text, span.start, message).to_owned();
    let field = String::new();
    let problem = Problem::new(ProblemKind::Syntax, text, span, field, message.to_owned(), remedy);
    SetError::Scenario(ScenarioError::problems_in(name, text, vec![problem]))
}
