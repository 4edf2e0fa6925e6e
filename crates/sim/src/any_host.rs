//! A host of any kind, so that the loop is compiled once for all of them.

use strewn_array::{HostOperation, LunId, OperationId};
use strewn_base::state::{StateError, StateReader, StateWriter};
use strewn_workload::Access;

use crate::cached_host::CachedHost;
use crate::client_raid::ClientRaid;
use crate::closed_loop::ClosedLoop;
use crate::host::{AccessesError, Host, HostMeasures, Moved};
use crate::remote_clients::RemoteClients;
use crate::request_groups::RequestGroups;
use crate::watched::Watched;
use crate::workers::Workers;

/// The plain closed loop, inlined, or any other host at the cost of a dynamic call an operation.
pub enum AnyHost {
    /// The plain closed loop.
    ClosedLoop(Box<ClosedLoop>),
    /// Any other host.
    Other(Box<dyn Host>),
}

impl AnyHost {
    /// Returns the host behind a dynamic call.
    #[must_use]
    pub fn boxed(self) -> Box<dyn Host> {
        match self {
            Self::ClosedLoop(host) => host,
            Self::Other(host) => host,
        }
    }
}

// Compiled here, where hosts are optimized, and not where one is put together.
macro_rules! from_hosts {
    ($($host:ty),*) => {
        $(impl From<$host> for AnyHost {
            fn from(host: $host) -> Self {
                Self::Other(Box::new(host))
            }
        })*
    };
}

from_hosts!(CachedHost, ClientRaid, RemoteClients, RequestGroups, Watched, Workers);

macro_rules! each {
    ($self:ident, $host:ident => $call:expr) => {
        match $self {
            Self::ClosedLoop($host) => $call,
            Self::Other($host) => $call,
        }
    };
}

impl Host for AnyHost {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        each!(self, host => host.begin_segment(now_ns, index));
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        each!(self, host => host.first())
    }

    #[inline]
    fn next_issue_ns(&self) -> u64 {
        each!(self, host => host.next_issue_ns())
    }

    #[inline]
    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        each!(self, host => host.issue_due(now_ns))
    }

    #[inline]
    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        each!(self, host => host.answered(now_ns, id))
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        each!(self, host => host.refused(now_ns, id))
    }

    #[inline]
    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        each!(self, host => host.prefetch_hint())
    }

    #[inline]
    fn is_done(&self) -> bool {
        each!(self, host => host.is_done())
    }

    fn issues_no_more(&self, now_ns: u64) -> bool {
        each!(self, host => host.issues_no_more(now_ns))
    }

    fn issued(&self) -> Moved {
        each!(self, host => host.issued())
    }

    fn answered_in_segment(&self) -> u64 {
        each!(self, host => host.answered_in_segment())
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        each!(self, host => host.end_segment(start_ns, end_ns))
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        each!(self, host => host.save_state(to))
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        each!(self, host => host.restore_state(from))
    }
}
