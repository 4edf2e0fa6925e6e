//! An aggregate with hardly any room: a write waits for a consistency point that frees what it needs, and is refused if
//! none can; what was acknowledged always gets to the spindles.

use strewn_alloc::AllocationShape;
use strewn_array::write_anywhere::{OtherData, VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{
    Acknowledge, Array, Direction, Driver, Durability, Growable, HostOperation, LogLedger,
    LogRecord, LogSize, Logged, LunId, OperationId, ProcessorWork, Refusal, SpindleCommand, Tag,
};
use strewn_raid::{Parity, ParityGroup};

const FILE_BLOCKS: u32 = 400;
const STRIPES: u64 = 640;

struct Spindles {
    commands: Vec<Tag>,
    log: LogLedger,
    acknowledged: Vec<u32>,
    refused: Vec<u32>,
}

impl Durability for Spindles {}

impl Driver<()> for Spindles {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}
    fn command(&mut self, command: SpindleCommand<()>) {
        self.commands.push(command.tag);
    }
    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, _payload: ()) {
        self.acknowledged.push(operation.0);
    }
    fn refuse(&mut self, operation: OperationId, why: Refusal) {
        assert_eq!(why, Refusal::NoSpace);
        self.refused.push(operation.0);
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

/// An array whose other data leaves `room` blocks beside what the metadata may take.
fn array(room: u64) -> (WriteAnywhere<()>, Spindles) {
    array_to_grow(room, None)
}

/// The same, to which a parity group can be added.
fn array_to_grow(room: u64, later: Option<ParityGroup>) -> (WriteAnywhere<()>, Spindles) {
    let log = LogSize { half_bytes: 1 << 20, record_header_bytes: 160 };
    let config = WriteAnywhereConfig {
        groups_at_start: 1,
        shape: AllocationShape { area_stripes: 64, tetris_stripes: 64, chunk_blocks: 8 },
        consistency_point_interval_ns: 1_000_000_000,
        protected_blocks: 100,
        dirty_limit_blocks: 200,
        delayed_free_blocks: 100,
        ..WriteAnywhereConfig::new(
            std::iter::once(ParityGroup::new(Parity::Raid4, 4, STRIPES).unwrap())
                .chain(later)
                .collect(),
            vec![VolumeConfig::of_one_lun(32_000, FILE_BLOCKS)],
            log,
            500,
        )
    };
    let metadata = u64::from(config.block_keys().end() - FILE_BLOCKS);
    let full_to_blocks = 4 * STRIPES - metadata - room;
    let other_data = Some(OtherData { full_to_blocks, run_blocks: 1, seed: 3 });
    let mut array = WriteAnywhere::new(WriteAnywhereConfig { other_data, ..config }).unwrap();
    let left = array.aggregate().free_blocks() - metadata;
    assert!(left.abs_diff(room) < 8, "{left} blocks are left, and {room} were to be");
    let mut spindles = Spindles {
        commands: Vec::new(),
        log: LogLedger::new(log),
        acknowledged: Vec::new(),
        refused: Vec::new(),
    };
    array.start(0, &mut spindles);
    (array, spindles)
}

fn write(array: &mut WriteAnywhere<()>, spindles: &mut Spindles, id: u32, first: u32, blocks: u32) {
    let operation = HostOperation {
        id: OperationId(id),
        lun: LunId(0),
        direction: Direction::Write,
        first_sector: u64::from(first) * 8,
        sectors: blocks * 8,
        payload: (),
    };
    array.host_operation(1_000, operation, spindles);
}

fn complete_all(array: &mut WriteAnywhere<()>, spindles: &mut Spindles) {
    while let Some(tag) = spindles.commands.pop() {
        array.command_completed(2_000, tag, (), spindles);
        array.assert_invariants();
    }
}

#[test]
fn a_write_waits_for_the_room_that_a_consistency_point_makes() {
    let (mut array, mut spindles) = array(40);
    for round in 0..50 {
        write(&mut array, &mut spindles, 2 * round, round * 7 % 300, 30);
        write(&mut array, &mut spindles, 2 * round + 1, round * 11 % 300, 30);
        assert!(!spindles.acknowledged.contains(&(2 * round + 1)), "60 blocks have no room");
        complete_all(&mut array, &mut spindles);
        assert!(spindles.acknowledged.contains(&(2 * round + 1)));
    }
    assert_eq!(spindles.refused, [0; 0]);
    assert_eq!(array.counters().refused_writes, 0);
}

#[test]
fn a_write_without_room_is_refused_and_the_rest_goes_on() {
    let (mut array, mut spindles) = array(40);
    write(&mut array, &mut spindles, 0, 0, 100);
    assert_eq!((&spindles.acknowledged[..], &spindles.refused[..]), (&[][..], &[0][..]));
    write(&mut array, &mut spindles, 1, 0, 20);
    // It waits until the first is on the spindles, and there is no room then either.
    write(&mut array, &mut spindles, 2, 100, 100);
    write(&mut array, &mut spindles, 3, 300, 20);
    assert_eq!((&spindles.acknowledged[..], &spindles.refused[..]), (&[1][..], &[0][..]));
    complete_all(&mut array, &mut spindles);
    array.timer_fired(1_000_000_000, &mut spindles);
    complete_all(&mut array, &mut spindles);
    assert_eq!((&spindles.acknowledged[..], &spindles.refused[..]), (&[1, 3][..], &[0, 2][..]));
    assert_eq!((array.counters().refused_writes, array.counters().consistency_points), (2, 2));
}

#[test]
fn a_parity_group_that_is_added_has_room_for_the_writes_that_wait() {
    let later = ParityGroup::new(Parity::RaidDp, 1, 300).unwrap();
    let (mut array, mut spindles) = array_to_grow(40, Some(later));
    write(&mut array, &mut spindles, 0, 0, 30);
    write(&mut array, &mut spindles, 1, 100, 30);
    assert_eq!(spindles.acknowledged, [0], "60 blocks have no room");
    assert!(array.add_group(1_000, &mut spindles));
    assert_eq!(spindles.acknowledged, [0, 1]);
    write(&mut array, &mut spindles, 2, 200, 100);
    assert_eq!(spindles.acknowledged, [0, 1, 2]);
    complete_all(&mut array, &mut spindles);
    array.timer_fired(1_000_000_000, &mut spindles);
    complete_all(&mut array, &mut spindles);
    assert_eq!(spindles.refused, [0; 0]);
}
