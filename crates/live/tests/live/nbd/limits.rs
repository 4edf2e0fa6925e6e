//! Clients that take more than they give: what they hold is bounded, and nobody else waits for them.

use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use strewn_live::nbd::{Answer, Export, Limits, Reply, Request};

use super::client::*;
use super::memory::Memory;

const MIB: u64 = 1 << 20;

/// Four connections, 2 MiB each one's own, 8 MiB for whoever comes first.
fn tight() -> Limits {
    Limits {
        connections: 4,
        requests_per_connection: 16,
        bytes_per_connection: 6 * MIB,
        bytes_in_flight: 16 * MIB,
        largest_request_bytes: 1 << 20,
        ..Limits::default()
    }
}

/// Asks until the server stops listening.
fn ask_without_reading(client: &mut Client, request: &[u8]) {
    client.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let begin = Instant::now();
    while client.stream.write_all(request).is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(10), "the server never stops reading");
    }
}

#[test]
fn clients_that_never_read_stop_being_read() {
    let serving = Serving::with(Memory::new(4 * MIB), tight());
    let mut greedy: Vec<_> = (0..3).map(|_| serving.connect().structured()).collect();
    for client in &mut greedy {
        ask_without_reading(client, &head(READ, 0, 1, 0, 1 << 20));
    }
    let usage = serving.usage();
    // Two take 6 MiB and leave nothing that is shared; the third has its own.
    assert!(usage.bytes > 10 * MIB && usage.most_bytes <= 16 * MIB, "{usage:?}");
    let mut modest = serving.connect().simple();
    let begin = Instant::now();
    for _ in 0..100 {
        assert_eq!(modest.read(MIB, 1 << 20).len(), 1 << 20);
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(greedy);
    serving.wait_until(|usage| usage.connections == 1 && usage.bytes == 0);
}

#[test]
fn refusals_that_nobody_reads_are_bounded_too() {
    let serving = Serving::with(Memory::new(4 * MIB), tight());
    let mut client = serving.connect().structured();
    ask_without_reading(&mut client, &head(99, 0, 1, 0, 1 << 20));
    serving.wait_until(|usage| usage.requests == 16);
    assert_eq!(serving.connect().simple().read(0, 512), [0; 512]);
}

#[test]
fn a_client_that_does_not_take_its_replies_is_closed_in_the_end() {
    let limits = Limits { stalled_timeout: Duration::from_millis(300), ..tight() };
    let serving = Serving::with(Memory::new(4 * MIB), limits);
    let mut client = serving.connect().structured();
    for _ in 0..6 {
        client.send(&head(READ, 0, 1, 0, 1 << 20));
    }
    serving.wait_until(|usage| usage.connections == 1 && usage.bytes > 0);
    serving.wait_until(|usage| usage.connections == 0 && usage.bytes == 0);
}

#[test]
fn a_half_sent_write_does_not_stop_the_others() {
    let serving = Serving::with(Memory::new(4 * MIB), tight());
    let mut halves: Vec<_> = (0..3).map(|_| serving.connect().simple()).collect();
    for client in &mut halves {
        for _ in 0..6 {
            client.send(&head(WRITE, 0, 1, 0, 1 << 20));
        }
    }
    serving.wait_until(|usage| usage.bytes >= 3 * MIB);
    let mut modest = serving.connect().simple();
    modest.write(0, &vec![3; 1 << 20]);
    assert!(modest.read(0, 1 << 20) == vec![3; 1 << 20]);
}

#[test]
fn requests_in_flight_are_bounded_and_all_are_done() {
    let memory = Memory::new(4 * MIB);
    let serving = Serving::with(Arc::clone(&memory) as _, tight());
    let mut client = serving.connect().structured();
    memory.hold();
    for cookie in 0..64 {
        client.request(WRITE, 0, cookie, cookie * 512, 512, &[cookie as u8; 512]);
    }
    memory.wait_for(16);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(memory.held(), 16);
    memory.release(|_| {});
    assert!((0..64).all(|_| client.reply(0).error == 0));
    assert!((0..64).all(|number| client.read(number * 512, 512) == [number as u8; 512]));
}

#[test]
fn one_connection_more_than_are_busy_is_closed_and_room_is_made_again() {
    let memory = Memory::new(MIB);
    let serving = Serving::with(Arc::clone(&memory) as _, tight());
    memory.hold();
    let mut clients: Vec<_> = (0..4).map(|_| serving.connect().simple()).collect();
    clients.iter_mut().for_each(|client| client.request(READ, 0, 1, 0, 512, &[]));
    memory.wait_for(4);
    assert!(serving.connect().is_closed());
    memory.release(|_| {});
    assert!(clients.iter_mut().all(|client| client.reply(512).error == 0));
    clients.pop();
    serving.wait_until(|usage| usage.connections == 3);
    assert_eq!(serving.connect().simple().read(0, 512), [0; 512]);
}

#[test]
fn one_that_never_asked_leaves_before_one_that_was_idle_for_longer() {
    let serving = Serving::with(Memory::new(MIB), tight());
    let mut first = serving.connect().simple();
    assert_eq!(first.read(0, 512), [0; 512]);
    let mut others: Vec<_> = (0..3).map(|_| serving.connect().simple()).collect();
    assert_eq!(serving.connect().simple().read(0, 512), [0; 512]);
    assert!(others[0].is_closed());
    assert_eq!(first.read(0, 512), [0; 512]);
    assert_eq!(others[2].read(0, 512), [0; 512]);
}

#[test]
fn idle_clients_stay() {
    let limits = Limits { stalled_timeout: Duration::from_millis(500), ..tight() };
    let serving = Serving::with(Memory::new(MIB), limits);
    let mut client = serving.connect().simple();
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(client.read(0, 512), [0; 512]);
    // A slow write comes in pieces, none of them late.
    let whole = [&head(WRITE, 0, 7, 0, 512)[..], &[8; 512]].concat();
    for piece in whole.chunks(60) {
        client.stream.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(80));
    }
    assert_eq!(client.reply(0).cookie, 7);
}

#[test]
fn stop_lets_requests_in_flight_finish() {
    let memory = Memory::new(MIB);
    let mut serving = Serving::new(Arc::clone(&memory) as _);
    let mut client = serving.connect().structured();
    let mut shaking = serving.connect().greet(3);
    memory.hold();
    client.request(WRITE, 0, 1, 0, 512, &[4; 512]);
    client.request(READ, 0, 2, 512, 512, &[]);
    memory.wait_for(2);
    let server = serving.server.take().unwrap();
    let stopper = server.stopper();
    let stopping = thread::spawn(move || server.wait());
    stopper.stop();
    assert!(shaking.is_closed());
    assert!(!serving.path.exists(), "no client can come any more");
    assert!(!stopping.is_finished());
    memory.release(|_| {});
    assert_eq!((client.reply(0).cookie, client.reply(512).cookie), (1, 2));
    assert!(client.is_closed());
    stopping.join().unwrap();
    stopper.stop();
    assert!(Arc::into_inner(memory).is_some(), "nobody else has the export");
}

#[test]
fn stop_does_not_wait_for_ever() {
    let memory = Memory::new(4 * MIB);
    let limits = Limits { stop_timeout: Duration::from_millis(200), ..tight() };
    let mut serving = Serving::with(Arc::clone(&memory) as _, limits);
    let mut unread = serving.connect().structured();
    ask_without_reading(&mut unread, &head(READ, 0, 1, 0, 1 << 20));
    let mut unanswered = serving.connect().structured();
    memory.hold();
    unanswered.request(READ, 0, 1, 0, 512, &[]);
    memory.wait_for(1);
    let begin = Instant::now();
    serving.server.take().unwrap().stop();
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(unanswered.is_closed());
    // An answer that comes later goes nowhere.
    memory.release(|_| {});
}

/// An export that forgets requests, panics at others, and answers others with nonsense.
struct Careless;

impl Export for Careless {
    fn size_bytes(&self) -> u64 {
        MIB
    }

    fn submit(&self, request: Request, reply: Reply) {
        match request {
            Request::Read { offset: 0, .. } => drop(reply),
            Request::Read { .. } => reply.send(Ok(Answer::Data(vec![1; 3]))),
            Request::Flush => panic!("an export that panics, on purpose"),
            _ => reply.send(Ok(Answer::Data(Vec::new()))),
        }
    }
}

#[test]
fn a_careless_export_fails_requests_and_not_the_server() {
    let serving = Serving::new(Arc::new(Careless));
    let mut client = serving.connect().structured();
    for offset in [0, 512] {
        assert_eq!(client.ask(READ, 0, offset, 512, &[]).error, 5);
    }
    assert_eq!(client.ask(TRIM, 0, 0, 512, &[]).error, 5);
    assert_eq!(
        client.ask(FLUSH, 0, 0, 0, &[]).error,
        5,
        "a panic answers too, and ends the connection"
    );
    assert!(client.is_closed());
    serving.wait_until(|usage| usage.connections == 0);
    assert_eq!(serving.connect().simple().ask(READ, 0, 0, 512, &[]).error, 5);
}
