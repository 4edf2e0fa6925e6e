//! Every command and every error, with simple and with structured replies.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use strewn_live::nbd::ExportError;

use super::client::*;
use super::memory::Memory;

const SIZE: u64 = 40 << 20;
const LARGEST: u32 = 32 << 20;

const EPERM: u32 = 1;
const EIO: u32 = 5;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const EOVERFLOW: u32 = 75;
const ENOTSUP: u32 = 95;
const ESHUTDOWN: u32 = 108;

/// One client of each kind.
fn both(serving: &Serving) -> [Client; 2] {
    [serving.connect().simple(), serving.connect().structured()]
}

#[test]
fn what_is_written_is_read_on_every_connection() {
    let memory = Memory::new(SIZE);
    let serving = Serving::new(Arc::clone(&memory) as _);
    let [mut first, mut second] = both(&serving);
    let data = Random::new("what is written").bytes(LARGEST as usize);
    first.write(4096, &data);
    assert!(second.read(4096, LARGEST) == data);
    assert_eq!(second.ask(WRITE, FUA, 512, 512, &data[..512]).error, 0);
    assert_eq!(first.read(512, 512), data[..512]);
    assert_eq!(second.ask(READ, DF | FUA, 4096, 65_536, &[]).data, data[..65_536]);
    assert_eq!(first.read(SIZE - 512, 512), [0; 512]);
    assert_eq!(first.ask(FLUSH, 0, 0, 0, &[]).error, 0);
    assert_eq!(second.ask(FLUSH, FUA, 0, 0, &[]).error, 0);
    assert_eq!(memory.durable.load(Ordering::Relaxed), 3);
}

#[test]
fn trims_zeroes_and_what_is_allocated() {
    let memory = Memory::new(1 << 20);
    let serving = Serving::new(Arc::clone(&memory) as _);
    let mut client = serving.connect().structured();
    let extents = |client: &mut Client, flags| client.ask(STATUS, flags, 0, 16_384, &[]).extents;
    assert_eq!(extents(&mut client, 0), [(16_384, 3)]);
    client.write(0, &[7; 12_288]);
    assert_eq!(extents(&mut client, 0), [(12_288, 0), (4096, 3)]);
    assert_eq!(client.ask(TRIM, FUA, 0, 512, &[]).error, 0);
    assert_eq!(client.ask(ZEROES, 0, 4096, 4096, &[]).error, 0);
    assert_eq!(extents(&mut client, 0), [(512, 3), (3584, 0), (4096, 3), (4096, 0), (4096, 3)]);
    assert_eq!(extents(&mut client, REQ_ONE | FUA), [(512, 3)]);
    assert_eq!(client.ask(ZEROES, NO_HOLE, 4096, 4096, &[]).error, 0);
    assert_eq!(extents(&mut client, 0), [(512, 3), (11_776, 0), (4096, 3)]);
    assert_eq!(client.read(4096, 8192), [[0; 4096], [7; 4096]].concat());
    assert_eq!(memory.zeroes_without_holes.load(Ordering::Relaxed), 1);
    assert_eq!(memory.durable.load(Ordering::Relaxed), 1);
}

#[test]
fn requests_that_carry_nothing_may_be_larger_than_the_largest() {
    let serving = Serving::new(Memory::new(SIZE));
    let mut client = serving.connect().structured();
    for command in [TRIM, ZEROES] {
        assert_eq!(client.ask(command, 0, 0, SIZE as u32, &[]).error, 0);
    }
    assert_eq!(client.ask(STATUS, 0, 0, SIZE as u32, &[]).extents, [(SIZE as u32, 3)]);
}

#[test]
fn zeroes_that_are_to_be_fast() {
    let slow = Serving::new(Memory::new(1 << 20));
    let fast = Serving::new(Arc::new(Memory::with(1 << 20, true)));
    let mut client = slow.connect().structured();
    assert_eq!(client.ask(ZEROES, FAST_ZERO, 4096, 4096, &[]).error, EINVAL);
    for mut client in both(&fast) {
        assert_eq!(client.ask(ZEROES, FAST_ZERO, 4096, 4096, &[]).error, 0);
        assert_eq!(client.ask(ZEROES, FAST_ZERO, 0, 4096, &[]).error, ENOTSUP);
        assert_eq!(client.ask(ZEROES, FAST_ZERO | NO_HOLE, 8192, 4096, &[]).error, 0);
    }
}

#[test]
fn refusals_leave_the_stream_in_step() {
    let serving = Serving::new(Memory::new(SIZE));
    for (number, mut client) in both(&serving).into_iter().enumerate() {
        let structured = number == 1;
        let end = SIZE;
        let cases: &[(u16, u16, u64, u32, u32)] = &[
            // Empty.
            (READ, 0, 0, 0, EINVAL),
            (WRITE, 0, 0, 0, EINVAL),
            (TRIM, 0, 512, 0, EINVAL),
            (ZEROES, 0, 512, 0, EINVAL),
            // Not in sectors.
            (READ, 0, 0, 511, EINVAL),
            (READ, 0, 1, 512, EINVAL),
            (WRITE, 0, 256, 512, EINVAL),
            (WRITE, 0, 512, 513, EINVAL),
            (TRIM, 0, 0, 100, EINVAL),
            (ZEROES, 0, 100, 512, EINVAL),
            // Beyond the end.
            (READ, 0, end, 512, EINVAL),
            (READ, 0, end - 512, 1024, EINVAL),
            (READ, 0, u64::MAX - 511, 512, EINVAL),
            (WRITE, 0, end, 512, ENOSPC),
            (WRITE, FUA, end - 512, 1024, ENOSPC),
            (WRITE, 0, u64::MAX, 512, ENOSPC),
            (ZEROES, 0, end - 512, 1024, ENOSPC),
            (TRIM, 0, end - 512, 1024, EINVAL),
            (TRIM, 0, 1 << 63, 512, EINVAL),
            // Too much.
            (READ, 0, 0, LARGEST + 512, EINVAL),
            (WRITE, 0, 0, LARGEST + 512, EINVAL),
            // Flags of other commands and of none.
            (READ, NO_HOLE, 0, 512, EINVAL),
            (WRITE, DF, 0, 512, EINVAL),
            (WRITE, 1 << 5, 0, 512, EINVAL),
            (WRITE, 1 << 15, 0, 512, EINVAL),
            (FLUSH, REQ_ONE, 0, 0, EINVAL),
            (TRIM, NO_HOLE, 0, 512, EINVAL),
            (ZEROES, DF, 0, 512, EINVAL),
            (ZEROES, FAST_ZERO, 0, 512, EINVAL),
            // A flush of something, and commands that are not offered.
            (FLUSH, 0, 512, 0, EINVAL),
            (FLUSH, 0, 0, 512, EINVAL),
            (CACHE, 0, 0, 512, EINVAL),
            (8, 0, 0, 512, EINVAL),
            (u16::MAX, 0, 0, 512, EINVAL),
        ];
        for &(command, flags, offset, bytes, error) in cases {
            let data = if command == WRITE { vec![9; bytes as usize] } else { Vec::new() };
            let got = client.ask(command, flags, offset, bytes, &data);
            assert_eq!(got.error, error, "{command} {flags} {offset} {bytes}");
        }
        if structured {
            assert_eq!(client.ask(READ, DF, 0, LARGEST + 512, &[]).error, EOVERFLOW);
            assert_eq!(client.ask(STATUS, 0, end - 512, 1024, &[]).error, EINVAL);
            assert_eq!(client.ask(STATUS, 0, 0, 0, &[]).error, EINVAL);
            assert_eq!(client.ask(STATUS, DF, 0, 512, &[]).error, EINVAL);
        } else {
            assert_eq!(client.ask(READ, DF, 0, 512, &[]).error, EINVAL);
            assert_eq!(client.ask(STATUS, 0, 0, 512, &[]).error, EINVAL);
        }
        assert_eq!(client.read(0, 4096), [0; 4096], "nothing was written");
    }
}

#[test]
fn errors_of_the_export_have_their_numbers() {
    let memory = Memory::new(1 << 20);
    let serving = Serving::new(Arc::clone(&memory) as _);
    for mut client in both(&serving) {
        for (error, number) in [
            (ExportError::Io("two spindles of a group are lost".into()), EIO),
            (ExportError::Io("ä".repeat(5000)), EIO),
            (ExportError::NoSpace, ENOSPC),
            (ExportError::NotSupported, ENOTSUP),
            (ExportError::NotPermitted, EPERM),
            (ExportError::Invalid, EINVAL),
            (ExportError::Shutdown, ESHUTDOWN),
        ] {
            memory.fail(Some(error));
            for (command, data) in [(READ, &[][..]), (WRITE, &[1; 512])] {
                assert_eq!(client.ask(command, 0, 0, 512, data).error, number);
            }
            // Zeroes that need not be fast are never "not supported".
            let zeroes = if number == ENOTSUP { EINVAL } else { number };
            assert_eq!(client.ask(ZEROES, 0, 0, 512, &[]).error, zeroes);
        }
        memory.fail(None);
        assert_eq!(client.read(0, 512), [0; 512]);
    }
}

#[test]
fn replies_come_in_the_order_in_which_they_are_ready() {
    let memory = Memory::new(1 << 20);
    let serving = Serving::new(Arc::clone(&memory) as _);
    for mut client in both(&serving) {
        memory.hold();
        for cookie in 0..32 {
            client.request(READ, 0, cookie, cookie * 512, 512, &[]);
        }
        memory.wait_for(32);
        memory.release(|held| held.make_contiguous().reverse());
        let cookies: Vec<u64> = (0..32).map(|_| client.reply(512).cookie).collect();
        assert_eq!(cookies, (0..32).rev().collect::<Vec<_>>());
    }
}

#[test]
fn cookies_are_the_clients_affair() {
    let serving = Serving::new(Memory::new(1 << 20));
    let mut client = serving.connect().simple();
    for _ in 0..3 {
        client.request(READ, 0, u64::MAX, 0, 512, &[]);
    }
    assert!((0..3).all(|_| client.reply(512).cookie == u64::MAX));
}

#[test]
fn goodbye_waits_for_what_is_in_flight() {
    let memory = Memory::new(1 << 20);
    let serving = Serving::new(Arc::clone(&memory) as _);
    for half_closed in [false, true] {
        let mut client = serving.connect().structured();
        memory.hold();
        client.request(WRITE, 0, 1, 0, 512, &[5; 512]);
        if half_closed {
            client.close_writing();
        } else {
            client.request(DISC, 0, 0, 0, 0, &[]);
        }
        memory.wait_for(1);
        memory.release(|_| {});
        assert_eq!(client.reply(0).cookie, 1);
        assert!(client.is_closed());
    }
}
