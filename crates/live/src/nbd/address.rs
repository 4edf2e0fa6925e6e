//! Where a server listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The address of a server. Its text is the URI that NBD clients take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port on this machine.
    Tcp(SocketAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => {
                write!(formatter, "nbd+unix:///?socket=")?;
                for &byte in path.as_os_str().as_encoded_bytes() {
                    match byte {
                        b'A'..=b'Z'
                        | b'a'..=b'z'
                        | b'0'..=b'9'
                        | b'/'
                        | b'-'
                        | b'.'
                        | b'_'
                        | b'~' => {
                            write!(formatter, "{}", char::from(byte))?;
                        }
                        _ => write!(formatter, "%{byte:02X}")?,
                    }
                }
                Ok(())
            }
            Self::Tcp(address) => write!(formatter, "nbd://{address}"),
        }
    }
}
