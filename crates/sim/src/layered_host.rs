//! What a host is that puts something between its applications, another host, and its LUNs.

use std::collections::VecDeque;

use strewn_array::{HostOperation, OperationId};
use strewn_base::saved_state;
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};

use crate::host::{AccessesError, Host, HostMeasures, Moved};

/// Applications, another [`Host`], whose operations go through a layer: a page cache, a client's parity, a network.
/// What it measures is what the applications see.
///
/// The layer is the implementation of [`HostLayer`] for the two together; this is what all layers share.
pub struct LayeredHost<L> {
    pub(crate) applications: Box<dyn Host>,
    pub(crate) layer: L,
    pub(crate) requests: ReadyRequests,
}

/// Requests that a layer makes of what its applications issue.
#[derive(Debug, Default)]
pub struct ReadyRequests {
    /// To be issued.
    ready: VecDeque<HostOperation<()>>,
    now_ns: u64,
    /// Since the beginning.
    issued: Moved,
}

saved_state! {
    impl for ReadyRequests {
        parts:;
        values: ready, now_ns, issued;
        built:;
    }
}

/// What a layer does with the operations of applications, and with the answers to its own requests.
pub trait HostLayer {
    /// An application issues an operation.
    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>);

    /// A request of the layer is answered, or refused.
    fn request_done(&mut self, now_ns: u64, id: OperationId, is_refused: bool);

    /// When something of the layer next happens by the clock; `u64::MAX` for never.
    fn next_due_ns(&self) -> u64;

    /// What is due happens.
    fn run_due(&mut self, now_ns: u64);

    /// Called before the layer is asked for a request.
    fn before_issue(&mut self, _now_ns: u64) {}

    /// Whether everything that applications issued has been answered, and nothing is left to be done for it.
    fn is_idle(&self) -> bool;

    /// Whether the layer has data that it writes when the applications are done, which may take long.
    fn writes_behind(&self) -> bool {
        false
    }

    /// Adds what the layer measured to what the applications did.
    fn measure(&mut self, end_ns: u64, measures: &mut HostMeasures);
}

impl ReadyRequests {
    /// Puts a request up to be issued.
    pub(crate) fn push(&mut self, request: HostOperation<()>) {
        self.issued.add(request.sectors);
        self.ready.push_back(request);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }
}

impl<L> LayeredHost<L> {
    pub(crate) fn of(applications: Box<dyn Host>, layer: L) -> Self {
        Self { applications, layer, requests: ReadyRequests::default() }
    }
}

impl<L> LayeredHost<L>
where
    Self: HostLayer,
{
    /// An application's operation has ended. It may issue another one in reply; returns whether it did.
    pub(crate) fn end(&mut self, now_ns: u64, id: OperationId, is_refused: bool) -> bool {
        let reply = match is_refused {
            true => self.applications.refused(now_ns, id),
            false => self.applications.answered(now_ns, id),
        };
        reply.inspect(|operation| self.begin(now_ns, operation)).is_some()
    }

    fn next_ready(&mut self, now_ns: u64) -> Option<HostOperation<()>> {
        self.requests.now_ns = now_ns;
        self.before_issue(now_ns);
        self.requests.ready.pop_front()
    }
}

impl<L: SavedState> Host for LayeredHost<L>
where
    Self: HostLayer,
{
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        self.applications.begin_segment(now_ns, index);
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        loop {
            if let Some(request) = self.next_ready(0) {
                return Some(request);
            }
            let operation = self.applications.first()?;
            self.begin(0, &operation);
        }
    }

    fn next_issue_ns(&self) -> u64 {
        match self.requests.is_empty() {
            true => self.applications.next_issue_ns().min(self.next_due_ns()),
            false => self.requests.now_ns,
        }
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        if let Some(request) = self.requests.ready.pop_front() {
            return Ok(Some(request));
        }
        self.run_due(now_ns);
        if self.applications.next_issue_ns() <= now_ns
            && let Some(operation) = self.applications.issue_due(now_ns)?
        {
            self.begin(now_ns, &operation);
        }
        Ok(self.next_ready(now_ns))
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, false);
        self.next_ready(now_ns)
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, true);
        self.next_ready(now_ns)
    }

    fn is_done(&self) -> bool {
        self.applications.is_done() && self.is_idle()
    }

    fn issues_no_more(&self, now_ns: u64) -> bool {
        self.applications.issues_no_more(now_ns) && !self.writes_behind()
    }

    fn issued(&self) -> Moved {
        self.requests.issued
    }

    fn answered_in_segment(&self) -> u64 {
        self.applications.answered_in_segment()
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        let mut measures = self.applications.end_segment(start_ns, end_ns);
        self.measure(end_ns, &mut measures);
        measures
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.layer.save(to)?;
        self.requests.save(to)?;
        self.applications.save_state(to)
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.layer.restore(from)?;
        self.requests.restore(from)?;
        self.applications.restore_state(from)
    }
}
