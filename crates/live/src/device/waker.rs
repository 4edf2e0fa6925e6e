//! Ends a wait from another thread.

use std::fmt;
use std::sync::Arc;

/// Makes a [`wait`](super::Devices::wait) in progress, or else the next one, return. Several wake-ups before a wait
/// count as one.
#[derive(Clone)]
pub struct Waker {
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Waker {
    /// Creates a waker that calls `wake`, which must not block.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { wake: Arc::new(wake) }
    }

    /// Ends the wait.
    pub fn wake(&self) {
        (self.wake)();
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Waker")
    }
}
