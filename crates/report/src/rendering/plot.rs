//! The parts of every plot with two axes: its frame, its mesh, and the position of a pair of
//! figures.

use crate::rendering::axis::Axis;
use crate::rendering::bands::{Band, LaidOutBands};
use crate::rendering::canvas::{Canvas, Point};
use crate::rendering::canvas::{PIXEL, style};
use crate::rendering::chart::ChartError;
use crate::rendering::sheet::Margins;
use crate::rendering::svg_backend::SvgBackend;
use crate::rendering::theme::{GRID, INK};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::Ranged;
use plotters::style::Color;

/// Around the plot: to its left and below its labels, to its right, and its labels.
pub(crate) const SIDE_PX: i32 = 14;
pub(crate) const RIGHT_PX: i32 = 32;
pub(crate) const ACROSS_LABELS_PX: i32 = 42;
pub(crate) const UP_LABELS_PX: i32 = 68;

/// One axis: its values, their labels, and its own label.
pub(crate) struct Labelled<'a> {
    pub(crate) axis: Axis,
    pub(crate) label: &'a dyn Fn(&f64) -> String,
    pub(crate) words: &'a str,
}

/// A plot whose axes are drawn.
pub(crate) struct Plot<'canvas, 'svg> {
    chart: ChartContext<'canvas, SvgBackend<'svg>, Cartesian2d<Axis, Axis>>,
}

impl<'canvas, 'svg> Plot<'canvas, 'svg> {
    /// Draws both axes, horizontal lines at the ticks of the vertical one, and behind these the bands.
    pub(crate) fn begin(
        canvas: &'canvas Canvas<'svg>,
        margins: &Margins,
        across: Labelled<'_>,
        up: Labelled<'_>,
        bands: &[Band],
    ) -> Result<Self, ChartError> {
        Self::begin_beside(canvas, margins, across, up, bands, UP_LABELS_PX)
    }

    /// Does the same with another width for the labels of the vertical axis.
    pub(crate) fn begin_beside(
        canvas: &'canvas Canvas<'svg>,
        margins: &Margins,
        across: Labelled<'_>,
        up: Labelled<'_>,
        bands: &[Band],
        up_labels_px: i32,
    ) -> Result<Self, ChartError> {
        let (width, height) = canvas.dim_in_pixel();
        let [width_px, height_px] =
            [width, height].map(|units| i32::try_from(units).unwrap_or(i32::MAX) / PIXEL);
        let plot_px = SIDE_PX + up_labels_px..width_px - RIGHT_PX;
        let bands = LaidOutBands::new(bands, &across.axis.range(), plot_px)?;
        let bottom_px = height_px - margins.legend_px - SIDE_PX - ACROSS_LABELS_PX;
        bands.draw(canvas, margins.top_px, bottom_px)?;
        let mut chart = ChartBuilder::on(canvas)
            .margin_top((margins.top_px + bands.names_px()) * PIXEL)
            .margin_bottom((margins.legend_px + SIDE_PX) * PIXEL)
            .margin_left(SIDE_PX * PIXEL)
            .margin_right(RIGHT_PX * PIXEL)
            .x_label_area_size(ACROSS_LABELS_PX * PIXEL)
            .y_label_area_size(up_labels_px * PIXEL)
            .build_cartesian_2d(across.axis, up.axis)
            .map_err(ChartError::drawing)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(GRID.stroke_width(0))
            .max_light_lines(0)
            .bold_line_style(GRID.stroke_width(PIXEL.unsigned_abs()))
            .axis_style(INK.stroke_width(PIXEL.unsigned_abs()))
            .set_all_tick_mark_size(5 * PIXEL)
            .label_style(style(12))
            .axis_desc_style(style(13))
            .x_label_formatter(&across.label)
            .y_label_formatter(&up.label)
            .x_desc(across.words)
            .y_desc(up.words)
            .draw()
            .map_err(ChartError::drawing)?;
        Ok(Self { chart })
    }

    /// Returns the position of a pair of figures.
    pub(crate) fn place(&self, figures: (f64, f64)) -> Point {
        self.chart.backend_coord(&figures)
    }
}
