//! An array, its store and its log as one, without I/O and without a clock.
//!
//! An [`Engine`] is told of host requests, of I/Os that are done, and of the time; it says what devices are to do and
//! which requests are answered. So it runs the same over real devices and over simulated ones that fail as a seed has it.
//!
//! What it guarantees: a write that was answered is in the log or on the spindles, safe from a loss of power. A
//! consistency point is on the spindles before its superblock is, and what it stops using is not written before that.
//! Writes to stripes that keep blocks in use reach the spindles all or not at all. A spindle that is lost is marked in
//! the labels of the others before a superblock is written without it.
//! Nor is a stripe in use changed without it before, and it is marked as present again when what was rebuilt is safe.
//!
//! Arrays that write in place are given whole blocks of 4 KiB. What a block must be is known for them too: from the rest of
//! its stripe, where pointers say it otherwise.

mod commit;
mod expected;
mod labels;
mod live_array;
mod merge;
mod rebuilt;
mod requests;
mod snapshots;
mod world;

use std::collections::VecDeque;
use std::ops::Range;

use slab::Slab;
use strewn_array::{Direction, HostOperation, OperationId, Payload, Root, SpindleCommand};
use strewn_raid::SpindleIndex;

use crate::data::Data;
use crate::device::{Done, Io, IoId};
use crate::format::{Label, MemberState, Superblock};
use crate::hashing::NumberMap;
use crate::log::Log;
use crate::store::{Failure, Finished, Store, Token};

use commit::Committing;
use expected::Expected;
use labels::LabelWrites;
pub use live_array::{LiveArray, NoSnapshot};
use merge::Merges;
use rebuilt::Rebuilt;
pub use requests::{Answer, HostRequest, RequestError, RequestId};
use requests::{Pending, Piece, piece_sectors};
use world::{Said, World};

/// Tokens of the store from here on are the engine's own; below are slots of commands.
const FLUSH_FOR_REDO: Token = Token(1 << 40);
const SUPERBLOCK: Token = Token((1 << 40) + 1);
const FLUSH_FOR_SUPERBLOCK: Token = Token((1 << 40) + 2);

/// Who asked for an I/O is in the lowest bits of its name.
const WHO_BITS: u32 = 2;
const STORE: u64 = 0;
const LOG: u64 = 1;
const LABELS: u64 = 2;

/// An array that runs.
pub struct Engine<A> {
    array: A,
    world: World,
    lun_sectors: u64,
    /// Sectors of the largest piece that a request is done in.
    piece_sectors: u64,
    labels: LabelWrites,
    /// What the last safe superblock says.
    superblock: Superblock,
    committing: Option<Committing>,
    /// What the array wants committed, while a superblock of the engine's own is under way.
    next_root: Option<Root>,
    rebuilt: Vec<Rebuilt>,
    /// The first host record that the consistency point in progress does not cover.
    log_start: u64,
    /// While what the log had is replayed nothing is logged, and superblocks keep what they say of the log.
    replaying: bool,
    pending: NumberMap<u64, Pending>,
    next_pending: u64,
    merges: Merges,
    operations: Slab<(u64, Piece)>,
    /// Writes that wait for the log, by the number of their record.
    waiting_for_log: VecDeque<(u64, u64)>,
    answers: Vec<(RequestId, Result<Answer, RequestError>)>,
    stopped: Option<String>,
    flushing_for_redo: bool,
    /// That flush is done, and waits for the labels.
    flushed_for_redo: bool,
}

impl<A: LiveArray> Engine<A> {
    /// `array` over `store` and `log`, whose newest superblock is `superblock` and whose labels say `label`. Spindles that
    /// the label does not have as present are lost; of those that are rebuilding the rebuild begins anew.
    pub fn new(
        array: A,
        store: Store,
        log: Log,
        label: Label,
        superblock: Superblock,
        lun_sectors: u64,
        now_ns: u64,
    ) -> Self {
        let log_start = log.next_sequence();
        let piece_sectors = piece_sectors(log.room());
        let mut world = World::new(store, log, superblock.checkpoint + 1, A::WRITES_OVER, now_ns);
        world.expected = array.vouching_layout().cloned().map(Expected::new);
        let mut engine = Self {
            array,
            world,
            lun_sectors,
            piece_sectors,
            labels: LabelWrites::new(label),
            superblock,
            committing: None,
            next_root: None,
            rebuilt: Vec::new(),
            log_start,
            replaying: false,
            pending: NumberMap::default(),
            next_pending: 0,
            merges: Merges::default(),
            operations: Slab::new(),
            waiting_for_log: VecDeque::new(),
            answers: Vec::new(),
            stopped: None,
            flushing_for_redo: false,
            flushed_for_redo: false,
        };
        engine.array.start(now_ns, &mut engine.world);
        let members: Vec<MemberState> =
            engine.labels.label().members.iter().map(|member| member.state).collect();
        for (spindle, state) in (0..).map(SpindleIndex).zip(members) {
            // With more gone than parity makes good there is nothing to rebuild from.
            if engine.stopped.is_some() {
                break;
            }
            if state == MemberState::Present {
                // The labels do not know yet that it is not there.
                if !engine.world.store.is_present(spindle) {
                    engine.lose(spindle);
                }
                continue;
            }
            engine.world.spindle_is_whole(spindle, false);
            if let Err(loss) = engine.array.spindle_failed(now_ns, spindle, &mut engine.world) {
                engine.stop(&loss.to_string());
            } else if state == MemberState::Rebuilding {
                engine.array.replaced(now_ns, spindle, &mut engine.world);
            } else {
                engine.world.store.forget_spindle(spindle);
            }
        }
        engine.settle();
        engine
    }

    pub(crate) fn array_mut(&mut self) -> &mut A {
        &mut self.array
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> &A {
        &self.array
    }

    /// What the labels say, once what is being written of them is.
    #[must_use]
    pub fn label(&self) -> &Label {
        self.labels.label()
    }

    /// The spindles that are being rebuilt.
    #[must_use]
    pub fn rebuilding(&self) -> Vec<SpindleIndex> {
        self.labels.rebuilding().collect()
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_rebuilding(&self) -> bool {
        self.labels.rebuilding().next().is_some()
    }

    /// What the last safe superblock says.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Why the array has stopped, if it has: no request is done any more, and nothing is written.
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Sectors of the LUN.
    #[must_use]
    pub fn lun_sectors(&self) -> u64 {
        self.lun_sectors
    }

    /// A write, and what is given back or zeroed, is done in pieces that end at multiples of so many sectors of the LUN. After
    /// a loss of power each piece that was not answered is there or not.
    #[must_use]
    pub fn piece_sectors(&self) -> u64 {
        self.piece_sectors
    }

    /// Begins or ends the replay of what the log had: meanwhile nothing that is written is logged, because it is in the log.
    pub fn set_replaying(&mut self, replaying: bool) {
        self.replaying = replaying;
    }

    /// A host's request arrives.
    pub fn submit(&mut self, now_ns: u64, id: RequestId, request: HostRequest) {
        self.world.now_ns = now_ns;
        let sectors = match &request {
            HostRequest::Read(sectors)
            | HostRequest::GiveBack(sectors)
            | HostRequest::Zero(sectors)
            | HostRequest::Allocation(sectors) => sectors.clone(),
            HostRequest::Write { first_sector, data } => {
                *first_sector..first_sector.saturating_add(data.len() as u64 / 512)
            }
            HostRequest::Flush => 0..0,
        };
        let Range { start: first, end } = sectors;
        let is_flush = request == HostRequest::Flush;
        if !is_flush && (first >= end || end > self.lun_sectors) {
            let lun_sectors = self.lun_sectors;
            let error = RequestError::OutOfRange { first, end, lun_sectors };
            self.answers.push((id, Err(error)));
            return;
        }
        if let Some(why) = &self.stopped {
            self.answers.push((id, Err(RequestError::Stopped(why.clone()))));
            return;
        }
        if let HostRequest::Allocation(sectors) = request {
            self.answers.push((id, Ok(self.allocation(sectors))));
            return;
        }
        let key = self.next_pending;
        self.next_pending += 1;
        self.pending.insert(key, Pending::new(id, request, first..end, self.piece_sectors));
        self.pump(key);
        self.settle();
    }

    /// The answers since the last call, put behind what is in `answers`.
    pub fn take_answers(&mut self, answers: &mut Vec<(RequestId, Result<Answer, RequestError>)>) {
        answers.append(&mut self.answers);
    }

    /// When [`timer`](Self::timer) is to be called next.
    #[must_use]
    pub fn timer_ns(&self) -> Option<u64> {
        self.world.timer_ns.filter(|_| self.stopped.is_none())
    }

    /// Time has passed.
    pub fn timer(&mut self, now_ns: u64) {
        self.world.now_ns = now_ns;
        if self.timer_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            self.world.timer_ns = None;
            self.array.timer_fired(now_ns, &mut self.world);
            self.settle();
        }
    }

    /// Has everything that was acknowledged written to the spindles.
    pub fn bring_to_spindles(&mut self, now_ns: u64) {
        self.world.now_ns = now_ns;
        if self.stopped.is_none() {
            self.array.bring_to_spindles(now_ns, &mut self.world);
            self.settle();
        }
    }

    /// Whether nothing is under way and all that was acknowledged is on the spindles.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.has_caught_up() && self.world.is_idle()
    }

    /// Whether all that was acknowledged is safe on the spindles, and no superblock is on its way. A rebuild may be under way.
    #[must_use]
    pub fn has_caught_up(&self) -> bool {
        self.array.is_clean()
            && self.pending.is_empty()
            && self.committing.is_none()
            && self.next_root.is_none()
            && self.labels.is_idle()
    }

    /// A blank device has taken the place of a spindle that is lost.
    ///
    /// # Panics
    /// If the array has no such spindle.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex) {
        self.world.now_ns = now_ns;
        self.world.store.take_spindle(spindle);
        self.world.spindle_is_whole(spindle, false);
        self.labels.set_state(spindle, MemberState::Rebuilding);
        self.array.replaced(now_ns, spindle, &mut self.world);
        self.settle();
    }

    /// What the devices are to do now, put behind what is in `ios`.
    pub fn take_ios(&mut self, ios: &mut Vec<Io>) {
        let mut from = |who: u64, mut theirs: Vec<Io>| {
            for io in &mut theirs {
                io.id = IoId(io.id.0 << WHO_BITS | who);
            }
            ios.append(&mut theirs);
        };
        let mut theirs = Vec::new();
        self.world.store.take_ios(&mut theirs);
        from(STORE, std::mem::take(&mut theirs));
        self.world.log.take_ios(&mut theirs);
        from(LOG, std::mem::take(&mut theirs));
        self.labels.take_ios(&mut theirs);
        from(LABELS, theirs);
    }

    /// An I/O is done.
    pub fn done(&mut self, now_ns: u64, done: Done) {
        self.world.now_ns = now_ns;
        let who = done.id.0 & ((1 << WHO_BITS) - 1);
        let done = Done { id: IoId(done.id.0 >> WHO_BITS), ..done };
        match who {
            STORE => self.world.store.done(done),
            LOG => match self.world.log.done(done) {
                Ok(durable) => {
                    self.world.redo_is_durable(durable.redo);
                    self.log_is_durable(durable.host);
                }
                Err(error) => self.stop(&format!("the NVRAM log does not take records: {error}")),
            },
            _ => {
                if let Some(lost) = self.labels.done(done) {
                    self.world.store.forget_spindle(lost);
                    self.lose(lost);
                }
            }
        }
        self.settle();
    }

    fn allocation(&self, sectors: Range<u64>) -> Answer {
        let mut stretches: Vec<(u64, bool)> = Vec::new();
        let mut at = sectors.start;
        while at < sectors.end {
            let end = (at / 8 * 8 + 8).min(sectors.end);
            let allocated = self.array.is_allocated(at / 8);
            match stretches.last_mut() {
                Some((length, same)) if *same == allocated => *length += end - at,
                _ => stretches.push((end - at, allocated)),
            }
            at = end;
        }
        Answer::Allocation(stretches)
    }

    /// Gives the array as many pieces of a request as it may have.
    fn pump(&mut self, key: u64) {
        while let Some(pending) = self.pending.get_mut(&key) {
            if pending.failed.is_some() || pending.under_way >= pending.most_under_way() {
                break;
            }
            let Some(piece) = pending.next_piece(A::GIVES_BACK) else { break };
            pending.under_way += 1;
            let piece = match piece {
                Piece::Write(sectors) if A::WHOLE_BLOCKS => {
                    self.write_whole_blocks(key, sectors);
                    continue;
                }
                piece => piece,
            };
            let payload = match &piece {
                Piece::Write(sectors) => pending.data_of(sectors),
                _ => Data::default(),
            };
            let id = OperationId(self.operations.insert((key, piece.clone())) as u32);
            let now_ns = self.world.now_ns;
            let (direction, sectors) = match piece {
                Piece::Read(sectors) => (Direction::Read, sectors),
                Piece::Write(sectors) => (Direction::Write, sectors),
                Piece::GiveBack(sectors) => {
                    let blocks = (sectors.start / 8) as u32..(sectors.end / 8) as u32;
                    self.array.give_back(now_ns, id, blocks, &mut self.world);
                    self.world.hand_on();
                    continue;
                }
                Piece::Edge { .. } | Piece::Completed { .. } => {
                    unreachable!("no piece of a host's")
                }
            };
            let operation = HostOperation {
                id,
                direction,
                first_sector: sectors.start,
                sectors: (sectors.end - sectors.start) as u32,
                payload,
            };
            self.array.host_operation(now_ns, operation, &mut self.world);
            // What is asked for in one call belongs together, and not to the next.
            self.world.hand_on();
        }
        self.answer_if_done(key);
    }

    fn answer_if_done(&mut self, key: u64) {
        if self.pending.get(&key).is_some_and(Pending::is_done)
            && let Some(pending) = self.pending.remove(&key)
        {
            self.answers.push((pending.id, pending.answer()));
        }
    }

    /// A piece has come to its end.
    fn piece_is_done(&mut self, key: u64) {
        if let Some(pending) = self.pending.get_mut(&key) {
            pending.under_way -= 1;
            self.pump(key);
        }
    }

    /// Lets everything follow that follows from what has happened.
    fn settle(&mut self) {
        loop {
            self.world.labels_are(!self.labels.is_idle());
            let mut any = self.world.hand_on();
            for said in std::mem::take(&mut self.world.said) {
                any = true;
                self.take_in(said);
            }
            any |= self.world.go_on_with_waiting();
            let mut finished = Vec::new();
            self.world.store.take_finished(&mut finished);
            any |= !finished.is_empty();
            self.all_finished(finished);
            any |= self.commit_if_ready();
            any |= self.flush_for_redo();
            any |= self.note_rebuilt();
            if !any {
                return;
            }
        }
    }

    fn take_in(&mut self, said: Said) {
        match said {
            Said::Acknowledged(operation, data) => self.acknowledged(operation, data),
            Said::Refused(operation) => {
                let (key, piece) = self.operations.remove(operation.0 as usize);
                if let Piece::Edge { merge, block } = piece {
                    return self.edge_came(merge, block, None);
                }
                if let Some(pending) = self.pending.get_mut(&key) {
                    pending.failed = Some(RequestError::BlocksGone);
                }
                self.piece_is_done(key);
            }
            Said::CheckpointBegins => {
                if !self.replaying {
                    self.log_start = self.world.log.next_sequence();
                    if let Err(error) = self.world.log.switch_half() {
                        self.stop(&error.to_string());
                    }
                }
            }
            Said::Commit(root) => self.begin_commit(root),
        }
    }

    fn acknowledged(&mut self, operation: OperationId, data: Data) {
        let (key, piece) = self.operations.remove(operation.0 as usize);
        match &piece {
            Piece::Edge { merge, block } => {
                return self.edge_came(*merge, *block, Some(data.bytes()));
            }
            Piece::Write(sectors) | Piece::Completed { sectors, .. } if A::WHOLE_BLOCKS => {
                self.blocks_are_written(sectors);
            }
            _ => {}
        }
        let Some(pending) = self.pending.get_mut(&key) else { return };
        let logged = match piece {
            Piece::Read(sectors) => {
                pending.has_read(&sectors, data);
                self.piece_is_done(key);
                return;
            }
            _ if self.replaying => {
                self.piece_is_done(key);
                return;
            }
            Piece::Write(sectors) => {
                self.world.log.append_write(sectors.start, pending.data_of(&sectors).bytes())
            }
            Piece::GiveBack(sectors) => {
                self.world.log.append_punch(sectors.start, sectors.end - sectors.start)
            }
            Piece::Completed { sectors, bytes } => {
                self.world.log.append_write(sectors.start, &bytes)
            }
            Piece::Edge { .. } => return,
        };
        match logged {
            Ok(sequence) => self.waiting_for_log.push_back((sequence, key)),
            Err(error) => self.stop(&error.to_string()),
        }
    }

    fn log_is_durable(&mut self, host: u64) {
        while self.waiting_for_log.front().is_some_and(|(sequence, _)| *sequence <= host) {
            let Some((_, key)) = self.waiting_for_log.pop_front() else { break };
            self.piece_is_done(key);
        }
    }

    fn all_finished(&mut self, finished: Vec<Finished>) {
        // The array hears of a lost spindle before it hears of what that did not do.
        for one in &finished {
            if let Finished::Lost(spindle) = one {
                self.lose(*spindle);
            }
        }
        for one in finished {
            if self.stopped.is_none() {
                self.finished(one);
                self.world.hand_on();
            }
        }
    }

    fn finished(&mut self, finished: Finished) {
        let now_ns = self.world.now_ns;
        match finished {
            Finished::Read { token, result: Ok(mut outcome) } => {
                if !self.world.doubt(token, &mut outcome) {
                    return;
                }
                let command = self.world.take(token);
                if outcome.any_bad() {
                    let bad = outcome.bad();
                    let payload = Data::from_bytes(outcome.bytes);
                    let command = SpindleCommand { payload, ..command };
                    self.array.blocks_failed(now_ns, command, &bad, &mut self.world);
                } else {
                    let data = Data::from_bytes(outcome.bytes);
                    self.array.command_completed(now_ns, command.tag, data, &mut self.world);
                }
            }
            Finished::Read { token, result: Err(failure) } => self.command_failed(token, &failure),
            Finished::Looked { token, result } => self.world.looked(token, result.ok()),
            Finished::Write { token, result: Ok(()) } => {
                let tag = self.world.take(token).tag;
                self.array.command_completed(now_ns, tag, Data::default(), &mut self.world);
            }
            Finished::Write { token, result: Err(failure) } => self.command_failed(token, &failure),
            Finished::Flush { token, result } => match (result, token) {
                (Ok(()), FLUSH_FOR_REDO) => self.flushed_for_redo = true,
                (Ok(()), _) => self.flushed_for_superblock(),
                (Err(failure), _) => self.stop(&failure.to_string()),
            },
            Finished::Superblock { result: Ok(()), .. } => self.superblock_is_safe(),
            Finished::Superblock { result: Err(failure), .. } => {
                self.stop(&format!("a superblock cannot be written: {failure}"));
            }
            Finished::Lost(_) => {}
        }
    }

    fn command_failed(&mut self, token: Token, failure: &Failure) {
        let command = self.world.take(token);
        let spindle = command.spindle;
        match failure {
            Failure::Gone => {}
            // A spindle that does not take what is written to it is of no use.
            Failure::Refused => {
                self.world.store.forget_spindle(spindle);
                self.lose(spindle);
            }
            Failure::NoSpace | Failure::BadBlocks { .. } => {
                self.stop(&format!("{spindle} does not take a write: {failure}"));
                return;
            }
        }
        if self.stopped.is_none() {
            let command = SpindleCommand { payload: Data::default(), ..command };
            self.array.command_failed(self.world.now_ns, command, &mut self.world);
        }
    }

    /// A spindle is lost.
    fn lose(&mut self, spindle: SpindleIndex) {
        if self.stopped.is_some() || !self.labels.set_state(spindle, MemberState::Failed) {
            return;
        }
        self.world.labels_are(true);
        self.world.spindle_is_whole(spindle, false);
        self.is_not_rebuilt(spindle);
        let lost = self.array.spindle_failed(self.world.now_ns, spindle, &mut self.world);
        if let Err(loss) = lost {
            self.stop(&loss.to_string());
        }
    }

    /// Nothing more is done: what the array holds in memory is in the log, and what is on the devices is left as it is.
    fn stop(&mut self, why: &str) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some(why.to_owned());
        self.waiting_for_log.clear();
        let mut pending: Vec<(u64, Pending)> = self.pending.drain().collect();
        pending.sort_by_key(|(key, _)| *key);
        for (_, pending) in pending {
            self.answers.push((pending.id, Err(RequestError::Stopped(why.to_owned()))));
        }
    }
}
