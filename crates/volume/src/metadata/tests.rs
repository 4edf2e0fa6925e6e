//! Damaged pages: found by their checksums, and where checksums are made to match, refused or harmless.

use std::collections::HashMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use strewn_alloc::{Aggregate, AggregateOptions};
use strewn_raid::{Parity, ParityGroup, Vbn};

use super::page::{METADATA_BYTES, PageBytes};
use super::{Damage, Root, VolumesMountError};
use crate::{BlockSource, Fbn, FileId, VolumeError, VolumeId, Volumes};

/// The pages and the root of a store.
#[derive(Clone)]
struct Stored {
    blocks: HashMap<Vbn, PageBytes>,
    root: Root,
}

fn group() -> ParityGroup {
    ParityGroup::new(Parity::RaidDp, 4, 1_024).unwrap()
}

fn options() -> AggregateOptions {
    AggregateOptions { delayed_frees: 20, ..Default::default() }
}

fn fbns(range: impl Iterator<Item = u64>) -> Vec<Fbn> {
    range.map(Fbn).collect()
}

static COMMITS: LazyLock<Vec<Stored>> = LazyLock::new(commits);
static LIVE_PAGES: LazyLock<Vec<Vbn>> = LazyLock::new(|| live_pages(&last()));

fn last() -> Stored {
    COMMITS[COMMITS.len() - 1].clone()
}

/// Writes blocks in a consistency point of its own, and keeps the pages of metadata.
fn commit(volumes: &mut Volumes, blocks: &mut HashMap<Vbn, PageBytes>) -> Root {
    let plan = volumes.finish().unwrap();
    for (vbn, source) in plan.iter().flat_map(|tetris| volumes.aggregate().blocks_of(tetris)) {
        if let BlockSource::Metadata(page) = source {
            blocks.insert(vbn, *volumes.metadata_page(page).unwrap());
        }
    }
    let root = volumes.root().unwrap().clone();
    volumes.commit().unwrap();
    root
}

/// A store with files, snapshots, clones, and deletions under way; the live pages of each of its commits, in order.
fn commits() -> Vec<Stored> {
    let aggregate = Aggregate::new([group()], options()).unwrap();
    let mut volumes = Volumes::persistent(aggregate).unwrap();
    let (one, other) = (volumes.create_volume(3_000).unwrap(), volumes.create_volume(90).unwrap());
    volumes.set_volume_name(one, Some("one of the volumes")).unwrap();
    volumes.set_volume_name(other, Some("other")).unwrap();
    let (mut blocks, mut commits) = (HashMap::new(), Vec::new());
    for turn in 0..6u64 {
        volumes.begin(300).unwrap();
        let file = match turn {
            0 => {
                volumes.create_file(other).unwrap();
                volumes.create_file(one).unwrap()
            }
            _ => FileId(0),
        };
        let stride = 1 + turn as usize * 3;
        volumes.write_all(one, file, &fbns((0..700).step_by(stride))).unwrap();
        volumes.write_all(other, file, &fbns((0..8).map(|fbn| fbn << (turn * 9)))).unwrap();
        volumes.set_length(one, file, turn * 1_000).unwrap();
        volumes.set_attributes(other, file, [turn as u8; 64]).unwrap();
        let root = commit(&mut volumes, &mut blocks);
        commits.push(Stored { blocks: blocks.clone(), root });
        volumes.snapshot(one).unwrap();
        match turn {
            1 => {
                let snapshot = volumes.snapshot(other).unwrap();
                volumes.clone_volume(other, snapshot, 200).unwrap();
            }
            3 => {
                let snapshot = volumes.snapshots(one).unwrap().nth(1).unwrap();
                volumes.delete_snapshot(one, snapshot).unwrap();
                volumes.destroy_volume(VolumeId(2)).unwrap();
                volumes.background_step(30).unwrap();
            }
            _ => {}
        }
    }
    commits
}

fn mount(stored: &Stored, checks: bool) -> Result<Volumes, VolumesMountError<&'static str>> {
    let read = |vbn: Vbn, bytes: &mut PageBytes| {
        *bytes = *stored.blocks.get(&vbn).ok_or("never written")?;
        Ok(())
    };
    Volumes::mount_with([group()], options(), &stored.root, read, checks)
}

/// The pages that the last root leads to.
fn live_pages(stored: &Stored) -> Vec<Vbn> {
    let volumes = mount(stored, true).unwrap();
    let metadata = volumes.metadata.as_ref().unwrap();
    let mut pages: Vec<Vbn> = metadata.pages().map(|(_, vbn)| vbn).collect();
    pages.sort_unstable();
    pages
}

/// Uses a store in every way: it may refuse, but not panic.
fn use_up(mut volumes: Volumes) {
    let ids: Vec<VolumeId> = volumes.ids().collect();
    let _ = volumes.begin(100);
    for id in &ids {
        let files: Vec<FileId> = volumes.image(*id).unwrap().files().collect();
        for file in files {
            let _ = volumes.write_all(*id, file, &fbns((0..50).step_by(7)));
            let _ = volumes.punch(*id, file, Fbn(3)..Fbn(40));
        }
        let _ = volumes.create_file(*id);
    }
    if volumes.finish().is_ok() {
        volumes.commit().unwrap();
    } else {
        volumes.abandon().unwrap();
    }
    for id in ids {
        let snapshots: Vec<_> = volumes.snapshots(id).unwrap().collect();
        for snapshot in snapshots {
            let _ = volumes.held_by_alone(id, snapshot);
            let _ = volumes.delete_snapshot(id, snapshot);
        }
    }
    while volumes.background_step(100).unwrap() > 0 {}
    let _ = volumes.begin(0);
    if volumes.finish().is_ok() {
        volumes.commit().unwrap();
    }
    let _ = volumes.space();
}

#[test]
fn each_commit_is_mounted_until_its_blocks_are_used_again() {
    let last = last();
    for stored in COMMITS.iter() {
        let mounted = mount(stored, true).unwrap();
        mounted.verify().unwrap();
        use_up(mounted);
        // The root of one commit, with the blocks of the last.
        let stale = mount(&Stored { root: stored.root.clone(), ..last.clone() }, true);
        match stale {
            Ok(mounted) => assert_eq!(mounted.verify(), Ok(())),
            Err(error) => assert!(
                matches!(error, VolumesMountError::Damaged(Damage::Checksum(..))),
                "{error}"
            ),
        }
    }
}

#[test]
fn other_groups_and_blocks_that_are_too_small_are_refused() {
    let stored = last();
    let read = |_: Vbn, _: &mut PageBytes| Err("not read");
    let other = ParityGroup::new(Parity::RaidDp, 4, 1_025).unwrap();
    for groups in [vec![], vec![other], vec![other, group()]] {
        let refused = Volumes::mount(groups, options(), &stored.root, read);
        assert_eq!(refused.err(), Some(VolumesMountError::OtherGroups));
    }
    // A group of the same data spindles and stripes, with another parity, alone and as one of several.
    let with = |parity| ParityGroup::new(parity, 4, 1_024).unwrap();
    for parity in [Parity::None, Parity::Raid4] {
        for groups in [vec![with(parity)], vec![with(parity), group()]] {
            let refused = Volumes::mount(groups, options(), &stored.root, read);
            assert_eq!(refused.err(), Some(VolumesMountError::OtherGroups), "{parity}");
        }
    }
    let large =
        AggregateOptions { block_size: strewn_alloc::BlockSize::new(8_192).unwrap(), ..options() };
    let refused = Volumes::mount([group()], large, &stored.root, read);
    let other_size = VolumesMountError::OtherBlockSize { stored: 4_096, given: 8_192 };
    assert_eq!(refused.err(), Some(other_size));
    let small =
        AggregateOptions { block_size: strewn_alloc::BlockSize::new(2_048).unwrap(), ..options() };
    assert!(Volumes::persistent(Aggregate::new([group()], small).unwrap()).is_err());
    let unread = Volumes::mount([group()], options(), &stored.root, read);
    assert!(matches!(unread.err(), Some(VolumesMountError::Read { error: "not read", .. })));
    // A group that the root does not know yet is added.
    let read = |vbn: Vbn, bytes: &mut PageBytes| {
        *bytes = *stored.blocks.get(&vbn).ok_or("never written")?;
        Ok::<(), &str>(())
    };
    let grown = Volumes::mount([group(), other], options(), &stored.root, read).unwrap();
    assert_eq!(grown.space().total, 4 * (1_024 + 1_025));
    grown.verify().unwrap();
}

/// The order of groups counts too, and each kind of parity is told from each other one.
#[test]
fn a_store_mounts_with_the_parity_that_it_was_written_with() {
    let kinds = [Parity::None, Parity::Raid4, Parity::RaidDp];
    let groups = |kinds: [Parity; 2]| kinds.map(|kind| ParityGroup::new(kind, 4, 1_024).unwrap());
    let pairs = || kinds.into_iter().flat_map(|first| kinds.map(|second| [first, second]));
    for written in pairs() {
        let aggregate = Aggregate::new(groups(written), options()).unwrap();
        let mut volumes = Volumes::persistent(aggregate).unwrap();
        volumes.begin(0).unwrap();
        let mut blocks = HashMap::new();
        let root = commit(&mut volumes, &mut blocks);
        let root = Root::from_bytes(&root.to_bytes()).unwrap();
        for given in pairs() {
            let read = |vbn: Vbn, bytes: &mut PageBytes| {
                *bytes = blocks[&vbn];
                Ok::<(), &str>(())
            };
            let mounted = Volumes::mount(groups(given), options(), &root, read);
            match mounted {
                Ok(_) => assert_eq!(given, written),
                Err(error) => {
                    assert_eq!(error, VolumesMountError::OtherGroups);
                    assert_ne!(given, written);
                }
            }
        }
    }
}

#[test]
fn regression_a_volume_of_more_numbers_than_memory_can_map() {
    let mut stored = last();
    let record = |bytes: &PageBytes| bytes[4] == 4 && bytes[5] == 0;
    let volumes = stored.blocks.values_mut().filter(|bytes| record(bytes));
    // The size is the second word after the header.
    volumes.for_each(|bytes| bytes[40..48].copy_from_slice(&((1u64 << 40) - 1).to_le_bytes()));
    // Where memory is virtual enough, the clone's numbers do not follow its origin's.
    assert!(matches!(mount(&stored, false), Err(VolumesMountError::Damaged(Damage::Volume(..)))));
}

#[test]
fn every_byte_of_a_root_counts() {
    let stored = last();
    let bytes = stored.root.to_bytes();
    assert_eq!(Root::from_bytes(&bytes).as_ref(), Ok(&stored.root));
    for byte in 0..Root::BYTES {
        let mut damaged = bytes;
        damaged[byte] ^= 1 << (byte % 8);
        assert!(Root::from_bytes(&damaged).is_err(), "byte {byte}");
    }
}

/// Bytes to change: a page by its share of all, where, to what.
type Change = (prop::sample::Index, usize, u8, bool);

fn change(stored: &mut Stored, pages: &[Vbn], changes: &[Change]) {
    for (page, at, byte, in_front) in changes {
        let bytes = stored.blocks.get_mut(page.get(pages)).unwrap();
        // Many pages are used only in front.
        let at = if *in_front { 32 + at % 160 } else { at % METADATA_BYTES };
        bytes[at] = *byte;
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let byte = prop_oneof![any::<u8>(), 0..16u8, Just(0xff)];
    prop::collection::vec((any::<prop::sample::Index>(), any::<usize>(), byte, any::<bool>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_damaged_page_is_found(changes in changes()) {
        let original = last();
        let mut stored = original.clone();
        let pages = &*LIVE_PAGES;
        change(&mut stored, pages, &changes);
        let is_changed = pages.iter().any(|vbn| stored.blocks[vbn] != original.blocks[vbn]);
        let found = mount(&stored, true);
        prop_assert_eq!(
            matches!(found, Err(VolumesMountError::Damaged(Damage::Checksum(..)))),
            is_changed
        );
    }

    #[test]
    fn what_matches_its_checksum_is_refused_or_harmless(changes in changes()) {
        let mut stored = last();
        let pages = &*LIVE_PAGES;
        change(&mut stored, pages, &changes);
        match mount(&stored, false) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(mounted) => {
                let verified = mounted.verify();
                use_up(mounted);
                if let Err(violation) = verified {
                    prop_assert!(!violation.to_string().is_empty());
                }
            }
        }
    }

    #[test]
    fn pages_in_each_other_s_place_are_found(
        one in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        let mut stored = last();
        let pages = &*LIVE_PAGES;
        let (one, other) = (*one.get(pages), *other.get(pages));
        let bytes = stored.blocks[&other];
        stored.blocks.insert(one, bytes);
        for checks in [true, false] {
            let error = mount(&stored, checks).err();
            let is_found = match checks {
                true => matches!(error, Some(VolumesMountError::Damaged(Damage::Checksum(..)))),
                false => matches!(error, Some(VolumesMountError::Damaged(_))),
            };
            prop_assert_eq!(is_found, one != other, "{:?}", error);
        }
    }
}

#[test]
fn the_root_carries_the_bytes_of_the_application() {
    let aggregate = Aggregate::new([group()], options()).unwrap();
    let mut volumes = Volumes::persistent(aggregate).unwrap();
    let mut blocks = HashMap::new();
    volumes.begin(0).unwrap();
    let root = commit(&mut volumes, &mut blocks);
    // What roots had there before applications could set any.
    assert_eq!(root.to_bytes()[92..124], [0; 32]);

    volumes.set_application_bytes([7; 32]).unwrap();
    volumes.begin(0).unwrap();
    volumes.abandon().unwrap();
    volumes.begin(0).unwrap();
    let root = Root::from_bytes(&commit(&mut volumes, &mut blocks).to_bytes()).unwrap();
    assert_eq!(root.application_bytes(), &[7; 32]);

    let mut mounted = mount(&Stored { blocks: blocks.clone(), root }, true).unwrap();
    mounted.begin(0).unwrap();
    mounted.finish().unwrap();
    assert_eq!(mounted.root().unwrap().application_bytes(), &[7; 32]);
    assert_eq!(mounted.set_application_bytes([8; 32]), Err(VolumeError::Finished));
    mounted.commit().unwrap();
    mounted.set_application_bytes([8; 32]).unwrap();
    assert_eq!(mounted.root().unwrap().application_bytes(), &[7; 32], "not committed yet");

    let aggregate = Aggregate::new([group()], options()).unwrap();
    let refused = Volumes::new(aggregate).unwrap().set_application_bytes([1; 32]);
    assert_eq!(refused, Err(VolumeError::NotPersistent));
}
