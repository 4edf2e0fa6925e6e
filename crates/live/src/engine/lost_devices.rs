//! Devices that fail while the array runs: spindles, and the devices of the log.

use strewn_array::SpindleCommand;
use strewn_raid::SpindleIndex;

use super::requests::PendingRequest;
use super::{LiveArray, LiveArrayEngine, RequestError};
use crate::data::Data;
use crate::device::DeviceIndex;
use crate::format::MemberState;
use crate::store::{SpindleWriteError, Token};

impl<A: LiveArray> LiveArrayEngine<A> {
    pub(super) fn on_command_failed(&mut self, token: Token, failure: &SpindleWriteError) {
        let command = self.driver.take(token);
        let spindle = command.spindle;
        match failure {
            SpindleWriteError::SpindleLost => {}
            // A spindle that refuses a write can no longer be kept up to date.
            SpindleWriteError::Refused => {
                self.driver.store.drop_spindle(spindle);
                self.on_spindle_lost(spindle);
            }
            // Without space, a write waits for space.
            SpindleWriteError::NoSpace | SpindleWriteError::BadBlocks { .. } => {
                self.stop(&format!("{spindle} does not take a write: {failure}"));
                return;
            }
        }
        if self.stopped.is_none() {
            let command = SpindleCommand { payload: Data::default(), ..command };
            self.array.command_failed(self.driver.now_ns, command, &mut self.driver);
        }
    }

    /// Handles the loss of a spindle.
    pub(super) fn on_spindle_lost(&mut self, spindle: SpindleIndex) {
        if self.stopped.is_some() || !self.labels.set_state(spindle, MemberState::Failed) {
            return;
        }
        self.driver.set_labels_behind(true);
        self.driver.set_complete(spindle, false);
        self.cancel_promotion(spindle);
        let lost = self.array.spindle_failed(self.driver.now_ns, spindle, &mut self.driver);
        if let Err(loss) = lost {
            self.stop(&loss.to_string());
        }
    }

    /// Handles a device that does not take its label.
    pub(super) fn on_label_refused(&mut self, device: DeviceIndex) {
        if usize::from(device.0) < self.labels.label().members.len() {
            let spindle = SpindleIndex(device.0);
            self.driver.store.drop_spindle(spindle);
            self.on_spindle_lost(spindle);
        } else {
            // The only device of a log fails with the next record.
            self.driver.log.fail(device);
        }
    }

    /// Marks a failed device of the log as failed in the labels and, once that is durable, goes on without it; returns
    /// false if there is nothing to do. A restart then does not trust the device, whatever it holds.
    pub(super) fn go_on_without_log(&mut self) -> bool {
        let Some(device) = self.driver.log.failing() else { return false };
        if self.stopped.is_some() {
            return false;
        }
        if self.labels.fail_log(device) {
            return true;
        }
        if !self.labels.is_idle() {
            return false;
        }
        let durable = self.driver.log.failure_recorded();
        self.driver.on_redo_durable(durable.redo);
        self.on_log_durable(durable.host);
        true
    }

    /// Stops the array. Its data in memory is also in the log; the devices are left as they are.
    pub(super) fn stop(&mut self, why: &str) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some(why.to_owned());
        self.waiting_for_log.clear();
        self.change_order.clear();
        let mut pending: Vec<(u64, PendingRequest)> = self.pending.drain().collect();
        pending.sort_by_key(|(key, _)| *key);
        for (_, pending) in pending.into_iter().filter(|(_, pending)| !pending.is_answered) {
            self.answers.push((pending.id, Err(RequestError::Stopped(why.to_owned()))));
        }
    }
}
