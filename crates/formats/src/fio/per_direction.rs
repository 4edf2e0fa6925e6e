//! Values for reads, writes and trims.

use crate::text::{ErrorKind, FileFormatError, Line};

/// A value each for reads, writes and trims, as many of fio's options have.
///
/// ```
/// use strewn_formats::fio::{BlockSizes, JobFile};
///
/// // An empty value keeps its default; a value left out repeats the one before it.
/// let file = JobFile::parse("[a]\nsize=1m\nbs=,8k\n", "a.fio")?;
/// let sizes = &file.jobs[0].block_sizes;
/// assert_eq!(sizes.read, BlockSizes::Fixed(4096));
/// assert_eq!((&sizes.write, &sizes.trim), (&BlockSizes::Fixed(8192), &BlockSizes::Fixed(8192)));
/// # Ok::<(), strewn_formats::FileFormatError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T: Clone> PerDirection<T> {
    /// Creates the same value for all three.
    ///
    /// ```
    /// use strewn_formats::fio::PerDirection;
    ///
    /// assert_eq!(PerDirection::same(100).trim, 100);
    /// ```
    #[must_use]
    pub fn same(value: T) -> Self {
        Self { read: value.clone(), write: value.clone(), trim: value }
    }

    /// Reads up to three values separated by commas. An empty one is the default; those left out
    /// repeat the last one.
    pub(super) fn parse<'l>(
        line: &Line<'_>,
        text: &'l str,
        default: &T,
        parse: impl Fn(&'l str) -> Result<T, FileFormatError>,
    ) -> Result<Self, FileFormatError> {
        let mut values = [default.clone(), default.clone(), default.clone()];
        let mut parts = text.split(',');
        let mut last = default.clone();
        for value in &mut values {
            if let Some(part) = parts.next() {
                let part = part.trim();
                last = if part.is_empty() { default.clone() } else { parse(part)? };
            }
            *value = last.clone();
        }
        if let Some(more) = parts.next() {
            return Err(line.error_of(
                more,
                ErrorKind::Syntax,
                "there are more than three values",
                "give one for reads, one for writes and one for trims",
            ));
        }
        let [read, write, trim] = values;
        Ok(Self { read, write, trim })
    }
}
