//! What a LUN must hold, by sector: from what was answered, and what was under way when nobody answered any more.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::ops::Range;

use crate::array::{MIB, Served};
use crate::client::{Client, NO_HOLE, Random, TRIM, WRITE, ZEROES, head};

const MIB_SECTORS: u64 = MIB / 512;
/// What is written wholly or not at all, where a half of the log is of 1 MiB, as that of a LUN of 64 MiB is.
const WHOLE_SECTORS: u64 = MIB_SECTORS / 2;
/// Requests under way at once.
const DEPTH: usize = 16;

/// A region of a LUN, in sectors.
pub struct Model {
    region: Range<u64>,
    /// The number of the write that each sector has; 0 for zeros.
    sectors: Vec<u32>,
    last: u32,
    /// Requests that were not answered, none of which touches another.
    unanswered: Vec<Change>,
    pub answered: u64,
}

#[derive(Debug, Clone)]
struct Change {
    command: u16,
    flags: u16,
    sectors: Range<u64>,
    /// What sectors have of it.
    number: u32,
}

/// What a write puts into a sector.
fn contents(sector: u64, number: u32) -> [u8; 512] {
    let mut bytes = [0; 512];
    if number > 0 {
        for (index, word) in (0u64..).zip(bytes.chunks_exact_mut(8)) {
            word.copy_from_slice(&(u64::from(number) << 40 | sector << 8 | index).to_le_bytes());
        }
    }
    bytes
}

impl Model {
    /// Of a region that was never written.
    pub fn new(mib: Range<u64>) -> Self {
        let region = mib.start * MIB_SECTORS..mib.end * MIB_SECTORS;
        let sectors = vec![0; (region.end - region.start) as usize];
        Self { region, sectors, last: 0, unanswered: Vec::new(), answered: 0 }
    }

    /// Asks for changes until nobody answers, or there were as many as `most`.
    pub fn change(&mut self, mut client: Client, random: &mut Random, most: u64) {
        let mut under_way: HashMap<u64, Change> = HashMap::new();
        let mut asked = 0;
        let mut is_gone = false;
        loop {
            while !is_gone && asked < most && under_way.len() < DEPTH {
                let Some(change) = self.next_change(random, &under_way) else { continue };
                asked += 1;
                under_way.insert(asked, change.clone());
                is_gone = client.stream.write_all(&request(&change, asked)).is_err();
            }
            if under_way.is_empty() {
                return;
            }
            // What was answered before the end is still there to be read.
            let mut reply = [0; 16];
            if client.stream.read_exact(&mut reply).is_err() {
                self.unanswered.extend(under_way.into_values());
                return;
            }
            assert_eq!(reply[..8], *b"\x67\x44\x66\x98\0\0\0\0", "an error");
            let cookie = u64::from_be_bytes(reply[8..].try_into().unwrap());
            let change = under_way.remove(&cookie).unwrap();
            self.answered += 1;
            self.took(&change);
        }
    }

    fn next_change(&mut self, random: &mut Random, busy: &HashMap<u64, Change>) -> Option<Change> {
        let (command, flags, most) = match random.below(20) {
            0 => (TRIM, 0, 3 * MIB_SECTORS),
            1 => (ZEROES, 0, MIB_SECTORS),
            2 => (ZEROES, NO_HOLE, MIB_SECTORS / 4),
            3 => (WRITE, 0, 3 * MIB_SECTORS),
            4..10 => (WRITE, 0, 8),
            _ => (WRITE, 0, 128),
        };
        let mut length = 1 + random.below(most);
        let mut first = self.region.start + random.below(self.region.end - self.region.start);
        if random.below(2) == 0 {
            // As file systems do it.
            first = first / 8 * 8;
            length = length.next_multiple_of(8);
        }
        let sectors = first..(first + length).min(self.region.end);
        let touches = |other: &Range<u64>| sectors.start < other.end && other.start < sectors.end;
        if busy.values().any(|change| touches(&change.sectors)) {
            return None;
        }
        self.last += u32::from(command == WRITE);
        let number = if command == WRITE { self.last } else { 0 };
        Some(Change { command, flags, sectors, number })
    }

    fn slot(&mut self, sectors: Range<u64>) -> &mut [u32] {
        let start = self.region.start;
        &mut self.sectors[(sectors.start - start) as usize..(sectors.end - start) as usize]
    }

    fn took(&mut self, change: &Change) {
        let Range { start, end } = change.sectors;
        // Of what is trimmed only whole blocks are given back.
        let sectors = match change.command {
            TRIM => start.next_multiple_of(8)..(end / 8 * 8).max(start.next_multiple_of(8)),
            _ => start..end,
        };
        self.slot(sectors).fill(change.number);
    }

    /// Reads all of it. What was answered must be there; of a write that was not, each piece wholly or not at all. From
    /// here on what was found has to stay.
    #[track_caller]
    pub fn check(&mut self, served: &Served) {
        let mut client = served.client();
        let mut bytes = Vec::new();
        for first in self.region.clone().step_by(MIB_SECTORS as usize) {
            bytes.extend(client.read(first * 512, MIB as u32));
        }
        let start = self.region.start;
        let has = |sector: u64, number: u32| {
            let at = (sector - start) as usize * 512;
            bytes[at..at + 512] == contents(sector, number)
        };
        for change in std::mem::take(&mut self.unanswered) {
            let mut first = change.sectors.start;
            while first < change.sectors.end {
                let whole = match change.command {
                    WRITE => (first / WHOLE_SECTORS + 1) * WHOLE_SECTORS,
                    _ => (first / 8 + 1) * 8,
                };
                let piece = first..whole.min(change.sectors.end);
                first = piece.end;
                if piece.clone().all(|sector| has(sector, change.number)) {
                    self.slot(piece).fill(change.number);
                }
            }
        }
        let wrong: Vec<u64> = (start..)
            .zip(&self.sectors)
            .filter(|(sector, number)| !has(*sector, **number))
            .map(|(sector, _)| sector)
            .collect();
        if let Some(sector) = wrong.first() {
            let at = (sector - start) as usize * 512;
            let word = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            let expected = self.slot(*sector..sector + 1)[0];
            panic!(
                "{} sectors are wrong; the first is {sector}: write {expected} should be there, \
                 and there is write {} of sector {}",
                wrong.len(),
                word >> 40,
                word >> 8 & 0xffff_ffff,
            );
        }
    }
}

fn request(change: &Change, cookie: u64) -> Vec<u8> {
    let Change { command, flags, sectors, number } = change;
    let bytes = (sectors.end - sectors.start) as u32 * 512;
    let mut request = head(*command, *flags, cookie, sectors.start * 512, bytes).to_vec();
    if *command == WRITE {
        request.extend(sectors.clone().flat_map(|sector| contents(sector, *number)));
    }
    request
}
