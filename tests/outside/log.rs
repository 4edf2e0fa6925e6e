//! Logs that are lost, damaged, or copies from before: nothing of what they had goes missing without a word.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use strewn_testing::Missing;

use crate::array::{Array, Served};

const LAYOUTS: [&str; 3] = ["raid-dp", "raid-4", "raid-5"];
const BLOCK: usize = 4096;

/// Writes blocks one after the other, each when the one before was answered.
fn write_blocks(served: &Served, blocks: std::ops::Range<u64>) {
    let mut client = served.client();
    for block in blocks {
        client.write(block * BLOCK as u64, &[block as u8 + 1; BLOCK]);
    }
}

/// How many blocks from the first on are as they were written; behind them none may be.
fn blocks_kept(served: &Served) -> u64 {
    let mut client = served.client();
    let bytes = client.read(0, 100 * BLOCK as u32);
    let right = |block: &usize| bytes[block * BLOCK..][..BLOCK] == [*block as u8 + 1; BLOCK];
    let kept = (0..100).take_while(right).count();
    assert!(bytes[kept * BLOCK..].iter().all(|byte| *byte == 0), "behind block {kept}");
    kept as u64
}

/// An array whose server was killed when it had answered a hundred writes, and a copy of its log from before.
fn killed(layout: &str) -> Array {
    let array = Array::new(layout, 64);
    fs::copy(array.path("log"), array.folder().join("log before")).unwrap();
    let served = array.serve(&[]);
    write_blocks(&served, 0..100);
    served.kill();
    array.wait_until_free();
    array
}

fn serve_is_refused(array: &Array, fragments: &[&str]) {
    let output = array.ran(&["serve", "aged", "--socket", "no.sock"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for fragment in fragments {
        assert!(stderr.contains(fragment), "no {fragment:?} in {stderr}");
    }
}

pub fn regression_a_log_that_has_lost_acknowledged_writes_is_not_taken_for_whole()
-> Result<(), Missing> {
    for layout in LAYOUTS {
        let array = killed(layout);
        // The fortieth record; redo records, which may have the same bytes, lie before those of the host.
        let log = fs::read(array.path("log")).unwrap();
        let at = log.windows(BLOCK).rposition(|window| window == [40; BLOCK]).unwrap();
        let file = OpenOptions::new().write(true).open(array.path("log")).unwrap();
        file.write_all_at(&[0; 100], at as u64).unwrap();
        drop(file);
        serve_is_refused(&array, &["acknowledged", "--lose-writes"]);
        let found = array.ran(&["check", "aged"]);
        let found = String::from_utf8(found.stdout).unwrap();
        assert!(found.contains("it has lost records that were acknowledged"), "{found}");
        serve_is_refused(&array, &["acknowledged", "--lose-writes"]);

        let refused = array.ran(&["replace", "aged", "log"]);
        assert!(!refused.status.success());
        // Nothing is given up for a device that does not suit.
        fs::write(array.folder().join("small"), [0; BLOCK]).unwrap();
        let small = ["replace", "aged", "log", "--lose-writes", "--with", "small"];
        array.refused(&small, &["small has 4 KiB"]);
        serve_is_refused(&array, &["acknowledged", "--lose-writes"]);
        let replaced = array.ran(&["replace", "aged", "log", "--lose-writes"]);
        let said = String::from_utf8(replaced.stderr).unwrap();
        assert!(replaced.status.success() && said.contains("had is lost"), "{said}");
        let served = array.serve(&[]);
        assert_eq!(blocks_kept(&served), 39, "{layout}");
        write_blocks(&served, 39..100);
        served.terminate();
        array.assert_scrubs_clean();
    }
    Ok(())
}

pub fn regression_a_log_from_before_is_known() -> Result<(), Missing> {
    for layout in LAYOUTS {
        let array = killed(layout);
        let log = array.path("log");
        fs::rename(&log, array.folder().join("log")).unwrap();
        fs::copy(array.folder().join("log before"), &log).unwrap();
        array.refused(&["serve", "aged", "--socket", "no.sock"], &["aged/log", "stale"]);
        array.refused(&["replace", "aged", "log"], &["not shut down", "--lose-writes"]);
        fs::rename(array.folder().join("log"), &log).unwrap();
        let served = array.serve(&[]);
        assert_eq!(blocks_kept(&served), 100, "{layout}");
    }
    Ok(())
}

pub fn a_log_that_is_not_needed_is_replaced_and_one_that_is_only_when_told_to()
-> Result<(), Missing> {
    for layout in LAYOUTS {
        let array = killed(layout);
        array.serve(&[]).terminate();
        fs::remove_file(array.path("log")).unwrap();
        array.refused(&["serve", "aged", "--socket", "no.sock"], &["missing", "replace DIR log"]);
        array.done(&["replace", "aged", "log"]);
        let served = array.serve(&[]);
        assert_eq!(blocks_kept(&served), 100, "{layout}");
        served.client().write(150 * BLOCK as u64, &[9; BLOCK]);
        served.kill();
        array.wait_until_free();
        fs::remove_file(array.path("log")).unwrap();
        array.refused(&["replace", "aged", "log"], &["not shut down", "--lose-writes"]);
        array.done(&["replace", "aged", "log", "--lose-writes"]);
        let served = array.serve(&[]);
        assert_eq!(blocks_kept(&served), 100, "{layout}: what was on the spindles");
        served.terminate();
        // What a redo record alone had of a stripe is missing.
        array.done(&["scrub", "aged"]);
        array.assert_scrubs_clean();

        // One that is whole, to another device.
        let other = array.folder().join("other log");
        let bytes = fs::metadata(array.path("log")).unwrap().len();
        fs::File::create(&other).unwrap().set_len(bytes).unwrap();
        array.done(&["replace", "aged", "log", "--with", other.to_str().unwrap()]);
        array.refused(
            &["replace", "aged", "log", "--with", other.to_str().unwrap()],
            &["is a device of this array already"],
        );
        assert_eq!(array.status()["condition"], "whole");
        assert_eq!(blocks_kept(&array.serve(&[])), 100, "{layout}");
    }
    Ok(())
}
