//! Whether a client's end of a TCP connection is open, as the system knows.
//!
//! A TCP client that closes while the server's receive buffer is full still has data to send, and the end of its stream
//! comes after that. The server listens on loopback addresses only, so the client's end is a socket of this system,
//! which reports its state (sock_diag(7), `inet_diag_req_v2`).

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = 56;
const IPPROTO_TCP: u8 = 6;
const TCP_ESTABLISHED: u8 = 1;
const ENOENT: i32 = -2;

/// Returns whether the socket at `peer` of a connection to `server` is open for sending.
///
/// # Errors
///
/// If the system does not say.
pub(super) fn is_open(peer: SocketAddr, server: SocketAddr) -> io::Result<bool> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    send(&socket, &query(peer, server), SendFlags::empty())?;
    let mut answer = [0; 1024];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    state_in(&answer[..length]).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Asks for one socket, by its addresses.
fn query(peer: SocketAddr, server: SocketAddr) -> Vec<u8> {
    // An IPv4 client of an IPv6 socket has an IPv4 socket.
    let addresses = [peer, server].map(|one| (one.ip().to_canonical(), one.port()));
    let family = match addresses[0].0 {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let mut query = Vec::with_capacity(HEADER_BYTES + REQUEST_BYTES);
    // A `nlmsghdr`: length, type, flags, sequence number and port.
    query.extend(((HEADER_BYTES + REQUEST_BYTES) as u32).to_ne_bytes());
    query.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    query.extend(NLM_F_REQUEST.to_ne_bytes());
    query.extend([0; 8]);
    // Family, protocol, no extensions, padding, any state.
    query.extend([family.as_raw() as u8, IPPROTO_TCP, 0, 0]);
    query.extend(u32::MAX.to_ne_bytes());
    // Ports, addresses, any interface, any cookie.
    for (_, port) in addresses {
        query.extend(port.to_be_bytes());
    }
    for (ip, _) in addresses {
        let mut field = [0; 16];
        match ip {
            IpAddr::V4(ip) => field[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => field.copy_from_slice(&ip.octets()),
        }
        query.extend(field);
    }
    query.extend(0_u32.to_ne_bytes());
    query.extend([0xff; 8]);
    query
}

/// Returns whether the socket that the answer describes can send, or `None` if it describes none.
fn state_in(answer: &[u8]) -> Option<bool> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let body = answer.get(HEADER_BYTES..)?;
    match kind {
        // An `inet_diag_msg`: family, state and more.
        SOCK_DIAG_BY_FAMILY => Some(*body.get(1)? == TCP_ESTABLISHED),
        NLMSG_ERROR => {
            let error = i32::from_ne_bytes(body.get(..4)?.try_into().ok()?);
            (error == ENOENT).then_some(false)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};

    #[test]
    fn a_peer_that_has_closed_behind_a_full_buffer_is_not_open() {
        for (address, through) in
            [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")]
        {
            // A system may be without IPv6.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            for half in [false, true] {
                let mut client = TcpStream::connect((through, port)).unwrap();
                let (server, peer) = listener.accept().unwrap();
                let own = server.local_addr().unwrap();
                assert!(is_open(peer, own).unwrap());
                client.set_nonblocking(true).unwrap();
                while client.write(&[0; 1 << 16]).is_ok() {}
                assert_eq!(client.write(&[0]).unwrap_err().kind(), ErrorKind::WouldBlock);
                assert!(is_open(peer, own).unwrap());
                match half {
                    true => client.shutdown(Shutdown::Write).unwrap(),
                    false => drop(client),
                }
                assert!(!is_open(peer, own).unwrap(), "{peer} is closed");
                drop(server);
            }
        }
        let nobody = "127.0.0.1:1".parse().unwrap();
        assert!(!is_open(nobody, nobody).unwrap());
    }

    #[test]
    fn an_answer_without_a_socket_says_nothing() {
        let refused = |error: i32| {
            let mut answer = vec![0; HEADER_BYTES];
            answer[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
            answer.extend(error.to_ne_bytes());
            answer
        };
        assert_eq!(state_in(&refused(ENOENT)), Some(false));
        assert_eq!(state_in(&refused(-95)), None);
        assert_eq!(state_in(&[]), None);
    }
}
