//! Whether what an array is to hold has room: files, other data, what volumes reserve, and snapshots.

use super::WriteAnywhere;
use crate::array::Array;
use crate::fields::Section;
use crate::lun::Lun;
use crate::quantity::Bytes;
use crate::volume::{Volume, VolumeLuns, reserved_bytes};

impl WriteAnywhere {
    /// Returns how much of all LUNs of `array` it can have at most, in bytes.
    pub(super) fn stored_bytes(&self, array: &Array) -> u64 {
        match array.volumes.is_empty() {
            true => array.lun_bytes(),
            // LUNs of thin volumes may be larger than the array.
            false => array.lun_bytes().min(self.usable().0),
        }
    }

    /// Notes a problem if what is laid out of the LUNs before the run has no room. `root` is the scenario's.
    pub(super) fn check_laid_out(
        &self,
        root: &Section<'_>,
        array: &Array,
        laid_out_of: &dyn Fn(&Lun) -> u64,
    ) {
        if let Some((key, message, help)) = self.promises_problem(array, laid_out_of) {
            root.problem_within(&format!("array[{}]", array.name), &key, message, help);
        }
        let file_bytes = array.luns.iter().map(laid_out_of).sum();
        if let Some((message, help)) = self.other_data_problem(array, file_bytes) {
            root.problem_within("workload", "file", message, help);
        }
    }

    /// Returns a sentence for each thing that may come to have too little room.
    pub(super) fn room_warnings(
        &self,
        array: &Array,
        file_bytes_of: &dyn Fn(&Lun) -> u64,
    ) -> Vec<String> {
        let file_bytes = array.luns.iter().map(file_bytes_of).sum();
        let full = self.roomy_percent(array, file_bytes).map(|roomy| {
            format!(
                "array[{}].write_anywhere.other_data leaves so little room that writes wait for it: with full_percent = \
                 {:.1} none does",
                array.name,
                (roomy * 10.0).floor() / 10.0
            )
        });
        let held = self.snapshots_may_exceed(array, file_bytes_of).map(|(held, left)| {
            format!(
                "array[{}].{} can come to hold {} if the file is overwritten in full between any two, \
                 and the aggregate has {} for them: snapshots or writes are then refused",
                array.name,
                match array.volumes.iter().any(|volume| volume.snapshots.is_some()) {
                    true => "volume.snapshots",
                    false => "write_anywhere.snapshots",
                },
                Bytes(held).approximately(),
                Bytes(left).approximately()
            )
        });
        let thin = self.volumes_may_exceed(array).map(|(held, usable)| {
            format!(
                "array[{}].volume: the volumes may come to hold {}, and the array's usable capacity is {}, the reserve \
                 aside: once they hold that, writes to thin volumes are refused",
                array.name,
                Bytes(held).approximately(),
                Bytes(usable).approximately()
            )
        });
        full.into_iter().chain(held).chain(thin).collect()
    }

    /// Returns why a file of `file_bytes` and the array's other data do not fit together, with a
    /// remedy; `None` if they do.
    fn other_data_problem(&self, array: &Array, file_bytes: u64) -> Option<(String, String)> {
        let other = self.other_data?;
        // Most metadata is indirect blocks, one per 510 blocks. A hundredth is five times that.
        let metadata_bytes = file_bytes as f64 / 100.0;
        let usable = self.usable().0 as f64;
        let filled_percent = 100.0 * (file_bytes as f64 + metadata_bytes) / usable;
        if other.full_percent < filled_percent {
            return Some((
                format!(
                    "with its metadata the file alone may fill {filled_percent:.1} % of `{}`, which other data is to \
                     make {} % full",
                    array.name, other.full_percent
                ),
                "give a smaller file, or a larger full_percent".to_owned(),
            ));
        }
        let most_percent = self.full_percent_beside(metadata_bytes);
        (other.full_percent > most_percent).then(|| {
            (
                format!(
                    "other data that makes `{}` {} % full leaves no room for what is overwritten",
                    array.name, other.full_percent
                ),
                format!(
                    "give a full_percent of at most {:.1}",
                    (most_percent.max(0.0) * 10.0).floor() / 10.0
                ),
            )
        })
    }

    /// Returns how full other data may make the array's aggregate so that no write waits for room, if it makes it
    /// fuller.
    fn roomy_percent(&self, array: &Array, file_bytes: u64) -> Option<f64> {
        let held_back = self.stored_bytes(array) as f64 * self.delayed_free_percent / 100.0;
        let dirty = 2.0 * self.buffer_cache_bytes as f64;
        let roomy = self.full_percent_beside(file_bytes as f64 / 100.0 + dirty + held_back);
        (self.other_data?.full_percent > roomy).then_some(roomy)
    }
    /// Returns the bytes that snapshots can come to hold and the bytes that the aggregate has left for them, if those
    /// are fewer: each snapshot, and one more that is being deleted, may hold a whole file that has been overwritten
    /// since.
    fn snapshots_may_exceed(
        &self,
        array: &Array,
        file_bytes_of: impl Fn(&Lun) -> u64,
    ) -> Option<(u64, u64)> {
        let held_by = |part: &VolumeLuns<'_>| {
            let kept = u64::from(array.snapshots_of(part)?.keep) + 1;
            let file_bytes: u64 = part.luns.iter().map(|lun| file_bytes_of(lun)).sum();
            // Most metadata is indirect blocks, one per 510 blocks.
            Some((file_bytes + file_bytes / 500).saturating_mul(kept))
        };
        let parts = array.luns_by_volume();
        let held_bytes =
            parts.iter().filter_map(held_by).reduce(|sum, held| sum.saturating_add(held))?;
        let file_bytes = array.luns.iter().map(&file_bytes_of).sum();
        let (usable, _) = self.usable();
        let other = self.other_data.map_or(0.0, |other| usable as f64 * other.full_percent / 100.0);
        let left_bytes = usable.saturating_sub((other as u64).max(file_bytes));
        (held_bytes > left_bytes).then_some((held_bytes, left_bytes))
    }

    /// Returns why what is laid out before the run, with what thick volumes reserve beside it, or with their first
    /// snapshots, does not fit the aggregate: the key of the array that is wrong, the message and a remedy.
    /// `laid_out_of` is what is laid out of a LUN, in bytes.
    fn promises_problem(
        &self,
        array: &Array,
        laid_out_of: impl Fn(&Lun) -> u64,
    ) -> Option<(String, String, String)> {
        if array.volumes.is_empty() {
            return None;
        }
        let parts = array.luns_by_volume();
        let laid_out = |part: &VolumeLuns<'_>| -> u64 {
            part.luns.iter().fold(0, |sum, lun| sum.saturating_add(laid_out_of(lun)))
        };
        let all: u64 = parts.iter().fold(0, |sum, part| sum.saturating_add(laid_out(part)));
        let beside: u64 = parts
            .iter()
            .map(|part| part.reserved_bytes().saturating_sub(laid_out(part)))
            .fold(0, u64::saturating_add);
        let (usable, how) = self.usable();
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
            self.other_data.map_or(0.0, |other| usable as f64 * other.full_percent / 100.0);
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
            !part.is_thin() && array.snapshots_of(part).is_some() && laid_out(part) > left
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
    fn volumes_may_exceed(&self, array: &Array) -> Option<(u64, u64)> {
        let parts = array.luns_by_volume();
        let held = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.bytes()));
        let (usable, _) = self.usable();
        (parts.iter().any(VolumeLuns::is_thin) && held > usable).then_some((held, usable))
    }
}
