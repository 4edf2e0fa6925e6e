//! What an array's volumes hold and reserve together.

use crate::array::Array;
use crate::lun::Lun;
use crate::quantity::Bytes;
use crate::snapshots::SnapshotSchedule;
use crate::volume::{Volume, VolumeLuns, by_volume, reserved_bytes};

impl Array {
    /// Returns the LUNs by volume, in the order of the first LUN of each: the order in which the array numbers both.
    /// All LUNs of an array in place are in one.
    #[must_use]
    pub fn luns_by_volume(&self) -> Vec<VolumeLuns<'_>> {
        by_volume(&self.luns, &self.volumes)
    }

    /// Returns the schedule of a volume's snapshots: its own, or that of the array.
    #[must_use]
    pub fn snapshots_of(&self, volume: &VolumeLuns<'_>) -> Option<SnapshotSchedule> {
        let layout = self.layout.write_anywhere()?;
        volume.described.and_then(|volume| volume.snapshots).or(layout.snapshots)
    }

    /// Returns the schedules, each with the volumes whose snapshots it takes together, numbered as in
    /// [`luns_by_volume`](Self::luns_by_volume): that of the array first.
    #[must_use]
    pub fn snapshot_schedules(&self) -> Vec<(SnapshotSchedule, Vec<usize>)> {
        let Some(layout) = self.layout.write_anywhere() else { return Vec::new() };
        let parts = self.luns_by_volume();
        let own = |part: &VolumeLuns<'_>| part.described.and_then(|volume| volume.snapshots);
        let others = || parts.iter().enumerate().filter(|(_, part)| own(part).is_none());
        let of_array = layout.snapshots.map(|one| (one, others().map(|(at, _)| at).collect()));
        let of_volumes = parts.iter().enumerate();
        let of_volumes = of_volumes.filter_map(|(at, part)| Some((own(part)?, vec![at])));
        of_array
            .filter(|(_, of): &(_, Vec<usize>)| !of.is_empty())
            .into_iter()
            .chain(of_volumes)
            .collect()
    }

    /// Returns why what is laid out before the run, with what thick volumes reserve beside it, or with their first
    /// snapshots, does not fit the aggregate: the key of the array that is wrong, the message and a remedy.
    /// `laid_out_of` is what is laid out of a LUN, in bytes.
    pub(crate) fn promises_problem(
        &self,
        laid_out_of: impl Fn(&Lun) -> u64,
    ) -> Option<(String, String, String)> {
        let layout = self.layout.write_anywhere().filter(|_| !self.volumes.is_empty())?;
        let parts = self.luns_by_volume();
        let laid_out = |part: &VolumeLuns<'_>| -> u64 {
            part.luns.iter().fold(0, |sum, lun| sum.saturating_add(laid_out_of(lun)))
        };
        let all: u64 = parts.iter().fold(0, |sum, part| sum.saturating_add(laid_out(part)));
        let beside: u64 = parts
            .iter()
            .map(|part| part.reserved_bytes().saturating_sub(laid_out(part)))
            .fold(0, u64::saturating_add);
        let (usable, how) = layout.usable();
        if reserved_bytes(&parts) > usable {
            // That is a problem by itself.
            return None;
        }
        if all.saturating_add(beside) > usable {
            let what = match beside {
                0 => String::new(),
                beside => format!(
                    " with the {} that thick volumes reserve beside it",
                    Bytes(beside).approximately()
                ),
            };
            return Some((
                "lun".to_owned(),
                format!(
                    "{} are laid out before the run, which{what} is more than the array's usable {}",
                    Bytes(all).approximately(),
                    Bytes(usable).approximately()
                ),
                format!(
                    "write a smaller laid_out in LUNs of thin volumes, or give a larger array: it has {how}"
                ),
            ));
        }
        let of_other =
            layout.other_data.map_or(0.0, |other| usable as f64 * other.full_percent / 100.0);
        let used = all.max(of_other as u64);
        if used.saturating_add(beside) > usable {
            let most = 100.0 * usable.saturating_sub(beside) as f64 / usable as f64;
            return Some((
                "write_anywhere".to_owned(),
                format!(
                    "other data leaves {}, and thick volumes reserve {} beside what is laid out",
                    Bytes(usable.saturating_sub(used)).approximately(),
                    Bytes(beside).approximately()
                ),
                format!(
                    "give a full_percent of at most {:.1}, or make volumes thin: they reserve nothing",
                    (most * 10.0).floor() / 10.0
                ),
            ));
        }
        let left = usable - used - beside;
        let cannot = |part: &&VolumeLuns<'_>| {
            !part.is_thin() && self.snapshots_of(part).is_some() && laid_out(part) > left
        };
        let part = parts.iter().find(cannot)?;
        let name = part.name.unwrap_or_default();
        Some((
            match part.described {
                Some(_) => format!("{}[{name}]", Volume::KEY),
                None => "lun".to_owned(),
            },
            format!(
                "no snapshot of volume `{name}` fits: one needs room to overwrite the {} that are laid out, and {} are left",
                Bytes(laid_out(part)).approximately(),
                Bytes(left).approximately()
            ),
            "leave `snapshots` out, make the volume thin, or give less to others".to_owned(),
        ))
    }

    /// Returns the bytes that all volumes may come to hold and those that the array has for them, if those are fewer:
    /// thin volumes may then run out of space.
    pub(crate) fn volumes_may_exceed(&self) -> Option<(u64, u64)> {
        let layout = self.layout.write_anywhere()?;
        let parts = self.luns_by_volume();
        let held = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.bytes()));
        let (usable, _) = layout.usable();
        (parts.iter().any(VolumeLuns::is_thin) && held > usable).then_some((held, usable))
    }
}
