//! Recordings of a real pool. `reference/README.md` has their form.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use strewn_zfs::{AllocationClass, Draid, Dva, Pool, PoolOptions, Redundancy, Vdev};

/// A line of an event log.
#[derive(Debug)]
pub enum Event {
    /// A block is allocated: where its copies lie.
    Allocate { at: (u64, u32), block: BlockName, bytes: u64, copies: Vec<Dva> },
    /// A header of a block in pieces is, for a block or for a piece of it.
    AllocateHeader { block: BlockName, copies: Vec<Dva> },
    /// A piece is.
    AllocatePiece { at: (u64, u32), bytes: u64, copies: Vec<Dva> },
    /// There was no room for a block in one piece, or for a piece.
    NoRoom { at: (u64, u32), block: BlockName, bytes: u64, copies: usize, is_piece: bool },
    /// A vdev joins those that blocks are allocated on.
    Join { vdev: usize },
    /// A copy is freed.
    Free { at: (u64, u32), copy: Dva },
    /// A transaction group ends: FRAG, bytes in use or not to be allocated yet, and each metaslab's bytes and FRAG.
    End { txg: u64, vdev: usize, frag: u64, allocated: u64, metaslabs: Vec<(u64, u64)> },
    /// Of no matter here.
    Other,
}

/// Which block of which object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// Whether the last vdev is special, and not normal.
    pub has_special: bool,
    /// Whether the last vdev is added after the volume is filled.
    pub is_last_late: bool,
    pub volume_mib: u64,
}

/// Those in which every block found room in one piece.
pub fn whole() -> [Recording; 8] {
    let raid_z2 = Redundancy::RaidZ { drives: 6, parity: 2 };
    let mirror = Redundancy::Mirror { drives: 2 };
    let single = Redundancy::Mirror { drives: 1 };
    let draid2 = Redundancy::Draid(Draid { children: 11, data: 4, parity: 2, spares: 1 });
    let mirrors = |mib: &[u64]| mib.iter().map(|mib| vdev(mirror, 12, *mib)).collect();
    [
        Recording { volume_mib: 20, ..of("raidz2", vec![vdev(raid_z2, 12, 64)]) },
        of("draid2", vec![vdev(draid2, 12, 160)]),
        of("mirrors", mirrors(&[64, 64])),
        of("single", vec![vdev(single, 9, 96)]),
        of("unequal", mirrors(&[64, 160])),
        Recording { has_special: true, ..of("special", mirrors(&[64, 64, 64])) },
        Recording { is_last_late: true, ..of("late", mirrors(&[64, 64, 96])) },
        Recording {
            has_special: true,
            is_last_late: true,
            ..of("late-special", mirrors(&[64, 64, 64]))
        },
    ]
}

/// Those of pools so full that blocks are in pieces.
pub fn full() -> [Recording; 2] {
    let mirror = vdev(Redundancy::Mirror { drives: 2 }, 12, 64);
    let raid_z1 = vdev(Redundancy::RaidZ { drives: 3, parity: 1 }, 12, 64);
    [
        Recording { volume_mib: 85, ..of("full-mirrors", vec![mirror; 2]) },
        Recording { volume_mib: 112, ..of("full-raidz1", vec![raid_z1]) },
    ]
}

fn vdev(redundancy: Redundancy, ashift: u8, drive_mib: u64) -> Vdev {
    Vdev { redundancy, ashift, drive_bytes: drive_mib << 20, scale_down: 1 }
}

fn of(name: &'static str, vdevs: Vec<Vdev>) -> Recording {
    Recording { name, vdevs, has_special: false, is_last_late: false, volume_mib: 16 }
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

impl BlockName {
    /// Whether it is a block of the volume's data.
    pub fn is_data(&self) -> bool {
        self.objset != 0 && self.object == 1 && self.level == 0
    }
}

impl Recording {
    /// The pool with the vdevs that it has from the start.
    pub fn pool(&self) -> Pool {
        let mut pool = Pool::new(&self.vdevs[..1], PoolOptions::default());
        (1..self.vdevs.len() - usize::from(self.is_last_late))
            .for_each(|vdev| self.add(&mut pool, vdev));
        pool
    }

    /// A vdev joins, if it is not there yet.
    pub fn join(&self, pool: &mut Pool, vdev: usize) {
        if vdev == pool.vdevs() {
            self.add(pool, vdev);
        }
    }

    fn add(&self, pool: &mut Pool, vdev: usize) {
        let is_special = self.has_special && vdev + 1 == self.vdevs.len();
        let class = if is_special { AllocationClass::Special } else { AllocationClass::Normal };
        pool.add(self.vdevs[vdev], class);
    }

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
    let block = || BlockName {
        objset: number(3),
        object: number(4),
        level: fields[5].parse().unwrap(),
        number: number(6),
    };
    let bytes = || number(8).next_multiple_of(1 << ashift);
    let copies = || fields[9..].iter().map(|text| dva(text)).collect();
    match fields[0] {
        "A" => Event::Allocate { at: at(), block: block(), bytes: bytes(), copies: copies() },
        "H" => Event::AllocateHeader { block: block(), copies: copies() },
        "C" => Event::AllocatePiece { at: at(), bytes: bytes(), copies: copies() },
        "a" | "c" => Event::NoRoom {
            at: at(),
            block: block(),
            bytes: bytes(),
            copies: number(9) as usize,
            is_piece: fields[0] == "c",
        },
        "G" => Event::Join { vdev: number(1) as usize },
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
