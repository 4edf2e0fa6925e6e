//! The cost of a mix of requests, in spindle commands.

use std::error::Error;
use std::fmt;
use std::ops::Range;

/// A mix of requests to a file, by length.
///
/// A request begins at a random block, all those at which it fits the file being equally likely. It takes one spindle
/// command for each run of its blocks that is consecutive on one spindle, and longer runs are split into commands of at
/// most [`longest_command`](Self::longest_command) blocks. Unwritten blocks take no command. Nothing is cached.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestMix {
    lengths: Vec<(u64, f64)>,
    longest_command: u64,
}

/// Why a mix of requests is invalid.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RequestMixError {
    /// A request has no blocks.
    NoBlocks,
    /// A share is not a positive number, or there is no request at all.
    Share,
    /// The longest command has no blocks.
    LongestCommand,
}

impl fmt::Display for RequestMixError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBlocks => formatter.write_str("a request of no blocks"),
            Self::Share => formatter
                .write_str("shares of requests must be positive numbers, and there must be one"),
            Self::LongestCommand => formatter.write_str("the longest command must have a block"),
        }
    }
}

impl Error for RequestMixError {}

impl RequestMix {
    /// A mix of requests: lengths in blocks, each with its share, in any unit. Commands have at most `longest_command`
    /// blocks.
    ///
    /// # Errors
    /// [`RequestMixError`] if a length is 0, a share is not a positive number, there is no request, or
    /// `longest_command` is 0.
    pub fn new(
        lengths: impl IntoIterator<Item = (u32, f64)>,
        longest_command: u32,
    ) -> Result<Self, RequestMixError> {
        let lengths: Vec<(u64, f64)> =
            lengths.into_iter().map(|(blocks, share)| (u64::from(blocks), share)).collect();
        if lengths.iter().any(|(blocks, _)| *blocks == 0) {
            return Err(RequestMixError::NoBlocks);
        }
        if lengths.is_empty()
            || lengths.iter().any(|(_, share)| !share.is_finite() || *share <= 0.0)
        {
            return Err(RequestMixError::Share);
        }
        if longest_command == 0 {
            return Err(RequestMixError::LongestCommand);
        }
        Ok(Self { lengths, longest_command: u64::from(longest_command) })
    }

    /// The largest number of blocks in a command.
    #[must_use]
    pub fn longest_command(&self) -> u64 {
        self.longest_command
    }
}

/// The sum of commands over all possible requests, for each length of a mix.
#[derive(Debug, Clone)]
pub(super) struct RequestSums(Vec<u128>);

impl RequestSums {
    pub(super) fn new(mix: &RequestMix) -> Self {
        Self(vec![0; mix.lengths.len()])
    }

    /// Adds the commands that all requests take within `extent`. O(lengths), however long the extent.
    pub(super) fn add(&mut self, mix: &RequestMix, extent: Range<u64>, file_blocks: u64) {
        for (sum, (length, _)) in self.0.iter_mut().zip(&mix.lengths) {
            if *length <= file_blocks {
                *sum += commands_in(&extent, *length, file_blocks, mix.longest_command);
            }
        }
    }

    pub(super) fn commands_per_request(&self, mix: &RequestMix, file_blocks: u64) -> Option<f64> {
        let fitting =
            || self.0.iter().zip(&mix.lengths).filter(|(_, (length, _))| *length <= file_blocks);
        let largest = fitting().map(|(_, (_, share))| *share).fold(0.0, f64::max);
        let unit = power_of_two_below(largest);
        let (mut commands, mut shares) = (0.0, 0.0);
        for (sum, (length, share)) in fitting() {
            let share = share / unit;
            commands += share * *sum as f64 / (file_blocks - length + 1) as f64;
            shares += share;
        }
        (shares > 0.0).then(|| commands / shares)
    }
}

/// The largest power of two that is not above `share`, a positive number. Shares in this unit neither overflow nor
/// vanish, and lose no bit.
fn power_of_two_below(share: f64) -> f64 {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    f64::from_bits(share.to_bits() >> FRACTION_BITS << FRACTION_BITS).max(f64::MIN_POSITIVE)
}

/// The commands within `extent` of all requests of `length` blocks, one from each block at which it fits.
///
/// As the first block of the request advances, its overlap with the extent grows by one block at a time up to the
/// shorter of both lengths, and then shrinks again.
fn commands_in(extent: &Range<u64>, length: u64, file_blocks: u64, longest: u64) -> u128 {
    let [start, end, length] = [extent.start, extent.end, length].map(|blocks| blocks as i64);
    let first = (start - length + 1).max(0);
    let last = (end - 1).min(file_blocks as i64 - length);
    let (whole_from, whole_to) = (start.min(end - length), start.max(end - length));
    let growing = first..=(whole_from - 1).min(last);
    let whole = first.max(whole_from)..=last.min(whole_to);
    let shrinking = first.max(whole_to + 1)..=last;
    let mut commands = 0;
    if !growing.is_empty() {
        commands += commands_up_to(growing.end() + length - start, longest)
            - commands_up_to(growing.start() + length - start - 1, longest);
    }
    if !whole.is_empty() {
        let each = ((end - start).min(length) as u64).div_ceil(longest);
        commands += u128::from(each) * (whole.end() - whole.start() + 1) as u128;
    }
    if !shrinking.is_empty() {
        commands += commands_up_to(end - shrinking.start(), longest)
            - commands_up_to(end - shrinking.end() - 1, longest);
    }
    commands
}

/// The sum of commands of runs of 1, 2, … `blocks` blocks.
fn commands_up_to(blocks: i64, longest: u64) -> u128 {
    let (blocks, longest) = (blocks.max(0) as u128, u128::from(longest));
    let (full, rest) = (blocks / longest, blocks % longest);
    longest * full * (full + 1) / 2 + rest * (full + 1)
}
