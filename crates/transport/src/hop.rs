//! Parts of a path, and what is lost on the way.

use strewn_base::state::SavedValue;

use crate::{LanesId, LinkId, RouterId, Switch};

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub enum Hop {
    /// A link.
    Link(LinkId),
    /// Several links that serve as one.
    Lanes(LanesId),
    /// A switch between two links.
    Switch(Switch),
    /// A router between two links, which stores whole PDUs, or frames.
    Router(RouterId),
}

/// A train that a link has lost: when it set out, and when it was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostOnTheWay {
    pub(crate) sent_ns: u64,
    pub(crate) lost_ns: u64,
}
