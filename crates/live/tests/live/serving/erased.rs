//! Ranges of spindles that are erased with their checksums, beside spindles that are missing: more than parity covers.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use strewn_live::assembly::{ArrayLocation, open};
use strewn_live::configuration::LayoutName;
use strewn_live::device::IoBackend;
use strewn_live::engine::{Answer, HostRequest, RequestError};
use strewn_live::format::{INITIALIZATION_MAP_SLOTS, InitializationMap};
use strewn_live::serving::Client;
use strewn_live::starting::start;

use super::{answer, made, megabyte, open_options, started, write_all};

const BLOCK: usize = 4096;
const LUN_BLOCKS: u64 = 48 * 256;

/// The device blocks of four rows, checksums included.
const RANGE: std::ops::Range<u64> = 146..406;

fn spindle(directory: &Path, position: u16) -> PathBuf {
    directory.join(format!("spindle-{position:02}"))
}

fn spoil(directory: &Path, position: u16, byte: u8) {
    let file = OpenOptions::new().write(true).open(spindle(directory, position)).unwrap();
    for block in RANGE {
        file.write_all_at(&[byte; BLOCK], block * BLOCK as u64).unwrap();
    }
}

/// Reads every block, each of which must hold what was written or be refused, and returns how many were refused.
fn refused(client: &Client) -> u64 {
    let mut refused = 0;
    for start in (0..LUN_BLOCKS).step_by(256) {
        let written = megabyte(start / 256, 1);
        for (block, right) in (start..).zip(written.chunks(BLOCK)) {
            match answer(client, HostRequest::Read(block * 8..block * 8 + 8)) {
                Ok(Answer::Bytes(bytes)) => {
                    assert!(bytes == right, "block {block} is read as something else");
                }
                Err(RequestError::BlocksGone) => refused += 1,
                other => panic!("block {block}: {other:?}"),
            }
        }
    }
    refused
}

/// One spindle erased and one missing; two erased; one erased and one of garbage. RAID-DP has one more missing.
#[test]
fn regression_what_was_erased_is_not_taken_for_never_written() {
    for (layout, data_spindles) in [
        (LayoutName::Raid5, 4),
        (LayoutName::Vraid5, 6),
        (LayoutName::Raid4, 4),
        (LayoutName::RaidDp, 4),
    ] {
        for (beside, byte) in [(None, 0), (Some(3), 0), (Some(3), 0x5a)] {
            println!("{layout:?}, {beside:?} spoiled with {byte:#x}");
            let folder = tempfile::tempdir().unwrap();
            let directory = folder.path().join("array");
            made(&directory, layout, data_spindles);
            let thread = started(&directory, false).serve().unwrap();
            write_all(&thread.client(), 1);
            thread.shut_down().unwrap();

            spoil(&directory, 0, 0);
            match beside {
                Some(other) => spoil(&directory, other, byte),
                None => fs::remove_file(spindle(&directory, 3)).unwrap(),
            }
            if layout == LayoutName::RaidDp {
                fs::remove_file(spindle(&directory, 2)).unwrap();
            }
            let options = open_options(true);
            let assembled = open(&ArrayLocation::Directory(directory), options).unwrap();
            let Ok(array) = start(assembled, IoBackend::Auto) else { continue };
            let thread = array.serve().unwrap();
            let refused = refused(&thread.client());
            // Of the other layouts, a stripe need not have both its faults in these rows.
            let is_beyond = layout == LayoutName::Raid5;
            assert!(refused > 0 || !is_beyond, "more is gone than parity covers");
            thread.shut_down().unwrap();
        }
    }
}

/// The newest map destroyed on all spindles alike: the one before it lacks zones that hold data.
#[test]
fn regression_an_older_initialization_map_is_not_used() {
    for layout in [LayoutName::Raid5, LayoutName::RaidDp] {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("array");
        made(&directory, layout, 4);
        let thread = started(&directory, false).serve().unwrap();
        write_all(&thread.client(), 1);
        thread.shut_down().unwrap();
        let maps = |position| {
            let bytes = fs::read(spindle(&directory, position)).unwrap();
            INITIALIZATION_MAP_SLOTS.map(|slot| {
                let block = &bytes[slot as usize * BLOCK..][..BLOCK];
                (slot, InitializationMap::decode(block).unwrap().sequence)
            })
        };
        let newest = maps(0).into_iter().max_by_key(|(_, sequence)| *sequence).unwrap();
        for position in 0..layout.parity_spindles() + 4 {
            let file = OpenOptions::new().write(true).open(spindle(&directory, position)).unwrap();
            file.write_all_at(&[0; BLOCK], newest.0 * BLOCK as u64).unwrap();
        }
        let assembled = open(&ArrayLocation::Directory(directory), open_options(false)).unwrap();
        let refused = start(assembled, IoBackend::Auto).err().unwrap();
        assert!(refused.to_string().contains("initialization map"), "{refused}");
    }
}
