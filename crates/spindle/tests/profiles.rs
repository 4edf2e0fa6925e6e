//! Profiles that load, and the field that each broken one names.
#![allow(clippy::unwrap_used)]

use strewn_spindle::{Drive, Profile, ProfileError};

fn cheetah() -> Profile {
    Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap()
}

#[test]
fn every_shipped_profile_loads_under_its_own_name() {
    for name in Profile::shipped_names() {
        let profile = Profile::shipped(name).unwrap();
        assert_eq!(profile.name, name);
        assert_eq!(Drive::new(&profile).unwrap().capacity_sectors(), profile.capacity_sectors);
    }
    assert_eq!(Profile::shipped("no-such-drive"), None);
}

/// Each case: a name, how to break the Cheetah's profile, the field that is then wrong.
macro_rules! broken {
    ($($name:ident: $break:expr => $field:literal;)*) => {$(
        #[test]
        fn $name() {
            let mut profile = cheetah();
            let breaks: fn(&mut Profile) = $break;
            breaks(&mut profile);
            match Drive::new(&profile) {
                Err(ProfileError::Invalid { field, .. }) => assert_eq!(field, $field),
                other => panic!("{:?}", other.map(|drive| drive.name().to_owned())),
            }
        }
    )*};
}

broken! {
    a_drive_that_stands_still: |drive| drive.rpm = 0 => "rpm";
    no_heads: |drive| drive.heads = 0 => "heads";
    no_band: |drive| drive.band_cylinders = 0 => "band_cylinders";
    no_capacity: |drive| drive.capacity_sectors = 0 => "capacity_sectors";
    more_than_fits: |drive| drive.capacity_sectors += 2_000_000 => "capacity_sectors";
    less_than_its_zones: |drive| drive.capacity_sectors = 1_000_000 => "zone[1].first_lba";
    a_negative_delay: |drive| drive.head_switch_ms = -0.1 => "head_switch_ms";
    no_number: |drive| drive.overhead_ms.write_after_read = f64::NAN
        => "overhead_ms.write_after_read";
    no_seeks: |drive| drive.seek.clear() => "seek";
    no_shortest_seek: |drive| drive.seek[0].0 = 0 => "seek[0]";
    a_seek_curve_that_falls: |drive| drive.seek[300].1 = 1.0 => "seek[300]";
    seeks_out_of_order: |drive| drive.seek[7].0 = 3 => "seek[7]";
    no_zones: |drive| drive.zones.clear() => "zone";
    zones_that_overlap: |drive| drive.zones[1].first_cylinder -= 1 => "zone[1].first_cylinder";
    a_hole_between_zones: |drive| drive.zones[1].first_cylinder += 1 => "zone[1].first_cylinder";
    a_zone_inside_out: |drive| drive.zones[2].last_cylinder = 0 => "zone[2].last_cylinder";
    a_zone_too_full: |drive| drive.zones[3].first_lba += 1_000_000 => "zone[3].first_lba";
    no_sectors: |drive| drive.zones[0].sectors_per_track = 0 => "zone[0].sectors_per_track";
    a_skew_too_few: |drive| drive.zones[4].track_skew_rev.truncate(7) => "zone[4].track_skew_rev";
    a_skew_of_a_turn: |drive| drive.zones[4].turn_skew_rev[1] = 1.0 => "zone[4].turn_skew_rev";
    slips_out_of_order: |drive| drive.zones[0].slips.swap(0, 1) => "zone[0].slips[1]";
}

#[test]
fn unknown_fields_and_bad_toml_name_the_place() {
    for text in ["rpm = 15000\nrmp = 2\n", "rpm = \n"] {
        let error = Profile::from_toml(text, "my.toml").unwrap_err();
        assert!(error.to_string().contains("my.toml"), "{error}");
        assert!(matches!(error, ProfileError::Parse { .. }));
    }
    let error = Profile::from_path("no/such/file.toml".as_ref()).unwrap_err();
    assert!(error.to_string().contains("no/such/file.toml"));
}
