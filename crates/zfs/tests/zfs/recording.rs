//! Recordings of a real pool. `reference/README.md` has their form.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use strewn_zfs::{Draid, Dva, Redundancy, Vdev};

/// A line of an event log.
#[derive(Debug)]
pub enum Event {
    /// A block is allocated: where its copies lie.
    Allocate { at: (u64, u32), block: BlockName, bytes: u64, copies: Vec<Dva> },
    /// A copy is freed.
    Free { at: (u64, u32), copy: Dva },
    /// A transaction group ends: FRAG, bytes in use or not to be allocated yet, and each metaslab's bytes and FRAG.
    End { txg: u64, vdev: usize, frag: u64, allocated: u64, metaslabs: Vec<(u64, u64)> },
    /// Of no matter here.
    Other,
}

/// Which block of which object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockName {
    pub objset: u64,
    pub object: u64,
    pub level: i64,
    pub number: u64,
}

/// The pool that was recorded.
pub struct Recording {
    pub name: &'static str,
    pub vdevs: Vec<Vdev>,
    pub volume_mib: u64,
}

/// All that there are.
pub fn all() -> [Recording; 4] {
    let raid_z2 = Redundancy::RaidZ { drives: 6, parity: 2 };
    let mirror = Redundancy::Mirror { drives: 2 };
    let single = Redundancy::Mirror { drives: 1 };
    let draid2 = Redundancy::Draid(Draid { children: 11, data: 4, parity: 2, spares: 1 });
    let vdev = |redundancy, ashift, mib: u64| Vdev {
        redundancy,
        ashift,
        drive_bytes: mib << 20,
        scale_down: 1,
    };
    [
        Recording { name: "raidz2", vdevs: vec![vdev(raid_z2, 12, 64)], volume_mib: 20 },
        Recording { name: "draid2", vdevs: vec![vdev(draid2, 12, 160)], volume_mib: 16 },
        Recording { name: "mirrors", vdevs: vec![vdev(mirror, 12, 64); 2], volume_mib: 16 },
        Recording { name: "single", vdevs: vec![vdev(single, 9, 96)], volume_mib: 16 },
    ]
}

/// Reads a file of `reference/data`, unpacked if it is compressed.
pub fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/data").join(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut text = String::new();
    let is_packed = name.ends_with(".gz");
    let unpacked: Box<dyn Read> =
        if is_packed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    std::io::BufReader::new(unpacked).read_to_string(&mut text).unwrap();
    text
}

impl Recording {
    /// Its events in order.
    pub fn events(&self) -> Vec<Event> {
        let text = read(&format!("{}.log.gz", self.name));
        text.lines().map(|line| event(line, self.vdevs[0].ashift)).collect()
    }
}

fn event(line: &str, ashift: u8) -> Event {
    let fields: Vec<&str> = line.split(' ').collect();
    let number = |at: usize| -> u64 { fields[at].parse().unwrap() };
    let at = || (number(1), number(2) as u32);
    match fields[0] {
        "A" => Event::Allocate {
            at: at(),
            block: BlockName {
                objset: number(3),
                object: number(4),
                level: fields[5].parse().unwrap(),
                number: number(6),
            },
            bytes: number(8).next_multiple_of(1 << ashift),
            copies: fields[9..].iter().map(|text| dva(text)).collect(),
        },
        "F" => Event::Free { at: at(), copy: dva(fields[3]) },
        "E" => Event::End {
            txg: number(1),
            vdev: number(2) as usize,
            frag: number(3),
            allocated: number(4),
            metaslabs: fields[5..].iter().map(|text| pair(text)).collect(),
        },
        _ => Event::Other,
    }
}

fn pair(text: &str) -> (u64, u64) {
    let (one, other) = text.split_once(':').unwrap();
    (one.parse().unwrap(), other.parse().unwrap())
}

fn dva(text: &str) -> Dva {
    let (vdev, rest) = text.split_once(':').unwrap();
    let (offset, allocated_bytes) = pair(rest);
    Dva { vdev: vdev.parse().unwrap(), offset, allocated_bytes }
}
