//! The NBD server: by bytes, by hostile bytes, by many clients, and by other people's tools.

pub mod client;
mod commands;
mod exports;
mod handshake;
mod hostile;
mod limits;
mod many;
mod memory;
mod sockets;
