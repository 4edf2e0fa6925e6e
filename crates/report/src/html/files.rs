//! `report.html` of real files: how they lie, what it costs, and where on their devices.

use crate::chart::{ChartSize, ChartStyle};
use crate::files_chart::files_map;
use crate::files_table::{
    compared_rows, figure_words, file_totals_sentence, free_space_sentence, on_devices,
    score_words, share_percent,
};
use crate::html::block::{Block, Section};
use crate::html::page::{ReportError, TEMPLATE, environment, page_style};
use crate::html::table::{Cell, Table};
use crate::shown::shown_path;
use crate::theme::Theme;
use minijinja::context;
use strewn_results::words::{about, fixed};
use strewn_results::{
    FileMap, FileRecord, FileSimulation, FileTotals, FreeSpaceRecord, NotLookedAt,
};

const SCRIPT: &str = include_str!("tips.js");

/// The sources of the report of real files.
#[derive(Clone, Copy, Debug)]
pub struct FilesReport<'a> {
    /// Version of Strewn.
    pub strewn: &'a str,
    /// When they were looked at, in words.
    pub when: &'a str,
    /// The files listed.
    pub files: &'a [FileRecord],
    /// All files looked at.
    pub totals: &'a FileTotals,
    /// Maps of some of the files.
    pub maps: &'a [FileMap],
    /// Free space of their file systems.
    pub free_space: &'a [FreeSpaceRecord],
    /// What was not looked at.
    pub not_looked_at: &'a [NotLookedAt],
    /// The same files at an earlier look.
    pub before: Option<&'a [FileRecord]>,
    /// Whether it was stopped before everything was looked at.
    pub is_partial: bool,
}

impl FilesReport<'_> {
    /// Returns the text of `report.html`.
    ///
    /// # Errors
    ///
    /// If the map cannot be drawn.
    pub fn to_html(&self) -> Result<String, ReportError> {
        let mut sections = vec![
            Section { id: "summary", title: "Summary", blocks: self.summary() },
            Section { id: "cost", title: "What it costs", blocks: self.cost() },
        ];
        sections.insert(
            1,
            Section { id: "compared", title: "Before and after", blocks: self.compared() },
        );
        if !self.maps.is_empty() {
            let size = ChartSize { width_px: 960, height_px: 480 };
            let svg = files_map(self.maps, ChartStyle { size, theme: Theme::Page })?;
            let chart = Block::Chart { id: "map", svg, has_rows: true };
            sections.push(Section { id: "map", title: "The map", blocks: vec![chart] });
        }
        sections.push(Section { id: "layout", title: "How the files lie", blocks: self.layout() });
        sections.push(Section { id: "predicted", title: "Predicted", blocks: self.predicted() });
        let free = self.free_space.iter().flat_map(free_space).collect();
        sections.push(Section { id: "free-space", title: "Free space", blocks: free });
        sections.retain(|section| !section.blocks.is_empty());
        let heading = match self.files {
            [only] => shown_path(&only.path),
            files if (files.len() as u64) < self.totals.files => {
                format!("{} of {} files", files.len(), self.totals.files)
            }
            files => format!("{} files", files.len()),
        };
        let mut shortfalls = Vec::new();
        if self.is_partial {
            shortfalls.push("Partial: stopped before everything was looked at.".to_owned());
        }
        if !self.not_looked_at.is_empty() {
            let count = self.not_looked_at.len();
            shortfalls.push(format!("{count} not looked at; they are listed in the summary."));
        }
        let environment = environment();
        let page = environment.template_from_named_str("report.html", TEMPLATE)?;
        Ok(page.render(context! {
            version => self.strewn,
            title => heading,
            style => page_style(),
            run => format!("Real files, {}", self.when),
            heading,
            real_spindles => Vec::<String>::new(),
            shortfalls,
            sections,
            skip_to => "summary",
            skip_words => "summary",
            source => "files.json",
            footer => ". Costs and IOPS are simulated for the layout that was found; the layout itself was read from the file system.",
            results => "null",
            layout_map => "null",
            script => SCRIPT,
        })?)
    }

    fn summary(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        if self.files.len() != 1 || self.totals.files != 1 {
            blocks.push(Block::paragraph(
                file_totals_sentence(self.totals, self.files.len()).trim_end(),
            ));
        }
        for file in self.files {
            let path = if self.files.len() > 1 {
                format!("{}: ", shown_path(&file.path))
            } else {
                String::new()
            };
            if let Some(simulated) = file.cost.as_ref().and_then(|cost| cost.simulated.as_ref()) {
                blocks.push(Block::paragraph(format!("{path}{}", simulated.verdict)));
            }
            blocks.extend(file.notes.iter().map(|note| Block::note(format!("{path}{note}"))));
        }
        let simulated = self.files.iter().filter_map(|file| {
            let cost = file.cost.as_ref()?;
            let on = &cost.simulated.as_ref()?.on;
            Some(format!(
                "Requests: {}. IOPS, response times and MB/s are simulated on {on}.",
                cost.access
            ))
        });
        let mut on: Vec<String> = simulated.collect();
        on.extend(self.files.iter().map(on_devices));
        on.sort();
        on.dedup();
        on.truncate(6);
        blocks.extend(on.into_iter().map(Block::note));
        if !self.not_looked_at.is_empty() {
            let row = |one: &NotLookedAt| {
                vec![Cell::words(shown_path(&one.path)), Cell::words(shown_path(&one.reason))]
            };
            let table = Table {
                caption: "Not looked at",
                headers: &["path", "why"],
                rows: self.not_looked_at.iter().take(1000).map(row).collect(),
                has_total: false,
            };
            blocks.push(table.block());
        }
        blocks
    }

    fn compared(&self) -> Vec<Block> {
        let Some(before) = self.before else { return Vec::new() };
        let row = |[path, name, before, after, change]: [String; 5]| {
            let words = [path, name].map(Cell::words);
            let numbers = [before, after, change].map(Cell::number);
            words.into_iter().chain(numbers).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<Cell>> = compared_rows(before, self.files).into_iter().map(row).collect();
        if rows.is_empty() {
            return vec![Block::paragraph("No file is in both lists.")];
        }
        let table = Table {
            caption: "The files at the earlier look and now",
            headers: &["file", "figure", "before", "after", "change"],
            rows,
            has_total: false,
        };
        vec![table.block()]
    }

    fn cost(&self) -> Vec<Block> {
        let row = |file: &FileRecord| {
            let cost = file.cost.as_ref()?;
            let simulated = cost.simulated.as_ref();
            let figure = |of: fn(&FileSimulation) -> f64| {
                Cell::number(simulated.map(of).map(figure_words).unwrap_or_default())
            };
            Some(vec![
                Cell::words(shown_path(&file.path)),
                Cell::words(&cost.access),
                Cell::number(figure_words(cost.commands_per_request)),
                Cell::number(figure_words(cost.contiguous_commands_per_request)),
                figure(|of| of.now.iops),
                figure(|of| of.contiguous.iops),
                figure(|of| of.now.response_ms),
                figure(|of| of.contiguous.response_ms),
                figure(|of| of.now.mb_per_s),
                figure(|of| of.contiguous.mb_per_s),
                Cell::words(simulated.map(|of| of.on.clone()).unwrap_or_default()),
            ])
        };
        let rows: Vec<Vec<Cell>> = self.files.iter().filter_map(row).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let table = Table {
            caption: "The files as they lie, beside the same files laid out contiguously",
            headers: &[
                "file",
                "access specification",
                "commands per request",
                "contiguous",
                "IOPS",
                "contiguous",
                "response ms",
                "contiguous",
                "MB/s",
                "contiguous",
                "simulated on",
            ],
            rows,
            has_total: false,
        };
        vec![table.block()]
    }

    fn layout(&self) -> Vec<Block> {
        let bytes = |bytes: u64| match bytes {
            0 => Cell::number(""),
            bytes => Cell::number(about(bytes as f64)),
        };
        let row = |file: &FileRecord| {
            let layout = &file.layout;
            vec![
                Cell::words(shown_path(&file.path)),
                Cell::number(about(file.bytes as f64)),
                Cell::number(layout.extents.to_string()),
                Cell::number(score_words(layout.layout_score)),
                Cell::number(figure_words(layout.extents_per_gib)),
                Cell::number(fixed(layout.extents_per_mib_window, 1)),
                Cell::number(about(layout.span_bytes as f64)),
                Cell::number(layout.span.map(share_percent).unwrap_or_default()),
                Cell::number(match layout.shared_bytes {
                    0 => String::new(),
                    _ => share_percent(layout.shared()),
                }),
                bytes(layout.hole_bytes),
                bytes(layout.unwritten_bytes),
                bytes(layout.compressed_bytes),
                bytes(layout.inline_bytes),
                bytes(layout.unknown_bytes),
            ]
        };
        let table = Table {
            caption: "Extents and where they lie",
            headers: &[
                "file",
                "size",
                "extents",
                "layout score",
                "extents per GiB",
                "extents per MiB window",
                "span",
                "span, % of the device",
                "shared %",
                "holes",
                "unwritten",
                "compressed",
                "in metadata",
                "place unknown",
            ],
            rows: self.files.iter().map(row).collect(),
            has_total: false,
        };
        vec![
            table.block(),
            Block::note(
                "Layout score: the share of blocks, except the first, that directly follow their predecessor. Extents per MiB \
                 window: runs of a MiB of the file after sorting its blocks by place.",
            ),
        ]
    }

    fn predicted(&self) -> Vec<Block> {
        let row = |file: &FileRecord| {
            let prediction = file.prediction.as_ref()?;
            let cost = prediction.cost.as_ref();
            let simulated = cost.and_then(|cost| cost.simulated.as_ref());
            Some(vec![
                Cell::words(shown_path(&file.path)),
                Cell::words(&prediction.writes),
                Cell::number(prediction.layout.extents.to_string()),
                Cell::number(score_words(prediction.layout.layout_score)),
                Cell::number(
                    cost.map(|cost| figure_words(cost.commands_per_request)).unwrap_or_default(),
                ),
                Cell::number(simulated.map(|of| figure_words(of.now.iops)).unwrap_or_default()),
                Cell::words(&prediction.rules),
            ])
        };
        let rows: Vec<Vec<Cell>> = self.files.iter().filter_map(row).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let table = Table {
            caption: "A prediction: the files after writes that nobody has made",
            headers: &[
                "file",
                "after",
                "extents",
                "layout score",
                "commands per request",
                "IOPS",
                "how the writes are placed",
            ],
            rows,
            has_total: false,
        };
        vec![table.block()]
    }
}

fn free_space(space: &FreeSpaceRecord) -> Vec<Block> {
    let row = |(bytes, runs): &(u64, u64)| {
        let class = format!("{} to {}", about(*bytes as f64), about(2.0 * *bytes as f64));
        vec![Cell::words(class), Cell::number(runs.to_string())]
    };
    let caption = format!(
        "{} at {}: {} free, score {}, longest run {}",
        space.file_system,
        space.mount,
        about(space.free_bytes as f64),
        score_words(space.score),
        about(space.largest_run_bytes as f64),
    );
    let table = Table {
        caption: &caption,
        headers: &["runs of", "number"],
        rows: space.runs.iter().map(row).collect(),
        has_total: false,
    };
    vec![Block::paragraph(free_space_sentence(space)), table.block(), Block::note(&space.source)]
}
