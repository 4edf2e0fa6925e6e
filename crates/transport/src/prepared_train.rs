//! A train whose frames have been cut.

use crate::PathId;
use crate::Train;
use crate::frames::Frames;
/// A train as a [`Network`](crate::Network) carries it over a connection, made by
/// [`Network::prepare`](crate::Network::prepare): what does not depend on when it is sent, for trains that are sent
/// often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedTrain {
    pub(crate) train: Train,
    /// [`Train::bytes`].
    pub(crate) bytes: u64,
    /// The path that it was prepared for.
    pub(crate) path: PathId,
    /// Its frames on the first link; `None` if there is nothing to send.
    pub(crate) frames: Option<Frames>,
}

impl PreparedTrain {
    /// The train.
    #[must_use]
    pub fn train(&self) -> &Train {
        &self.train
    }

    /// Number of frames on the first link; 0 if there is nothing to send.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames.as_ref().map_or(0, Frames::count)
    }
}
