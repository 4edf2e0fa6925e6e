//! A file's figures: its layout, its cost, a prediction.

use strewn::file::{
    AddressSpace, AgingOptions, BTRFS_BATCH_WRITES, CommandCounts, CostAnalysis,
    CostAnalysisOptions, CostOptions, CostPass, CostReport, Extent, FileError, LayoutMeasures,
    LayoutPass, Prediction, RequestPlan, SimulatedFigures, WritePolicy, XFS_COPIED_UNIT_BYTES,
};
use strewn::results::{
    FileCost, FileDevice, FileLayoutFigures, FileOther, FilePerformance, FilePrediction,
    FileRecord, FileSimulation, SIGNIFICANT_DIGITS, about_bytes, rounded,
};

use super::requests::Requests;
use super::subject::Subject;
use super::target::Target;

/// Requests counted of a file that may not be listed: the error of the mean is some percent.
pub(super) const QUICK_REQUESTS: u32 = 512;

/// Blocks that a prediction may write to: they take half a gigabyte of memory.
const MOST_PREDICTED_BLOCKS: u64 = 8 << 20;

/// How files are measured.
pub(super) struct Measuring {
    pub(super) requests: Requests,
    pub(super) outstanding: Option<u32>,
    pub(super) seed: u64,
    /// How large a command may be, in place of what the device's queue says.
    pub(super) max_command_bytes: Option<u64>,
    pub(super) target: Target,
    pub(super) prediction: Option<Prediction>,
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
        let mut layout = LayoutPass::new(subject.bytes, subject.block_bytes);
        let mut pass = || {
            self.pass(subject.bytes, &subject.space, depth).unwrap_or_else(|error| {
                notes.push(format!("no cost: {error}"));
                None
            })
        };
        let mut cost = if depth == Depth::Full { pass() } else { None };
        // Most files of a tree are of one extent, and cost what contiguous ones do.
        let mut only: Option<Extent> = None;
        let mut extents = 0;
        for extent in subject.extents() {
            let extent = extent?;
            layout.add(&extent);
            extents += 1;
            if extents == 2 && depth == Depth::Quick {
                cost = pass();
                if let (Some(cost), Some(first)) = (&mut cost, &only) {
                    cost.add(first);
                }
            }
            only = Some(extent);
            if let Some(cost) = &mut cost {
                cost.add(&extent);
            }
        }
        let measures = layout.finish();
        if subject.has_changed() {
            notes.push(
                "it was written to meanwhile: the figures may mix before and after".to_owned(),
            );
        }
        if measures.unknown_bytes > 0 && subject.source == "fiemap" {
            notes.push(format!(
                "{} have no place yet: give --sync to have them written out first",
                about_bytes(measures.unknown_bytes)
            ));
        }
        // Without any place, there is nothing to charge for.
        let cost = cost.filter(|_| measures.placed_bytes > 0).and_then(|cost| {
            let cost = cost.finish(self, subject.bytes, &subject.space, &mut notes);
            cost.map_err(|error| notes.push(format!("no cost: {error}"))).ok()
        });
        if let Some(cost) = &cost {
            notes.extend(self.remarks(subject, &measures, cost));
        }
        let prediction = match (depth, self.prediction) {
            (Depth::Full, Some(prediction)) => self
                .predicted(subject, prediction)
                .map_err(|error| notes.push(format!("no prediction: {error}")))
                .ok(),
            _ => None,
        };
        Ok(FileRecord {
            path: subject.path.clone(),
            bytes: subject.bytes,
            allocated_bytes: subject.allocated_bytes,
            file_system: subject.file_system.clone(),
            devices: devices(&subject.space),
            source: subject.source.to_owned(),
            untranslated: subject.space.untranslated_reason().is_some(),
            notes,
            layout: FileLayoutFigures {
                compressed_bytes: measures.encoded_bytes + subject.unplaced_compressed_bytes,
                ..figures(&measures, subject.whole_bytes)
            },
            cost,
            prediction,
        })
    }

    /// A pass over the extents of a file that finds its cost; none for an empty file.
    fn pass<'a>(
        &self,
        bytes: u64,
        space: &'a AddressSpace,
        depth: Depth,
    ) -> Result<Option<CostOf<'a>>, FileError> {
        let workload = self.requests.workload(bytes, self.outstanding)?;
        Ok(match depth {
            Depth::Quick => {
                let plan = RequestPlan::draw(&workload, bytes, QUICK_REQUESTS, self.seed)?;
                let pass = |plan| CostPass::new(plan, bytes, space, self.options(space));
                plan.map(|plan| CostOf::Quick(Box::new(pass(plan))))
            }
            Depth::Full => {
                let options = CostAnalysisOptions {
                    seed: self.seed,
                    cost: self.options(space),
                    ..CostAnalysisOptions::default()
                };
                CostAnalysis::new(&workload, bytes, space, options)?.map(CostOf::Full)
            }
        })
    }

    /// What has to be known before the verdict is followed.
    fn remarks(
        &self,
        subject: &Subject,
        measures: &LayoutMeasures,
        cost: &FileCost,
    ) -> Vec<String> {
        let mut remarks = Vec::new();
        let gains = cost.extra_commands >= 1.0;
        if measures.shared_bytes > 0 && gains && cost.simulated.is_some() {
            remarks.push(format!(
                "{} are shared with snapshots or copies: defragmenting copies them, and takes up to that much more space",
                about_bytes(measures.shared_bytes)
            ));
        }
        if measures.encoded_bytes > 0 {
            remarks.push(format!(
                "{} are compressed: each extent is read whole, and where nothing says how long it is on disk, that is inferred from \
                 where the next begins; defragmenting may not lay compressed extents out again",
                about_bytes(measures.encoded_bytes)
            ));
        }
        if subject.source == "qemu-img" && gains {
            remarks.push(
                "inside an image, blocks lie as the guest wrote them: qemu-img convert lays them out again, defragmenting the image \
                 file does not"
                    .to_owned(),
            );
        }
        let writes =
            self.requests.workload(subject.bytes, None).is_ok_and(|of| of.read_fraction() < 1.0);
        if writes
            && cost.simulated.is_some()
            && subject.write_policy().0 == WritePolicy::WriteAnywhere
        {
            remarks.push(format!(
                "writes are counted where the blocks lie; {} puts them elsewhere, so look at the reads (--read)",
                subject.file_system
            ));
        }
        remarks
    }

    /// How the kernel makes commands of requests.
    fn options(&self, space: &AddressSpace) -> CostOptions {
        let of_queue = CostOptions::of_space(space);
        let max_command_bytes = self.max_command_bytes.unwrap_or(of_queue.max_command_bytes);
        CostOptions { max_command_bytes, ..of_queue }
    }

    /// Predicts how a file would lie after writes, and what it would cost.
    fn predicted(
        &self,
        subject: &Subject,
        prediction: Prediction,
    ) -> Result<FilePrediction, FileError> {
        let blocks = prediction.blocks(subject.bytes);
        if blocks > MOST_PREDICTED_BLOCKS {
            return Err(FileError::input(
                format!(
                    "{blocks} blocks would be written to, and {MOST_PREDICTED_BLOCKS} are the most"
                ),
                "predict fewer or larger writes",
            ));
        }
        let extents = subject.extents().collect::<Result<Vec<Extent>, _>>()?;
        let (policy, rules) = subject.write_policy();
        let mut options = AgingOptions { seed: self.seed, ..AgingOptions::new(policy) };
        if policy == WritePolicy::InPlace {
            // Each write gets its place at once, as with direct I/O.
            options.batch_writes = 1;
        }
        if subject.file_system == "xfs" {
            options.copied_unit_bytes = Some(XFS_COPIED_UNIT_BYTES);
        }
        if subject.file_system == "btrfs" {
            options.batch_writes = BTRFS_BATCH_WRITES;
        }
        let then = prediction.age(&extents, subject.bytes, &options);
        let mut layout = LayoutPass::new(subject.bytes, subject.block_bytes);
        // Free space is taken to go on behind the file, where no chunk may be yet: addresses are taken as those of one
        // device.
        let space = match subject.space.devices() {
            [only] => Some(AddressSpace::direct(vec![only.clone()])),
            _ => None,
        };
        let mut cost = match &space {
            Some(space) => self.pass(subject.bytes, space, Depth::Full)?,
            None => None,
        };
        for extent in &then.extents {
            layout.add(extent);
            if let Some(cost) = &mut cost {
                cost.add(extent);
            }
        }
        let measures = layout.finish();
        let cost =
            cost.map(|cost| cost.finish(self, subject.bytes, &subject.space, &mut Vec::new()));
        let cost = cost.transpose()?;
        Ok(FilePrediction {
            writes: prediction.to_string(),
            rules: match (&space, policy) {
                (_, WritePolicy::InPlace) => rules,
                (Some(_), _) => format!("{rules}, in batches of {} writes", options.batch_writes),
                (None, _) => format!(
                    "{rules}, in batches of {} writes; no cost, since the file is on several devices",
                    options.batch_writes
                ),
            },
            layout: figures(&measures, subject.whole_bytes),
            cost,
        })
    }
}

/// A pass that finds the cost of a file.
enum CostOf<'a> {
    Quick(Box<CostPass<'a>>),
    Full(CostAnalysis<'a>),
}

impl CostOf<'_> {
    fn add(&mut self, extent: &Extent) {
        match self {
            Self::Quick(pass) => pass.add(extent),
            Self::Full(analysis) => analysis.add(extent),
        }
    }

    fn finish(
        self,
        measuring: &Measuring,
        bytes: u64,
        space: &AddressSpace,
        notes: &mut Vec<String>,
    ) -> Result<FileCost, FileError> {
        match self {
            Self::Quick(pass) => {
                let commands = pass.finish();
                let (now, contiguous) = (commands.as_it_lies(), commands.contiguous());
                let access = commands.plan().workload().to_owned();
                Ok(cost(access, mean_bytes(commands.plan()), bytes, &now, &contiguous))
            }
            Self::Full(analysis) => {
                let mean_bytes = mean_bytes(analysis.plan());
                let options = measuring.options(space);
                let CostReport { costs, verdict } = analysis
                    .finish_with(|commands| measuring.target.simulate(commands, options))?;
                let others = costs.iter().skip(1).filter_map(other).collect();
                let of = costs.into_iter().next().ok_or_else(|| {
                    FileError::input("no requests were counted", "give other requests")
                })?;
                notes.extend(of.shifts.iter().map(|shift| {
                    format!(
                        "to fit onto {}, addresses of {} were moved down by {}",
                        of.drive,
                        shift.device,
                        about_bytes(shift.bytes)
                    )
                }));
                let (now, contiguous) = (&of.as_it_lies, &of.contiguous);
                let simulated = now.simulated.zip(contiguous.simulated);
                let found =
                    cost(of.workload.clone(), mean_bytes, bytes, &now.counts, &contiguous.counts);
                Ok(FileCost {
                    is_sequential: of.sequential,
                    simulated: simulated.map(|(now, contiguous)| FileSimulation {
                        on: of.drive.clone(),
                        outstanding: of.outstanding,
                        now: performance(&now),
                        contiguous: performance(&contiguous),
                        others,
                        scan_s: verdict.scan_s.map(|(now, then)| (digits(now), digits(then))),
                        verdict: sentence(&verdict.to_string()),
                    }),
                    ..found
                })
            }
        }
    }
}

fn mean_bytes(plan: &RequestPlan) -> f64 {
    let asked: u64 = plan.requests().iter().map(|request| request.bytes).sum();
    asked as f64 / plan.requests().len().max(1) as f64
}

fn other(of: &strewn::file::FileCost) -> Option<FileOther> {
    let (now, contiguous) = (&of.as_it_lies, &of.contiguous);
    Some(FileOther {
        access: of.workload.clone(),
        is_sequential: of.sequential,
        commands_per_request: digits(now.counts.commands_per_request),
        contiguous_commands_per_request: digits(contiguous.counts.commands_per_request),
        now: performance(&now.simulated?),
        contiguous: performance(&contiguous.simulated?),
    })
}

/// The figures of both depths.
fn cost(
    access: String,
    mean_bytes: f64,
    file_bytes: u64,
    now: &CommandCounts,
    contiguous: &CommandCounts,
) -> FileCost {
    let passes = file_bytes as f64 / mean_bytes.max(1.0);
    // A contiguous file may be placed so that a request takes a hair more.
    let extra = (now.commands_per_request - contiguous.commands_per_request).max(0.0) * passes;
    FileCost {
        access,
        is_sequential: false,
        commands_per_request: digits(now.commands_per_request),
        commands_per_request_error: digits(now.commands_margin),
        contiguous_commands_per_request: digits(contiguous.commands_per_request),
        extra_commands: digits(extra),
        simulated: None,
    }
}

/// A sentence of its own.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
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

fn figures(of: &LayoutMeasures, whole_bytes: Option<u64>) -> FileLayoutFigures {
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
