//! The layout rule against the list of all 288,246 tracks.
#![allow(clippy::unwrap_used, dead_code)]

mod reference;

use reference::{angle_distance_rev, cheetah, tracks};

/// Angles agree when they differ by less than 1/200 revolution, 20 µs: six sectors.
const SAME_ANGLE_REV: f64 = 0.0015;

/// Inward of this cylinder the extraction's skews are irregular.
const LAST_REGULAR_CYLINDER: u32 = 20_200;

#[test]
fn tracks_lie_where_the_reference_has_them() {
    let Some(tracks) = tracks() else { return };
    let drive = cheetah();
    let (mut outer, mut all) = (Share::default(), Share::default());
    for track in &tracks {
        let location = drive.locate(track.first_lba);
        let placed = location.cylinder() == track.cylinder && location.head() == track.head;
        let off_rev = angle_distance_rev(location.angle.revolutions(), track.angle_rev);
        let turned = placed && off_rev < SAME_ANGLE_REV;
        all.count(placed, turned);
        if track.cylinder <= LAST_REGULAR_CYLINDER {
            outer.count(placed, turned);
        }
    }
    for (region, share) in [("outer zones", &outer), ("whole drive", &all)] {
        println!(
            "{region}: {} tracks, {:.3} % on the cylinder and head, {:.3} % at the angle too",
            share.tracks,
            100.0 * share.placed(),
            100.0 * share.turned()
        );
    }
    assert_eq!(all.tracks, 288_246);
    assert!(outer.placed() == 1.0 && all.placed() == 1.0);
    assert!(outer.turned() > 0.98, "{}", outer.turned());
    assert!(all.turned() > 0.97, "{}", all.turned());
}

#[derive(Default)]
struct Share {
    tracks: u32,
    placed: u32,
    turned: u32,
}

impl Share {
    fn count(&mut self, placed: bool, turned: bool) {
        self.tracks += 1;
        self.placed += u32::from(placed);
        self.turned += u32::from(turned);
    }

    fn placed(&self) -> f64 {
        f64::from(self.placed) / f64::from(self.tracks)
    }

    fn turned(&self) -> f64 {
        f64::from(self.turned) / f64::from(self.tracks)
    }
}
