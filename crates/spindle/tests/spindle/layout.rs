//! The layout against the reference's list of all 288,246 tracks.

use crate::reference::{cheetah, tracks};

/// Angles agree when they differ by less than 0.0015 revolution: 6 µs, or two sectors of an outer track.
const SAME_ANGLE_REV: f64 = 0.0015;

/// Inward of this cylinder the extraction's skews are irregular.
const LAST_REGULAR_CYLINDER: u32 = 20_200;

#[test]
fn tracks_lie_where_the_reference_has_them() {
    let tracks = tracks();
    let drive = cheetah();
    let (mut outer, mut all) = (Agreement::default(), Agreement::default());
    for track in &tracks {
        let location = drive.locate(track.first_lba);
        let placed = location.cylinder() == track.cylinder && location.head() == track.head;
        let off_rev = angle_distance_rev(location.angle.revolutions(), track.angle_rev);
        let aligned = placed && off_rev < SAME_ANGLE_REV;
        all.count(placed, aligned);
        if track.cylinder <= LAST_REGULAR_CYLINDER {
            outer.count(placed, aligned);
        }
    }
    for (region, agreement) in [("outer zones", &outer), ("whole drive", &all)] {
        println!(
            "{region}: {} tracks, {:.3} % on the cylinder and head, {:.3} % at the angle too",
            agreement.tracks,
            100.0 * agreement.placed(),
            100.0 * agreement.aligned()
        );
    }
    assert_eq!(all.tracks, 288_246);
    assert!(outer.placed() == 1.0 && all.placed() == 1.0);
    assert!(outer.aligned() > 0.98, "{}", outer.aligned());
    assert!(all.aligned() > 0.97, "{}", all.aligned());
}

/// Distance between two angles, in revolutions, the short way round.
fn angle_distance_rev(one: f64, other: f64) -> f64 {
    let difference = (one - other).rem_euclid(1.0);
    difference.min(1.0 - difference)
}

/// How many tracks agree.
#[derive(Default)]
struct Agreement {
    tracks: u32,
    placed: u32,
    aligned: u32,
}

impl Agreement {
    fn count(&mut self, placed: bool, aligned: bool) {
        self.tracks += 1;
        self.placed += u32::from(placed);
        self.aligned += u32::from(aligned);
    }

    fn placed(&self) -> f64 {
        f64::from(self.placed) / f64::from(self.tracks)
    }

    fn aligned(&self) -> f64 {
        f64::from(self.aligned) / f64::from(self.tracks)
    }
}
