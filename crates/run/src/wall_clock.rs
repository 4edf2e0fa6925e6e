//! How long a run takes.

/// Counts from when it was started, where there is a clock.
pub(crate) struct WallClock {
    #[cfg(feature = "clock")]
    started: std::time::Instant,
}

impl WallClock {
    pub(crate) fn start() -> Self {
        Self {
            #[cfg(feature = "clock")]
            started: std::time::Instant::now(),
        }
    }

    /// Returns the seconds since then; 0 without a clock.
    pub(crate) fn seconds(&self) -> f64 {
        #[cfg(feature = "clock")]
        return self.started.elapsed().as_secs_f64();
        #[cfg(not(feature = "clock"))]
        0.0
    }
}
