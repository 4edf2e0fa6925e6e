//! How a figure is taken from several segments. A statistic is declared once, in [`STATISTICS`].

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::columns::OverSegments;
use crate::data::segment::is_a_moment;
use crate::data::trend;

/// A segment is busy if it reaches this share of the highest.
const BUSY_SHARE: f64 = 0.1;

/// How a figure is taken from several segments: one of a list.
#[derive(Clone, Copy)]
pub struct Statistic(&'static Declared);

/// A statistic.
struct Declared {
    /// Its word in files.
    name: &'static str,
    /// What it is of the segments, for the reference.
    meaning: &'static str,
    /// What follows the meaning of a metric, for a reader.
    title: &'static str,
    /// What its values are in.
    unit: StatisticUnit,
    /// What follows the unit where space is short.
    in_short: &'static str,
    /// Its value; none if the segments have none.
    of: fn(&Samples<'_>) -> Option<f64>,
}

/// What the values of a statistic are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatisticUnit {
    /// The unit of the metric.
    OfMetric,
    /// Percent.
    Percent,
    /// A number of segments.
    Segments,
}

/// All statistics.
static STATISTICS: [Declared; 6] = [
    Declared {
        name: "mean",
        meaning: "over all segments together, also those in which a workload has ended",
        title: "all segments together",
        unit: StatisticUnit::OfMetric,
        in_short: "",
        of: |samples| match samples.over_segments {
            // The longest of several segments is the longest of all.
            OverSegments::Longest => Some(samples.highest_of_all()),
            _ => mean(samples.all),
        },
    },
    Declared {
        name: "peak",
        meaning: "the highest segment",
        title: "highest segment",
        unit: StatisticUnit::OfMetric,
        in_short: ", peak",
        of: |samples| Some(samples.peak()),
    },
    Declared {
        name: "busy_mean",
        meaning: "over segments that reach a tenth of the highest, which is not a last segment of less than half the \
                  length",
        title: "segments that reach a tenth of the highest",
        unit: StatisticUnit::OfMetric,
        in_short: ", busy",
        of: |samples| mean(&samples.busy()),
    },
    Declared {
        name: "busy_percent",
        meaning: "the share of the time that those take",
        title: "time of the segments that reach a tenth of the highest, in percent",
        unit: StatisticUnit::Percent,
        in_short: " of time busy",
        of: |samples| Some(100.0 * seconds(&samples.busy()) / seconds(samples.all)),
    },
    Declared {
        name: "trend",
        meaning: "what the least-squares line through the segments changes from the first to the last, in percent of \
                  their mean",
        title: "change from the first segment to the last by a line through all, in percent of their mean",
        unit: StatisticUnit::Percent,
        in_short: ", trend",
        of: |samples| trend::percent(&samples.over_time()),
    },
    Declared {
        name: "steady_after",
        meaning: "the number of segments after which the trend of all that follow has a 95 % interval that holds zero, \
                  if eight or more follow",
        title: "segments until no trend is left",
        unit: StatisticUnit::Segments,
        in_short: "",
        of: |samples| trend::steady_after(&samples.over_time()).map(|count| count as f64),
    },
];

impl Statistic {
    /// Over all segments together: what was moved, in all of the time.
    pub const MEAN: Self = Self(&STATISTICS[0]);
    /// The highest segment.
    pub const PEAK: Self = Self(&STATISTICS[1]);

    /// Returns all of them.
    pub fn all() -> impl Iterator<Item = Self> {
        STATISTICS.iter().map(Self)
    }

    /// Returns its word in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0.name
    }

    /// Returns what it is of the segments.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.0.meaning
    }

    /// Returns what follows the meaning of a metric, for a reader.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.0.title
    }

    /// Returns what follows the unit where space is short; nothing for what goes without saying.
    #[must_use]
    pub const fn in_short(self) -> &'static str {
        self.0.in_short
    }

    pub(crate) const fn unit(self) -> StatisticUnit {
        self.0.unit
    }

    pub(crate) fn of(self, samples: &Samples<'_>) -> Option<f64> {
        (self.0.of)(samples)
    }
}

/// A figure of one segment, and what it weighs beside others.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) value: f64,
    pub(crate) weight: f64,
    pub(crate) seconds: f64,
}

/// The figures of several segments, one at least.
pub(crate) struct Samples<'s> {
    pub(crate) all: &'s [Sample],
    /// How the value of several follows from those of each.
    pub(crate) over_segments: OverSegments,
}

impl Samples<'_> {
    fn highest_of_all(&self) -> f64 {
        self.all.iter().map(|one| one.value).fold(0.0, f64::max)
    }

    fn peak(&self) -> f64 {
        let first = self.all[0].seconds;
        let long_enough = self.all.iter().filter(|one| !is_a_moment(one.seconds, first));
        long_enough.map(|one| one.value).fold(0.0, f64::max)
    }

    fn busy(&self) -> Vec<Sample> {
        let least = BUSY_SHARE * self.peak();
        self.all.iter().copied().filter(|one| one.value >= least).collect()
    }

    /// Returns the figures with the time of their segments' middle. One that ended early says nothing of a trend.
    fn over_time(&self) -> Vec<(f64, f64)> {
        let first = self.all[0].seconds;
        let mut began = 0.0;
        let mut points = Vec::with_capacity(self.all.len());
        for one in self.all {
            if !is_a_moment(one.seconds, first) {
                points.push((began + one.seconds / 2.0, one.value));
            }
            began += one.seconds;
        }
        points
    }
}

/// Returns the seconds of all.
pub(crate) fn seconds(samples: &[Sample]) -> f64 {
    samples.iter().map(|one| one.seconds).sum()
}

fn mean(samples: &[Sample]) -> Option<f64> {
    let weight: f64 = samples.iter().map(|one| one.weight).sum();
    let sum: f64 = samples.iter().map(|one| one.weight * one.value).sum();
    (weight > 0.0).then(|| sum / weight)
}

impl Default for Statistic {
    fn default() -> Self {
        Self::MEAN
    }
}

impl PartialEq for Statistic {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Statistic {}

impl fmt::Debug for Statistic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Statistic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Statistic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: &[&str] = &{
            let mut names = [""; STATISTICS.len()];
            let mut index = 0;
            while index < names.len() {
                names[index] = STATISTICS[index].name;
                index += 1;
            }
            names
        };
        let name = String::deserialize(deserializer)?;
        let known = Self::all().find(|statistic| statistic.as_str() == name);
        known.ok_or_else(|| D::Error::unknown_variant(&name, NAMES))
    }
}
