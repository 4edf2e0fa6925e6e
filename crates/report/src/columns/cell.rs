//! A cell of a table, before it is known where it is shown.

use strewn_results::FigureBand;
use strewn_results::words::{fixed, gib_of, signed};

/// A cell of a table.
pub(crate) enum Cell {
    /// There is nothing.
    Missing,
    /// Words, or a number in its final form.
    Text(String),
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
    decimals: usize,
    is_change: bool,
    /// Its form in plain text, if that is another.
    said: Option<String>,
    /// Its place in `results.json`: keys and positions separated by slashes.
    pub(crate) path: Option<String>,
}

impl Figure {
    pub(crate) const fn new(value: f64, decimals: usize) -> Self {
        Self { value, decimals, is_change: false, said: None, path: None }
    }

    pub(crate) const fn count(count: u64) -> Self {
        Self::new(count as f64, 0)
    }

    /// Creates a share from 0 to 1, which plain text has in percent.
    pub(crate) fn share(share: f64) -> Self {
        Self { said: Some(fixed(100.0 * share, 1)), ..Self::new(share, 3) }
    }

    /// Creates a number of blocks, which plain text has in GiB.
    pub(crate) fn blocks(blocks: u64) -> Self {
        Self { said: Some(fixed(gib_of(blocks), 1)), ..Self::count(blocks) }
    }

    /// Creates a number with its sign.
    pub(crate) const fn change(value: f64, decimals: usize) -> Self {
        Self { value, decimals, is_change: true, said: None, path: None }
    }

    /// Makes it a figure of the results, from that place in `results.json`.
    pub(crate) fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    pub(super) fn text(&self) -> String {
        self.said.clone().unwrap_or_else(|| self.digits())
    }

    /// Returns the number in its own unit.
    pub(crate) fn digits(&self) -> String {
        let show = if self.is_change { signed } else { fixed };
        show(self.value, self.decimals)
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
