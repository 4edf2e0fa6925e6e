//! Bands behind a chart, one for the warm-up and for each phase of the run, with their names above it.

use crate::canvas::{Canvas, HPos, PIXEL, TextStyle, VPos, width_px};
use crate::chart::ChartError;
use crate::theme::BAND;
use std::ops::Range;
use strewn_results::ArrayResults;

/// Size of the names, the height of a row of them, and the least distance between two in a row.
const NAME_PX: i32 = 12;
const ROW_PX: i32 = 15;
const APART_PX: i32 = 8;
/// A name for which these have no room is left out: more would take the plot's.
const MOST_ROWS: usize = 3;

/// A phase on the axis of segments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    name: String,
    /// Half a segment before its first one to half a segment behind its last one.
    across: Range<f64>,
}

impl Band {
    /// Returns the phases that all these arrays have; none if they differ.
    pub(crate) fn all_of<'a>(arrays: impl IntoIterator<Item = &'a ArrayResults>) -> Vec<Self> {
        let mut arrays = arrays.into_iter().map(Self::of_array);
        let first = arrays.next().unwrap_or_default();
        if arrays.all(|other| other == first) { first } else { Vec::new() }
    }

    /// Returns the warm-up and the phases of an array.
    pub(crate) fn of_array(array: &ArrayResults) -> Vec<Self> {
        let phases = array.phases.iter().map(|phase| Self {
            name: phase.name.clone(),
            across: f64::from(phase.first_segment) - 0.5..f64::from(phase.last_segment()) + 0.5,
        });
        let warm_up = array.warm_up.as_ref();
        let warm_up = warm_up.map(|_| Self { name: "warm-up".to_owned(), across: -0.5..0.5 });
        warm_up.into_iter().chain(phases).collect()
    }

    /// Cuts the points of a line where one band ends and the next begins.
    pub(crate) fn cut(bands: &[Self], points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let band = |point: &(f64, f64)| bands.iter().position(|of| of.across.contains(&point.0));
        points.chunk_by(|one, other| band(one) == band(other)).map(<[_]>::to_vec).collect()
    }
}

/// The bands of a plot, and the places of their names in rows above it.
pub(crate) struct LaidOutBands<'a> {
    bands: Vec<LaidOutBand<'a>>,
    rows: usize,
}

struct LaidOutBand<'a> {
    name: &'a str,
    /// From its left to its right, pixels.
    across_px: Range<i32>,
    /// The row from the top, and the middle of the name.
    name_at: Option<(usize, i32)>,
}

impl<'a> LaidOutBands<'a> {
    /// Lays out bands above a plot that shows `axis` between the pixels `plot_px`.
    pub(crate) fn new(
        bands: &'a [Band],
        axis: &Range<f64>,
        plot_px: Range<i32>,
    ) -> Result<Self, ChartError> {
        let place = |segment: f64| {
            let share = (segment - axis.start) / (axis.end - axis.start);
            let along = share.clamp(0.0, 1.0) * f64::from(plot_px.end - plot_px.start);
            plot_px.start + along.round() as i32
        };
        let mut ends_px: Vec<i32> = Vec::new();
        let mut laid_out = Vec::new();
        for band in bands {
            let across_px = place(band.across.start)..place(band.across.end);
            // A run that was stopped has no segment of the later ones.
            if across_px.is_empty() {
                continue;
            }
            let half_px = width_px(&band.name, NAME_PX)? / 2 + 1;
            let middle_px = i32::midpoint(across_px.start, across_px.end)
                .min(plot_px.end - half_px)
                .max(plot_px.start + half_px);
            let has_room = |end_px: &i32| end_px + APART_PX <= middle_px - half_px;
            let row = ends_px.iter().position(has_room).unwrap_or(ends_px.len());
            let row = Some(row).filter(|row| *row < MOST_ROWS);
            if let Some(row) = row {
                ends_px.resize(ends_px.len().max(row + 1), 0);
                ends_px[row] = middle_px + half_px;
            }
            let name_at = row.map(|row| (row, middle_px));
            laid_out.push(LaidOutBand { name: &band.name, across_px, name_at });
        }
        Ok(Self { bands: laid_out, rows: ends_px.len() })
    }

    /// Returns the height of the names, pixels.
    pub(crate) fn names_px(&self) -> i32 {
        ROW_PX * i32::try_from(self.rows).unwrap_or(i32::MAX)
    }

    /// Shades every second band from `top_px` to `bottom_px`, and writes the names below `top_px`.
    pub(crate) fn draw(
        &self,
        canvas: &mut Canvas<'_>,
        top_px: i32,
        bottom_px: i32,
    ) -> Result<(), ChartError> {
        for band in self.bands.iter().step_by(2) {
            let corner = |x_px: i32, y_px: i32| (x_px * PIXEL, y_px * PIXEL);
            let corners =
                [corner(band.across_px.start, top_px), corner(band.across_px.end, bottom_px)];
            canvas.fill_rectangle(corners, BAND)?;
        }
        for band in &self.bands {
            let Some((row, middle_px)) = band.name_at else { continue };
            let y_px = top_px + ROW_PX * i32::try_from(row).unwrap_or(i32::MAX) + ROW_PX / 2;
            let style = TextStyle::new(NAME_PX, HPos::Center, VPos::Center);
            canvas.text_px(band.name, (middle_px, y_px), style)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_lead_from_one_phase_to_the_next() {
        let band = |name: &str, across: Range<f64>| Band { name: name.to_owned(), across };
        let bands = [band("age", 0.5..2.5), band("scan", 2.5..3.5)];
        let points = [(1.0, 5.0), (2.0, 4.0), (3.0, 9.0)];
        assert_eq!(Band::cut(&bands, &points), [points[..2].to_vec(), points[2..].to_vec()]);
        assert_eq!(Band::cut(&[], &points), [points.to_vec()]);
    }

    #[test]
    fn names_do_not_cover_each_other() {
        let bands: Vec<Band> = (0..8)
            .map(|at| {
                let from = f64::from(at) + 0.5;
                Band { name: format!("phase number {at}"), across: from..from + 1.0 }
            })
            .collect();
        let laid_out = LaidOutBands::new(&bands, &(0.5..6.5), 80..500).unwrap();
        let named = |at: usize| laid_out.bands[at].name_at;
        assert_eq!(laid_out.bands.len(), 6, "two are beyond the axis");
        assert_eq!([0, 1, 2].map(|at| named(at).unwrap().0), [0, 1, 0]);
        assert_eq!(laid_out.names_px(), 2 * ROW_PX);
        // The first begins where the plot does.
        assert!(named(0).unwrap().1 > 80 + 30);
        assert_eq!(LaidOutBands::new(&[], &(0.5..6.5), 80..500).unwrap().names_px(), 0);
    }
}
