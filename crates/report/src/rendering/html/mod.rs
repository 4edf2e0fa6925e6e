//! `report.html`: everything about a run in one file that is opened from disk and asks nothing of a network.
//!
//! The same results give the same bytes: what differs from run to run, the wall time, is not in it. Sections are lists of
//! [blocks](block), without markup; `report.html` beside this file has all markup, and escapes all that is put in.

mod block;
mod headline;
mod page;
mod sections;
mod table;

pub use page::{Report, ReportError};
