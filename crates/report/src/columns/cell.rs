//! A cell of a table, before it is known where it is shown.

use strewn_results::FigureBand;
use strewn_results::words::{fixed, gib_of, signed};

/// A cell of a table.
pub(crate) enum Cell {
    /// There is nothing.
    Missing,
    /// Words, or a number in its final form.
    Text(String),
    /// Words that stand for a number, by which a table can be sorted.
    Label(String, f64),
    /// A number.
    Number(Figure),
    /// From one number to another, with its form in plain text.
    Range { ends: [f64; 2], decimals: usize, text: String },
    /// A line through these corners in a box of 120 by 24, on a page alone.
    Sparkline(String),
}

/// A number in a cell.
pub(crate) struct Figure {
    pub(crate) value: f64,
    /// The number in its own unit.
    digits: String,
    /// Its form in plain text, if that is another.
    plain: Option<String>,
    /// Its place in `results.json`: keys and positions separated by slashes.
    pub(crate) path: Option<String>,
}

impl Figure {
    pub(crate) fn new(value: f64, decimals: usize) -> Self {
        Self::said(value, fixed(value, decimals))
    }

    pub(crate) fn count(count: u64) -> Self {
        Self::new(count as f64, 0)
    }

    /// Creates a number that is shown with its sign.
    pub(crate) fn change(value: f64, decimals: usize) -> Self {
        Self::said(value, signed(value, decimals))
    }

    /// Creates a number that is shown in these words.
    pub(crate) const fn said(value: f64, digits: String) -> Self {
        Self { value, digits, plain: None, path: None }
    }

    /// Creates a share from 0 to 1, which plain text has in percent.
    pub(crate) fn share(share: f64) -> Self {
        Self { plain: Some(fixed(100.0 * share, 1)), ..Self::new(share, 3) }
    }

    /// Creates a number of blocks, which plain text has in GiB.
    pub(crate) fn blocks(blocks: u64) -> Self {
        Self { plain: Some(fixed(gib_of(blocks), 1)), ..Self::count(blocks) }
    }

    /// Makes it a figure of the results, from that place in `results.json`.
    pub(crate) fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Returns the number in plain text.
    pub(super) fn text(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.digits)
    }

    /// Returns the number in its own unit.
    pub(crate) fn digits(&self) -> &str {
        &self.digits
    }
}

impl Cell {
    pub(crate) fn band(band: &FigureBand, decimals: usize) -> Self {
        let text = format!("{}-{}", fixed(band.low, decimals), fixed(band.high, decimals));
        Self::Range { ends: [band.low, band.high], decimals, text }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Figure> for Cell {
    fn from(figure: Figure) -> Self {
        Self::Number(figure)
    }
}

impl<Shown: Into<Self>> From<Option<Shown>> for Cell {
    fn from(shown: Option<Shown>) -> Self {
        shown.map_or(Self::Missing, Into::into)
    }
}
