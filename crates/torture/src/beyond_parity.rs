//! Reads from spindles with more faults than parity covers: each block is right or refused.

use std::collections::BTreeSet;

use strewn_base::BLOCK_SECTORS;

use crate::ScheduleKind;
use crate::harness::Harness;
use crate::host::NamedTarget;
use crate::incarnation::targets_of;
use crate::rng::SpreadDraws;
use crate::schedule::Schedule;
use crate::shadow::versions_of;
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Devices, SimulatedDevices};
use strewn_live::engine::{Answer, HostRequest, LiveArray, RequestError, RequestId};
use strewn_live::format::{FIRST_ROW_BLOCK, MemberState, ROW_BLOCKS, rows_of};
use strewn_live::restart::{
    RestartError, RestartOptions, restart_in_place, restart_write_anywhere,
};
use strewn_live::running::RunningArray;

/// The byte that spoils a range, if not zeros.
const GARBAGE: u8 = 0x5a;

impl Schedule {
    /// Spoils ranges on copies of the spindles, checksums included, and takes other spindles away, until parity does
    /// not cover it. Then starts the array and reads everything.
    pub(crate) fn read_beyond_parity(&mut self) -> Result<(), String> {
        // A write that a drive reported and never did is found by parity alone.
        let is_loud = !matches!(
            self.plan.kind,
            ScheduleKind::MisdirectedWrites | ScheduleKind::LostWrites | ScheduleKind::Everything
        );
        if !is_loud || !self.was_shut_down || self.rng.one_in(2) {
            return Ok(());
        }
        let mut devices = SimulatedDevices::new(self.seed, self.disks.clone());
        for device in &self.absent {
            devices.close(*device);
        }
        let Some(label) = self.label(&devices)? else { return Ok(()) };
        let mut present: Vec<DeviceIndex> = (0..)
            .map(DeviceIndex)
            .zip(&label.members)
            .filter(|(device, member)| {
                member.state == MemberState::Present
                    && !self.absent.contains(device)
                    && !self.stale.contains(device)
            })
            .map(|(device, _)| device)
            .collect();
        let lost = label.members.len() - present.len();
        let redundancy = usize::from(self.plan.layout.redundancy());
        let covered = redundancy.saturating_sub(lost);
        let rng = &mut self.rng;
        let mut taken = |count: usize| {
            let mut taken = BTreeSet::new();
            while taken.len() < count && present.len() > 1 {
                taken.insert(present.swap_remove(rng.within(0..present.len() as u64) as usize));
            }
            taken
        };
        let closed = taken(covered.min(1 + self.seed as usize % 2));
        let spoiled = taken(covered - closed.len() + 1);
        let sizes = spoiled.iter().map(|device| rows_of(label.device_blocks_of(device.0)));
        let rows = sizes.min().unwrap_or(0);
        if rows == 0 {
            return Ok(());
        }
        let first = rng.within(0..rows);
        let count = rng.spread(1..rows - first + 1);
        let range = |block: u64| block * BLOCK_BYTES as u64;
        let (offset, bytes) =
            (range(FIRST_ROW_BLOCK + first * ROW_BLOCKS), range(count * ROW_BLOCKS));
        for (number, device) in spoiled.iter().enumerate() {
            // One is zeros; the others are zeros or garbage.
            match number > 0 && rng.one_in(2) {
                false => devices.erase(*device, offset, bytes),
                true => devices.disk_mut(*device).write(offset, &vec![GARBAGE; bytes as usize]),
            }
        }
        for device in &closed {
            devices.close(*device);
        }
        self.trace(|| {
            format!("beyond parity: rows {first}.. ({count}) of {spoiled:?}, without {closed:?}")
        });
        let mut harness = Harness::new(devices, u64::MAX, Vec::new());
        let lun_sectors = self.plan.lun_sectors();
        let beginning = RestartOptions::new(label, lun_sectors);
        let read = match self.plan.config.clone() {
            ArrayConfig::WriteAnywhere(config) => {
                self.read_all(restart_write_anywhere(&mut harness, &beginning, &config))
            }
            ArrayConfig::InPlace(config) => {
                self.read_all(restart_in_place(&mut harness, &beginning, &config))
            }
        };
        read.map_err(|what| {
            format!(
                "with rows {first} to {} of {spoiled:?} spoiled, and without {closed:?}: {what}",
                first + count - 1
            )
        })?;
        harness.hung.map_or(Ok(()), |why| Err(format!("beyond parity it hangs: {why}")))
    }

    /// Reads all LUNs, in snapshots too, block by block. An array that does not start, or stops, has refused all of it.
    fn read_all<A: LiveArray>(
        &mut self,
        array: Result<RunningArray<&mut Harness, A>, RestartError>,
    ) -> Result<(), String> {
        let Ok(mut array) = array else { return Ok(()) };
        let inventory = array.inventory();
        let model = self.shadow.model_of(&inventory)?;
        for NamedTarget { name, target } in targets_of(&inventory) {
            let image = model.image(&name);
            for block in 0..image.sectors() / BLOCK_SECTORS {
                let sectors = block * BLOCK_SECTORS..(block + 1) * BLOCK_SECTORS;
                self.summary.beyond_parity += 1;
                match array.ask(RequestId(block), target, HostRequest::Read(sectors.clone())) {
                    Ok(Answer::Bytes(bytes)) => {
                        versions_of(sectors.start, &bytes)
                            .and_then(|found| image.check(sectors.start, &found))
                            .map_err(|what| format!("{name}: {what}"))?;
                    }
                    Err(RequestError::Stopped(_)) => return Ok(()),
                    Err(_) => self.summary.refused += 1,
                    Ok(answer) => return Err(format!("a read was answered {answer:?}")),
                }
            }
        }
        Ok(())
    }
}
