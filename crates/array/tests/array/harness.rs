//! An array on a harness: spindles in memory, and the time at a standstill until something is let happen.

use strewn_array::{
    Acknowledge, Array, Direction, Driver, Durability, HostOperation, LogLedger, LogRecord, Logged,
    OperationId, ProcessorWork, SpindleCommand, Tag,
};

use crate::host::Host;
use crate::payloads::{Bytes, SECTOR_BYTES};

/// What an array asked for or was told, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Issued(Command),
    Completed(Command),
    Acknowledged(u32),
    /// With the versions that the host's sectors had then.
    TimerSet(Vec<u32>),
}

/// A spindle command without its payload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Command {
    pub tag: Tag,
    pub spindle: u16,
    pub direction: Direction,
    pub first_sector: u64,
    pub sectors: u32,
}

impl Command {
    pub fn is_read(&self) -> bool {
        self.direction == Direction::Read
    }

    pub fn is_write(&self) -> bool {
        self.direction == Direction::Write
    }

    /// Spindle, first sector, sectors.
    pub fn place(&self) -> (u16, u64, u32) {
        (self.spindle, self.first_sector, self.sectors)
    }
}

struct Outstanding {
    command: Command,
    payload: Bytes,
    /// The heads have passed: a write is on the spindle, a read has what it brings; only the array does not know.
    executed: bool,
}

/// The world an array sees: spindles of equal size, a host, a clock.
pub struct MemoryDriver {
    pub host: Host,
    pub now_ns: u64,
    pub timer_ns: Option<u64>,
    pub events: Vec<Event>,
    log: Option<LogLedger>,
    spindles: Vec<Vec<u8>>,
    outstanding: Vec<Outstanding>,
}

impl Durability for MemoryDriver {}

impl MemoryDriver {
    fn execute(&mut self, index: usize) {
        let Outstanding { command, payload, executed } = &mut self.outstanding[index];
        if std::mem::replace(executed, true) {
            return;
        }
        let start = command.first_sector as usize * SECTOR_BYTES;
        let bytes = command.sectors as usize * SECTOR_BYTES;
        let place = &mut self.spindles[usize::from(command.spindle)][start..start + bytes];
        match command.direction {
            Direction::Read => payload.0 = place.to_vec(),
            Direction::Write => {
                // Metadata and parity come without bytes.
                place.fill(0);
                place[..payload.0.len()].copy_from_slice(&payload.0);
            }
        }
    }

    /// A sector of a spindle.
    pub fn sector(&self, spindle: u16, sector: u64) -> &[u8] {
        let start = sector as usize * SECTOR_BYTES;
        &self.spindles[usize::from(spindle)][start..start + SECTOR_BYTES]
    }

    pub fn put_sector(&mut self, spindle: u16, sector: u64, bytes: &[u8]) {
        let start = sector as usize * SECTOR_BYTES;
        self.spindles[usize::from(spindle)][start..start + SECTOR_BYTES].copy_from_slice(bytes);
    }
}

impl Driver<Bytes> for MemoryDriver {
    fn processor(&mut self, _work: ProcessorWork, cost_ns: u64) {
        self.now_ns += cost_ns;
    }

    fn command(&mut self, command: SpindleCommand<Bytes>) {
        let SpindleCommand { tag, spindle, direction, first_sector, sectors, payload, .. } =
            command;
        assert!(sectors > 0, "a command for nothing");
        let end = (first_sector as usize + sectors as usize) * SECTOR_BYTES;
        let size = self.spindles.get(spindle.index()).map(Vec::len);
        assert!(Some(end) <= size, "{spindle}: {first_sector} + {sectors} is past its end");
        assert!(payload.0.len() <= sectors as usize * SECTOR_BYTES, "more bytes than sectors");
        assert!(direction == Direction::Write || payload.0.is_empty(), "a read brings no bytes");
        let command = Command { tag, spindle: spindle.0, direction, first_sector, sectors };
        self.events.push(Event::Issued(command));
        self.outstanding.push(Outstanding { command, payload, executed: false });
    }

    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, payload: Bytes) {
        self.events.push(Event::Acknowledged(operation.0));
        self.host.acknowledge(operation, &payload);
    }

    fn set_timer(&mut self, at_ns: u64) {
        assert!(at_ns >= self.now_ns.saturating_sub(1_000_000), "a timer in the past");
        self.timer_ns = Some(at_ns);
        self.events.push(Event::TimerSet(self.host.acknowledged.clone()));
    }

    fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &Bytes) -> Logged {
        self.log.as_mut().expect("the array has a log").append(&record)
    }

    fn consistency_point_begins(&mut self) {
        self.log.iter_mut().for_each(LogLedger::switch);
    }

    fn consistency_point_ends(&mut self) {
        self.log.iter_mut().for_each(LogLedger::release);
    }
}

/// Looks on: after every call of the array it sees what happened in it.
pub trait Watch<A> {
    fn saw(&mut self, array: &A, driver: &MemoryDriver, events: &[Event]);
}

impl<A> Watch<A> for () {
    fn saw(&mut self, _array: &A, _world: &MemoryDriver, _events: &[Event]) {}
}

pub struct Harness<A, W = ()> {
    pub array: A,
    pub driver: MemoryDriver,
    pub watch: W,
    seen: usize,
}

impl<A: Array<Bytes>, W: Watch<A>> Harness<A, W> {
    /// Spindles full of zeros, and a host that expects version 0 of every sector of the LUN.
    pub fn new(array: A, watch: W, sectors_per_spindle: u64, lun_sectors: u64) -> Self {
        let spindle = vec![0; sectors_per_spindle as usize * SECTOR_BYTES];
        let mut driver = MemoryDriver {
            host: Host::new(lun_sectors),
            now_ns: 0,
            timer_ns: None,
            events: Vec::new(),
            log: array.log_size().map(LogLedger::new),
            spindles: vec![spindle; array.spindles().into()],
            outstanding: Vec::new(),
        };
        let mut array = array;
        array.start(0, &mut driver);
        Self { array, driver, watch, seen: 0 }
    }

    /// Reads; the operation's number.
    pub fn read(&mut self, first_sector: u64, sectors: u32) -> u32 {
        let operation = self.driver.host.read(first_sector, sectors);
        self.submit(operation)
    }

    /// Writes; the operation's number.
    pub fn write(&mut self, first_sector: u64, sectors: u32) -> u32 {
        let operation = self.driver.host.write(first_sector, sectors);
        self.submit(operation)
    }

    fn submit(&mut self, operation: HostOperation<Bytes>) -> u32 {
        let id = operation.id.0;
        self.array.host_operation(self.driver.now_ns, operation, &mut self.driver);
        self.look();
        id
    }

    pub fn is_acknowledged(&self, operation: u32) -> bool {
        !self.driver.host.is_outstanding(operation)
    }

    /// Commands that are not completed, in the order in which they were issued.
    pub fn commands(&self) -> Vec<Command> {
        self.driver.outstanding.iter().map(|outstanding| outstanding.command).collect()
    }

    pub fn commands_out(&self) -> usize {
        self.driver.outstanding.len()
    }

    /// The heads of a spindle do a command; the array does not hear of it yet.
    pub fn execute(&mut self, index: usize) {
        self.driver.execute(index);
        self.look();
    }

    /// The array hears that a command is done.
    pub fn complete(&mut self, index: usize) -> Command {
        self.driver.execute(index);
        let Outstanding { command, payload, .. } = self.driver.outstanding.remove(index);
        self.driver.events.push(Event::Completed(command));
        self.driver.now_ns += 1_000;
        let payload = if command.is_read() { payload } else { Bytes::default() };
        self.array.command_completed(self.driver.now_ns, command.tag, payload, &mut self.driver);
        self.look();
        command
    }

    /// Completes the oldest command for which `wanted` holds; false if there is none.
    pub fn complete_first(&mut self, wanted: impl Fn(&Command) -> bool) -> bool {
        let index = self.driver.outstanding.iter().position(|one| wanted(&one.command));
        index.map(|index| self.complete(index)).is_some()
    }

    /// Completes the commands for which `wanted` holds, and those that they lead to, until there is none.
    pub fn complete_all(&mut self, wanted: impl Fn(&Command) -> bool) {
        for completed in 0.. {
            assert!(completed < 1_000_000, "the array never comes to rest");
            if !self.complete_first(&wanted) {
                break;
            }
        }
    }

    pub fn drain(&mut self) {
        self.complete_all(|_| true);
    }

    /// Time passes until the timer runs out, if it is set.
    pub fn fire_timer(&mut self) {
        if let Some(at_ns) = self.driver.timer_ns.take() {
            self.driver.now_ns = self.driver.now_ns.max(at_ns);
            self.array.timer_fired(self.driver.now_ns, &mut self.driver);
            self.look();
        }
    }

    /// Lets time pass until the array has nothing left to do.
    pub fn run_to_quiescence(&mut self) {
        for _ in 0..1_000 {
            self.drain();
            self.fire_timer();
            if self.commands_out() == 0 {
                assert_eq!(self.driver.host.outstanding_ids(), [0; 0], "never acknowledged");
                return;
            }
        }
        panic!("the array never comes to rest");
    }

    /// What happened since the last call of this.
    pub fn new_events(&mut self) -> Vec<Event> {
        let new = self.driver.events.split_off(0);
        self.seen = 0;
        new
    }

    /// The commands issued since the last call of this or of `new_events`.
    pub fn new_commands(&mut self) -> Vec<Command> {
        let issued = |event| match event {
            Event::Issued(command) => Some(command),
            _ => None,
        };
        self.new_events().into_iter().filter_map(issued).collect()
    }

    fn look(&mut self) {
        self.array.assert_invariants();
        let new = &self.driver.events[self.seen..];
        self.watch.saw(&self.array, &self.driver, new);
        self.seen = self.driver.events.len();
    }
}
