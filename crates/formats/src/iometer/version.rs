//! The version in the first line of a configuration.

use std::fmt;

use crate::text::{ErrorKind, FileFormatError, Line, quoted};

/// A version of Iometer. Dates order before releases.
///
/// ```
/// use strewn_formats::iometer::Version;
///
/// let old = Version::Dated { year: 1998, month: 10, day: 8 };
/// assert!(old < Version::CURRENT);
/// assert_eq!((old.to_string(), Version::CURRENT.to_string()), ("1998.10.08".into(), "1.1.0".into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Versions up to 2006.
    Dated {
        /// Above 1900.
        year: u32,
        /// 1 to 12.
        month: u32,
        /// 1 to 31.
        day: u32,
    },
    /// Versions since then.
    Release {
        /// Up to 1900.
        major: u32,
        /// The second number.
        minor: u32,
        /// The third number.
        patch: u32,
    },
}

impl Version {
    /// The version whose files are written.
    pub const CURRENT: Self = Self::Release { major: 1, minor: 1, patch: 0 };
    /// The first version in which access specifications have names.
    pub(super) const NAMED_SPECIFICATIONS: Self = Self::Dated { year: 1998, month: 5, day: 21 };

    /// The version that OLTP.txt, which came with 1998.01.05, gives.
    const OLTP: (u32, u32, u32) = (3, 26, 97);

    pub(super) fn of_line(line: &Line<'_>) -> Result<Self, FileFormatError> {
        let text = line.text.trim();
        let wrong = || {
            line.error(
                ErrorKind::Syntax,
                format!("{} is not the version of an Iometer configuration", quoted(text)),
                "begin the file with `Version 1.1.0`",
            )
        };
        let begins =
            text.get(.."Version".len()).is_some_and(|word| word.eq_ignore_ascii_case("Version"));
        if !begins {
            return Err(wrong());
        }
        // Anything after the third number identifies the build.
        let mut numbers = text["Version".len()..]
            .split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .map(|digits| digits.parse::<u32>().map_err(|_| wrong()));
        let mut next = || numbers.next().ok_or_else(wrong)?;
        let (first, second, third) = (next()?, next()?, next()?);
        if (first, second, third) == Self::OLTP {
            return Ok(Self::Dated { year: 1998, month: 1, day: 5 });
        }
        Ok(if first > 1900 {
            Self::Dated { year: first, month: second, day: third }
        } else {
            Self::Release { major: first, minor: second, patch: third }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dated { year, month, day } => write!(formatter, "{year}.{month:02}.{day:02}"),
            Self::Release { major, minor, patch } => write!(formatter, "{major}.{minor}.{patch}"),
        }
    }
}
