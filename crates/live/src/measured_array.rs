//! A started array under a load that measures it.

use std::time::Duration;

use strewn_array::ScanProgress;
use strewn_array::{
    Counters, FailedSpindle, GroupMeasures, LayoutMeasures, LunId, SnapshotMeasures,
};
use strewn_raid::SpindleIndex;

use crate::device::{DeviceMeasures, Measured, RealDevices};
use crate::engine::{
    Answer, Controller, HostRequest, LiveArray, RequestError, RequestId, TargetId,
};
use crate::running::RunningArray;

/// An array of either kind, running on measured devices.
///
/// It is a trait object so that the engine is compiled in this crate alone, and not again in programs that measure
/// arrays.
pub trait MeasuredArray {
    /// Returns nanoseconds since the devices were opened.
    fn now_ns(&self) -> u64;

    /// Accepts a host's request of a target.
    fn submit(&mut self, id: RequestId, target: TargetId, request: HostRequest);

    /// Waits for a completion, the array's timer, a wake-up or at most `most`, and handles the events.
    fn poll(&mut self, most: Option<Duration>);

    /// Appends the answers since the last call.
    fn take_answers(&mut self, answers: &mut Vec<(RequestId, Result<Answer, RequestError>)>);

    /// Returns why the array has stopped, if it has.
    fn stopped(&self) -> Option<&str>;

    /// Writes everything to the spindles.
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    fn catch_up(&mut self) -> Result<(), String>;

    /// Shuts the array down: writes everything to the spindles and marks it as clean.
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    fn shut_down(&mut self) -> Result<(), String>;

    /// Returns what each device did since the last call: the spindles by number, then the devices of the log.
    fn device_measures(&mut self) -> Vec<DeviceMeasures>;

    /// Returns the number of spindles.
    fn spindles(&self) -> u16;

    /// Returns whether a spindle holds only parity.
    fn is_parity(&self, spindle: SpindleIndex) -> bool;

    /// Returns the parity groups of an array with several; otherwise none.
    fn groups(&self) -> Vec<GroupMeasures>;

    /// Returns the counters since the array started.
    fn counters(&self) -> &Counters;

    /// Returns the spindles that have failed, in order of failure.
    fn failures(&self) -> &[FailedSpindle];

    /// Returns the layout of data and free space.
    fn layout(&self) -> LayoutMeasures;

    /// Returns what the array's snapshots hold, if it ever had any.
    fn snapshot_measures(&self) -> Option<SnapshotMeasures>;

    /// Returns how far a scan of the array's layout is, if there is one.
    fn scan_progress(&self) -> Option<ScanProgress>;

    /// Returns whether a block of `lun` is allocated.
    fn is_allocated(&self, lun: LunId, block: u64) -> bool;

    /// Returns the controller, to look at its layout block by block.
    fn controller(&self) -> Controller<'_>;
}

impl<A: LiveArray> MeasuredArray for RunningArray<Measured<RealDevices>, A> {
    fn now_ns(&self) -> u64 {
        RunningArray::now_ns(self)
    }

    fn submit(&mut self, id: RequestId, target: TargetId, request: HostRequest) {
        RunningArray::submit(self, id, target, request);
    }

    fn poll(&mut self, most: Option<Duration>) {
        RunningArray::poll(self, most);
    }

    fn take_answers(&mut self, answers: &mut Vec<(RequestId, Result<Answer, RequestError>)>) {
        self.engine_mut().take_answers(answers);
    }

    fn stopped(&self) -> Option<&str> {
        self.engine().stopped()
    }

    fn catch_up(&mut self) -> Result<(), String> {
        RunningArray::catch_up(self)
    }

    fn shut_down(&mut self) -> Result<(), String> {
        RunningArray::shut_down(self)
    }

    fn device_measures(&mut self) -> Vec<DeviceMeasures> {
        self.devices_mut().look()
    }

    fn spindles(&self) -> u16 {
        self.engine().array().spindles()
    }

    fn is_parity(&self, spindle: SpindleIndex) -> bool {
        self.engine().array().is_parity(spindle)
    }

    fn groups(&self) -> Vec<GroupMeasures> {
        self.engine().array().groups()
    }

    fn counters(&self) -> &Counters {
        self.engine().array().counters()
    }

    fn failures(&self) -> &[FailedSpindle] {
        self.engine().array().failures()
    }

    fn layout(&self) -> LayoutMeasures {
        self.engine().array().layout()
    }

    fn snapshot_measures(&self) -> Option<SnapshotMeasures> {
        self.engine().array().snapshot_measures()
    }

    fn scan_progress(&self) -> Option<ScanProgress> {
        self.engine().array().scan_progress()
    }

    fn is_allocated(&self, lun: LunId, block: u64) -> bool {
        self.engine().array().is_allocated(lun, block)
    }

    fn controller(&self) -> Controller<'_> {
        self.engine().array().controller()
    }
}
