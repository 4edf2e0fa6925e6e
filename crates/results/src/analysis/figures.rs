//! Single figures out of results.

use crate::data::array::ArrayResults;
use crate::data::columns::{OverSegments, Place, Unit};
use crate::data::figure::{FigureOf, SegmentChoice};
use crate::data::number::MB_PER_MIB;
use crate::data::segment::Segment;
use crate::data::statistic::{Sample, Samples, Statistic, seconds};

impl FigureOf {
    /// Returns the figure; none if the results have nothing of what it is of.
    #[must_use]
    pub fn value(&self, arrays: &[ArrayResults]) -> Option<f64> {
        let own = self.of_array(arrays, &self.array, self.segment)?;
        let other = match (&self.over, self.over_segment) {
            (None, None) => return Some(own),
            (Some(array), segment) => self.of_array(arrays, array, segment.or(self.segment))?,
            (None, segment) => self.of_array(arrays, &self.array, segment)?,
        };
        (other > 0.0).then(|| 100.0 * own / other)
    }

    /// Returns the same figure of the highest segment; none where that would be another kind of figure.
    #[must_use]
    pub fn peak(&self, arrays: &[ArrayResults]) -> Option<f64> {
        if self.is_percentage()
            || self.is_count()
            || matches!(self.metric.over_segments(), OverSegments::Sum)
        {
            return None;
        }
        Self { statistic: Statistic::PEAK, ..self.clone() }.value(arrays)
    }

    fn of_array(
        &self,
        arrays: &[ArrayResults],
        name: &str,
        segment: Option<SegmentChoice>,
    ) -> Option<f64> {
        let array = arrays.iter().find(|array| array.name == name)?;
        let last = array.segments.last()?.index;
        let is_meant = |one: &&Segment| {
            let of_phase = self.phase.is_none() || one.phase == self.phase;
            of_phase
                && match segment {
                    None => true,
                    Some(SegmentChoice::Number(number)) => one.index == number,
                    Some(SegmentChoice::Last(_)) => one.index == last,
                }
        };
        let samples: Vec<Sample> = (array.segments.iter().filter(is_meant))
            .filter_map(|segment| self.sample(array, segment))
            .collect();
        if samples.is_empty() {
            return None;
        }
        let over_segments = self.metric.over_segments();
        if matches!(over_segments, OverSegments::Sum) {
            // How long something took is known once it has ended.
            let is_known = array.ended || self.phase.is_some() || segment.is_some();
            return is_known.then(|| seconds(&samples));
        }
        self.statistic.of(&Samples { all: &samples, over_segments })
    }

    /// Returns what the figure is in one segment.
    fn sample(&self, array: &ArrayResults, segment: &Segment) -> Option<Sample> {
        let workload = match &self.workload {
            // Where several workloads are not told apart, there is only one.
            _ if segment.by_workload.is_empty() => None,
            None => None,
            Some(name) => Some(segment.by_workload.iter().find(|one| one.name == *name)?),
        };
        let at = Place { array, segment, workload };
        let carried = match &self.link {
            Some(name) => Some(mib_per_s_on(segment, name)?),
            None => None,
        };
        let value = match (carried, self.metric.unit()) {
            (Some(mib_per_s), Unit::MibPerS) => mib_per_s,
            (Some(mib_per_s), Unit::MbPerS) => mib_per_s * MB_PER_MIB,
            _ => self.metric.value(&at)?,
        };
        Some(Sample { value, weight: self.metric.weight(&at), seconds: segment.seconds })
    }
}

/// Returns what a link carried toward the array in a segment, MiB/s; none if there is no such link.
pub fn mib_per_s_on(segment: &Segment, link: &str) -> Option<f64> {
    let links = &segment.machine.as_ref()?.links;
    let of_name = links.iter().filter(|one| is_lane_of(&one.name, link));
    of_name.map(|one| one.mib_per_s_to_array).reduce(|one, other| one + other)
}

/// A link of several lanes has an entry for each.
fn is_lane_of(entry: &str, name: &str) -> bool {
    entry == name || entry.strip_prefix(name).is_some_and(|rest| rest.starts_with(", "))
}
