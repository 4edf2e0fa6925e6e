//! Where a server listens, and where it does not.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use strewn_live::nbd::{Address, Export, Limits, OneExport, Reply, Request, Server, ServerError};

use super::client::*;
use super::memory::Memory;

fn unix(path: &Path) -> Result<Server, ServerError> {
    Server::unix(path, OneExport::new(Memory::new(1 << 20)), Limits::default())
}

#[test]
fn the_socket_is_its_owners_and_goes_with_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a lun.sock");
    let server = unix(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left behind");
    let uri = server.address().to_string();
    assert!(uri.starts_with("nbd+unix:///?socket=/") && uri.ends_with("/a%20lun.sock"), "{uri}");
    server.stop();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn regression_a_path_that_no_client_can_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s".repeat(120));
    assert!(matches!(unix(&path).unwrap_err(), ServerError::SocketPath(found) if found == path));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_left_over_socket_is_replaced_and_a_live_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lun.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = unix(&path).unwrap();
    assert!(matches!(unix(&path).unwrap_err(), ServerError::InUse(found) if found == path));
    assert_eq!(Client::connect(&path).simple().read(0, 512), [0; 512], "the first still serves");
    drop(server);
    assert!(!path.exists());
}

#[test]
fn what_is_not_a_socket_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.txt");
    fs::write(&file, "notes").unwrap();
    let link = directory.path().join("link");
    symlink(&file, &link).unwrap();
    for path in [&file, &link, &directory.path().to_path_buf()] {
        let error = unix(path).unwrap_err();
        assert!(matches!(&error, ServerError::NotASocket(found) if found == path));
        assert!(error.to_string().contains(path.to_str().unwrap()));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "notes");
    assert!(matches!(
        unix(&directory.path().join("none/lun.sock")),
        Err(ServerError::Listen { .. })
    ));
    let long = directory.path().join("x".repeat(200));
    assert!(unix(&long).is_ok() || !long.exists());
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        2,
        "a failure leaves nothing behind"
    );
}

#[test]
fn a_socket_that_another_put_in_its_place_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lun.sock");
    let server = unix(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    server.stop();
    assert!(UnixStream::connect(&path).is_ok());
    drop(other);
}

#[test]
fn one_of_many_that_start_at_once_serves() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lun.sock");
    drop(UnixListener::bind(&path).unwrap());
    let servers: Vec<_> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..8).map(|_| scope.spawn(|| unix(&path))).collect();
        starting.into_iter().map(|starting| starting.join().unwrap()).collect()
    });
    assert_eq!(servers.iter().filter(|server| server.is_ok()).count(), 1);
    assert_eq!(Client::connect(&path).simple().read(0, 512), [0; 512]);
}

#[test]
fn tcp_is_for_this_machine_only() {
    for address in ["127.0.0.1:0", "127.1.2.3:0"] {
        let server = Server::tcp(
            address.parse().unwrap(),
            OneExport::new(Memory::new(1 << 20)),
            Limits::default(),
        )
        .unwrap();
        let Address::Tcp(local) = *server.address() else { panic!() };
        assert_ne!(local.port(), 0);
        assert!(std::net::TcpStream::connect(local).is_ok());
        assert_eq!(server.address().to_string(), format!("nbd://{local}"));
    }
    for address in
        ["0.0.0.0:0", "192.168.1.1:10809", "[::]:0", "[::ffff:10.0.0.1]:0", "[2001:db8::1]:0"]
    {
        let refused = Server::tcp(
            address.parse().unwrap(),
            OneExport::new(Memory::new(1 << 20)),
            Limits::default(),
        )
        .unwrap_err();
        assert!(matches!(refused, ServerError::NotLoopback(_)));
        assert!(refused.to_string().contains("neither encryption nor passwords"));
    }
}

struct Odd(u64, String);

impl Export for Odd {
    fn size_bytes(&self) -> u64 {
        self.0
    }

    fn name(&self) -> &str {
        &self.1
    }

    fn submit(&self, _: Request, _: Reply) {}
}

#[test]
fn what_cannot_be_served_is_refused_before_anybody_can_connect() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lun.sock");
    let start = |size, name: &str, limits| {
        Server::unix(&path, OneExport::new(Arc::new(Odd(size, name.into()))), limits).unwrap_err()
    };
    assert!(matches!(start(1000, "", Limits::default()), ServerError::Size(1000)));
    assert!(matches!(start(512, "a\0b", Limits::default()), ServerError::Text("name")));
    assert!(matches!(start(512, &"x".repeat(4097), Limits::default()), ServerError::Text("name")));
    let none = Limits { connections: 0, ..Limits::default() };
    assert!(matches!(start(512, "", none), ServerError::ZeroLimit("connections")));
    assert!(!path.exists());
    Server::unix(&path, OneExport::new(Arc::new(Odd(0, "empty".into()))), Limits::default())
        .unwrap()
        .stop();
}
