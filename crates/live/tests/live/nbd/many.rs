//! Many clients at once, each with a model of what it wrote, over an export that answers in any order.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use strewn_live::nbd::Limits;

use super::client::*;
use super::memory::{Memory, Threads};

const CLIENTS: u64 = 8;
/// Each client has a stretch of its own, of so many pages.
const PAGES: u64 = 64;
const PAGE: u64 = 4096;
const AT_ONCE: usize = 16;

/// What a client waits for: pages that no other of its requests touches.
enum Waiting {
    Read(u64, Vec<u8>),
    Changed(u64, Vec<u8>),
}

fn run(serving: &Serving, number: u64, random: &mut Random, requests: u64) -> Vec<u8> {
    let base = number * PAGES * PAGE;
    let mut client = if number.is_multiple_of(2) {
        serving.connect().simple()
    } else {
        serving.connect().structured()
    };
    let mut model = vec![0; (PAGES * PAGE) as usize];
    let mut waiting: HashMap<u64, Waiting> = HashMap::new();
    let mut busy = vec![false; PAGES as usize];
    for cookie in 0..requests {
        let first = random.below(PAGES);
        let pages = 1 + random.below((PAGES - first).min(16));
        let range = (first * PAGE) as usize..((first + pages) * PAGE) as usize;
        let touched = first as usize..(first + pages) as usize;
        while busy[touched.clone()].iter().any(|&busy| busy) || waiting.len() >= AT_ONCE {
            settle(&mut client, &mut waiting, &mut busy, &mut model);
        }
        busy[touched].fill(true);
        let (offset, bytes) = (base + first * PAGE, (pages * PAGE) as u32);
        let fua = if random.below(4) == 0 { FUA } else { 0 };
        match random.below(5) {
            0 | 1 => {
                let data = vec![random.next() as u8; range.len()];
                client.request(WRITE, fua, cookie, offset, bytes, &data);
                waiting.insert(cookie, Waiting::Changed(first, data));
            }
            2 => {
                client.request(ZEROES, fua, cookie, offset, bytes, &[]);
                waiting.insert(cookie, Waiting::Changed(first, vec![0; range.len()]));
            }
            _ => {
                client.request(READ, 0, cookie, offset, bytes, &[]);
                waiting.insert(cookie, Waiting::Read(first, model[range].to_vec()));
            }
        }
    }
    while !waiting.is_empty() {
        settle(&mut client, &mut waiting, &mut busy, &mut model);
    }
    client.request(DISC, 0, 0, 0, 0, &[]);
    assert!(client.is_closed());
    model
}

/// Takes one reply and looks at what it brings.
fn settle(
    client: &mut Client,
    waiting: &mut HashMap<u64, Waiting>,
    busy: &mut [bool],
    model: &mut [u8],
) {
    let got = if client.structured { client.reply(0) } else { simple_reply(client, waiting) };
    assert_eq!(got.error, 0);
    let (first, data) = match waiting.remove(&got.cookie).expect("a reply to what was asked") {
        Waiting::Read(first, expected) => {
            assert!(got.data == expected, "read something else than was written");
            (first, expected)
        }
        Waiting::Changed(first, data) => {
            model[(first * PAGE) as usize..][..data.len()].copy_from_slice(&data);
            (first, data)
        }
    };
    busy[first as usize..][..data.len() / PAGE as usize].fill(false);
}

/// A simple reply, whose length only the request says.
fn simple_reply(client: &mut Client, waiting: &HashMap<u64, Waiting>) -> Got {
    let mut got = client.reply(0);
    if let Some(Waiting::Read(_, expected)) = waiting.get(&got.cookie) {
        got.data = client.take(expected.len());
    }
    got
}

#[test]
fn many_clients_read_what_they_wrote() {
    let memory = Memory::new(CLIENTS * PAGES * PAGE);
    let export = Arc::new(Threads::new(memory, 3));
    // So tight that everybody waits for everybody else again and again.
    let limits = Limits {
        connections: CLIENTS as usize + 1,
        requests_per_connection: 12,
        bytes_per_connection: 1 << 18,
        bytes_in_flight: 1 << 20,
        largest_request_bytes: 1 << 16,
        ..Limits::default()
    };
    let serving = Serving::with(export, limits);
    let mut random = Random::new("many clients");
    let requests = if cfg!(debug_assertions) { 1000 } else { 4000 };
    let models: Vec<Vec<u8>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (mut random, serving) = (random.fork(), &serving);
                scope.spawn(move || run(serving, number, &mut random, requests))
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    // Somebody else sees what all of them wrote.
    let mut client = serving.connect().structured();
    for (number, model) in models.iter().enumerate() {
        for (page, expected) in model.chunks(1 << 16).enumerate() {
            let offset = (number as u64 * PAGES * PAGE) + (page << 16) as u64;
            assert!(client.read(offset, 1 << 16) == expected);
        }
    }
    assert!(serving.usage().most_bytes <= 1 << 20);
}

#[test]
fn a_server_stops_under_load_and_what_it_acknowledged_is_there() {
    let memory = Memory::new(CLIENTS * PAGE);
    let mut serving = Serving::new(Arc::new(Threads::new(Arc::clone(&memory), 3)));
    let begin = Instant::now();
    let acknowledged: Vec<u8> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let mut client = serving.connect().simple();
                scope.spawn(move || {
                    let mut last = 0;
                    for round in (1..=255_u8).cycle() {
                        let write =
                            [&head(WRITE, 0, round.into(), number * PAGE, 512)[..], &[round; 512]]
                                .concat();
                        let mut reply = [0; 16];
                        if client.stream.write_all(&write).is_err()
                            || client.stream.read_exact(&mut reply).is_err()
                        {
                            break;
                        }
                        assert_eq!(reply[4..15], [0; 11]);
                        last = round;
                    }
                    last
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(200));
        serving.server.take().unwrap().stop();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(begin.elapsed() < Duration::from_secs(5));
    // A write whose reply did not come may have been done, and is the next one then.
    let again = Serving::new(memory);
    let mut client = again.connect().simple();
    for (number, last) in acknowledged.into_iter().enumerate() {
        let found = client.read(number as u64 * PAGE, 512);
        assert!(found.iter().all(|&byte| byte == found[0]));
        assert!(
            found[0] == last || found[0] == last % 255 + 1,
            "{last} was acknowledged, {} is there",
            found[0]
        );
    }
}
