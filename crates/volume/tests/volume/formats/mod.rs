//! Stores that older versions of the format wrote: a root, and the pages that it leads to, each after its VBN and
//! length, without the zeros at its end.

use std::collections::HashMap;

use strewn_alloc::{Aggregate, AggregateOptions};
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{BlockSource, FILE_ATTRIBUTE_BYTES, Fbn, FileId, Image, METADATA_BYTES, Root};
use strewn_volume::{SnapshotId, VolumeId, Volumes};

type Pages = HashMap<Vbn, [u8; METADATA_BYTES]>;

fn group() -> ParityGroup {
    ParityGroup::new(Parity::RaidDp, 4, 256).unwrap()
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (taken, after) = rest.split_first_chunk::<N>().unwrap();
    *rest = after;
    *taken
}

fn stored(mut rest: &[u8]) -> ([u8; Root::BYTES], Pages) {
    let (root, mut pages) = (take(&mut rest), Pages::new());
    while !rest.is_empty() {
        let vbn = Vbn(u64::from_le_bytes(take(&mut rest)));
        let bytes = usize::from(u16::from_le_bytes(take(&mut rest)));
        let mut page = [0; METADATA_BYTES];
        page[..bytes].copy_from_slice(&rest[..bytes]);
        rest = &rest[bytes..];
        pages.insert(vbn, page);
    }
    (root, pages)
}

fn mount(root: &[u8; Root::BYTES], pages: &Pages) -> Volumes {
    let root = Root::from_bytes(root).unwrap();
    let read = |vbn: Vbn, bytes: &mut [u8; METADATA_BYTES]| {
        *bytes = *pages.get(&vbn).ok_or("never written")?;
        Ok::<(), &str>(())
    };
    Volumes::mount([group()], AggregateOptions::default(), &root, read).unwrap()
}

fn commit(volumes: &mut Volumes, pages: &mut Pages) -> [u8; Root::BYTES] {
    let plan = volumes.finish().unwrap();
    for (vbn, source) in plan.iter().flat_map(|tetris| volumes.aggregate().blocks_of(tetris)) {
        if let BlockSource::Metadata(page) = source {
            pages.insert(vbn, *volumes.metadata_page(page).unwrap());
        }
    }
    let root = volumes.root().unwrap().to_bytes();
    volumes.commit().unwrap();
    root
}

fn fbns(image: &Image<'_>, file: u64) -> Vec<u64> {
    image.blocks_from(FileId(file), Fbn(0)).map(|(fbn, _)| fbn.0).collect()
}

/// What is in the store of version 2: 70 blocks of which a snapshot has the old first ten, an empty file, scattered
/// blocks in another volume, a clone with twelve blocks of its own.
fn check(volumes: &Volumes) {
    volumes.verify().unwrap();
    assert!(volumes.ids().eq([0, 1, 2].map(VolumeId)));
    let [home, other, clone] = [0, 1, 2].map(|id| volumes.image(VolumeId(id)).unwrap());
    let snapshot = volumes.image_of(VolumeId(0), SnapshotId(1)).unwrap();
    assert!(home.files().eq([0, 1].map(FileId)));
    for image in [home, snapshot] {
        assert_eq!(fbns(&image, 0), Vec::from_iter(0..70));
    }
    let differ = |fbn| home.locate(FileId(0), Fbn(fbn)) != snapshot.locate(FileId(0), Fbn(fbn));
    assert!((0..70).all(|fbn| differ(fbn) == (fbn < 10)));
    assert_eq!(fbns(&other, 0), Vec::from_iter((0..8).map(|fbn| fbn << 13)));
    assert_eq!(fbns(&clone, 0), Vec::from_iter(0..72));
    assert_eq!(volumes.space_of(VolumeId(1)).unwrap().reserved, 5);
    assert_eq!(volumes.root().unwrap().application_bytes(), &[7; 32]);
}

#[test]
fn a_store_of_version_2_is_read_and_goes_on_as_one_of_version_3() {
    let (root, mut pages) = stored(include_bytes!("root-2.bin"));
    assert_eq!(&root[..8], b"STRWNVR2");
    let mut volumes = mount(&root, &pages);
    check(&volumes);
    let home = volumes.image(VolumeId(0)).unwrap();
    assert_eq!(home.length_of(FileId(0)), 0, "there were no lengths");
    assert_eq!(home.attributes_of(FileId(0)), Some(&[0; FILE_ATTRIBUTE_BYTES]));
    assert_eq!(volumes.volume_name(VolumeId(0)), Ok(None));

    volumes.set_volume_name(VolumeId(0), Some("home")).unwrap();
    volumes.begin(0).unwrap();
    volumes.set_length(VolumeId(0), FileId(0), 286_000).unwrap();
    let root = commit(&mut volumes, &mut pages);
    assert_eq!(&root[..8], b"STRWNVR3", "programs that would drop lengths and names refuse it");
    let volumes = mount(&root, &pages);
    check(&volumes);
    assert_eq!(volumes.volume_named("home"), Some(VolumeId(0)));
    assert_eq!(volumes.image(VolumeId(0)).unwrap().length_of(FileId(0)), 286_000);
}

#[test]
fn a_new_store_is_of_version_3() {
    let aggregate = Aggregate::new([group()], AggregateOptions::default()).unwrap();
    let mut volumes = Volumes::persistent(aggregate).unwrap();
    volumes.begin(0).unwrap();
    assert_eq!(&commit(&mut volumes, &mut Pages::new())[..8], b"STRWNVR3");
}
