//! A file's figures: its layout, its cost, a prediction.

use strewn::file::{
    AddressSpace, CostOptions, CostPass, FileCommands, FileError, LayoutMeasures, LayoutPass,
    SimulatedFigures, SpindleModel,
};
use strewn::report::{
    FileCost, FileDevice, FileLayoutFigures, FilePerformance, FileRecord, FileSimulation,
    SIGNIFICANT_DIGITS, rounded,
};

use super::requests::Requests;
use super::subject::Subject;

/// Requests counted of a file that may not be listed: the error of the mean is some percent.
pub(super) const QUICK_REQUESTS: u32 = 512;

/// How files are measured.
pub(super) struct Measuring {
    pub(super) requests: Requests,
    pub(super) outstanding: Option<u32>,
    pub(super) seed: u64,
    pub(super) model: SpindleModel,
    /// Whether the drive was named on the command line.
    pub(super) named_drive: bool,
}

/// How closely a file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Its layout, and commands of some requests.
    Quick,
    /// Commands of many requests, and simulations.
    Full,
}

impl Measuring {
    /// Measures a file in one pass over its extents.
    pub(super) fn record(&self, subject: &Subject, depth: Depth) -> Result<FileRecord, FileError> {
        let mut notes = subject.notes.clone();
        let requests = match depth {
            Depth::Quick => QUICK_REQUESTS,
            Depth::Full => strewn::file::DEFAULT_REQUESTS,
        };
        let plan = self.requests.plan(subject.bytes, requests, self.outstanding, self.seed);
        let plan = plan.unwrap_or_else(|error| {
            notes.push(format!("no cost: {error}"));
            None
        });
        let mut layout = LayoutPass::new(subject.bytes, subject.block_bytes);
        let mut cost = plan.map(|plan| {
            CostPass::new(plan, subject.bytes, &subject.space, CostOptions::default())
        });
        for extent in subject.extents() {
            let extent = extent?;
            layout.add(&extent);
            if let Some(cost) = &mut cost {
                cost.add(&extent);
            }
        }
        let measures = layout.finish();
        let commands = cost.map(CostPass::finish);
        if subject.has_changed() {
            notes.push("it was written to meanwhile: the figures may mix before and after".to_owned());
        }
        if measures.unknown_bytes > 0 && subject.source == "fiemap" {
            notes.push(format!(
                "{} bytes have no place yet: give --sync to have them written out first",
                measures.unknown_bytes
            ));
        }
        // Without any place, there is nothing to charge for.
        let commands = commands.filter(|_| measures.placed_bytes > 0);
        let cost = commands.map(|commands| self.cost(subject, &commands, depth, &mut notes));
        Ok(FileRecord {
            path: subject.path.clone(),
            bytes: subject.bytes,
            allocated_bytes: subject.allocated_bytes,
            file_system: subject.file_system.clone(),
            devices: devices(&subject.space),
            source: subject.source.to_owned(),
            untranslated: subject.space.untranslated_reason().is_some(),
            notes,
            layout: figures(&measures, subject.whole_bytes),
            cost,
            prediction: None,
        })
    }

    fn cost(
        &self,
        subject: &Subject,
        commands: &FileCommands,
        depth: Depth,
        notes: &mut Vec<String>,
    ) -> FileCost {
        let (now, contiguous) = (commands.as_it_lies(), commands.contiguous());
        let requests = commands.plan().requests();
        let asked: u64 = requests.iter().map(|request| request.bytes).sum();
        let mean_bytes = asked as f64 / requests.len().max(1) as f64;
        let passes = subject.bytes as f64 / mean_bytes.max(1.0);
        let extra = (now.commands_per_request - contiguous.commands_per_request) * passes;
        let simulated = match depth {
            Depth::Quick => None,
            Depth::Full => self.simulation(subject, commands).unwrap_or_else(|error| {
                notes.push(format!("not simulated: {error}"));
                None
            }),
        };
        FileCost {
            access: commands.plan().workload().to_owned(),
            commands_per_request: digits(now.commands_per_request),
            commands_per_request_error: digits(now.commands_margin),
            contiguous_commands_per_request: digits(contiguous.commands_per_request),
            extra_commands: digits(extra),
            simulated,
        }
    }

    fn simulation(
        &self,
        subject: &Subject,
        commands: &FileCommands,
    ) -> Result<Option<FileSimulation>, FileError> {
        let cost = commands.simulate(&self.model)?;
        let (Some(now), Some(contiguous)) = (cost.as_it_lies.simulated, cost.contiguous.simulated)
        else {
            return Ok(None);
        };
        let _ = subject;
        Ok(Some(FileSimulation {
            on: self.model.name().to_owned(),
            outstanding: cost.outstanding,
            now: performance(&now),
            contiguous: performance(&contiguous),
            verdict: String::new(),
        }))
    }
}

fn performance(of: &SimulatedFigures) -> FilePerformance {
    FilePerformance {
        iops: digits(of.iops),
        response_ms: digits(of.response_ms),
        mb_per_s: digits(of.mb_per_s),
    }
}

fn digits(value: f64) -> f64 {
    rounded(value, SIGNIFICANT_DIGITS)
}

fn devices(space: &AddressSpace) -> Vec<FileDevice> {
    if space.untranslated_reason().is_some() {
        return Vec::new();
    }
    let device = |device: &strewn::file::Device| FileDevice {
        name: match device.stack.as_slice() {
            [] => device.name.clone(),
            stack => stack.join(", "),
        },
        bytes: device.bytes,
        rotational: device.rotational,
    };
    space.devices().iter().map(device).collect()
}

pub(super) fn figures(of: &LayoutMeasures, whole_bytes: Option<u64>) -> FileLayoutFigures {
    let span = whole_bytes.map(|whole| (of.span_bytes as f64 / whole.max(1) as f64).min(1.0));
    FileLayoutFigures {
        extents: of.extents,
        layout_score: digits(of.layout_score),
        extents_per_gib: digits(of.extents_per_gib),
        extents_per_mib_window: digits(of.extents_per_mib_window),
        span_bytes: of.span_bytes,
        span: span.filter(|_| of.placed_bytes > 0).map(digits),
        placed_bytes: of.placed_bytes,
        shared_bytes: of.shared_bytes,
        unwritten_bytes: of.unwritten_bytes,
        compressed_bytes: of.encoded_bytes,
        inline_bytes: of.inline_bytes,
        unknown_bytes: of.unknown_bytes,
        holes: of.holes,
        hole_bytes: of.hole_bytes,
    }
}
