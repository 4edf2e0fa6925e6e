//! Lengths and attributes of files, names of volumes.

use strewn_alloc::{Aggregate, AggregateOptions};
use strewn_raid::{Parity, ParityGroup};
use strewn_volume::{
    FILE_ATTRIBUTE_BYTES, Fbn, FileId, MOST_NAME_BYTES, VolumeError, VolumeId, Volumes,
};

fn volumes() -> Volumes {
    let group = ParityGroup::new(Parity::RaidDp, 2, 256).unwrap();
    Volumes::new(Aggregate::new([group], AggregateOptions::default()).unwrap()).unwrap()
}

fn commit(volumes: &mut Volumes) {
    volumes.discard_plan();
    volumes.commit().unwrap();
}

#[test]
fn a_snapshot_and_a_clone_keep_the_length_and_the_attributes_of_their_time() {
    let mut volumes = volumes();
    let volume = volumes.create_volume(100).unwrap();
    volumes.begin(1).unwrap();
    let file = volumes.create_file(volume).unwrap();
    volumes.write(volume, file, Fbn(0)).unwrap();
    volumes.set_length(volume, file, 100).unwrap();
    volumes.set_attributes(volume, file, [1; FILE_ATTRIBUTE_BYTES]).unwrap();
    commit(&mut volumes);
    let snapshot = volumes.snapshot(volume).unwrap();
    let clone = volumes.clone_volume(volume, snapshot, 10).unwrap();

    volumes.begin(0).unwrap();
    volumes.set_length(volume, file, u64::MAX).unwrap();
    volumes.set_attributes(clone, file, [2; FILE_ATTRIBUTE_BYTES]).unwrap();
    commit(&mut volumes);
    let now = volumes.image(volume).unwrap();
    let then = volumes.image_of(volume, snapshot).unwrap();
    let cloned = volumes.image(clone).unwrap();
    assert_eq!([now, then, cloned].map(|image| image.length_of(file)), [u64::MAX, 100, 100]);
    let first = |image: strewn_volume::Image<'_>| image.attributes_of(file).map(|bytes| bytes[0]);
    assert_eq!([now, then, cloned].map(first), [Some(1), Some(1), Some(2)]);
    volumes.verify().unwrap();
}

#[test]
fn an_abandoned_consistency_point_leaves_lengths_as_they_were() {
    let mut volumes = volumes();
    let volume = volumes.create_volume(100).unwrap();
    volumes.begin(0).unwrap();
    let file = volumes.create_file(volume).unwrap();
    volumes.set_length(volume, file, 5).unwrap();
    commit(&mut volumes);
    volumes.begin(0).unwrap();
    volumes.set_length(volume, file, 6).unwrap();
    assert_eq!(volumes.image(volume).unwrap().length_of(file), 6);
    volumes.abandon().unwrap();
    assert_eq!(volumes.image(volume).unwrap().length_of(file), 5);
}

#[test]
fn what_is_not_there_or_not_open_is_refused() {
    let mut volumes = volumes();
    let volume = volumes.create_volume(100).unwrap();
    assert_eq!(volumes.set_length(volume, FileId(0), 1), Err(VolumeError::NoConsistencyPoint));
    volumes.begin(0).unwrap();
    let nothing = Err(VolumeError::NoSuchFile(volume, FileId(0)));
    assert_eq!(volumes.set_length(volume, FileId(0), 1), nothing);
    assert_eq!(volumes.set_attributes(volume, FileId(0), [1; FILE_ATTRIBUTE_BYTES]), nothing);
    let image = volumes.image(volume).unwrap();
    assert_eq!((image.length_of(FileId(0)), image.attributes_of(FileId(0))), (0, None));
    let open = Err(VolumeError::ConsistencyPointOpen);
    assert_eq!(volumes.set_volume_name(volume, Some("late")), open);
}

#[test]
fn a_name_leads_to_one_volume_until_it_is_renamed_or_destroyed() {
    let mut volumes = volumes();
    let (one, other) = (volumes.create_volume(10).unwrap(), volumes.create_volume(10).unwrap());
    volumes.set_volume_name(one, Some("one")).unwrap();
    assert_eq!(volumes.set_volume_name(other, Some("one")), Err(VolumeError::NameTaken(one)));
    assert_eq!(volumes.volume_name(other), Ok(None));
    assert_eq!(volumes.set_volume_name(one, Some("one")), Ok(()), "it has the name");
    volumes.set_volume_name(one, Some("first")).unwrap();
    assert_eq!((volumes.volume_named("one"), volumes.volume_named("first")), (None, Some(one)));
    volumes.set_volume_name(other, Some("one")).unwrap();

    let snapshot = volumes.snapshot(one).unwrap();
    let clone = volumes.clone_volume(one, snapshot, 10).unwrap();
    assert_eq!(volumes.volume_name(clone), Ok(None));
    volumes.destroy_volume(other).unwrap();
    volumes.verify().unwrap();
    assert_eq!(volumes.volume_named("one"), None);
    volumes.set_volume_name(clone, Some("one")).unwrap();
    volumes.set_volume_name(one, None).unwrap();
    assert_eq!(volumes.volume_named("first"), None);
    assert_eq!(volumes.volume_name(one), Ok(None));
    volumes.verify().unwrap();
}

#[test]
fn names_have_limits() {
    let mut volumes = volumes();
    let volume = volumes.create_volume(10).unwrap();
    let longest = "ä".repeat(MOST_NAME_BYTES / 2) + "x";
    volumes.set_volume_name(volume, Some(&longest)).unwrap();
    let longer = longest.clone() + "x";
    assert_eq!(volumes.set_volume_name(volume, Some(&longer)), Err(VolumeError::NameBytes(256)));
    assert_eq!(volumes.set_volume_name(volume, Some("")), Err(VolumeError::NameBytes(0)));
    assert_eq!(volumes.volume_name(volume), Ok(Some(&*longest)));
    let nothing = Err(VolumeError::NoSuchVolume(VolumeId(9)));
    assert_eq!(volumes.set_volume_name(VolumeId(9), Some("x")), nothing);
}
