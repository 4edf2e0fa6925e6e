//! Parity groups: where a block lies, and what a stripe update must read and write.
