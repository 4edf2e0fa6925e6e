//! Clients that send anything.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use strewn_live::nbd::Limits;

use super::client::*;
use super::memory::Memory;

const SIZE: u64 = 1 << 20;

fn hurried() -> Limits {
    Limits {
        handshake_timeout: Duration::from_millis(300),
        stalled_timeout: Duration::from_millis(300),
        ..Limits::default()
    }
}

/// Whether it ended within a time that the timeouts above explain.
fn ends(client: &mut Client) -> bool {
    let begin = Instant::now();
    let mut bytes = Vec::new();
    let _ = client.stream.read_to_end(&mut bytes);
    begin.elapsed() < Duration::from_secs(3)
}

#[test]
fn a_handshake_that_stops_is_closed() {
    let serving = Serving::with(Memory::new(SIZE), hurried());
    let whole =
        [&3_u32.to_be_bytes()[..], b"IHAVEOPT", &7_u32.to_be_bytes(), &9_u32.to_be_bytes(), b"xy"]
            .concat();
    let mut clients: Vec<_> = (0..=whole.len())
        .map(|cut| {
            let mut client = serving.connect();
            client.send(&whole[..cut]);
            client
        })
        .collect();
    assert!(clients.iter_mut().all(ends));
    serving.wait_until(|usage| usage.connections == 0);
}

#[test]
fn a_handshake_in_drops_is_closed() {
    let serving = Serving::with(Memory::new(SIZE), hurried());
    let mut client = serving.connect().greet(3);
    let begin = Instant::now();
    // Each drop comes in time, all of them do not.
    let option =
        [&b"IHAVEOPT"[..], &99_u32.to_be_bytes(), &60_000_u32.to_be_bytes(), &[0; 60_000]].concat();
    let sent = option.iter().take_while(|&&byte| {
        thread::sleep(Duration::from_millis(20));
        client.stream.write_all(&[byte]).is_ok()
    });
    assert!(sent.count() < 100);
    assert!(begin.elapsed() < Duration::from_secs(3));
}

#[test]
fn thousands_of_options_end() {
    let serving = Serving::new(Memory::new(SIZE));
    let mut client = serving.connect().greet(3);
    let mut reader = client.stream.try_clone().unwrap();
    let answers = thread::spawn(move || reader.read_to_end(&mut Vec::new()));
    // By the clock, since thousands fit into the buffers of a server that is kept waiting.
    let begin = Instant::now();
    while client.stream.write_all(b"IHAVEOPT\0\0\0\x03\0\0\0\0").is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
    drop(client);
    let _ = answers.join().unwrap();
    serving.wait_until(|usage| usage.connections == 0);
}

#[test]
fn thousands_of_options_whose_answers_nobody_reads_end() {
    let serving = Serving::with(Memory::new(SIZE), Limits { options: usize::MAX, ..hurried() });
    let mut client = serving.connect().greet(3);
    let begin = Instant::now();
    while client.stream.write_all(b"IHAVEOPT\0\0\0\x03\0\0\0\0").is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_request_that_stops_is_closed_and_gives_back_what_it_held() {
    let serving = Serving::with(Memory::new(SIZE), hurried());
    let whole = [&head(WRITE, 0, 1, 0, 512)[..], &[1; 100]].concat();
    let mut clients: Vec<_> = [1, 3, 27, 28, 29, 128]
        .into_iter()
        .map(|cut| {
            let mut client = serving.connect().simple();
            client.send(&whole[..cut]);
            client
        })
        .collect();
    // One that says nothing may stay.
    let mut idle = serving.connect().simple();
    assert!(clients.iter_mut().all(ends));
    thread::sleep(Duration::from_millis(700));
    assert_eq!(idle.read(0, 512), [0; 512], "nothing of it was written");
    serving.wait_until(|usage| usage.connections == 1 && usage.requests == 0);
}

#[test]
fn half_a_magic_and_garbage_close() {
    let serving = Serving::new(Memory::new(SIZE));
    for bytes in [&[0x25, 0x60, 0x95, 0x14][..], &[0; 4], b"GET / HTTP/1.1\r\n"] {
        let mut client = serving.connect().simple();
        client.send(&[bytes, &[0; 28]].concat());
        assert!(client.is_closed());
    }
    // What came before the garbage is answered.
    let mut client = serving.connect().simple();
    client.send(&[&head(READ, 0, 4, 0, 512)[..], &[0xee; 28]].concat());
    assert_eq!(client.reply(512).cookie, 4);
    assert!(client.is_closed());
}

#[test]
fn a_client_that_closes_in_the_middle_costs_nothing() {
    let memory = Memory::new(SIZE);
    let serving = Serving::new(Arc::clone(&memory) as _);
    memory.hold();
    let mut client = serving.connect().structured();
    client.request(WRITE, 0, 1, 0, 4096, &[6; 4096]);
    client.request(READ, 0, 2, 0, 4096, &[]);
    client.request(WRITE, 0, 3, 8192, 4096, &[6; 1000]);
    memory.wait_for(2);
    drop(client);
    memory.release(|_| {});
    serving.wait_until(|usage| usage.connections == 0 && usage.bytes == 0);
    let mut other = serving.connect().simple();
    assert_eq!(other.read(0, 4096), [6; 4096], "what was submitted was done");
    assert_eq!(other.read(8192, 4096), [0; 4096], "what did not come was not");
}

/// Bytes that begin well.
fn stream(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    if random.below(8) > 0 {
        bytes.extend(3_u32.to_be_bytes());
    }
    for _ in 0..random.below(4) {
        let option = random.below(14) as u32;
        let data = match random.below(4) {
            0 => info(["", "lun", "x"][random.below(3) as usize], &[random.next() as u16]),
            1 => context(["", "lun"][random.below(2) as usize], &["base:allocation"]),
            2 => Vec::new(),
            _ => {
                let count = random.below(80) as usize;
                random.bytes(count)
            }
        };
        let length = if random.below(10) == 0 { random.next() as u32 } else { data.len() as u32 };
        bytes.extend(
            [&b"IHAVEOPT"[..], &option.to_be_bytes(), &length.to_be_bytes(), &data].concat(),
        );
    }
    if random.below(4) > 0 {
        bytes.extend(
            [&b"IHAVEOPT"[..], &7_u32.to_be_bytes(), &6_u32.to_be_bytes(), &info("", &[])].concat(),
        );
    }
    for _ in 0..random.below(6) {
        let flags = if random.below(2) == 0 { 0 } else { 1 << random.below(16) };
        let offset = match random.below(4) {
            0 => random.next(),
            1 => SIZE - random.below(3) * 512,
            _ => random.below(SIZE / 512) * 512,
        };
        let length = match random.below(6) {
            0 => random.next() as u32,
            1 => random.below(2000) as u32,
            _ => random.below(16) as u32 * 512,
        };
        let command = random.below(9) as u16;
        bytes.extend(head(command, flags, random.next(), offset, length));
        if command == WRITE {
            let count = (length as usize).min(10_000);
            bytes.extend(random.bytes(count));
        }
    }
    let garbage = random.below(60) as usize;
    bytes.extend(random.bytes(garbage));
    for _ in 0..random.below(3) {
        let place = random.below(bytes.len().max(1) as u64) as usize;
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1 << random.below(8);
        }
    }
    bytes.truncate(bytes.len() - random.below(bytes.len() as u64 / 4 + 1) as usize);
    bytes
}

#[test]
fn random_bytes_hurt_nobody() {
    // The limits keep what garbage asks for small, and the watch never loses its slot.
    let serving = Serving::with(Memory::new(SIZE), Limits { connections: 64, ..hurried() });
    let mut watch = serving.connect().simple();
    watch.write(SIZE - 512, &[1; 512]);
    let mut random = Random::new("random bytes");
    let streams = if cfg!(debug_assertions) { 2000 } else { 10_000 };
    thread::scope(|scope| {
        for _ in 0..4 {
            let mut random = random.fork();
            let serving = &serving;
            scope.spawn(move || {
                for _ in 0..streams / 4 {
                    let bytes = stream(&mut random);
                    let mut client = serving.connect();
                    // A server that closed early is no failure.
                    let _ = client.stream.write_all(&bytes);
                    match random.below(4) {
                        0 => drop(client),
                        _ => {
                            let _ = client.stream.shutdown(Shutdown::Write);
                            let read = client.stream.read_to_end(&mut Vec::new());
                            assert!(
                                !read.is_err_and(
                                    |error| error.kind() == std::io::ErrorKind::WouldBlock
                                )
                            );
                        }
                    }
                }
            });
        }
        for _ in 0..200 {
            assert_eq!(watch.ask(READ, 0, 0, 4096, &[]).error, 0);
            thread::sleep(Duration::from_millis(1));
        }
    });
    assert_eq!(watch.ask(FLUSH, 0, 0, 0, &[]).error, 0);
    serving.wait_until(|usage| usage.connections == 1 && usage.bytes == 0);
}
