//! Data and holes by lseek.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use strewn_file::{Place, seek_extents};

#[test]
fn data_and_holes_of_a_sparse_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::create_new(directory.path().join("sparse")).unwrap();
    file.set_len(64 << 20).unwrap();
    file.write_all_at(&[1; 1 << 20], 16 << 20).unwrap();
    file.write_all_at(&[1], (48 << 20) + 5).unwrap();
    let mut seeker = seek_extents(&file, "sparse").unwrap();
    let extents: Vec<_> = seeker.by_ref().collect::<Result<_, _>>().unwrap();
    if seeker.is_all_data() {
        return;
    }
    assert_eq!(extents.len(), 2);
    assert_eq!((extents[0].offset, extents[0].bytes), (16 << 20, 1 << 20));
    assert!((extents[1].offset..extents[1].end()).contains(&((48 << 20) + 5)));
    assert!(extents.iter().all(|extent| extent.place == Place::Unknown));
}

#[test]
fn what_is_behind_the_length_at_first_is_left_out() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&[1; 8192], 0).unwrap();
    let seeker = seek_extents(&file, "growing").unwrap();
    file.write_all_at(&[1; 1 << 20], 8192).unwrap();
    let bytes: u64 = seeker.map(|extent| extent.unwrap().bytes).sum();
    assert_eq!(bytes, 8192);
    file.set_len(0).unwrap();
    let seeker = seek_extents(&file, "empty").unwrap();
    assert_eq!(seeker.count(), 0);
}

#[test]
fn a_file_that_is_cut_short_meanwhile_ends() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&[1; 1 << 20], 0).unwrap();
    let mut seeker = seek_extents(&file, "shrinking").unwrap();
    file.set_len(0).unwrap();
    assert!(seeker.next().is_none());
}
