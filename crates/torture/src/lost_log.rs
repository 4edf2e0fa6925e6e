//! Starts after all devices of the log have lost records: refused, unless nothing that was acknowledged is gone.

use crate::end::End;
use crate::harness::Harness;
use crate::host::NamedTarget;
use crate::incarnation::targets_of;
use crate::schedule::Schedule;
use crate::shadow::versions_of;
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{DeviceIndex, Devices, SimulatedDevices};
use strewn_live::engine::{Answer, HostRequest, LiveArray, RequestId};
use strewn_live::restart::{
    RestartError, RestartOptions, restart_in_place, restart_write_anywhere,
};
use strewn_live::running::RunningArray;

impl Schedule {
    /// After a crash, erases halves of the log on a copy of the devices, on both devices of a mirrored log, and starts
    /// the array.
    pub(crate) fn start_without_log(&mut self, end: End) -> Result<(), String> {
        if end != End::Crash || self.rng.one_in(2) {
            return Ok(());
        }
        let mut devices = SimulatedDevices::new(self.seed, self.disks.clone());
        for device in &self.absent {
            devices.close(*device);
        }
        let Some(label) = self.label(&devices)? else { return Ok(()) };
        let layout = label.log_layout();
        let [first, second] = layout.halves();
        let erased = self.rng.pick(&[vec![first], vec![second], vec![first, second]]).clone();
        for log in self.plan.spindles()..devices.count() {
            for half in &erased {
                devices.erase(DeviceIndex(log), *half, layout.half_bytes());
            }
        }
        let mut harness = Harness::new(devices, u64::MAX, Vec::new());
        let lun_sectors = self.plan.lun_sectors();
        let beginning = RestartOptions::new(label, lun_sectors);
        let started = match self.plan.config.clone() {
            ArrayConfig::WriteAnywhere(config) => {
                self.check_acknowledged(restart_write_anywhere(&mut harness, &beginning, &config))
            }
            ArrayConfig::InPlace(config) => {
                self.check_acknowledged(restart_in_place(&mut harness, &beginning, &config))
            }
        };
        started.map_err(|what| format!("without the log's halves at {erased:?}: {what}"))?;
        harness.hung.map_or(Ok(()), |why| Err(format!("without its log it hangs: {why}")))
    }

    fn check_acknowledged<A: LiveArray>(
        &mut self,
        array: Result<RunningArray<&mut Harness, A>, RestartError>,
    ) -> Result<(), String> {
        let mut array = match array {
            Ok(array) => array,
            Err(_) => {
                self.summary.logs_refused += 1;
                return Ok(());
            }
        };
        self.read_acknowledged(&mut array)
    }

    /// Reads all LUNs, in snapshots too: everything that was acknowledged is there.
    pub(crate) fn read_acknowledged<A: LiveArray>(
        &self,
        array: &mut RunningArray<&mut Harness, A>,
    ) -> Result<(), String> {
        let inventory = array.inventory();
        let model = self.shadow.model_of(&inventory)?;
        for NamedTarget { name, target } in targets_of(&inventory) {
            let image = model.image(&name);
            match array.ask(RequestId(0), target, HostRequest::Read(0..image.sectors())) {
                // A write that was not acknowledged may be there in part: its record is gone.
                Ok(Answer::Bytes(bytes)) => {
                    let check = versions_of(0, &bytes).and_then(|found| image.check(0, &found));
                    check.map_err(|what| format!("{name}: {what}"))?;
                }
                other => return Err(format!("{name} cannot be read: {:?}", other.map(|_| ()))),
            }
        }
        Ok(())
    }
}
