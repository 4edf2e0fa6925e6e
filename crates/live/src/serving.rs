//! An array on a thread of its own, with clients on other threads: NBD connections and workloads.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use strewn_array::{Counters, LayoutMeasures};
use strewn_base::SECTOR_BYTES;

use crate::device::{DeviceIndex, Devices, Waker};
use crate::engine::{Answer, HostRequest, LiveArray, RequestError, RequestId, TargetId};
use crate::format::{Label, Superblock};
use crate::nbd;
use crate::nbd::Requester;
use crate::running::RunningArray;
use crate::turns::{Turn, Turns};

/// Called with the answer to a request.
pub type Reply = Box<dyn FnOnce(Result<Answer, RequestError>) + Send>;

enum Message {
    Request(Requester, TargetId, HostRequest, Reply),
    ArrayStatus(Sender<ArrayStatus>),
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
}

/// Sends requests to an array on another thread. Clones send to the same array, as the same client: the array serves
/// its clients in turns.
#[derive(Clone)]
pub struct Client {
    messages: Sender<Message>,
    waker: Waker,
    lun_sectors: u64,
    requester: Requester,
}

impl Client {
    /// Returns the size of the LUN, in sectors of 512 bytes.
    #[must_use]
    pub fn lun_sectors(&self) -> u64 {
        self.lun_sectors
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
        let client = Client {
            messages,
            waker: running.waker(),
            lun_sectors: running.engine().target_sectors(TargetId::FIRST_LUN).unwrap_or(0),
            requester: Requester::new(),
        };
        let thread = std::thread::Builder::new()
            .name("array".to_owned())
            .spawn(|| serve(running, receiver))?;
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
) -> Result<(), String> {
    let mut turns = Turns::new();
    let mut replies: slab::Slab<(Turn, Reply)> = slab::Slab::new();
    let mut answers = Vec::new();
    let mut is_ending = false;
    loop {
        let mut taken = 0;
        while taken < MESSAGES_AT_ONCE
            && let Ok(message) = messages.try_recv()
        {
            taken += 1;
            match message {
                Message::Request(requester, target, request, reply) => {
                    turns.push(&requester, bytes_of(&request), (target, request, reply));
                }
                Message::ArrayStatus(sender) => {
                    // The requester may have stopped waiting.
                    let _ = sender.send(look(&running));
                }
                Message::ShutDown => is_ending = true,
            }
        }
        for client in turns.drop_gone() {
            for (id, _) in replies.iter().filter(|(_, (turn, _))| turn.client() == client) {
                running.give_up(RequestId(id as u64));
            }
        }
        while let Some((turn, (target, request, reply))) = turns.begin() {
            let id = RequestId(replies.insert((turn, reply)) as u64);
            running.submit(id, target, request);
        }
        running.engine_mut().take_answers(&mut answers);
        let any = !answers.is_empty();
        for (id, answer) in answers.drain(..) {
            let (turn, reply) = replies.remove(id.0 as usize);
            turns.end(turn);
            reply(answer);
        }
        if is_ending && replies.is_empty() && turns.is_empty() {
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

/// Returns how much work a request is, as the bytes that it touches.
fn bytes_of(request: &HostRequest) -> u64 {
    match request {
        HostRequest::Read(sectors) | HostRequest::Unmap(sectors) | HostRequest::Zero(sectors) => {
            sectors.end.saturating_sub(sectors.start).saturating_mul(SECTOR_BYTES)
        }
        HostRequest::Write { data, .. } => data.len() as u64,
        HostRequest::Flush | HostRequest::Allocation(_) => 0,
    }
}

fn look<D: Devices, A: LiveArray>(running: &RunningArray<D, A>) -> ArrayStatus {
    let engine = running.engine();
    ArrayStatus {
        counters: *engine.array().counters(),
        layout: engine.array().layout(),
        label: engine.label().clone(),
        superblock: engine.superblock().clone(),
        stopped: engine.stopped().map(str::to_owned),
        out_of_space: engine.out_of_space(),
        now_ns: running.now_ns(),
    }
}

/// The LUN of an array as an NBD export.
pub struct LunExport {
    client: Mutex<Client>,
    lun_sectors: u64,
    description: String,
}

impl LunExport {
    /// Returns the LUN behind `client`.
    #[must_use]
    pub fn new(client: Client, description: String) -> Arc<Self> {
        let lun_sectors = client.lun_sectors();
        Arc::new(Self { client: Mutex::new(client), lun_sectors, description })
    }
}

impl nbd::Export for LunExport {
    fn size_bytes(&self) -> u64 {
        self.lun_sectors * SECTOR_BYTES
    }

    fn submit(&self, request: nbd::Request, reply: nbd::Reply) {
        let sectors =
            |offset: u64, bytes: u64| offset / SECTOR_BYTES..(offset + bytes) / SECTOR_BYTES;
        let request = match request {
            nbd::Request::Read { offset, bytes } => HostRequest::Read(sectors(offset, bytes)),
            // Every answered write is durable, whether or not that was requested.
            nbd::Request::Write { offset, data, .. } => {
                HostRequest::Write { first_sector: offset / SECTOR_BYTES, data }
            }
            nbd::Request::Flush => HostRequest::Flush,
            nbd::Request::Trim { offset, bytes, .. } => HostRequest::Unmap(sectors(offset, bytes)),
            nbd::Request::WriteZeroes { offset, bytes, .. } => {
                HostRequest::Zero(sectors(offset, bytes))
            }
            nbd::Request::Allocation { offset, bytes, .. } => {
                HostRequest::Allocation(sectors(offset, bytes))
            }
        };
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let requester = reply.requester().clone();
        let reply = Box::new(move |answer| reply.send(to_nbd(answer)));
        client.submit_for(requester, TargetId::FIRST_LUN, request, reply);
    }

    fn description(&self) -> &str {
        &self.description
    }
}

fn to_nbd(answer: Result<Answer, RequestError>) -> Result<nbd::Answer, nbd::ExportError> {
    match answer {
        Ok(Answer::Done) => Ok(nbd::Answer::Done),
        Ok(Answer::Bytes(bytes)) => Ok(nbd::Answer::Data(bytes)),
        Ok(Answer::Allocation(stretches)) => Ok(nbd::Answer::Allocation(
            stretches
                .into_iter()
                .map(|(sectors, allocated)| nbd::Extent {
                    bytes: sectors * SECTOR_BYTES,
                    allocated,
                    zero: !allocated,
                })
                .collect(),
        )),
        Err(RequestError::OutOfRange { .. }) => Err(nbd::ExportError::Invalid),
        Err(RequestError::NoSpace | RequestError::ArrayFull) => Err(nbd::ExportError::NoSpace),
        Err(error) => Err(nbd::ExportError::Io(error.to_string())),
    }
}
