//! A controller with its store and its log, without I/O and without a clock.
//!
//! A [`LiveArrayEngine`] is told of host requests, of completed I/Os and of the time. It decides which I/Os the
//! devices must do, and which requests are answered. The same engine therefore runs on real devices and on simulated
//! ones that fail as a seed dictates.
//!
//! It guarantees that:
//!
//! - a write that was answered is in the log or on the spindles, and survives a power loss;
//! - changes that overlap are carried out in the order in which they were submitted;
//! - a consistency point is on the spindles before its superblock is, and the blocks that it frees are not
//!   overwritten before that;
//! - writes to stripes whose other blocks are in use reach all their spindles or none (a redo record);
//! - a write for which a device has no space is tried again until there is: nothing else is affected, except that
//!   requests that change the LUN are refused meanwhile;
//! - with a mirrored log, a record counts as durable once both devices have it, or one has it and the labels mark the
//!   other as failed;
//! - the labels mark a lost spindle as failed before any superblock or any stripe in use is written without it, and
//!   mark it as present again only once everything rebuilt on it is durable.
//!
//! An array that updates in place writes whole blocks of 4 KiB. It has no pointers to check its blocks against, so
//! the engine checks them against the rest of their stripe.

mod change_order;
mod commit;
mod driver;
mod expected_blocks;
mod labels;
mod live_array;
mod lost_devices;
mod rebuilt_spindles;
mod requests;
mod space;
mod targets;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use rustc_hash::FxHashMap;
use slab::Slab;
use strewn_array::{
    Direction, HostOperation, LunId, OperationId, Payload, Refusal, Root, SpindleCommand,
};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::SpindleIndex;

use crate::catalog::Catalog;
use crate::data::Data;
use crate::device::{DeviceIndex, Io, IoCompletion, IoError, IoId};
use crate::format::{Label, MemberState, Superblock};
use crate::log::{Log, LogFill};
use crate::store::{Store, StoreEvent, Token};

use change_order::ChangeOrder;
use commit::PendingCommit;
pub use driver::CommandWatch;
use driver::{ArrayEvent, LiveDriver};
use expected_blocks::ExpectedBlocks;
use labels::LabelWriter;
pub use live_array::{Controller, LiveArray};
use rebuilt_spindles::RebuiltSpindle;
pub use requests::{Answer, HostRequest, RequestError, RequestId, TargetId};
use requests::{PendingRequest, Piece, Target, piece_sectors};
use space::SpaceWait;

/// Store tokens from here on belong to the engine. Smaller ones are indices of commands.
const FLUSH_FOR_REDO: Token = Token(1 << 40);
const SUPERBLOCK: Token = Token((1 << 40) + 1);
const FLUSH_FOR_SUPERBLOCK: Token = Token((1 << 40) + 2);

/// The lowest bits of an I/O's id identify its owner.
const OWNER_BITS: u32 = 2;
const STORE: u64 = 0;
const LOG: u64 = 1;
const LABELS: u64 = 2;

/// An array with its store, its log and its requests, as a state machine that does no I/O.
pub struct LiveArrayEngine<A> {
    array: A,
    driver: LiveDriver,
    targets: BTreeMap<TargetId, Target>,
    /// `None` for an in-place array, which has none.
    catalog: Option<Catalog>,
    /// Whether the catalog has changed, and no superblock leads to it yet. What is written to its LUNs now could not be
    /// replayed after a power loss: they might not exist.
    is_catalog_ahead: bool,
    /// The targets that stand for LUNs in snapshots, by numbers of volume, snapshot and file.
    in_snapshots: BTreeMap<(u32, u32, u32), TargetId>,
    /// Size of the largest piece of a request, in sectors.
    piece_sectors: u64,
    labels: LabelWriter,
    /// The last durable superblock.
    superblock: Superblock,
    committing: Option<PendingCommit>,
    /// The root that the array wants to commit, while one of the engine's own superblocks is being written.
    next_root: Option<Root>,
    rebuilt: Vec<RebuiltSpindle>,
    pending: FxHashMap<u64, PendingRequest>,
    next_pending: u64,
    change_order: ChangeOrder,
    operations: Slab<(u64, Piece)>,
    /// Writes that wait for their log record, by its number.
    waiting_for_log: VecDeque<(u64, u64)>,
    answers: Vec<(RequestId, Result<Answer, RequestError>)>,
    stopped: Option<String>,
    space: SpaceWait,
    /// When a superblock must name the last durable record of the log.
    mark_ns: Option<u64>,
    /// Requests that were answered for lack of space while pieces of them were in flight.
    answered_early: usize,
    flushing_for_redo: bool,
    /// Whether the flush is done and its consequences wait for the labels.
    flushed_for_redo: bool,
}

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Runs `array` on `store` and `log`, from the newest superblock and the newest label. Spindles that the label
    /// does not mark as present count as lost; rebuilds start over.
    pub fn new(
        array: A,
        store: Store,
        log: Log,
        label: Label,
        superblock: Superblock,
        lun_sectors: u64,
        now_ns: u64,
    ) -> Self {
        let piece_sectors = piece_sectors(log.room());
        // A catalog may say otherwise later.
        let lun = Target { lun: LunId(0), sectors: lun_sectors, is_read_only: false };
        let mut driver = LiveDriver::new(
            store,
            log,
            superblock.consistency_point + 1,
            A::OVERWRITES_IN_PLACE,
            now_ns,
        );
        driver.expected = array.stripe_checked_layout().cloned().map(ExpectedBlocks::new);
        let mut engine = Self {
            array,
            driver,
            targets: BTreeMap::from([(TargetId::FIRST_LUN, lun)]),
            catalog: None,
            is_catalog_ahead: false,
            in_snapshots: BTreeMap::new(),
            piece_sectors,
            labels: LabelWriter::new(label),
            superblock,
            committing: None,
            next_root: None,
            rebuilt: Vec::new(),
            pending: FxHashMap::default(),
            next_pending: 0,
            change_order: ChangeOrder::default(),
            operations: Slab::new(),
            waiting_for_log: VecDeque::new(),
            answers: Vec::new(),
            stopped: None,
            space: SpaceWait::default(),
            mark_ns: None,
            answered_early: 0,
            flushing_for_redo: false,
            flushed_for_redo: false,
        };
        engine.array.start(now_ns, &mut engine.driver);
        let members: Vec<MemberState> =
            engine.labels.label().members.iter().map(|member| member.state).collect();
        for (spindle, state) in (0..).map(SpindleIndex).zip(members) {
            // If more spindles are lost than parity covers, there is nothing to rebuild from.
            if engine.stopped.is_some() {
                break;
            }
            if state == MemberState::Present {
                // The labels do not mark it as failed yet.
                if !engine.driver.store.is_present(spindle) {
                    engine.on_spindle_lost(spindle);
                }
                continue;
            }
            engine.driver.set_complete(spindle, false);
            if let Err(loss) = engine.array.spindle_failed(now_ns, spindle, &mut engine.driver) {
                engine.stop(&loss.to_string());
            } else if state == MemberState::Rebuilding {
                engine.array.replaced(now_ns, spindle, &mut engine.driver);
            } else {
                engine.driver.store.drop_spindle(spindle);
            }
        }
        engine.run_to_quiescence();
        engine
    }

    pub(crate) fn array_mut(&mut self) -> &mut A {
        &mut self.array
    }

    /// Returns the array.
    #[must_use]
    pub fn array(&self) -> &A {
        &self.array
    }

    /// Has `watch` called for each spindle command of the array. What the store adds, such as checksums, superblocks
    /// and the log, is no command of the array.
    pub fn watch_commands(&mut self, watch: CommandWatch) {
        self.driver.watch = Some(watch);
    }

    /// Returns the label as it will be once all label writes in flight are done.
    #[must_use]
    pub fn label(&self) -> &Label {
        self.labels.label()
    }

    /// Returns the spindles that are being rebuilt.
    #[must_use]
    pub fn rebuilding(&self) -> Vec<SpindleIndex> {
        self.labels.rebuilding().collect()
    }

    /// Returns whether a spindle is being rebuilt.
    #[must_use]
    pub fn is_rebuilding(&self) -> bool {
        self.labels.rebuilding().next().is_some()
    }

    /// Returns the last durable superblock.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Returns how full the log's current half is.
    #[must_use]
    pub fn log_fill(&self) -> LogFill {
        self.driver.log.fill()
    }

    /// Returns why the array has stopped, if it has. A stopped array refuses all requests and writes nothing.
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Returns the devices under which there is no space for a write. The write is sent again until there is; the array
    /// reads on, and requests that change the LUN are answered with [`RequestError::NoSpace`]. What was acknowledged
    /// is in the log or on the spindles, as ever.
    #[must_use]
    pub fn out_of_space(&self) -> Vec<DeviceIndex> {
        self.space.devices()
    }

    /// Returns since when there has been no space for a write.
    #[must_use]
    pub fn out_of_space_since_ns(&self) -> Option<u64> {
        self.space.short_since_ns()
    }

    /// Returns the size of a target, in sectors of 512 bytes, or `None` if there is no such target.
    #[must_use]
    pub fn target_sectors(&self, target: TargetId) -> Option<u64> {
        self.targets.get(&target).map(|target| target.sectors)
    }

    /// Returns the size in sectors of the pieces of a write, an unmap or a zeroing; pieces end at multiples of it.
    /// After a power loss, each piece that was not answered is there in full or not at all.
    #[must_use]
    pub fn piece_sectors(&self) -> u64 {
        self.piece_sectors
    }

    /// Starts or ends the replay of the log. Writes are not logged during a replay, because they are already in the
    /// log, and superblocks keep their start of the log.
    pub fn set_replaying(&mut self, replaying: bool) {
        self.driver.log.set_replaying(replaying);
        if let Some(array) = self.array.volumes_mut() {
            array.set_replaying(replaying);
        }
    }

    /// Accepts a host's request of a target. Its answer comes from [`take_answers`](Self::take_answers).
    pub fn submit(&mut self, now_ns: u64, id: RequestId, target: TargetId, request: HostRequest) {
        self.driver.now_ns = now_ns;
        let Some(&Target { lun, sectors: lun_sectors, is_read_only }) = self.targets.get(&target)
        else {
            self.answers.push((id, Err(RequestError::NoSuchTarget)));
            return;
        };
        if is_read_only && request.changes_lun() {
            self.answers.push((id, Err(RequestError::ReadOnly)));
            return;
        }
        let named = request.sectors();
        let Range { start: first, end } = named.clone().unwrap_or(0..0);
        if named.is_some() && (first >= end || end > lun_sectors) {
            let error = RequestError::OutOfRange { first, end, lun_sectors };
            self.answers.push((id, Err(error)));
            return;
        }
        if let Some(why) = &self.stopped {
            self.answers.push((id, Err(RequestError::Stopped(why.clone()))));
            return;
        }
        if let HostRequest::Allocation(sectors) = request {
            self.answers.push((id, Ok(self.allocation(lun, sectors))));
            return;
        }
        // While an earlier change that was answered is still to come, a later one could be overtaken by it.
        let has_no_space =
            self.space.is_short() || self.answered_early > 0 || self.is_catalog_ahead;
        if request.changes_lun() && has_no_space {
            self.answers.push((id, Err(RequestError::NoSpace)));
            return;
        }
        let key = self.next_pending;
        self.next_pending += 1;
        let pending = PendingRequest::new(id, lun, request, first..end, self.piece_sectors);
        let may_begin = !pending.changes_lun() || self.change_order.add(key, lun, first..end);
        self.pending.insert(key, pending);
        if may_begin {
            self.issue_pieces(key);
            self.run_to_quiescence();
        }
    }

    /// Issues no more pieces of a request, because nobody waits for it. Its answer is an error, unless all pieces were
    /// issued.
    pub fn give_up(&mut self, id: RequestId) {
        let given_up = self.pending.iter_mut().find(|(_, pending)| pending.id == id);
        let Some((&key, pending)) = given_up else { return };
        if !pending.is_issued() {
            pending.failed.get_or_insert(RequestError::GivenUp);
            self.answer_if_done(key);
            self.settle(key);
            self.run_to_quiescence();
        }
    }

    /// Appends the answers since the last call to `answers`.
    pub fn take_answers(&mut self, answers: &mut Vec<(RequestId, Result<Answer, RequestError>)>) {
        answers.append(&mut self.answers);
    }

    /// Returns when [`timer`](Self::timer) must be called next, in nanoseconds.
    #[must_use]
    pub fn timer_ns(&self) -> Option<u64> {
        if self.stopped.is_some() {
            return None;
        }
        // A mark that is due waits for a commit in progress, and needs no timer.
        let mark_ns = self.mark_ns.filter(|at_ns| *at_ns > self.driver.now_ns);
        [self.driver.timer_ns, self.space.timer_ns(), mark_ns].into_iter().flatten().min()
    }

    /// Tells the array the time.
    pub fn timer(&mut self, now_ns: u64) {
        self.driver.now_ns = now_ns;
        if self.stopped.is_some() {
            return;
        }
        self.space.timer(now_ns);
        if self.driver.timer_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.driver.timer_ns = None;
            self.array.timer_fired(now_ns, &mut self.driver);
            self.run_to_quiescence();
        } else if self.mark_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.run_to_quiescence();
        }
    }

    /// Starts to write all acknowledged data to the spindles.
    pub fn bring_to_spindles(&mut self, now_ns: u64) {
        self.driver.now_ns = now_ns;
        if self.stopped.is_none() {
            self.array.bring_to_spindles(now_ns, &mut self.driver);
            self.run_to_quiescence();
        }
    }

    /// Returns whether nothing is in flight and all acknowledged data is durable on the spindles.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_caught_up() && self.driver.is_idle()
    }

    /// Returns whether all acknowledged data is durable on the spindles and no superblock is being written. A rebuild
    /// may be in progress.
    #[must_use]
    pub fn is_caught_up(&self) -> bool {
        self.array.is_clean()
            && self.pending.is_empty()
            && self.committing.is_none()
            && self.next_root.is_none()
            && self.labels.is_idle()
    }

    /// Starts to rebuild a lost spindle on the blank device that replaced it.
    ///
    /// # Panics
    /// If the array has no such spindle.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex) {
        self.driver.now_ns = now_ns;
        self.driver.store.admit_spindle(spindle);
        self.driver.set_complete(spindle, false);
        self.labels.set_state(spindle, MemberState::Rebuilding);
        self.array.replaced(now_ns, spindle, &mut self.driver);
        self.run_to_quiescence();
    }

    /// Appends the I/Os that the devices must do now to `ios`.
    pub fn take_ios(&mut self, ios: &mut Vec<Io>) {
        let mut from = |who: u64, mut theirs: Vec<Io>| {
            for io in &mut theirs {
                io.id = IoId(io.id.0 << OWNER_BITS | who);
            }
            ios.append(&mut theirs);
        };
        let mut theirs = Vec::new();
        self.driver.store.take_ios(&mut theirs);
        from(STORE, std::mem::take(&mut theirs));
        self.driver.log.take_ios(&mut theirs);
        from(LOG, std::mem::take(&mut theirs));
        self.labels.take_ios(&mut theirs);
        from(LABELS, theirs);
        self.space.take_ios(ios);
    }

    /// Handles the completion of an I/O.
    pub fn done(&mut self, now_ns: u64, done: IoCompletion) {
        self.driver.now_ns = now_ns;
        let who = done.id.0 & ((1 << OWNER_BITS) - 1);
        let id_of_owner = IoId(done.id.0 >> OWNER_BITS);
        if who == STORE && done.result == Err(IoError::NoSpace) {
            self.driver.store.refused(id_of_owner, &done.buffer);
        }
        let Some(done) = self.space.done(now_ns, done) else {
            self.on_no_space();
            return self.run_to_quiescence();
        };
        let done = IoCompletion { id: id_of_owner, ..done };
        match who {
            STORE => self.driver.store.done(done),
            LOG => match self.driver.log.done(done) {
                Ok(durable) => {
                    self.driver.on_redo_durable(durable.redo);
                    self.on_log_durable(durable.host);
                }
                Err(error) => self.stop(&format!("the NVRAM log does not take records: {error}")),
            },
            _ => {
                if let Some(lost) = self.labels.done(done) {
                    self.on_label_refused(lost);
                }
            }
        }
        self.run_to_quiescence();
    }

    /// Answers all requests that change the LUN: a host must not wait for room. Pieces in flight go on as if they were
    /// to be answered, so that each of them is atomic still.
    fn on_no_space(&mut self) {
        let mut early: Vec<(u64, RequestId)> = Vec::new();
        for (&key, pending) in &mut self.pending {
            if pending.changes_lun() && !pending.is_answered {
                pending.failed.get_or_insert(RequestError::NoSpace);
                pending.is_answered = true;
                early.push((key, pending.id));
            }
        }
        early.sort_unstable();
        self.answered_early += early.len();
        self.answers.extend(early.into_iter().map(|(_, id)| (id, Err(RequestError::NoSpace))));
    }

    fn allocation(&self, lun: LunId, sectors: Range<u64>) -> Answer {
        let mut stretches: Vec<(u64, bool)> = Vec::new();
        let mut at = sectors.start;
        while at < sectors.end {
            let end = ((at / BLOCK_SECTORS + 1) * BLOCK_SECTORS).min(sectors.end);
            let allocated = self.array.is_allocated(lun, at / BLOCK_SECTORS);
            match stretches.last_mut() {
                Some((length, same)) if *same == allocated => *length += end - at,
                _ => stretches.push((end - at, allocated)),
            }
            at = end;
        }
        Answer::Allocation(stretches)
    }

    /// Issues as many pieces of a request to the array as may be in flight.
    fn issue_pieces(&mut self, key: u64) {
        self.issue_own_pieces(key);
        self.settle(key);
    }

    /// Lets the changes begin that waited for this request alone, if the array has placed all of its pieces.
    fn settle(&mut self, key: u64) {
        if self.pending.get(&key).is_none_or(PendingRequest::is_settled) {
            self.change_order.settle(key);
        }
    }

    /// Begins a change that has waited for others; returns false if there is none. What the array said before must have
    /// been handled: the change may not get into the log before a consistency point that does not have it.
    fn begin_next_change(&mut self) -> bool {
        let Some(key) = self.change_order.next_ready() else { return false };
        self.issue_pieces(key);
        true
    }

    fn issue_own_pieces(&mut self, key: u64) {
        while let Some(pending) = self.pending.get_mut(&key) {
            if pending.failed.is_some() || pending.in_flight >= pending.max_in_flight() {
                break;
            }
            let Some(piece) = pending.next_piece(A::SUPPORTS_UNMAP) else { break };
            pending.in_flight += 1;
            pending.unplaced += 1;
            let lun = pending.lun;
            let payload = match &piece {
                Piece::Write(sectors) => pending.data_of(sectors),
                _ => Data::default(),
            };
            let id = OperationId(self.operations.insert((key, piece.clone())) as u32);
            let now_ns = self.driver.now_ns;
            let (direction, sectors) = match piece {
                Piece::Read(sectors) => (Direction::Read, sectors),
                Piece::Write(sectors) => (Direction::Write, sectors),
                Piece::Unmap(sectors) => {
                    let blocks = (sectors.start / BLOCK_SECTORS) as u32
                        ..(sectors.end / BLOCK_SECTORS) as u32;
                    self.array.unmap(now_ns, id, lun, blocks, &mut self.driver);
                    self.driver.dispatch();
                    continue;
                }
            };
            let operation = HostOperation {
                id,
                lun,
                direction,
                first_sector: sectors.start,
                sectors: (sectors.end - sectors.start) as u32,
                payload,
            };
            self.array.host_operation(now_ns, operation, &mut self.driver);
            // The commands of one call belong together, apart from those of the next.
            self.driver.dispatch();
        }
        self.answer_if_done(key);
    }

    fn answer_if_done(&mut self, key: u64) {
        if self.pending.get(&key).is_some_and(PendingRequest::is_done)
            && let Some(pending) = self.pending.remove(&key)
        {
            match pending.is_answered {
                true => self.answered_early -= 1,
                false => self.answers.push((pending.id, pending.answer())),
            }
        }
    }

    /// Handles the end of a piece of a request.
    fn on_piece_done(&mut self, key: u64) {
        if let Some(pending) = self.pending.get_mut(&key) {
            assert!(pending.in_flight > 0, "a piece ends once");
            pending.in_flight -= 1;
            self.issue_pieces(key);
        }
    }

    /// Handles all consequences of what has happened, until there are none left.
    fn run_to_quiescence(&mut self) {
        loop {
            self.driver.set_labels_behind(!self.labels.is_idle());
            let mut any = self.driver.dispatch();
            for outbox in std::mem::take(&mut self.driver.outbox) {
                any = true;
                self.handle(outbox);
            }
            any |= self.driver.retry_deferred();
            let mut events = Vec::new();
            self.driver.store.take_events(&mut events);
            any |= !events.is_empty();
            self.on_store_events(events);
            if self.labels.is_idle() && self.stopped.is_none() {
                self.driver.store.on_losses_recorded();
            }
            any |= self.mark_log();
            any |= self.commit_if_ready();
            any |= self.flush_for_redo();
            any |= self.promote_rebuilt();
            any |= self.go_on_without_log();
            if !any && !self.begin_next_change() {
                return;
            }
        }
    }

    fn handle(&mut self, outbox: ArrayEvent) {
        match outbox {
            ArrayEvent::Acknowledged(operation, data, record) => {
                self.on_acknowledged(operation, data, record)
            }
            ArrayEvent::Refused(operation, why) => {
                let (key, _) = self.operations.remove(operation.0 as usize);
                if let Some(pending) = self.pending.get_mut(&key) {
                    pending.unplaced -= 1;
                    pending.failed = Some(match why {
                        Refusal::BlocksGone => RequestError::BlocksGone,
                        Refusal::NoSpace => RequestError::ArrayFull,
                    });
                }
                self.on_piece_done(key);
            }
            ArrayEvent::Commit(root) => self.begin_commit(*root),
        }
    }

    /// Handles the array's answer to a piece, which the log has as number `record` if it must be durable first.
    fn on_acknowledged(&mut self, operation: OperationId, data: Data, record: Option<u64>) {
        let (key, piece) = self.operations.remove(operation.0 as usize);
        if let Some(pending) = self.pending.get_mut(&key) {
            pending.unplaced -= 1;
            if let Piece::Read(sectors) = piece {
                pending.add_read_data(&sectors, data);
            }
        }
        match record {
            Some(record) => {
                self.waiting_for_log.push_back((record, key));
                self.settle(key);
            }
            None => self.on_piece_done(key),
        }
    }

    fn on_log_durable(&mut self, host: u64) {
        let last = self.acknowledgeable(host);
        while self.waiting_for_log.front().is_some_and(|(sequence, _)| *sequence <= last) {
            let Some((_, key)) = self.waiting_for_log.pop_front() else { break };
            self.on_piece_done(key);
        }
    }

    fn on_store_events(&mut self, events: Vec<StoreEvent>) {
        // The array must learn of a lost spindle before it learns which commands failed with it.
        for one in &events {
            if let StoreEvent::SpindleLost(spindle) = one {
                self.on_spindle_lost(*spindle);
            }
        }
        for one in events {
            if self.stopped.is_none() {
                self.on_store_event(one);
                self.driver.dispatch();
            }
        }
    }

    fn on_store_event(&mut self, events: StoreEvent) {
        let now_ns = self.driver.now_ns;
        match events {
            StoreEvent::Read { token, result: Ok(mut outcome) } => {
                if !self.driver.flag_stale(token, &mut outcome) {
                    return;
                }
                let command = self.driver.take(token);
                if outcome.any_bad() {
                    let bad = outcome.bad();
                    let payload = Data::from_bytes(outcome.bytes);
                    let command = SpindleCommand { payload, ..command };
                    self.array.blocks_failed(now_ns, command, &bad, &mut self.driver);
                } else {
                    let data = Data::from_bytes(outcome.bytes);
                    self.array.command_completed(now_ns, command.tag, data, &mut self.driver);
                }
            }
            StoreEvent::Read { token, result: Err(failure) } => {
                self.on_command_failed(token, &failure)
            }
            StoreEvent::ChecksumsRead { token, result } => {
                self.driver.on_checksums_read(token, result.ok())
            }
            StoreEvent::Write { token, result: Ok(()) } => {
                let tag = self.driver.take(token).tag;
                self.array.command_completed(now_ns, tag, Data::default(), &mut self.driver);
            }
            StoreEvent::Write { token, result: Err(failure) } => {
                self.on_command_failed(token, &failure)
            }
            StoreEvent::Flush { token, result } => match (result, token) {
                (Ok(()), FLUSH_FOR_REDO) => self.flushed_for_redo = true,
                (Ok(()), _) => self.on_superblock_flush(),
                (Err(failure), _) => self.stop(&failure.to_string()),
            },
            StoreEvent::Superblock { result: Ok(()), .. } => self.on_superblock_durable(),
            StoreEvent::Superblock { result: Err(failure), .. } => {
                self.stop(&format!("a superblock cannot be written: {failure}"));
            }
            StoreEvent::SpindleLost(_) => {}
        }
    }
}
