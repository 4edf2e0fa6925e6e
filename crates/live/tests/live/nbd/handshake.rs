//! Every option, and what is wrong with it.

use super::client::*;
use super::memory::Memory;

const SIZE: u64 = 1 << 20;
/// HAS_FLAGS, FLUSH, FUA, ROTATIONAL, TRIM, WRITE_ZEROES, CAN_MULTI_CONN.
const FLAGS: u16 = 0b1_0111_1101;
const DF_FLAG: u16 = 1 << 7;
const FAST_ZERO_FLAG: u16 = 1 << 11;

fn serving() -> Serving {
    Serving::new(Memory::new(SIZE))
}

fn info_export(flags: u16) -> (u32, Vec<u8>) {
    (REP_INFO, [&[0, 0][..], &SIZE.to_be_bytes(), &flags.to_be_bytes()].concat())
}

fn info_block_size() -> (u32, Vec<u8>) {
    let sizes = [512_u32, 4096, 32 << 20].map(u32::to_be_bytes).concat();
    (REP_INFO, [&[0, 3][..], &sizes].concat())
}

fn kinds(replies: &[(u32, Vec<u8>)]) -> Vec<u32> {
    replies.iter().map(|reply| reply.0).collect()
}

#[test]
fn export_name_with_and_without_zeroes() {
    let serving = serving();
    for (flags, zeroes) in [(1, 124), (3, 0), (0, 124)] {
        for name in ["", "lun"] {
            let mut client = serving.connect().greet(flags);
            client.send_option(1, name.as_bytes());
            assert_eq!((client.u64(), client.u16()), (SIZE, FLAGS));
            assert!(client.take(zeroes).iter().all(|&byte| byte == 0));
            assert_eq!(client.read(0, 512), [0; 512]);
        }
    }
    let mut client = serving.connect().greet(3);
    client.send_option(1, b"another");
    assert!(client.is_closed());
}

#[test]
fn go_tells_what_is_asked_for() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    assert_eq!(kinds(&client.go("another", &[])), [ERR_UNKNOWN]);
    // The same as with GO, and the handshake goes on.
    let told = client.option(6, &info("lun", &[1, 2, 3, 0, 77]));
    let name = (REP_INFO, b"\0\x01lun".to_vec());
    let description = (REP_INFO, b"\0\x02memory of a test".to_vec());
    assert_eq!(told, [info_export(FLAGS), info_block_size(), name, description, (ACK, Vec::new())]);
    assert_eq!(client.go("", &[]), [info_export(FLAGS), info_block_size(), (ACK, Vec::new())]);
    assert_eq!(client.read(512, 512), [0; 512]);
}

#[test]
fn structured_replies_make_unfragmented_reads_possible() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    assert_eq!(kinds(&client.option(8, b"x")), [ERR_INVALID]);
    assert_eq!(client.option(8, &[]), [(ACK, Vec::new())]);
    assert_eq!(client.go("", &[])[0], info_export(FLAGS | DF_FLAG));
}

#[test]
fn fast_zeroes_are_offered_by_those_who_have_them() {
    let serving = Serving::new(std::sync::Arc::new(Memory::with(SIZE, true)));
    assert_eq!(serving.connect().greet(3).go("", &[])[0], info_export(FLAGS | FAST_ZERO_FLAG));
}

#[test]
fn malformed_options_are_invalid_and_the_next_is_read() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    let whole = info("lun", &[3]);
    let long_name = info(&"x".repeat(4097), &[]);
    for option in [6, 7] {
        for cut in 0..whole.len() {
            assert_eq!(kinds(&client.option(option, &whole[..cut])), [ERR_INVALID], "{cut}");
        }
        assert_eq!(kinds(&client.option(option, &[&whole[..], b"x"].concat())), [ERR_INVALID]);
        assert_eq!(kinds(&client.option(option, &long_name)), [ERR_INVALID]);
        assert_eq!(kinds(&client.option(option, &[0xff; 64])), [ERR_INVALID]);
    }
    assert_eq!(kinds(&client.option(3, b"x")), [ERR_INVALID]);
    assert_eq!(kinds(&client.go("lun", &[])), [REP_INFO, REP_INFO, ACK]);
}

#[test]
fn list_names_the_export() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    let server = (REP_SERVER, b"\0\0\0\x03lunmemory of a test".to_vec());
    assert_eq!(client.option(3, &[]), [server, (ACK, Vec::new())]);
}

#[test]
fn abort_is_acknowledged_and_closes() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    assert_eq!(client.option(2, b"whatever"), [(ACK, Vec::new())]);
    assert!(client.is_closed());
}

#[test]
fn unknown_options_and_tls_are_unsupported() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    // PEEK_EXPORT, STARTTLS, EXTENDED_HEADERS, and what nobody has.
    for option in [0, 4, 5, 11, 12, 13, u32::MAX] {
        assert_eq!(kinds(&client.option(option, b"data")), [ERR_UNSUP]);
    }
    assert_eq!(kinds(&client.go("", &[])), [REP_INFO, REP_INFO, ACK]);
}

#[test]
fn options_that_are_too_long_are_too_big() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    for option in [3, 6, 7, 10, 99] {
        assert_eq!(kinds(&client.option(option, &vec![0; 100_000])), [ERR_TOO_BIG]);
    }
    assert_eq!(kinds(&client.option(3, &[])), [REP_SERVER, ACK]);
    // So long that it is not even read: an error, and the end.
    client.send(&[&b"IHAVEOPT\0\0\0\x07"[..], &[0xff; 4]].concat());
    assert_eq!(client.option_reply(7).0, ERR_TOO_BIG);
    assert!(client.is_closed());
    let mut client = serving.connect().greet(3);
    client.send(&[&b"IHAVEOPT\0\0\0\x01"[..], &[0xff; 4]].concat());
    assert!(client.is_closed());
}

#[test]
fn contexts_are_listed_and_selected() {
    let serving = serving();
    let mut client = serving.connect().greet(3);
    let [list, set] = [9, 10];
    // Only with structured replies.
    assert_eq!(kinds(&client.option(set, &context("lun", &["base:allocation"]))), [ERR_INVALID]);
    assert_eq!(kinds(&client.option(list, &context("lun", &[]))), [ERR_INVALID]);
    client.option(8, &[]);

    let told = |id: u8| (REP_META, [&[0, 0, 0, id][..], b"base:allocation"].concat());
    let ack = || (ACK, Vec::new());
    for queries in [&[][..], &["base:"], &["base:allocation"], &["x:y", "base:allocation", "base:"]]
    {
        assert_eq!(client.option(list, &context("lun", queries)), [told(0), ack()], "{queries:?}");
    }
    for queries in [&["base:other"][..], &["qemu:dirty-bitmap:x"], &["base:allocation2"], &[":"]] {
        assert_eq!(client.option(list, &context("lun", queries)), [ack()]);
        assert_eq!(client.option(set, &context("lun", queries)), [ack()]);
    }
    for queries in [&[][..], &["base:"]] {
        assert_eq!(
            client.option(set, &context("lun", queries)),
            [ack()],
            "a selection names what it wants"
        );
    }
    assert_eq!(
        client.option(set, &context("", &["base:allocation", "base:allocation"])),
        [told(1), ack()]
    );

    for queries in [&[""][..], &["base"]] {
        assert_eq!(kinds(&client.option(list, &context("lun", queries))), [ERR_INVALID]);
    }
    assert_eq!(
        kinds(&client.option(set, &context("another", &["base:allocation"]))),
        [ERR_UNKNOWN]
    );
    let whole = context("lun", &["base:allocation"]);
    for cut in 0..whole.len() {
        assert_eq!(kinds(&client.option(set, &whole[..cut])), [ERR_INVALID]);
    }
    // 2^32 queries without any.
    assert_eq!(kinds(&client.option(list, &[&[0; 4], &[0xff; 4][..]].concat())), [ERR_INVALID]);
}

#[test]
fn a_selection_holds_for_its_name_and_until_the_next() {
    let serving = serving();
    let allocation = |selections: &[(&str, &[&str])], name: &str| {
        let mut client = serving.connect().greet(3);
        client.option(8, &[]);
        for (name, queries) in selections {
            client.option(10, &context(name, queries));
        }
        client.go(name, &[]);
        client.structured = true;
        client.ask(STATUS, 0, 0, 4096, &[]).error
    };
    assert_eq!(allocation(&[("lun", &["base:allocation"])], "lun"), 0);
    assert_eq!(allocation(&[("lun", &["base:allocation"])], ""), 22);
    assert_eq!(allocation(&[("lun", &["base:allocation"]), ("lun", &[])], "lun"), 22);
    assert_eq!(
        allocation(&[("lun", &["base:allocation"]), ("another", &["base:allocation"])], "lun"),
        22
    );
    assert_eq!(allocation(&[], "lun"), 22);
}

#[test]
fn flags_and_magic_that_nobody_offered_close() {
    let serving = serving();
    for flags in [4, 0x8000_0003, u32::MAX] {
        assert!(serving.connect().greet(flags).is_closed());
    }
    let mut client = serving.connect().greet(3);
    client.send(b"IHAVEOPS\0\0\0\x03\0\0\0\0");
    assert!(client.is_closed());
}
