//! A host built from a workload, and the limit on its outstanding operations.

use strewn_sim::{ClosedLoop, Host, Watch, Watched};

/// A host built for one array.
pub(crate) enum BuiltHost {
    /// The plain closed loop.
    ClosedLoop(Box<ClosedLoop>),
    /// Any other host, at the cost of a dynamic call an operation.
    Other(Box<dyn Host>),
}

impl BuiltHost {
    /// Returns the host behind a dynamic call.
    pub(crate) fn boxed(self) -> Box<dyn Host> {
        match self {
            Self::ClosedLoop(host) => host,
            Self::Other(host) => host,
        }
    }

    /// Returns the same host, measuring reads and writes apart and reporting each operation to `watch`.
    pub(crate) fn watched(self, watch: Option<Watch>) -> Self {
        Self::Other(match self {
            Self::ClosedLoop(host) => Box::new(Watched::new(*host, watch)),
            Self::Other(host) => Box::new(Watched::new(host, watch)),
        })
    }
}
