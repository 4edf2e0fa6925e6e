//! Changes to volumes, LUNs and snapshots, drawn at random.

use strewn_base::{BLOCK_SECTORS, Rng};

use crate::model::Model;
use crate::rng::SpreadDraws;
use strewn_live::administration::{
    Change, FIRST_LUN_NAME, FIRST_VOLUME_NAME, LunName, SnapshotName, VolumeName,
};
use strewn_live::device::BLOCK_BYTES;

/// Few names, so that what is deleted comes again with the same name.
const VOLUME_NAMES: [&str; 4] = [FIRST_VOLUME_NAME, "a", "b", "c"];
const LUN_NAMES: [&str; 3] = [FIRST_LUN_NAME, "x", "y"];
const SNAPSHOT_NAMES: [&str; 3] = ["monday", "tuesday", "wednesday"];

/// Most LUNs, and most snapshots.
const MOST: usize = 5;

/// Most blocks of LUNs other than the first.
const MOST_BLOCKS: u64 = 300;

/// Draws a change; returns `None` if there is nothing for one of this kind. It may be one that must be refused.
pub(crate) fn draw_change(rng: &mut Rng, model: &Model) -> Option<Change> {
    let volumes: Vec<VolumeName> = model.volumes.keys().cloned().collect();
    let luns = model.luns();
    let snapshots: Vec<SnapshotName> = model.snapshots.iter().cloned().collect();
    let kind = match rng.within(0..16) {
        // There is enough already.
        4..=6 if luns.len() >= MOST => 14,
        9..=11 if snapshots.len() >= MOST => 13,
        12 if luns.len() >= MOST => 14,
        kind => kind,
    };
    let change = match kind {
        0 | 1 => {
            let volume = free_volume_name(rng, model)?;
            let bytes = Some(bytes(rng.spread(64..2 * MOST_BLOCKS)));
            Change::CreateVolume { volume, bytes, thin: !rng.one_in(3) }
        }
        2 | 3 => {
            let volume = rng.pick(&volumes).clone();
            let before = model.volumes[&volume].bytes / BLOCK_BYTES as u64;
            Change::ResizeVolume { volume, bytes: bytes(1 + rng.within(0..before + MOST_BLOCKS)) }
        }
        4..=6 => {
            let volume = rng.pick(&volumes).clone();
            let lun = named(LunName::new(volume, rng.pick::<&str>(&LUN_NAMES)));
            Change::CreateLun { lun, bytes: bytes(rng.spread(1..MOST_BLOCKS)) }
        }
        7 | 8 => {
            if luns.is_empty() {
                return None;
            }
            let lun = rng.pick(&luns).clone();
            let image = model.lun(&lun)?;
            let last = image.acknowledged.iter().rposition(|version| *version != 0);
            let end = last.map_or(1, |last| last as u64 / BLOCK_SECTORS + 1);
            let blocks = image.sectors() / BLOCK_SECTORS;
            let to = match rng.within(0..4) {
                0 => 1 + rng.within(0..blocks),
                1 => blocks + rng.spread(1..MOST_BLOCKS),
                _ => rng.within(end..blocks + 1),
            };
            Change::ResizeLun { lun, bytes: bytes(to) }
        }
        9..=11 => {
            let volume = rng.pick(&volumes).clone();
            let snapshot = named(SnapshotName::new(volume, rng.pick::<&str>(&SNAPSHOT_NAMES)));
            Change::TakeSnapshot { snapshot, taken_unix_seconds: 7 }
        }
        12 => {
            let volume = free_volume_name(rng, model)?;
            if snapshots.is_empty() {
                return None;
            }
            Change::CreateClone { volume, of: rng.pick(&snapshots).clone() }
        }
        13 => {
            if snapshots.is_empty() {
                return None;
            }
            Change::DeleteSnapshot { snapshot: rng.pick(&snapshots).clone() }
        }
        // A volume is dismantled piece by piece.
        _ => {
            let volume = rng.pick(&volumes).clone();
            let (luns, snapshots) = (model.luns_of(&volume), model.snapshots_of(&volume));
            match (luns.as_slice(), snapshots.as_slice()) {
                ([], []) => Change::DeleteVolume { volume },
                ([], all) => Change::DeleteSnapshot { snapshot: rng.pick(all).clone() },
                (all, _) => Change::DeleteLun { lun: rng.pick(all).clone() },
            }
        }
    };
    Some(change)
}

fn free_volume_name(rng: &mut Rng, model: &Model) -> Option<VolumeName> {
    let names = VOLUME_NAMES.map(|name| named(name.parse::<VolumeName>()));
    let free: Vec<VolumeName> =
        names.into_iter().filter(|name| !model.volumes.contains_key(name)).collect();
    (!free.is_empty()).then(|| rng.pick(&free).clone())
}

fn bytes(blocks: u64) -> u64 {
    blocks * BLOCK_BYTES as u64
}

/// A name that is valid.
fn named<T, E: std::fmt::Display>(name: Result<T, E>) -> T {
    name.unwrap_or_else(|error| unreachable!("a schedule names nothing so: {error}"))
}
