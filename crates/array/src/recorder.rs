//! For tests of a controller's parts: a driver that records what it is asked for.

use std::collections::BTreeMap;

use strewn_base::{Direction, Rng};
use strewn_raid::SpindleIndex;

use crate::driver::{Acknowledge, Driver, Durability, OperationId, Refusal, SpindleCommand, Tag};
use crate::log::{LogLedger, LogRecord, LogSize, Logged};
use crate::processor::ProcessorWork;
use crate::root::Root;

/// A driver that records what it is asked for.
pub(crate) struct Recorder {
    pub(crate) commands: Vec<SpindleCommand<()>>,
    /// How often each sector of a spindle has been written.
    pub(crate) writes: BTreeMap<(SpindleIndex, u64), u32>,
    pub(crate) acknowledged: Vec<u32>,
    pub(crate) refused: Vec<(u32, Refusal)>,
    pub(crate) commits: u32,
    pub(crate) log: LogLedger,
}

impl Recorder {
    pub(crate) fn new(log: LogSize) -> Self {
        Self {
            commands: Vec::new(),
            writes: BTreeMap::new(),
            acknowledged: Vec::new(),
            refused: Vec::new(),
            commits: 0,
            log: LogLedger::new(log),
        }
    }

    /// Takes out a command at random, with what its tag says.
    pub(crate) fn any_command<F>(
        &mut self,
        rng: &mut Rng,
        fields_of: impl Fn(Tag) -> F,
    ) -> Option<(F, SpindleCommand<()>)> {
        let count = self.commands.len() as u64;
        let command = (count > 0).then(|| self.commands.swap_remove(rng.below(count) as usize))?;
        Some((fields_of(command.tag), command))
    }
}

impl Durability for Recorder {
    fn commit(&mut self, _root: Root) {
        self.commits += 1;
    }
}

impl Driver<()> for Recorder {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}
    fn command(&mut self, command: SpindleCommand<()>) {
        if command.direction == Direction::Write {
            let first = command.first_sector;
            for sector in first..first + u64::from(command.sectors) {
                *self.writes.entry((command.spindle, sector)).or_default() += 1;
            }
        }
        self.commands.push(command);
    }
    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, _payload: ()) {
        self.acknowledged.push(operation.0);
    }
    fn refuse(&mut self, operation: OperationId, why: Refusal) {
        self.refused.push((operation.0, why));
    }
    fn set_timer(&mut self, _at_ns: u64) {}
    fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &()) -> Logged {
        self.log.append(&record)
    }
    fn consistency_point_begins(&mut self) {
        self.log.switch();
    }
    fn consistency_point_ends(&mut self) {
        self.log.release();
    }
}
