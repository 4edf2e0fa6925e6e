//! `strewn array scrub`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use strewn::terminal::{self, Ending, Failure};
use strewn_array::BlockContents;
use strewn_live::assembly::OpenOptions;
use strewn_live::format::{Member, MemberState};
use strewn_live::offline::SpindleBlock;
use strewn_live::scrub::{LostWrite, ScrubReport};
use strewn_live::starting::ScrubStage;

use super::opened::{Io, Tenths, config_of, open_array, start_array};

/// Read every block, and repair bad blocks from parity
#[derive(Debug, Args)]
pub(crate) struct ScrubArguments {
    /// The directory that the array was created in
    directory: PathBuf,
    /// Scrub degraded, without missing spindles
    #[arg(long)]
    degraded: bool,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// Scrubs an array that is not in use.
pub(crate) fn scrub(arguments: &ScrubArguments) -> Result<Ending, Failure> {
    let options = OpenOptions { degraded: arguments.degraded, read_only: false };
    let assembled = open_array(&arguments.directory, options)?;
    let config = config_of(&assembled)?;
    let failed = |member: &Member| member.state == MemberState::Failed;
    let is_degraded = assembled.label.members.iter().any(failed);
    let stop = terminal::stop_when_interrupted();
    let (mut rebuilt, mut looked_at) = (Tenths::of("rebuilt"), Tenths::of("scrubbed"));
    let scrubbed = start_array(assembled, arguments.io)?
        .scrub(&config, &mut |stage, done| {
            match stage {
                ScrubStage::Rebuild => rebuilt.are(done),
                ScrubStage::Scrub => looked_at.are(done),
            }
            !stop()
        })
        .map_err(|error| Failure::failed(format!("the scrub has ended early: {error}")))?;
    let text = if arguments.json { json_of(&scrubbed) } else { lines(&scrubbed) };
    terminal::print(&text)?;
    if is_degraded {
        terminal::say(
            "warning: blocks of spindles that are not there were not looked at, but computed from the others",
        );
    }
    if !scrubbed.is_whole {
        return Err(Failure::stopped("stopped: not all stripes were looked at".to_owned())
            .with_help("what was repaired stays so; scrub again for the rest"));
    }
    if !scrubbed.left.is_empty() {
        let left = scrubbed.left.len();
        return Err(Failure::failed(format!("{left} repaired blocks are not what was written"))
            .with_help("replace their spindles: they report writes as done and do not keep them"));
    }
    if !scrubbed.lost_writes.is_empty() {
        let lost = scrubbed.lost_writes.len();
        return Err(Failure::failed(format!("{lost} stripes may lack a write"))
            .with_help("write the blocks that are named again, and mistrust their drives"));
    }
    if scrubbed.gone.is_empty() {
        Ok(Ending::Complete)
    } else {
        Err(Failure::failed(format!("{} blocks are gone", scrubbed.gone.len()))
            .with_help("write them again; a read of them is refused, never wrong"))
    }
}

fn lines(scrubbed: &ScrubReport) -> String {
    let mut text = format!(
        "{} stripes read: {} bad blocks, {} of them repaired; parity repaired in {} stripes\n",
        scrubbed.stripes, scrubbed.bad_blocks, scrubbed.repaired_blocks, scrubbed.parity_repaired
    );
    for LostWrite { parity, among } in &scrubbed.lost_writes {
        text += &format!(
            "old: one of the LUN's blocks {among:?} may lack a write that its drive reported as done: parity on {} at block {} \
             did not agree, and was made to\n",
            parity.spindle, parity.dbn.0
        );
    }
    for (holds, place) in &scrubbed.left {
        text += &format!(
            "not repaired: {holds:?} on {} at block {}: it was written, and is not there\n",
            place.spindle, place.dbn.0
        );
    }
    for (holds, place) in &scrubbed.gone {
        text += &format!(
            "gone: {holds:?} on {} at block {}: it can be neither read nor computed\n",
            place.spindle, place.dbn.0
        );
    }
    text
}

fn json_of(scrubbed: &ScrubReport) -> String {
    let lost_writes = scrubbed.lost_writes.iter().map(|LostWrite { parity, among }| {
        json!({ "spindle": parity.spindle.0, "block": parity.dbn.0, "among": among })
    });
    let place_of = |(holds, place): &(BlockContents, SpindleBlock)| {
        let holds = format!("{holds:?}");
        json!({ "spindle": place.spindle.0, "block": place.dbn.0, "holds": holds })
    };
    let left: Vec<Value> = scrubbed.left.iter().map(place_of).collect();
    let gone: Vec<Value> = scrubbed.gone.iter().map(place_of).collect();
    let value = json!({
        "complete": scrubbed.is_whole,
        "stripes": scrubbed.stripes,
        "bad_blocks": scrubbed.bad_blocks,
        "repaired_blocks": scrubbed.repaired_blocks,
        "parity_repaired": scrubbed.parity_repaired,
        "lost_writes": lost_writes.collect::<Vec<_>>(),
        "left": left,
        "gone": gone,
    });
    format!("{value:#}\n")
}
