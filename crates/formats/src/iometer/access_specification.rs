//! Access specifications: what accesses look like.

/// The name of the specification that is built into Iometer and never saved: no accesses at all.
pub(super) const IDLE: &str = "Idle";

/// A mix of accesses. Iometer allows up to 100 lines, whose shares sum to 100 %.
///
/// ```
/// use strewn_formats::iometer::{AccessLine, AccessSpecification, DefaultAssignment};
///
/// let oltp = AccessSpecification {
///     name: "OLTP".into(),
///     default_assignment: DefaultAssignment::Disk,
///     lines: vec![AccessLine { read_percent: 70, ..AccessLine::of_bytes(8192) }],
/// };
/// assert!(oltp.features().is_empty(), "a simulator needs nothing unusual for it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessSpecification {
    /// Its name.
    pub name: String,
    /// The new workers to which it is assigned.
    pub default_assignment: DefaultAssignment,
    /// Its lines.
    pub lines: Vec<AccessLine>,
}

/// One kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessLine {
    /// "size": bytes of an access. 0 is idle.
    pub bytes: u32,
    /// "% of size": percentage of accesses that follow this line.
    pub percent_of_accesses: u8,
    /// "% reads": percentage of them that read.
    pub read_percent: u8,
    /// "% random": percentage of them at a random address.
    pub random_percent: u8,
    /// "delay": milliseconds between bursts.
    pub delay_ms: u32,
    /// "burst": accesses in a burst. Without a delay it has no effect.
    pub burst_accesses: u32,
    /// "align": accesses start at a multiple of this many bytes; 0 means sectors. It need not be a power of two.
    pub alignment_bytes: u32,
    /// "reply": bytes of the answer over a network; 0 means none.
    pub reply_bytes: u32,
}

impl AccessLine {
    /// Creates a line of random reads of `bytes` bytes, aligned to sectors, without delay, with 100 % of the accesses.
    ///
    /// ```
    /// use strewn_formats::iometer::AccessLine;
    ///
    /// let line = AccessLine { read_percent: 80, alignment_bytes: 4096, ..AccessLine::of_bytes(8192) };
    /// assert_eq!((line.percent_of_accesses, line.burst_accesses), (100, 1));
    /// ```
    #[must_use]
    pub fn of_bytes(bytes: u32) -> Self {
        Self {
            bytes,
            percent_of_accesses: 100,
            read_percent: 100,
            random_percent: 100,
            delay_ms: 0,
            burst_accesses: 1,
            alignment_bytes: 0,
            reply_bytes: 0,
        }
    }
}

/// The new workers to which a specification is assigned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DefaultAssignment {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// Disk workers.
    Disk,
    /// Network workers.
    Network,
}

impl DefaultAssignment {
    /// The words in a file. Results and old files have the position instead.
    pub(super) const WORDS: [(Self, &'static str); 4] =
        [(Self::None, "NONE"), (Self::All, "ALL"), (Self::Disk, "DISK"), (Self::Network, "NET")];

    pub(super) fn number(self) -> usize {
        Self::WORDS.iter().position(|(assignment, _)| *assignment == self).unwrap_or(0)
    }
}
