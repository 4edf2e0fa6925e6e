//! A simulated drive as a black box: commands go in, times come out.

use std::io;
use std::sync::Arc;

use super::MeasuredDrive;
use crate::mechanics::{Command, Drive};
use crate::scheduler::Scheduler;
use crate::simulated::{SimulatedSpindle, SpindleError};
use strewn_base::Direction;

/// A simulated drive with its cache off, given one command at a time.
#[derive(Clone, Debug)]
pub struct SimulatedDrive {
    spindle: SimulatedSpindle<()>,
    now_ns: u64,
}

impl SimulatedDrive {
    /// The drive at time zero.
    ///
    /// # Errors
    ///
    /// None at present: those of [`SimulatedSpindle::new`].
    pub fn new(drive: Arc<Drive>) -> Result<Self, SpindleError> {
        let spindle = SimulatedSpindle::new(drive, Scheduler::Fcfs, 1)?;
        Ok(Self { spindle, now_ns: 0 })
    }

    /// Lets `ns` nanoseconds pass before the next command.
    pub fn wait(&mut self, ns: u64) {
        self.now_ns += ns;
    }
}

impl MeasuredDrive for SimulatedDrive {
    fn capacity_sectors(&self) -> u64 {
        self.spindle.drive().capacity_sectors()
    }

    fn sector_bytes(&self) -> u32 {
        self.spindle.drive().sector_bytes()
    }

    fn read(&mut self, lba: u64, sectors: u32) -> io::Result<(u64, u64)> {
        let command = Command { lba, sectors, direction: Direction::Read };
        let start_ns = self.now_ns;
        self.spindle.submit(start_ns, command, ()).map_err(io::Error::other)?;
        if let Some(done) = self.spindle.complete() {
            self.now_ns = done.at_ns;
        }
        Ok((start_ns, self.now_ns))
    }
}
