//! LUNs as network block devices (NBD), which the kernel, qemu, libnbd and fio can mount, copy and test.
//!
//! A [`Server`] offers [`Exports`] on a Unix socket, or on a loopback address. It speaks fixed newstyle
//! negotiation with structured replies and `base:allocation`, without TLS, as specified in `doc/proto.md` of the
//! NetworkBlockDevice project. Each connection has a thread that reads requests and one that writes replies, in the
//! order in which they are ready. The resources of all connections are accounted for, and bounded by [`Limits`].
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use strewn_live::nbd::{Answer, Export, Limits, OneExport, Reply, Request, Server};
//!
//! /// A LUN in memory, of one MiB.
//! struct Memory(Mutex<Vec<u8>>);
//!
//! impl Export for Memory {
//!     fn size_bytes(&self) -> u64 {
//!         1 << 20
//!     }
//!     fn submit(&self, request: Request, reply: Reply) {
//!         let mut bytes = self.0.lock().unwrap();
//!         reply.send(Ok(match request {
//!             Request::Read { offset, bytes: length } => {
//!                 Answer::Data(bytes[offset as usize..][..length as usize].to_vec())
//!             }
//!             Request::Write { offset, data, .. } => {
//!                 bytes[offset as usize..][..data.len()].copy_from_slice(&data);
//!                 Answer::Done
//!             }
//!             Request::WriteZeroes { offset, bytes: length, .. } => {
//!                 bytes[offset as usize..][..length as usize].fill(0);
//!                 Answer::Done
//!             }
//!             Request::Flush | Request::Trim { .. } => Answer::Done,
//!             Request::Allocation { .. } => Answer::Allocation(Vec::new()),
//!         }));
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let export = Arc::new(Memory(Mutex::new(vec![0; 1 << 20])));
//! let exports = OneExport::new(export);
//! let server = Server::tcp("127.0.0.1:0".parse()?, exports, Limits::default())?;
//! println!("nbdinfo {}", server.address());
//! server.stop();
//! # Ok(())
//! # }
//! ```

mod address;
mod budget;
mod clients;
mod connection;
mod content;
mod export;
mod exports;
mod handshake;
mod limits;
mod listener;
mod options;
#[cfg(target_os = "linux")]
mod peer;
mod protocol;
mod replies;
mod requests;
mod sender;
mod server;
mod server_error;
mod stream;
mod transmission;

pub use address::Address;
pub use budget::Usage;
pub use export::{Answer, Export, ExportError, Extent, Features, Reply, Request, Requester};
pub use exports::{ExportEntry, Exports, OneExport};
pub use limits::Limits;
pub use server::{Server, Stopper};
pub use server_error::ServerError;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, ignoring poison: a panic never leaves its content half changed here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
