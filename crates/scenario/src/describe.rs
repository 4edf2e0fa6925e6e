//! Descriptions of all settings: for editors, as a page, and as a scenario has them.

use crate::fields::{Setting, described, reference, schema_of};
use crate::scenario::Scenario;

/// Returns the JSON schema of a scenario's file, for editors that check TOML against a schema.
#[must_use]
pub fn schema_json() -> String {
    let about = "An experiment: arrays, their components, and their workload.";
    schema_of(&mut Scenario::blank(), "Strewn scenario", about)
}

const HEAD: &str = "# Settings

*Reference.* Every setting of a [scenario](scenarios.md), table by table. `strewn schema --markdown` writes this page
from the declarations that the reader has. `strewn schema` writes them as a JSON schema, for editors.

- **Default.** *required*: there is none. *required unless*: its meaning says when it need not be given. *none*: without
  the setting, there is nothing in its place. The last column says where a default comes from;
  [model.md](model.md#constants) has the sources of the published arrays' constants in full.
- **Use.** *fit*: `strewn calibrate` may set it. *scale*: a run at 1/N divides it by N; *root*: by the whole part of the
  square root of N. *form*: the [page in a browser](playground.md) has a control for it.
- **Setting by name.** `--set` and axes of [studies](studies.md) take what `--explain` lists, and options that are off
  of an array's layout and of workloads. `*.outstanding` is that of every array. Whatever else, such as a second
  controller, is written into the file.
- **Further rules.** *takes* is what a value must be by itself. What depends on other settings, such as a chunk
  that is at most a tetris, is in its error, with the values that are allowed.
";

/// Returns the reference of all settings as Markdown.
#[must_use]
pub fn settings_markdown() -> String {
    reference(HEAD, "A scenario: the experiment as a whole.", &mut Scenario::blank())
}

impl Scenario {
    /// Returns every setting that the scenario has or may be given, with what it means and takes.
    #[must_use]
    pub fn described(&self) -> Vec<Setting> {
        described(&mut self.clone())
    }
}
