//! An array on a thread of its own, with clients on other threads: NBD connections, workloads and administrators.

mod exports;
mod host_load;
mod recent_changes;
mod targets;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use strewn_array::{Counters, LayoutMeasures};
use strewn_base::SECTOR_BYTES;
use strewn_raid::SpindleIndex;

use crate::administration::{Change, ChangeError, Inventory};
use crate::device::{DeviceIndex, Devices, Waker};
use crate::engine::{Answer, HostRequest, LiveArray, RequestError, RequestId, TargetId};
use crate::format::{Label, Superblock};
use crate::log::LogFill;
use crate::nbd::Requester;
use crate::running::RunningArray;
use crate::turns::{Turn, Turns};

pub use exports::LunExports;
pub use host_load::{Direction, DirectionLoad, HostLoad, RESPONSE_BOUNDS_NS};
use recent_changes::RecentChanges;
use targets::ServedTargets;

/// Called with the answer to a request.
pub type Reply = Box<dyn FnOnce(Result<Answer, RequestError>) + Send>;

/// What became of a change, and what the array has after it.
type Changed = Result<Inventory, ChangeError>;

/// How long a change waits for a client that is just leaving.
const LEAVING: Duration = Duration::from_millis(250);

enum Message {
    Request(Requester, TargetId, HostRequest, Reply),
    ArrayStatus(Sender<ArrayStatus>),
    Inventory(Sender<Inventory>),
    Administer(Change, Sender<Changed>),
    ShutDown,
}

/// The state of a running array.
#[derive(Debug, Clone)]
pub struct ArrayStatus {
    /// Its counters since it started.
    pub counters: Counters,
    /// The layout of data and free space.
    pub layout: LayoutMeasures,
    /// Its members and their states.
    pub label: Label,
    /// The last durable superblock.
    pub superblock: Superblock,
    /// Why it has stopped, if it has.
    pub stopped: Option<String>,
    /// The devices under which there is no space, the log after the last spindle: see
    /// [`LiveArrayEngine::out_of_space`](crate::engine::LiveArrayEngine::out_of_space).
    pub out_of_space: Vec<DeviceIndex>,
    /// Nanoseconds since its devices were opened.
    pub now_ns: u64,
    /// What hosts have asked of it.
    pub load: HostLoad,
    /// How full its log is.
    pub log: LogFill,
    /// The spindles whose data is not whole, and the share of it that is rebuilt, 0 to 1.
    pub rebuilds: Vec<(SpindleIndex, f64)>,
}

/// Sends requests to an array on another thread. Clones send to the same array, as the same client: the array serves
/// its clients in turns.
#[derive(Clone)]
pub struct Client {
    messages: Sender<Message>,
    waker: Waker,
    targets: Arc<ServedTargets>,
    requester: Requester,
}

impl Client {
    /// Returns the size of a target, in sectors of 512 bytes, or `None` if there is no such target.
    #[must_use]
    pub fn target_sectors(&self, target: TargetId) -> Option<u64> {
        self.targets.sectors(target)
    }

    /// Sends a request. `reply` is called on the array's thread and must not block.
    pub fn submit(&self, target: TargetId, request: HostRequest, reply: Reply) {
        self.submit_for(self.requester.clone(), target, request, reply);
    }

    /// Sends a request of another client. If that is gone, `reply` may be dropped without a call.
    pub fn submit_for(
        &self,
        requester: Requester,
        target: TargetId,
        request: HostRequest,
        reply: Reply,
    ) {
        if let Err(refused) =
            self.messages.send(Message::Request(requester, target, request, reply))
            && let Message::Request(_, _, _, reply) = refused.0
        {
            reply(Err(RequestError::Stopped("it was shut down".to_owned())));
        }
        self.waker.wake();
    }

    /// Returns the state of the array, or `None` if it was shut down.
    #[must_use]
    pub fn look(&self) -> Option<ArrayStatus> {
        let (sender, receiver) = channel();
        self.messages.send(Message::ArrayStatus(sender)).ok()?;
        self.waker.wake();
        receiver.recv().ok()
    }

    /// Returns what the array has, or `None` if it was shut down.
    #[must_use]
    pub fn inventory(&self) -> Option<Inventory> {
        let (sender, receiver) = channel();
        self.messages.send(Message::Inventory(sender)).ok()?;
        self.waker.wake();
        receiver.recv().ok()
    }

    /// Changes the volumes, LUNs or snapshots of the array, and returns what it has then. The array finishes the
    /// requests in progress; those that come meanwhile wait.
    ///
    /// # Errors
    /// See [`ChangeError`]; what NBD clients have chosen is neither deleted nor resized.
    pub fn administer(&self, change: Change) -> Result<Inventory, ChangeError> {
        // A client that has just closed its connection counts until the server has noticed.
        let begin = Instant::now();
        while let Err(in_use) = self.targets.check_unused(&change) {
            if begin.elapsed() >= LEAVING {
                return Err(in_use);
            }
            std::thread::sleep(LEAVING / 25);
        }
        let is_gone = || ChangeError::Stopped("it was shut down".to_owned());
        let (sender, receiver) = channel();
        self.messages.send(Message::Administer(change, sender)).map_err(|_| is_gone())?;
        self.waker.wake();
        receiver.recv().unwrap_or_else(|_| Err(is_gone()))
    }
}

/// An array on a thread of its own.
pub struct ArrayThread {
    client: Client,
    thread: JoinHandle<Result<(), String>>,
}

impl ArrayThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start<D, A>(running: RunningArray<D, A>) -> std::io::Result<Self>
    where
        D: Devices + Send + 'static,
        A: LiveArray + Send + 'static,
    {
        let (messages, receiver) = channel();
        let targets = ServedTargets::new(&running.inventory());
        let client = Client {
            messages,
            waker: running.waker(),
            targets: Arc::clone(&targets),
            requester: Requester::new(),
        };
        let thread = std::thread::Builder::new()
            .name("array".to_owned())
            .spawn(move || serve(running, receiver, &targets))?;
        Ok(Self { client, thread })
    }

    /// Returns a client of the array.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Waits for the requests in flight, shuts the array down and ends the thread.
    ///
    /// # Errors
    /// Why the array had already stopped.
    pub fn shut_down(self) -> Result<(), String> {
        // If the thread has ended, its error is returned below.
        let _ = self.client.messages.send(Message::ShutDown);
        self.client.waker.wake();
        self.thread.join().unwrap_or_else(|_| Err("its thread panicked".to_owned()))
    }
}

/// Most messages handled before the devices get their turn.
const MESSAGES_AT_ONCE: usize = 256;

fn serve<D: Devices, A: LiveArray>(
    mut running: RunningArray<D, A>,
    messages: Receiver<Message>,
    targets: &ServedTargets,
) -> Result<(), String> {
    let mut turns = Turns::new();
    let mut replies: slab::Slab<Pending> = slab::Slab::new();
    let mut load = HostLoad::default();
    let mut answers = Vec::new();
    let mut recent = RecentChanges::default();
    let mut changes: VecDeque<PendingChange> = VecDeque::new();
    let mut is_ending = false;
    loop {
        let mut taken = 0;
        while taken < MESSAGES_AT_ONCE
            && let Ok(message) = messages.try_recv()
        {
            taken += 1;
            match message {
                Message::Request(requester, target, request, reply) => {
                    let bytes = bytes_of(&request);
                    let counted = Direction::of(&request).map(|direction| Counted {
                        direction,
                        bytes,
                        since_ns: running.now_ns(),
                    });
                    let waiting = (requester.clone(), target, request, reply, counted);
                    turns.push(&requester, bytes, waiting);
                }
                Message::ArrayStatus(sender) => {
                    // The requester may have stopped waiting.
                    let _ = sender.send(look(&running, &load));
                }
                Message::Inventory(sender) => {
                    let _ = sender.send(running.inventory());
                }
                Message::Administer(change, sender) => {
                    changes.push_back(PendingChange { change, sender, since_ns: running.now_ns() });
                }
                Message::ShutDown => is_ending = true,
            }
        }
        for client in turns.drop_gone() {
            for (id, _) in replies.iter().filter(|(_, pending)| pending.turn.client() == client) {
                running.give_up(RequestId(id as u64));
            }
        }
        // Without space under the devices, requests may not come to an end.
        let obstacle = changes.front().and_then(|change| running.obstacle(change.since_ns));
        if let (Some(why), false) = (obstacle, replies.is_empty()) {
            let refusal = match running.engine().stopped() {
                Some(_) => ChangeError::Stopped(why),
                None => ChangeError::NoSpace(why),
            };
            for refused in changes.drain(..) {
                let _ = refused.sender.send(Err(refusal.clone()));
            }
        }
        // A change waits until no request is in progress, and requests wait for it. Between two changes, those that
        // wait have their turn.
        let change = if replies.is_empty() { changes.pop_front() } else { None };
        let has_changed = change.is_some();
        if let Some(PendingChange { change, sender, .. }) = change {
            let _ = sender.send(administer(&mut running, targets, change));
        }
        if has_changed || changes.is_empty() {
            while let Some((turn, (requester, target, request, reply, counted))) = turns.begin() {
                if request.changes_lun()
                    && let Some(sectors) = request.sectors()
                    && !recent.begin(&requester, target, sectors)
                {
                    turns.end(turn);
                    reply(Err(RequestError::GivenUp));
                    continue;
                }
                let id = RequestId(replies.insert(Pending { turn, reply, counted }) as u64);
                running.submit(id, target, request);
            }
        }
        running.engine_mut().take_answers(&mut answers);
        let any = has_changed || !answers.is_empty();
        for (id, answer) in answers.drain(..) {
            let Pending { turn, reply, counted } = replies.remove(id.0 as usize);
            turns.end(turn);
            if let Some(Counted { direction, bytes, since_ns }) = counted {
                let response_ns = running.now_ns().saturating_sub(since_ns);
                load.count(direction, bytes, response_ns, answer.is_err());
            }
            reply(answer);
        }
        if is_ending && replies.is_empty() && turns.is_empty() && changes.is_empty() {
            return running.shut_down();
        }
        if taken == MESSAGES_AT_ONCE || any {
            running.send();
        }
        if taken < MESSAGES_AT_ONCE && !any {
            running.poll(None);
        }
    }
}

/// A request in progress.
struct Pending {
    turn: Turn,
    reply: Reply,
    counted: Option<Counted>,
}

/// What is counted of a request that moves data, once it is answered.
struct Counted {
    direction: Direction,
    bytes: u64,
    /// When it arrived.
    since_ns: u64,
}

/// A change that waits until no request is in progress.
struct PendingChange {
    change: Change,
    sender: Sender<Changed>,
    since_ns: u64,
}

/// Carries out a change while no request is in progress.
fn administer<D: Devices, A: LiveArray>(
    running: &mut RunningArray<D, A>,
    targets: &ServedTargets,
    change: Change,
) -> Changed {
    targets.close(&change)?;
    let done = running.administer(change);
    // What was not deleted after all is offered again.
    let inventory = running.inventory();
    targets.update(&inventory);
    done.map(|()| inventory)
}

/// Returns how much work a request is, as the bytes that it touches.
fn bytes_of(request: &HostRequest) -> u64 {
    match request.sectors() {
        Some(_) if matches!(request, HostRequest::Allocation(_)) => 0,
        Some(sectors) => sectors.end.saturating_sub(sectors.start).saturating_mul(SECTOR_BYTES),
        None => 0,
    }
}

fn look<D: Devices, A: LiveArray>(running: &RunningArray<D, A>, load: &HostLoad) -> ArrayStatus {
    let engine = running.engine();
    let open = engine.array().failures().iter().filter(|failure| failure.is_open());
    ArrayStatus {
        counters: *engine.array().counters(),
        layout: engine.array().layout(),
        label: engine.label().clone(),
        superblock: engine.superblock().clone(),
        stopped: engine.stopped().map(str::to_owned),
        out_of_space: engine.out_of_space(),
        now_ns: running.now_ns(),
        load: *load,
        log: engine.log_fill(),
        rebuilds: open.map(|failure| (failure.spindle, failure.rebuilt)).collect(),
    }
}
