//! The set of exports of a server, which may change while it runs.

use std::sync::Arc;

use super::export::Export;

/// The exports that a [`Server`](super::Server) offers. The set may change at any time; an export that the server was
/// given stays usable until the server drops it.
pub trait Exports: Send + Sync + 'static {
    /// Returns all exports. The first is the default.
    fn list(&self) -> Vec<ExportEntry>;

    /// Returns the export that clients find by this name, or the default one for the empty name. The server keeps the
    /// one that a client chose until that client is gone and its requests are answered.
    fn find(&self, name: &str) -> Option<Arc<dyn Export>>;
}

/// An export in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportEntry {
    /// Its name. At most 4096 bytes without NUL.
    pub name: String,
    /// A one-line description, or an empty string. At most 4096 bytes without NUL.
    pub description: String,
}

/// A set of one export, which never changes.
pub struct OneExport(Arc<dyn Export>);

impl OneExport {
    /// Returns the set of this export.
    pub fn new(export: Arc<dyn Export>) -> Arc<Self> {
        Arc::new(Self(export))
    }
}

impl Exports for OneExport {
    fn list(&self) -> Vec<ExportEntry> {
        let (name, description) = (self.0.name().to_owned(), self.0.description().to_owned());
        vec![ExportEntry { name, description }]
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Export>> {
        (name.is_empty() || name == self.0.name()).then(|| Arc::clone(&self.0))
    }
}
