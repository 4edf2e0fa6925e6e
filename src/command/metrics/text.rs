//! OpenMetrics 1.0 text: <https://github.com/prometheus/OpenMetrics>.

use std::fmt::{Display, Write};

/// What a family of metrics counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value of this moment.
    Gauge,
    /// A sum since the start.
    Counter,
}

/// A text in the making. A family's samples follow each other: the form requires it.
pub(super) struct Text(String);

impl Text {
    pub(super) fn new() -> Self {
        Self(String::new())
    }

    /// A family with one sample, without labels.
    pub(super) fn one(&mut self, kind: Kind, name: &str, help: &str, value: impl Display) {
        self.family(kind, name, help, [(Vec::new(), value)]);
    }

    /// A family with a sample for each set of labels; without samples it is left out. A unit ends the name.
    pub(super) fn family<V: Display>(
        &mut self,
        kind: Kind,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'static str, String)>, V)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let (kind, suffix) = match kind {
            Kind::Gauge => ("gauge", ""),
            Kind::Counter => ("counter", "_total"),
        };
        self.head(kind, name, help);
        for (labels, value) in samples {
            self.sample(&format!("{name}{suffix}"), &labels, value);
        }
    }

    /// A family of histograms. For each set of labels: the counts of classes that end at `bounds`, and one for the
    /// rest, each by itself; and the sum of the values.
    pub(super) fn histogram<'a>(
        &mut self,
        name: &str,
        help: &str,
        bounds: &[f64],
        samples: impl IntoIterator<Item = (Vec<(&'static str, String)>, &'a [u64], f64)>,
    ) {
        self.head("histogram", name, help);
        for (labels, counts, sum) in samples {
            assert_eq!(counts.len(), bounds.len() + 1, "one class goes on for ever");
            let mut count = 0;
            let ends = bounds.iter().map(|bound| bound_text(*bound)).chain(["+Inf".to_owned()]);
            for (end, of_class) in ends.zip(counts) {
                count += of_class;
                let labels: Vec<_> = labels.iter().cloned().chain([("le", end)]).collect();
                self.sample(&format!("{name}_bucket"), &labels, count);
            }
            self.sample(&format!("{name}_count"), &labels, count);
            self.sample(&format!("{name}_sum"), &labels, sum);
        }
    }

    /// The whole text.
    pub(super) fn end(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }

    fn head(&mut self, kind: &str, name: &str, help: &str) {
        let unit = ["_seconds", "_bytes", "_ratio"].iter().find(|unit| name.ends_with(**unit));
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if let Some(unit) = unit {
            let _ = writeln!(self.0, "# UNIT {name} {}", unit.trim_start_matches('_'));
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escaped(help));
    }

    fn sample(&mut self, name: &str, labels: &[(&'static str, String)], value: impl Display) {
        self.0.push_str(name);
        if !labels.is_empty() {
            let labels = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value)));
            let _ = write!(self.0, "{{{}}}", labels.collect::<Vec<_>>().join(","));
        }
        let _ = writeln!(self.0, " {value}");
    }
}

/// A bound of a histogram is a float in canonical form: 1.0, not 1.
fn bound_text(bound: f64) -> String {
    format!("{bound:?}")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_may_hold_anything() {
        let mut text = Text::new();
        text.family(Kind::Gauge, "a_bytes", "h", [(vec![("path", "a\"\\\n".to_owned())], 1)]);
        let expected = "# TYPE a_bytes gauge\n# UNIT a_bytes bytes\n# HELP a_bytes h\na_bytes{path=\"a\\\"\\\\\\n\"} 1\n# EOF\n";
        assert_eq!(text.end(), expected);
    }

    #[test]
    fn classes_of_a_histogram_add_up() {
        let mut text = Text::new();
        text.histogram("a_seconds", "h", &[0.5, 1.0], [(Vec::new(), &[1, 2, 3][..], 9.5)]);
        let text = text.end();
        for line in [
            "{le=\"0.5\"} 1\n",
            "{le=\"1.0\"} 3\n",
            "{le=\"+Inf\"} 6\n",
            "_count 6\n",
            "_sum 9.5\n",
        ] {
            assert!(text.contains(line), "no {line:?} in {text}");
        }
    }
}
