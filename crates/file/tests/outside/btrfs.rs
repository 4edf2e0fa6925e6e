//! Addresses of btrfs are translated to devices: the bytes there are those of the file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use strewn_file::{Address, AddressSpace, Piece, System};
use strewn_testing::{Missing, program};

use crate::loops::{Loops, Mounted, content, run};

const MIB: usize = 1 << 20;

/// Writes files that fragment one another, and returns their names with their content.
fn write_files(mounted: &Mounted) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = [24 * MIB + 5000, 9 * MIB, 300_000]
        .iter()
        .enumerate()
        .map(|(number, bytes)| (format!("file{number}"), content(number as u64, *bytes)))
        .collect();
    for (name, bytes) in &files {
        std::fs::write(mounted.point.join(name), bytes).unwrap();
    }
    mounted.sync();
    // Overwrites in steps, each committed, so that the extents are scattered.
    let (name, bytes) = &mut files[1];
    let file = File::options().write(true).open(mounted.point.join(&*name)).unwrap();
    for step in 0..40 {
        let at = (step * 37 % 100) * 90_000;
        let new = content(1000 + step as u64, 20_000);
        file.write_all_at(&new, at as u64).unwrap();
        bytes[at..at + new.len()].copy_from_slice(&new);
        if step % 8 == 7 {
            mounted.sync();
        }
    }
    mounted.sync();
    files
}

/// Offset, address and bytes of the extents of a file, by `filefrag`.
fn extents(path: &Path) -> Vec<(u64, u64, u64)> {
    let printed = run("filefrag", &["-v", "-b1", path.to_str().unwrap()]);
    let mut found = Vec::new();
    for line in printed.lines() {
        // `   0:        0..  299999:   13631488..  13931487: 300000:  last,eof`
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let first = |range: &str| range.split("..").next()?.trim().parse::<u64>().ok();
        if let [number, offset, at, bytes, ..] = fields.as_slice()
            && number.parse::<u64>().is_ok()
        {
            let numbers = (first(offset), first(at), bytes.parse().ok());
            let (Some(offset), Some(at), Some(bytes)) = numbers else { panic!("{line}") };
            found.push((offset, at, bytes));
        }
    }
    assert!(!found.is_empty(), "{printed}");
    found
}

/// Reads the pieces from the images behind the devices of `space`.
fn read_pieces(loops: &Loops, space: &AddressSpace, pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        let device = format!("/dev/{}", space.devices()[usize::from(piece.device)].name);
        let index = loops.devices.iter().position(|name| *name == device).unwrap();
        let mut part = vec![0; piece.bytes as usize];
        let image = File::open(&loops.images[index]).unwrap();
        image.read_exact_at(&mut part, piece.byte).unwrap();
        bytes.extend(part);
    }
    bytes
}

/// Every byte of every file, whole extents and odd parts of them. Returns the devices that were read.
fn compare(loops: &Loops, mounted: &Mounted, files: &[(String, Vec<u8>)]) -> Vec<u16> {
    let space = System::default().address_space(&mounted.mount);
    assert_eq!(space.untranslated_reason(), None);
    let mut devices = Vec::new();
    for (name, content) in files {
        let mut covered = 0;
        for (offset, at, bytes) in extents(&mounted.point.join(name)) {
            assert_eq!(offset, covered, "{name} has no holes");
            covered += bytes;
            for (from, to) in [(0, bytes), (bytes / 3 + 1, bytes - bytes / 5), (bytes - 1, bytes)] {
                let mut pieces = Vec::new();
                assert_eq!(space.read(Address::new(at + from), to - from, &mut pieces), 0);
                devices.extend(pieces.iter().map(|piece| piece.device));
                let read = read_pieces(loops, &space, &pieces);
                // Behind the end of the file there is the rest of its last block.
                let start = ((offset + from) as usize).min(content.len());
                let end = ((offset + to) as usize).min(content.len());
                assert!(read[..end - start] == content[start..end], "{name} at {start}");
            }
        }
        assert!(covered >= content.len() as u64, "{name} is covered");
    }
    devices.sort_unstable();
    devices.dedup();
    devices
}

/// The chunks as `btrfs inspect-internal dump-tree` has them.
fn chunks(device: &str) -> usize {
    let printed = run("btrfs", &["inspect-internal", "dump-tree", "-t", "chunk", device]);
    printed.matches("CHUNK_ITEM").count()
}

/// Whether a profile spreads an extent over several devices.
const STRIPED: bool = true;
const WHOLE: bool = false;

fn translated(count: usize, profile: &[&str], striped: bool) -> Result<(), Missing> {
    program(&["filefrag"], "apt-get install e2fsprogs")?;
    let loops = Loops::new(count, 600)?;
    loops.make(&[&["mkfs.btrfs", "-q", "-f"], profile].concat())?;
    let mounted = loops.mount("compress=no,max_inline=0")?;
    let files = write_files(&mounted);
    let devices = compare(&loops, &mounted, &files);
    assert!(!striped || devices.len() > 2, "{devices:?} are read");
    let space = System::default().address_space(&mounted.mount);
    let Some(map) = space.chunk_map() else { panic!("no chunks") };
    assert_eq!(map.len(), chunks(&loops.devices[0]));
    // A large contiguous extent of an unstriped profile is one piece.
    if !striped {
        let (_, at, bytes) = extents(&mounted.point.join("file0"))
            .into_iter()
            .max_by_key(|extent| extent.2)
            .unwrap();
        let mut pieces = Vec::new();
        assert_eq!(space.read(Address::new(at), bytes, &mut pieces), 0);
        assert_eq!(pieces.len(), 1);
    }
    // Changes since are translated too, by the chunks of a new look.
    drop(space);
    std::fs::write(mounted.point.join("more"), content(9, 150 * MIB)).unwrap();
    mounted.sync();
    compare(&loops, &mounted, &[("more".to_owned(), content(9, 150 * MIB))]);
    Ok(())
}

pub fn single_is_translated() -> Result<(), Missing> {
    translated(1, &["-d", "single", "-m", "single"], WHOLE)
}

pub fn dup_is_translated() -> Result<(), Missing> {
    translated(1, &["-d", "dup", "-m", "dup"], WHOLE)
}

pub fn raid0_is_translated() -> Result<(), Missing> {
    translated(3, &["-d", "raid0", "-m", "raid0"], STRIPED)
}

pub fn raid1_is_translated() -> Result<(), Missing> {
    translated(2, &["-d", "raid1", "-m", "raid1"], WHOLE)
}

pub fn raid1c3_is_translated() -> Result<(), Missing> {
    translated(3, &["-d", "raid1c3", "-m", "raid1c3"], WHOLE)
}

pub fn raid10_is_translated() -> Result<(), Missing> {
    translated(6, &["-d", "raid10", "-m", "raid10"], STRIPED)
}

pub fn raid5_is_translated() -> Result<(), Missing> {
    translated(4, &["-d", "raid5", "-m", "raid5"], STRIPED)
}

pub fn raid6_is_translated() -> Result<(), Missing> {
    translated(5, &["-d", "raid6", "-m", "raid6"], STRIPED)
}

/// `btrfstune -m` gives the file system another number, which its tree blocks do not have.
pub fn changed_fsid_is_translated() -> Result<(), Missing> {
    program(&["btrfstune"], "apt-get install btrfs-progs")?;
    let loops = Loops::new(1, 400)?;
    loops.make(&["mkfs.btrfs", "-q", "-f"])?;
    run("btrfstune", &["-m", &loops.devices[0]]);
    let mounted = loops.mount("compress=no,max_inline=0")?;
    let files = write_files(&mounted);
    compare(&loops, &mounted, &files);
    Ok(())
}

pub fn small_nodes_are_translated() -> Result<(), Missing> {
    translated(1, &["-n", "4096", "-d", "single"], WHOLE)
}

pub fn a_missing_device_leaves_the_other_copy() -> Result<(), Missing> {
    let mut loops = Loops::new(2, 400)?;
    loops.make(&["mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1"])?;
    let files = write_files(&loops.mount("compress=no,max_inline=0")?);
    run("losetup", &["-d", &loops.devices[0]]);
    run("btrfs", &["device", "scan", "--forget"]);
    loops.devices.remove(0);
    loops.images.remove(0);
    let mounted = loops.mount("degraded,ro")?;
    assert_eq!(compare(&loops, &mounted, &files), [0]);
    Ok(())
}

/// Tree blocks that are freed and written again while they are read are noticed, and the next superblock is tried.
pub fn a_file_system_is_read_while_it_is_written() -> Result<(), Missing> {
    let loops = Loops::new(2, 400)?;
    loops.make(&["mkfs.btrfs", "-q", "-f", "-n", "4096", "-d", "raid0", "-m", "raid1"])?;
    let mounted = loops.mount("compress=no,max_inline=0")?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0_u64.. {
                for number in 0..30 {
                    let name = mounted.point.join(format!("file{number}"));
                    std::fs::write(name, content(round, 4096 * (number + 1))).unwrap();
                }
                mounted.sync();
                if done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let looks = std::panic::catch_unwind(|| {
            for _ in 0..200 {
                let space = System::default().address_space(&mounted.mount);
                assert_eq!(space.untranslated_reason(), None);
                strewn_file::free_space(&mounted.mount).unwrap();
            }
        });
        done.store(true, Ordering::Relaxed);
        looks.unwrap();
    });
    Ok(())
}
