//! Servers with several exports, which come and go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use strewn_live::nbd::Limits;

use super::client::*;
use super::memory::{Named, Several};

const READ_ONLY_FLAG: u16 = 1 << 1;
const TRIM_AND_ZEROES_FLAGS: u16 = 1 << 5 | 1 << 6;
const MULTI_CONN_FLAG: u16 = 1 << 8;
const EPERM: u32 = 1;

const MIB: u64 = 1 << 20;

fn three() -> Vec<Arc<Named>> {
    vec![
        Named::new("volume/lun", MIB, false),
        Named::new("other/lun", 2 * MIB, false),
        Named::new("volume/lun@monday", 3 * MIB, true),
    ]
}

fn serving(exports: &Arc<Several>) -> Serving {
    Serving::of(Arc::clone(exports) as _, Limits::default())
}

/// Size and flags in the replies to GO.
fn told(replies: &[(u32, Vec<u8>)]) -> (u64, u16) {
    assert_eq!((replies[0].0, &replies[0].1[..2]), (REP_INFO, &[0, 0][..]));
    let size = u64::from_be_bytes(replies[0].1[2..10].try_into().unwrap());
    (size, u16::from_be_bytes(replies[0].1[10..12].try_into().unwrap()))
}

#[test]
fn all_are_listed_and_each_is_chosen_by_its_name() {
    let exports = Several::new(three());
    let serving = serving(&exports);
    let mut client = serving.connect().greet(3);
    let names: Vec<String> = client
        .option(3, &[])
        .into_iter()
        .filter(|(kind, _)| *kind == REP_SERVER)
        .map(|(_, data)| {
            let length = u32::from_be_bytes(data[..4].try_into().unwrap()) as usize;
            String::from_utf8(data[4..4 + length].to_vec()).unwrap()
        })
        .collect();
    assert_eq!(names, ["volume/lun", "other/lun", "volume/lun@monday"]);
    let sizes =
        [("", MIB), ("volume/lun", MIB), ("other/lun", 2 * MIB), ("volume/lun@monday", 3 * MIB)];
    for (name, size) in sizes {
        let mut client = serving.connect().greet(3);
        assert_eq!(told(&client.go(name, &[])).0, size, "{name}");
        let mut client = serving.connect().greet(3);
        client.send_option(1, name.as_bytes());
        assert_eq!((client.u64(), client.u16() & MULTI_CONN_FLAG), (size, MULTI_CONN_FLAG));
    }
    for name in ["lun", "volume", "volume/lun@tuesday", "/", "volume/lun "] {
        assert_eq!(client.go(name, &[])[0].0, ERR_UNKNOWN, "{name}");
    }
    assert_eq!(
        client.option(6, &[&[0, 0, 0, 2, 0xff, 0xfe][..], &[0, 0]].concat())[0].0,
        ERR_UNKNOWN
    );

    // What one client writes is on the export that it chose.
    assert_eq!(client.go("other/lun", &[]).last().unwrap().0, ACK);
    client.write(4096, &[7; 512]);
    let mut first = serving.connect().simple();
    assert_eq!(first.read(4096, 512), [0; 512]);
    assert_eq!(client.read(4096, 512), [7; 512]);
}

#[test]
fn a_context_that_was_selected_for_another_export_does_not_count() {
    let exports = Several::new(three());
    let serving = serving(&exports);
    for (selected, allowed) in [("volume/lun", false), ("other/lun", true)] {
        let mut client = serving.connect().greet(3);
        client.option(8, &[]);
        client.structured = true;
        assert_eq!(client.option(10, &context(selected, &["base:allocation"])).len(), 2);
        assert_eq!(client.go("other/lun", &[]).last().unwrap().0, ACK);
        assert_eq!(client.ask(STATUS, 0, 0, 4096, &[]).error == 0, allowed);
    }
}

#[test]
fn a_read_only_export_says_so_and_permits_no_changes() {
    let exports = Several::new(three());
    let serving = serving(&exports);
    let mut client = serving.connect().greet(3);
    let (_, flags) = told(&client.go("volume/lun@monday", &[]));
    assert_eq!(flags & (READ_ONLY_FLAG | TRIM_AND_ZEROES_FLAGS | MULTI_CONN_FLAG), 0x102);
    // The data of a refused write is no request.
    let data = head(DISC, 0, 0, 0, 0).repeat(512);
    for (offset, bytes) in [(0, 14_336), (3 * MIB, 512)] {
        assert_eq!(client.ask(WRITE, FUA, offset, bytes, &data[..bytes as usize]).error, EPERM);
    }
    for command in [TRIM, ZEROES] {
        assert_eq!(client.ask(command, 0, 0, 4096, &[]).error, EPERM);
    }
    assert_eq!(client.ask(FLUSH, 0, 0, 0, &[]).error, 0);
    assert_eq!(client.read(0, 4096), [0; 4096]);
    let mut client = serving.connect().greet(3);
    assert_eq!(
        told(&client.go("volume/lun", &[])).1 & (READ_ONLY_FLAG | TRIM_AND_ZEROES_FLAGS),
        0x60
    );
}

#[test]
fn an_export_that_is_deleted_meanwhile_is_refused_and_one_in_use_is_kept() {
    let exports = Several::new(three());
    let serving = serving(&exports);
    let mut client = serving.connect().greet(3);
    let mut user = serving.connect().greet(3);
    assert_eq!(client.option(6, &info("other/lun", &[])).last().unwrap().0, ACK);
    client.option(8, &[]);
    assert_eq!(client.option(10, &context("other/lun", &["base:allocation"])).len(), 2);
    assert_eq!(user.go("other/lun", &[]).last().unwrap().0, ACK);

    let deleted = exports.0.lock().unwrap().remove(1);
    assert_eq!(client.go("other/lun", &[])[0].0, ERR_UNKNOWN);
    assert_eq!(client.option(10, &context("other/lun", &["base:allocation"]))[0].0, ERR_UNKNOWN);
    assert_eq!(client.option(3, &[]).len(), 3, "two and the acknowledgement");
    assert_eq!(client.go("volume/lun", &[]).last().unwrap().0, ACK);
    let mut other = serving.connect().greet(3);
    other.send_option(1, b"other/lun");
    assert!(other.is_closed());

    // The server has it as long as its client is connected, and no longer.
    user.write(0, &[7; 512]);
    assert!(Arc::strong_count(&deleted) > 1);
    drop(user);
    let begin = Instant::now();
    while Arc::strong_count(&deleted) > 1 {
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(2));
    }

    exports.0.lock().unwrap().clear();
    let mut none = serving.connect().greet(3);
    assert_eq!(none.option(3, &[]), [(ACK, Vec::new())]);
    assert_eq!(none.go("", &[])[0].0, ERR_UNKNOWN);
}
