//! The reference of settings, as a page of the documentation.

use strewn_results::words::wrapped;

use crate::fields::field::{Absence, Field, Scales};
use crate::fields::kind::Kind;
use crate::fields::schema::json_of;
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};
use crate::quantity::{Bytes, Nanoseconds};

/// Returns the reference of a scenario's settings, whose tables are `root`, as Markdown below `head`.
pub fn reference(head: &str, about: &str, root: &mut dyn Table) -> String {
    let mut writer = Writer { text: head.to_owned(), ..Writer::default() };
    writer.section(String::new(), about, root);
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
    /// The header of the table being written.
    header: String,
    rows: Vec<String>,
    /// What has been written, so that a table which several have is there once.
    written: Vec<(&'static str, &'static str, String)>,
}

impl Writer {
    fn section(&mut self, header: String, about: &str, table: &mut dyn Table) {
        let mut own = Self {
            header: header.clone(),
            written: std::mem::take(&mut self.written),
            ..Self::default()
        };
        table.fields(&mut Fields::new(&mut own, Context::default()));
        let title = if header.is_empty() { "The scenario" } else { &header };
        self.text.push_str(&format!("\n## {title}\n\n{}\n", in_lines(about)));
        if !own.rows.is_empty() {
            self.text.push_str("\n| setting | takes | default | means | use | default from |\n|---|---|---|---|---|---|\n");
            self.text.push_str(&own.rows.concat());
        }
        self.text.push_str(&own.text);
        self.written = own.written;
    }

    fn table_within(&mut self, field: &Field, table: &mut dyn Table, is_list: bool) {
        let path = self.header.trim_matches(['`', '[', ']']).to_owned();
        let path =
            if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        let header = if is_list { format!("`[[{path}]]`") } else { format!("`[{path}]`") };
        let about = if field.help.is_empty() { field.each } else { field.help };
        let known =
            self.written.iter().find(|(key, help, _)| *key == field.key && *help == field.help);
        match known.map(|(.., header)| header.clone()) {
            Some(other) if other == header => {}
            Some(other) if !field.help.is_empty() && !is_list => {
                let about = format!("{} The settings are those of {other}.", about.trim());
                self.text.push_str(&format!("\n## {header}\n\n{}\n", in_lines(&about)));
            }
            _ => {
                self.written.push((field.key, field.help, header.clone()));
                self.section(header, about.trim(), table);
            }
        }
    }
}

/// Breaks a paragraph into lines as the rest of the documentation has them.
fn in_lines(paragraph: &str) -> String {
    wrapped(paragraph, 120, "")
}

impl Visitor for Writer {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        let default = match &field.absence {
            Absence::None => "*none*".to_owned(),
            Absence::Required(_) => "*required*".to_owned(),
            Absence::RequiredUnless(_) => "*required unless*".to_owned(),
            Absence::Default(text) | Absence::OfKind(text) => format!("`{text}`"),
            Absence::Present => slot.get().map_or_else(
                || "*none*".to_owned(),
                |value| format!("`{}`", json_of(field.kind.written(value))),
            ),
            Absence::Inherited => "as the first has it, or as *means* says".to_owned(),
        };
        let mut uses = Vec::new();
        uses.extend(field.fit.map(|_| "fit"));
        uses.extend(field.scales.as_ref().map(|(by, _)| match by {
            Scales::Whole => "scale",
            Scales::Root => "root",
        }));
        uses.extend(field.page.map(|_| "form"));
        self.rows.push(format!(
            "| `{}` | {} | {default} | {} | {} | {} |\n",
            field.key,
            takes(&field.kind),
            field.help.replace('|', "\\|"),
            uses.join(", "),
            field.source
        ));
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, _: Context) {
        self.table_within(field, &mut *table.blank(), false);
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, _: Context) {
        self.table_within(field, table, false);
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, _: Context) {
        self.table_within(field, &mut *tables.blank(), true);
    }

    fn describes(&self) -> bool {
        true
    }
}

/// Says what a setting takes.
fn takes(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Text | Kind::Name => "text".to_owned(),
        Kind::Own(own) => own.takes.to_owned(),
        Kind::Count { least, most } if *most >= u32::MAX.into() => format!("{least} or more"),
        Kind::Count { least, most } => format!("{least} to {most}"),
        Kind::Range(range) => format!("{} to {}", range.start(), range.end()),
        Kind::PowerOfTwo { most } => format!("a power of two, at most {most}"),
        Kind::MultipleOf(unit) => format!("a multiple of {unit}"),
        Kind::Percent => "0 to 100 %".to_owned(),
        Kind::WholePercent { least } => format!("{least} to 100 %, whole"),
        Kind::Number { above_zero: false } => "a number".to_owned(),
        Kind::Number { above_zero: true } => "a number above 0".to_owned(),
        Kind::Size { .. } => "a size".to_owned(),
        Kind::SizeRange(range, _) => {
            format!("{} to {}", Bytes(*range.start()), Bytes(*range.end()).approximately())
        }
        Kind::Sectors { .. } => "a size, whole sectors".to_owned(),
        Kind::Time { .. } => "a time".to_owned(),
        Kind::TimeRange(range) => {
            format!("{} to {}", Nanoseconds(*range.start()), Nanoseconds(*range.end()))
        }
        Kind::Choice(words) => words_of(words),
        Kind::Known(_, names) => words_of(&names()),
        Kind::List { of, .. } => format!("a list: {}", takes(of)),
        Kind::Table => String::new(),
    }
}

fn words_of(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
