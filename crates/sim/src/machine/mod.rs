mod log_mirror;
pub use log_mirror::Interconnect;
pub(crate) use log_mirror::LogMirror;
