//! A wrapper around a host that reports each operation and measures reads and writes separately.

use strewn_array::{HostOperation, LunId, OperationId};
use strewn_base::state::{StateError, StateReader, StateWriter};
use strewn_workload::Access;

use crate::host::{AccessesError, Host, HostMeasures, Moved};

/// Called for each operation as it is issued, with the time in nanoseconds.
pub type Watch = Box<dyn FnMut(u64, &HostOperation<()>)>;

/// Wraps a [`Host`], reports its operations as they are issued, and measures reads and writes separately. It changes
/// neither the operations nor their times.
pub struct Watched {
    host: Box<dyn Host>,
    watch: Option<Watch>,
    /// When the operation of each slot was issued, and the operation.
    issued: Vec<Option<(u64, HostOperation<()>)>>,
    measured: HostMeasures,
}

impl Watched {
    /// Wraps `host`. `watch` is called for each operation.
    pub fn new(host: Box<dyn Host>, watch: Option<Watch>) -> Self {
        Self { host, watch, issued: Vec::new(), measured: HostMeasures::by_direction() }
    }

    fn note(
        &mut self,
        now_ns: u64,
        operation: Option<HostOperation<()>>,
    ) -> Option<HostOperation<()>> {
        let operation = operation?;
        if let Some(watch) = &mut self.watch {
            watch(now_ns, &operation);
        }
        let slot = operation.id.0 as usize;
        if slot >= self.issued.len() {
            self.issued.resize_with(slot + 1, || None);
        }
        let HostOperation { id, lun, direction, first_sector, sectors, payload: () } = operation;
        let copy = HostOperation { id, lun, direction, first_sector, sectors, payload: () };
        self.issued[slot] = Some((now_ns, copy));
        Some(operation)
    }
}

impl Host for Watched {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        self.host.begin_segment(now_ns, index);
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        let operation = self.host.first();
        self.note(0, operation)
    }

    fn next_issue_ns(&self) -> u64 {
        self.host.next_issue_ns()
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        let operation = self.host.issue_due(now_ns)?;
        Ok(self.note(now_ns, operation))
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        if let Some((issued_ns, operation)) = self.issued[id.0 as usize].take() {
            let response_ns = now_ns - issued_ns;
            self.measured.answered_in(operation.direction, response_ns, operation.sectors);
        }
        let next = self.host.answered(now_ns, id);
        self.note(now_ns, next)
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.issued[id.0 as usize] = None;
        let next = self.host.refused(now_ns, id);
        self.note(now_ns, next)
    }

    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        self.host.prefetch_hint()
    }

    fn is_done(&self) -> bool {
        self.host.is_done()
    }

    fn issues_no_more(&self, now_ns: u64) -> bool {
        self.host.issues_no_more(now_ns)
    }

    fn issued(&self) -> Moved {
        self.host.issued()
    }

    fn answered_in_segment(&self) -> u64 {
        self.host.answered_in_segment()
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        let mut measured = self.host.end_segment(start_ns, end_ns);
        let own = std::mem::replace(&mut self.measured, HostMeasures::by_direction());
        measured.by_direction = measured.by_direction.or(own.by_direction);
        measured
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        if self.watch.is_some() {
            return Err(StateError::NotSaved("a host that is watched"));
        }
        self.save_fields(to)?;
        self.host.save_state(to)
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore_fields(from)?;
        self.host.restore_state(from)
    }
}

impl Watched {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts:;
            values: issued, measured;
            built: host, watch;
        }
    }
}
