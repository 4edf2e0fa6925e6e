//! `report.html`: everything about a run in one file, which opens from disk and needs no network.
//!
//! The same results give the same bytes: the wall time, which differs from run to run, is left out. Sections are lists
//! of [blocks](block) without markup. `report.html` beside this file has all markup, and escapes everything inserted.

mod block;
mod columns;
mod files;
mod page;
mod sections;
mod sweep;
mod table;

pub use files::FilesReport;
pub use page::{
    MAP_SCRIPT, Report, ReportError, ReportParts, ReportSection, TIPS_SCRIPT, page_style,
    render_page, within_script,
};
pub use sweep::SweepReport;
