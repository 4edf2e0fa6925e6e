//! What paths consist of, and share.

use strewn_base::state::SavedValue;

use crate::lanes::Lanes;
use crate::link::Link;
use crate::switch::Router;

/// What paths consist of, and share.
#[derive(Clone, Debug, Default, PartialEq, Eq, SavedValue)]
pub(crate) struct Parts {
    pub(crate) links: Vec<Link>,
    pub(crate) lanes: Vec<Lanes>,
    pub(crate) routers: Vec<Router>,
}
