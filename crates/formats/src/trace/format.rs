//! The formats of traces, by name.

use std::fmt;

/// A format of traces. [The module](super) describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TraceFormat {
    /// MSR Cambridge's CSV.
    Msr,
    /// The Storage Performance Council's format, in which UMass keeps its traces.
    Spc,
    /// The text printed by blkparse.
    Blkparse,
    /// DiskSim's ASCII format.
    DiskSim,
    /// fio's log of I/O.
    FioIolog,
    /// CSV with named columns.
    Columns,
    /// Alibaba's CSV of virtual disks.
    Alibaba,
    /// Tencent's CSV of cloud block storage.
    Tencent,
    /// Binary records of VMware's vscsi layer, as CloudPhysics keeps them.
    Vscsi,
    /// blktrace's own binary files.
    Blktrace,
}

impl TraceFormat {
    /// All formats.
    pub const ALL: [Self; 10] = [
        Self::Msr,
        Self::Spc,
        Self::Blkparse,
        Self::DiskSim,
        Self::FioIolog,
        Self::Columns,
        Self::Alibaba,
        Self::Tencent,
        Self::Vscsi,
        Self::Blktrace,
    ];

    /// Returns the name by which a user chooses it; [`FromStr`](std::str::FromStr) reads it.
    ///
    /// ```
    /// use strewn_formats::trace::TraceFormat;
    ///
    /// assert_eq!("disksim".parse(), Ok(TraceFormat::DiskSim));
    /// let error = "spcc".parse::<TraceFormat>().unwrap_err();
    /// assert_eq!(error.to_string(), "`spcc` is not a format of traces; did you mean `spc`?");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Spc => "spc",
            Self::Blkparse => "blkparse",
            Self::DiskSim => "disksim",
            Self::FioIolog => "fio-iolog",
            Self::Columns => "columns",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Vscsi => "vscsi",
            Self::Blktrace => "blktrace",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A word is not the name of a trace format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a format of traces; {help}")]
pub struct UnknownTraceFormat {
    name: String,
    help: String,
}

impl std::str::FromStr for TraceFormat {
    type Err = UnknownTraceFormat;

    fn from_str(name: &str) -> Result<Self, UnknownTraceFormat> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let otherwise = format!("there are {}", names.join(", "));
            UnknownTraceFormat {
                help: crate::text::did_you_mean(name, names, &otherwise),
                name: name.to_owned(),
            }
        })
    }
}
