//! `report.html` of real files: how they lie, what it costs, and where on their devices.

use crate::chart::{ChartSize, ChartStyle};
use crate::columns::Columns;
use crate::files_chart::files_map;
use crate::files_table::{
    compared_columns, compared_rows, figure_words, file_totals_sentence, free_space_sentence,
    layout_columns, on_devices, run_columns, score_words,
};
use crate::html::block::{Block, Section};
use crate::html::page::{ReportError, TEMPLATE, environment, page_style};
use crate::shown::shown_path;
use crate::theme::Theme;
use minijinja::context;
use strewn_results::words::about;
use strewn_results::{
    FileCost, FileMap, FilePrediction, FileRecord, FileSimulation, FileTotals, FreeSpaceRecord,
    NotLookedAt,
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
            Section {
                id: "cost",
                title: "What it costs",
                blocks: self.cost().into_iter().collect(),
            },
        ];
        sections.insert(
            1,
            Section { id: "compared", title: "Before and after", blocks: self.compared() },
        );
        if !self.maps.is_empty() {
            let size = ChartSize { width_px: 960, height_px: 480 };
            let svg = files_map(self.maps, ChartStyle { theme: Theme::Page, ..size.into() })?;
            let chart = Block::Chart { id: "map", svg, has_rows: true };
            sections.push(Section { id: "map", title: "The map", blocks: vec![chart] });
        }
        sections.push(Section { id: "layout", title: "How the files lie", blocks: self.layout() });
        let predicted = self.predicted().into_iter().collect();
        sections.push(Section { id: "predicted", title: "Predicted", blocks: predicted });
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
            let columns = Columns::<NotLookedAt>::new()
                .words("path", |one| shown_path(&one.path))
                .words("why", |one| shown_path(&one.reason));
            let shown = &self.not_looked_at[..self.not_looked_at.len().min(1000)];
            blocks.extend(columns.block("Not looked at", shown));
        }
        blocks
    }

    fn compared(&self) -> Vec<Block> {
        let Some(before) = self.before else { return Vec::new() };
        let rows = compared_rows(before, self.files);
        let table = compared_columns().block("The files at the earlier look and now", &rows);
        vec![table.unwrap_or_else(|| Block::paragraph("No file is in both lists."))]
    }

    fn cost(&self) -> Option<Block> {
        let with_cost = self.files.iter().filter(|file| file.cost.is_some());
        let files: Vec<FileRecord> = with_cost.cloned().collect();
        let cost = |file: &FileRecord, of: fn(&FileCost) -> f64| {
            file.cost.as_ref().map(of).map(figure_words)
        };
        let figure = |file: &FileRecord, of: fn(&FileSimulation) -> f64| {
            Some(figure_words(of(file.cost.as_ref()?.simulated.as_ref()?)))
        };
        let columns = named_files()
            .words("access specification", |file| Some(file.cost.as_ref()?.access.clone()))
            .number("commands per request", move |file| cost(file, |of| of.commands_per_request))
            .number("contiguous", move |file| cost(file, |of| of.contiguous_commands_per_request))
            .number("IOPS", move |file| figure(file, |of| of.now.iops))
            .number("contiguous", move |file| figure(file, |of| of.contiguous.iops))
            .number("response ms", move |file| figure(file, |of| of.now.response_ms))
            .number("contiguous", move |file| figure(file, |of| of.contiguous.response_ms))
            .number("MB/s", move |file| figure(file, |of| of.now.mb_per_s))
            .number("contiguous", move |file| figure(file, |of| of.contiguous.mb_per_s))
            .words("simulated on", |file| Some(file.cost.as_ref()?.simulated.as_ref()?.on.clone()));
        columns.block("The files as they lie, beside the same files laid out contiguously", &files)
    }

    fn layout(&self) -> Vec<Block> {
        let columns = named_files().followed_by(layout_columns(self.files, false));
        let note = Block::note(
            "Layout score: the share of blocks, except the first, that directly follow their predecessor. Extents per MiB \
             window: runs of a MiB of the file after sorting its blocks by place.",
        );
        columns.block("Extents and where they lie", self.files).into_iter().chain([note]).collect()
    }

    fn predicted(&self) -> Option<Block> {
        let rows = self.files.iter().filter_map(|file| Some((file, file.prediction.as_ref()?)));
        let rows: Vec<(&FileRecord, &FilePrediction)> = rows.collect();
        let columns = Columns::<(&FileRecord, &FilePrediction)>::new()
            .words("file", |(file, _)| shown_path(&file.path))
            .words("after", |(_, of)| of.writes.clone())
            .number("extents", |(_, of)| of.layout.extents.to_string())
            .number("layout score", |(_, of)| score_words(of.layout.layout_score))
            .number("commands per request", |(_, of)| {
                Some(figure_words(of.cost.as_ref()?.commands_per_request))
            })
            .number("IOPS", |(_, of)| {
                Some(figure_words(of.cost.as_ref()?.simulated.as_ref()?.now.iops))
            })
            .words("how the writes are placed", |(_, of)| of.rules.clone());
        columns.block("A prediction: the files after writes that nobody has made", &rows)
    }
}

/// Starts a table of files.
fn named_files<'a>() -> Columns<'a, FileRecord> {
    Columns::<FileRecord>::new().words("file", |file| shown_path(&file.path))
}

fn free_space(space: &FreeSpaceRecord) -> Vec<Block> {
    let caption = format!(
        "{} at {}: {} free, score {}, longest run {}",
        space.file_system,
        space.mount,
        about(space.free_bytes as f64),
        score_words(space.score),
        about(space.largest_run_bytes as f64),
    );
    let table = run_columns(space, false).block(caption, &space.runs);
    let sentence = Block::paragraph(free_space_sentence(space));
    [sentence].into_iter().chain(table).chain([Block::note(&space.source)]).collect()
}
