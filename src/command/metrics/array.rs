//! Figures of an array that is served.
//!
//! The page is made from the last look that the command took at the array, once a second. A client of the page never
//! asks anything of the array, so it cannot hold it up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use strewn_live::format::MemberState;
use strewn_live::serving::{ArrayStatus, Direction, DirectionLoad, RESPONSE_BOUNDS_NS};

use super::text::{Kind, Text};

/// The last look at an array. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LastLook(Arc<Mutex<Option<(SystemTime, ArrayStatus)>>>);

impl LastLook {
    /// Puts a look in place of the last.
    pub(crate) fn put(&self, look: &ArrayStatus) {
        let look = Some((SystemTime::now(), look.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = look;
    }

    /// Returns the page.
    pub(crate) fn page(&self) -> String {
        let look = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut text = Text::new();
        if let Some((at, look)) = look {
            let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            text.one(
                Kind::Gauge,
                "strewn_look_timestamp_seconds",
                "When these figures were taken, Unix time.",
                at,
            );
            of_hosts(&mut text, &look);
            of_log_and_errors(&mut text, &look);
            of_layout(&mut text, &look);
            of_spindles(&mut text, &look);
        }
        text.end()
    }
}

fn of_hosts(text: &mut Text, look: &ArrayStatus) {
    let loads = || Direction::ALL.into_iter().zip(&look.load.by_direction);
    let label = |direction: Direction| vec![("direction", direction.name().to_owned())];
    let counted = |count: fn(&DirectionLoad) -> u64| {
        loads().map(move |(direction, load)| (label(direction), count(load)))
    };
    text.family(
        Kind::Counter,
        "strewn_host_requests",
        "Requests of hosts that were answered; its rate is IOPS.",
        counted(|load| load.requests),
    );
    text.family(
        Kind::Counter,
        "strewn_host_bytes",
        "Bytes of requests of hosts that were answered without an error.",
        counted(|load| load.bytes),
    );
    text.family(
        Kind::Counter,
        "strewn_host_errors",
        "Requests of hosts that were answered with an error.",
        counted(|load| load.errors),
    );
    let bounds = RESPONSE_BOUNDS_NS.map(|bound| bound as f64 / 1e9);
    let histograms = loads().map(|(direction, load)| {
        (label(direction), &load.responses[..], load.response_ns as f64 / 1e9)
    });
    text.histogram(
        "strewn_host_response_seconds",
        "Time from the arrival of a request at the array to its answer.",
        &bounds,
        histograms,
    );
}

fn of_log_and_errors(text: &mut Text, look: &ArrayStatus) {
    let filled = look.log.filled_bytes as f64 / look.log.half_bytes.max(1) as f64;
    let counters = &look.counters;
    text.one(
        Kind::Gauge,
        "strewn_log_filled_ratio",
        "How full the half of the NVRAM log is that takes records.",
        filled,
    );
    for (name, help, count) in [
        ("strewn_consistency_points", "Consistency points committed.", counters.consistency_points),
        (
            "strewn_back_to_back_consistency_points",
            "Consistency points that began the moment the one before ended, because the log was full.",
            counters.back_to_back_consistency_points,
        ),
        (
            "strewn_stalled_writes",
            "Writes of hosts that waited for room in the NVRAM log or the write cache.",
            counters.stalled_writes,
        ),
        (
            "strewn_refused_writes",
            "Writes of hosts that were refused for lack of space.",
            counters.refused_writes,
        ),
        (
            "strewn_bad_blocks",
            "Blocks of working spindles that were unreadable or not what was written.",
            counters.bad_blocks,
        ),
        ("strewn_repairs", "Bad blocks that were written again.", counters.repairs),
        ("strewn_blocks_gone", "Blocks that could not be computed.", counters.blocks_gone),
    ] {
        text.one(Kind::Counter, name, help, count);
    }
    let short = look.out_of_space.len();
    text.one(
        Kind::Gauge,
        "strewn_devices_without_space",
        "Devices under which the file system is full.",
        short,
    );
    let stopped = u8::from(look.stopped.is_some());
    text.one(
        Kind::Gauge,
        "strewn_stopped",
        "1 if the array has stopped because of an error.",
        stopped,
    );
}

fn of_layout(text: &mut Text, look: &ArrayStatus) {
    let luns = || {
        (0u32..).zip(&look.layout.luns).map(|(lun, of)| (vec![("lun", lun.to_string())], of.file))
    };
    text.family(
        Kind::Gauge,
        "strewn_layout_score_ratio",
        "Share of a LUN's blocks that directly follow their predecessor; 1 is contiguous.",
        luns().map(|(labels, file)| (labels, file.score)),
    );
    text.family(
        Kind::Gauge,
        "strewn_extents",
        "Runs of a LUN's blocks that are consecutive on one spindle.",
        luns().map(|(labels, file)| (labels, file.extents)),
    );
    if let Some(free) = &look.layout.free_space {
        text.one(
            Kind::Gauge,
            "strewn_free_space_score_ratio",
            "Share of free blocks that directly follow another; 1 is one run a spindle.",
            free.score,
        );
        text.one(Kind::Gauge, "strewn_free_blocks", "Free blocks of 4 KiB.", free.free_blocks);
    }
    if let Some(percent) = look.layout.frag_percent {
        let frag = f64::from(percent) / 100.0;
        text.one(
            Kind::Gauge,
            "strewn_frag_ratio",
            "FRAG of a pool, as zpool list prints it.",
            frag,
        );
    }
}

fn of_spindles(text: &mut Text, look: &ArrayStatus) {
    let states = [MemberState::Present, MemberState::Rebuilding, MemberState::Failed];
    let samples = states.into_iter().map(|state| {
        let name = match state {
            MemberState::Present => "present",
            MemberState::Rebuilding => "rebuilding",
            MemberState::Failed => "failed",
        };
        let members = look.label.members.iter().filter(|member| member.state == state);
        (vec![("state", name.to_owned())], members.count())
    });
    text.family(Kind::Gauge, "strewn_spindles", "Spindles by their state.", samples);
    let rebuilds = look.rebuilds.iter();
    text.family(
        Kind::Gauge,
        "strewn_rebuilt_ratio",
        "Share of a lost spindle's data that is rebuilt.",
        rebuilds.map(|(spindle, share)| (vec![("spindle", spindle.0.to_string())], *share)),
    );
}
