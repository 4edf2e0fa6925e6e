//! Logical volumes of LVM, from a listing written after `lvs` of 2.03: real ones have this form.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strewn_file::{LogicalVolume, Piece, Place, VolumeListing, is_volume_listing, listed_device};

const LVS: &str = include_str!("data/lvs.json");
/// Bytes of an extent.
const EXTENT: u64 = 4 << 20;

fn parts(text: &str, path: &str) -> Vec<LogicalVolume> {
    VolumeListing::parse("lvs.json", text).unwrap().volume(path, &listed_device).unwrap()
}

/// The pieces of the first `bytes` of each extent.
fn pieces(volume: &LogicalVolume, bytes: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for extent in &volume.extents {
        let at = extent.place.address().unwrap();
        assert_eq!(volume.space.read(at, bytes, &mut pieces), 0);
    }
    pieces
}

#[test]
fn segments_are_extents_on_physical_volumes() {
    for path in ["/dev/data/vm", "data/vm", "/dev/mapper/data-vm"] {
        let [volume] = parts(LVS, path).try_into().unwrap();
        assert_eq!((volume.name.as_str(), volume.bytes), ("/dev/data/vm", 448 * EXTENT));
        let offsets: Vec<u64> =
            volume.extents.iter().map(|extent| extent.offset / EXTENT).collect();
        assert_eq!(offsets, [0, 256, 320]);
        let piece = |device, extent: u64| Piece { device, byte: extent * EXTENT, bytes: 4096 };
        assert_eq!(pieces(&volume, 4096), [piece(0, 1024), piece(0, 0), piece(1, 0)]);
        let devices: Vec<&str> =
            volume.space.devices().iter().map(|device| device.name.as_str()).collect();
        assert_eq!(devices, ["/dev/sda2", "/dev/sdb1"]);
    }
}

#[test]
fn stripes_alternate_between_physical_volumes() {
    let [volume] = parts(LVS, "/dev/mapper/data-fast--0").try_into().unwrap();
    assert_eq!((volume.extents.len(), volume.bytes), (1, 26 * EXTENT));
    let piece = |device, byte: u64| Piece { device, byte, bytes: 65536 };
    let expected =
        [piece(0, 2000 * EXTENT), piece(1, 500 * EXTENT), piece(0, 2000 * EXTENT + 65536)];
    assert_eq!(pieces(&volume, 3 * 65536), expected);
}

#[test]
fn what_lies_on_volumes_is_shown_by_its_parts() {
    let images = parts(LVS, "/dev/data/safe");
    let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
    assert_eq!(names, ["/dev/data/safe (safe_rimage_0)", "/dev/data/safe (safe_rimage_1)"]);
    assert_eq!((images[0].extents.len(), images[1].extents.len()), (1, 2));
    assert_eq!(parts(LVS, "data/pool")[0].name, "/dev/data/pool (pool_tdata)");
    let listing = VolumeListing::parse("lvs.json", LVS).unwrap();
    assert_eq!(listing.paths().len(), 5);
    let thin = listing.volume("data/thin", &listed_device).unwrap_err().to_string();
    assert!(
        thin.contains("of thin volumes LVM does not say") && thin.contains("its pool"),
        "{thin}"
    );
    // Without -a the images are not listed, and would be taken for devices: their names tell.
    let missing = listing.volume("data/none", &listed_device).unwrap_err().to_string();
    assert!(missing.contains("data/none") && missing.contains("/dev/data/vm"), "{missing}");
    // A device is missing: it is one of its own.
    let lost = LVS.replace("/dev/sdb1:0-127", "unknown device:0-127");
    assert_eq!(parts(&lost, "data/vm")[0].space.devices()[1].name, "unknown device");
}

/// A RAID of so many images, each in one piece of a device of its own, at extents 100, 200, …
fn raid(kind: &str, images: usize) -> String {
    let row = |name: &str, kind: &str, extents: u64, ranges: &str| {
        format!(
            "{{\"vg_name\":\"v\",\"lv_name\":\"{name}\",\"lv_path\":\"\",\"vg_extent_size\":\"4194304\",\"segtype\":\"{kind}\",\
             \"stripe_size\":\"65536\",\"seg_start_pe\":\"0\",\"seg_size_pe\":\"{extents}\",\"seg_pe_ranges\":\"{ranges}\"}}"
        )
    };
    let areas: Vec<String> = (0..images).map(|image| format!("r_rimage_{image}:0-9")).collect();
    let mut rows = vec![row("r", kind, 20, &areas.join(" "))];
    rows.extend((0..images).map(|image| {
        let first = 100 * (image + 1);
        row(
            &format!("[r_rimage_{image}]"),
            "linear",
            10,
            &format!("/dev/s{image}:{first}-{}", first + 9),
        )
    }));
    format!("{{\"report\": [{{\"lv\": [{}]}}]}}", rows.join(","))
}

#[test]
fn data_of_raid_5_and_6_lie_where_the_layout_has_them() {
    // By hand, after the comments of md: a line for each stripe, and in it what each device has.
    let layouts: [(&[&str], &str); 9] = [
        (&["raid5", "raid5_ls"], "0 1 2 P/ 4 5 P 3/ 8 P 6 7/ P 9 10 11/ 12 13 14 P"),
        (&["raid5_la"], "0 1 2 P/ 3 4 P 5/ 6 P 7 8/ P 9 10 11/ 12 13 14 P"),
        (&["raid5_rs"], "P 0 1 2/ 5 P 3 4/ 7 8 P 6/ 9 10 11 P/ P 12 13 14"),
        (&["raid5_ra"], "P 0 1 2/ 3 P 4 5/ 6 7 P 8/ 9 10 11 P/ P 12 13 14"),
        (&["raid5_n"], "0 1 2 P/ 3 4 5 P/ 6 7 8 P"),
        (
            &["raid6", "raid6_zr"],
            "P Q 0 1 2/ 3 P Q 4 5/ 6 7 P Q 8/ 9 10 11 P Q/ Q 12 13 14 P/ P Q 15 16 17",
        ),
        (&["raid6_nr"], "0 1 2 P Q/ 3 4 P Q 5/ 6 P Q 7 8/ P Q 9 10 11/ Q 12 13 14 P/ 15 16 17 P Q"),
        (&["raid6_nc"], "0 1 2 Q P/ 4 5 Q P 3/ 8 Q P 6 7/ Q P 9 10 11/ P 12 13 14 Q/ 15 16 17 Q P"),
        (&["raid6_n_6"], "0 1 2 P Q/ 3 4 5 P Q"),
    ];
    for (kinds, layout) in layouts {
        let rows: Vec<Vec<&str>> =
            layout.split('/').map(|row| row.split_whitespace().collect()).collect();
        for kind in kinds {
            let [volume] = parts(&raid(kind, rows[0].len()), "v/r").try_into().unwrap();
            assert_eq!((volume.extents.len(), volume.bytes), (1, 20 * EXTENT), "{kind}");
            assert!(volume.notes.concat().contains("parity is not counted"), "{kind}");
            for (stripe, row) in (0u64..).zip(&rows) {
                for (device, unit) in (0u16..).zip(row) {
                    let Ok(unit) = unit.parse::<u64>() else { continue };
                    let mut address = volume.extents[0].place.address().unwrap();
                    address.byte += unit * 65536 + 512;
                    let mut found = Vec::new();
                    assert_eq!(volume.space.read(address, 4096, &mut found), 0);
                    let first = 100 * (u64::from(device) + 1) * EXTENT;
                    let byte = first + stripe * 65536 + 512;
                    assert_eq!(found, [Piece { device, byte, bytes: 4096 }], "{kind}: {unit}");
                }
            }
        }
    }
}

#[test]
fn a_raid_whose_place_is_not_known_is_shown_by_its_images() {
    // An image in two pieces, a layout of another kind, and too few images.
    let whole = raid("raid5", 3);
    let image = whole.find("{\"vg_name\":\"v\",\"lv_name\":\"[r_rimage_2]").unwrap();
    let piece = &whole[image..image + whole[image..].find('}').unwrap() + 1];
    let second = piece.replace("\"seg_start_pe\":\"0\"", "\"seg_start_pe\":\"10\"");
    let two_pieces =
        whole.replace(piece, &format!("{piece},{}", second.replace(":300-309", ":400-409")));
    for list in [two_pieces, raid("raid4", 3), raid("raid6_ls_6", 5), raid("raid6", 2)] {
        let parts = parts(&list, "v/r");
        assert!(parts.len() > 1 && parts.iter().all(|part| part.name.contains("rimage")));
    }
}

#[test]
fn listings_of_other_versions_are_the_same() {
    let whole = |text: &str| {
        let volume = parts(text, "data/vm").remove(0);
        (volume.bytes, volume.extents)
    };
    assert!(is_volume_listing(LVS));
    let numbers = LVS.replace("\"4194304\"", "4194304").replace("\"256\"", "256");
    let units = LVS.replace("\"4194304\"", "\"4.00m\"");
    let localised = LVS.replace("\"4194304\"", "\"4,00m\"");
    let warned = format!("  WARNING: VG name is used twice.\n{LVS}");
    for text in [&numbers, &units, &localised, &warned, &LVS.replace('\n', "\r\n")] {
        assert!(is_volume_listing(text));
        assert_eq!(whole(text), whole(LVS));
    }
}

#[test]
fn what_is_not_understood_is_named() {
    let refused = |text: &str, fragments: &[&str]| {
        let error = VolumeListing::parse("lvs.json", text).unwrap_err().to_string();
        for fragment in fragments.iter().chain(&["lvs -a --segments"]) {
            assert!(error.contains(fragment), "no {fragment:?} in {error}");
        }
    };
    refused(&LVS[..LVS.len() / 2], &["the listing breaks off"]);
    refused("{\"report\": []}", &["no segment of a volume"]);
    let row = "row 1, volume data/vm: ";
    refused(&LVS.replace("vg_extent_size", "x"), &[row, "no column vg_extent_size"]);
    refused(&LVS.replace("4194304", "<4.00m"), &[row, "\"<4.00m\", which is no size"]);
    refused(&LVS.replace("1024-1279", "1024"), &[row, "not DEVICE:FIRST-LAST"]);
    refused(&LVS.replace("\"256\", \"seg_pe", "\"many\", \"seg_pe"), &[row, "\"many\""]);
}

proptest! {
    #[test]
    fn damaged_listings_do_not_panic(
        cut in any::<prop::sample::Index>(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cuts in any::<bool>(),
    ) {
        let mut bytes = LVS.as_bytes().to_vec();
        if cuts {
            bytes.truncate(cut.index(LVS.len()));
        }
        for (index, byte) in edits.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            let at = index.index(bytes.len());
            bytes[at] = *byte;
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(listing) = VolumeListing::parse("lvs.json", &text) {
            for path in listing.paths() {
                for volume in listing.volume(&path, &listed_device).into_iter().flatten() {
                    for extent in volume.extents.iter().filter(|one| one.place != Place::Unknown) {
                        let at = extent.place.address().unwrap();
                        volume.space.read(at, extent.bytes.min(1 << 20), &mut Vec::new());
                    }
                }
            }
        }
    }
}
