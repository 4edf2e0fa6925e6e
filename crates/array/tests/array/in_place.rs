//! The in-place controller: what it does to get there.

use proptest::prelude::*;
use strewn_alloc::GroupIndex;
use strewn_array::Array;
use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid0Layout,
};
use strewn_raid::{SpindleIndex, StripeMember, VraidConfig, VraidLayout};

use crate::bytes::{claim, content};
use crate::harness::{Command, Event, Harness, MemoryDriver, Watch};
use crate::payloads::Bytes;

type InPlaceBench = Harness<InPlace<Bytes>, DestageWatch>;

const CHUNK_SECTORS: u64 = 8;

/// Spindles of chunks of 8 sectors, in redundancy sets of 5 and 6.
fn layout(redundancy_sets: Vec<u16>) -> LunLayout {
    let chunk_bytes = CHUNK_SECTORS * 512;
    let config = VraidConfig { redundancy_sets, chunk_bytes, segment_bytes: 2 * chunk_bytes };
    VraidLayout::new(config, 10 * 2 * chunk_bytes).unwrap().into()
}

/// Four spindles without parity, as large as the others.
fn raid_0() -> LunLayout {
    let chunk_bytes = CHUNK_SECTORS * 512;
    Raid0Layout::new(4, chunk_bytes, 2 * chunk_bytes, 10 * 2 * chunk_bytes).unwrap().into()
}

/// A disk group that destages one extent at a time.
fn extents(layout: LunLayout, destages_in_flight: u32) -> DiskGroupConfig {
    DiskGroupConfig::new(layout, destages_in_flight).with_full_stripes(false)
}

fn roomy() -> InPlaceConfig {
    InPlaceConfig {
        destage_low_sectors: 0,
        ..InPlaceConfig::new(
            vec![extents(layout(vec![6]), 4)],
            vec![LunConfig { file_sectors: 100, ..LunConfig::whole(600) }],
            10 * 2 * CHUNK_SECTORS,
            400,
        )
    }
}

pub fn any_in_place() -> impl Strategy<Value = InPlaceConfig> {
    // Without redundancy sets, RAID-0.
    let sets = prop_oneof![Just(vec![5]), Just(vec![5, 6]), Just(vec![8]), Just(vec![])];
    let low = prop_oneof![Just(0), 0..300u64];
    let lun =
        |sectors: u64| LunConfig { file_sectors: sectors.min(100), ..LunConfig::whole(sectors) };
    let luns = prop_oneof![
        2 => (100..=600u64).prop_map(move |sectors| vec![lun(sectors)]),
        // The smallest layout has 640 sectors, and a LUN begins with a stripe.
        1 => (1..=192u64, 1..=192u64, 1..=200u64)
            .prop_map(move |(first, second, third)| vec![lun(first), lun(second), lun(third)]),
    ];
    (sets, luns, 1..400u64, low, (1..8u32, any::<bool>())).prop_map(
        |(sets, luns, write_cache_sectors, destage_low_sectors, (in_flight, full_stripes))| {
            let layout = if sets.is_empty() { raid_0() } else { layout(sets) };
            let group = DiskGroupConfig::new(layout, in_flight).with_full_stripes(full_stripes);
            InPlaceConfig {
                groups: vec![group],
                luns,
                write_cache_sectors,
                destage_low_sectors,
                ..roomy()
            }
        },
    )
}

/// A new array whose spindles hold version 0 of the LUN.
pub fn fresh_in_place(config: InPlaceConfig) -> InPlaceBench {
    let layout = config.single_group().layout.clone();
    let lun_sectors = config.end_sector(GroupIndex(0));
    let is_of_extents = !config.single_group().full_stripes;
    let watch = DestageWatch::new(layout.clone(), is_of_extents);
    let luns = config.lun_sectors();
    let array = InPlace::new(config).unwrap();
    let mut harness = Harness::new(array, watch, 10 * 2 * CHUNK_SECTORS, lun_sectors);
    harness.driver.host.luns = luns;
    for lun_sector in 0..lun_sectors {
        let place = layout.locate(lun_sector);
        let bytes = content(lun_sector, 0);
        harness.driver.put_sector(place.spindle.0, place.sector_on_spindle, &bytes);
    }
    harness
}

/// With nothing in the cache, the spindles hold what was acknowledged.
pub fn lun_is_as_acknowledged(harness: &InPlaceBench) {
    for (lun_sector, &version) in (0..).zip(&harness.driver.host.acknowledged) {
        let place = harness.watch.layout.locate(lun_sector);
        let there = harness.driver.sector(place.spindle.0, place.sector_on_spindle);
        assert!(there == content(lun_sector, version), "sector {lun_sector}: {}", claim(there));
    }
}

/// Follows every destage of an extent: it reads data and the parity over it, then writes both, and no other is at work
/// on the same chunk of parity meanwhile.
pub struct DestageWatch {
    layout: LunLayout,
    /// Whether only extents are destaged. What it sees of others it takes for nothing.
    is_of_extents: bool,
    destages: Vec<SeenDestage>,
}

struct SeenDestage {
    reads: Vec<Command>,
    writes: Vec<Command>,
    completed: usize,
}

impl SeenDestage {
    fn parity(&self) -> Option<&Command> {
        self.reads.get(1)
    }
}

impl DestageWatch {
    fn new(layout: LunLayout, is_of_extents: bool) -> Self {
        Self { layout, is_of_extents, destages: Vec::new() }
    }

    /// The first sector of the LUN that a command covers; nothing for parity.
    fn lun_sector(&self, command: &Command) -> Option<u64> {
        match self.layout.lun_sector_of(SpindleIndex(command.spindle), command.first_sector) {
            Some(StripeMember::Data { lun_sector }) => Some(lun_sector),
            Some(StripeMember::Parity { .. }) => None,
            None => panic!("{command:?} is where nothing lies"),
        }
    }

    fn issued(&mut self, command: Command, next: Option<&Event>) {
        if let Some(lun_sector) = self.lun_sector(&command) {
            let place = self.layout.locate(lun_sector);
            assert!(command.sectors <= place.sectors_left_in_chunk, "{command:?} leaves its chunk");
            if !self.layout.has_parity() {
                return;
            }
            // A host's read stands alone; a destage's data is followed by its parity.
            let parity = match next {
                Some(Event::Issued(parity)) if self.lun_sector(parity).is_none() => parity,
                _ => {
                    assert!(command.is_read(), "{command:?} writes data and no parity");
                    return;
                }
            };
            let covering = (place.parity_spindle.0, place.parity_sector, command.sectors);
            assert_eq!(parity.place(), covering, "parity of {command:?}");
            assert_eq!(parity.direction, command.direction);
            if command.is_read() {
                self.begin(command, *parity);
            } else {
                let destage = self.destages.iter_mut().find(|one| one.reads[0].tag == command.tag);
                let destage = destage.unwrap_or_else(|| panic!("{command:?} was not read before"));
                assert_eq!(destage.completed, 2, "{command:?} before its reads are done");
                assert_eq!(destage.reads[0].place(), command.place());
                assert_eq!(destage.reads[1].place(), parity.place());
                destage.writes = vec![command, *parity];
            }
        }
    }

    fn begin(&mut self, data: Command, parity: Command) {
        let chunk = |command: &Command| (command.spindle, command.first_sector / CHUNK_SECTORS);
        for other in self.destages.iter().filter_map(SeenDestage::parity) {
            assert_ne!(chunk(other), chunk(&parity), "two destages at work on a chunk of parity");
        }
        self.destages.push(SeenDestage { reads: vec![data, parity], writes: vec![], completed: 0 });
    }

    fn completed(&mut self, command: &Command) {
        let of = |one: &SeenDestage| one.reads.contains(command) || one.writes.contains(command);
        if let Some(index) = self.destages.iter().position(of) {
            self.destages[index].completed += 1;
            if self.destages[index].completed == 4 {
                self.destages.remove(index);
            }
        }
    }
}

impl Watch<InPlace<Bytes>> for DestageWatch {
    fn saw(&mut self, _array: &InPlace<Bytes>, _world: &MemoryDriver, events: &[Event]) {
        if !self.is_of_extents {
            return;
        }
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Issued(command) => self.issued(*command, events.get(at + 1)),
                Event::Completed(command) => self.completed(command),
                Event::Acknowledged(_) | Event::TimerSet(_) => {}
            }
        }
    }
}

/// The sectors of the LUN that destages began to read, in order, and how many each.
fn destaged(harness: &mut InPlaceBench) -> Vec<(u64, u32)> {
    let commands = harness.new_commands();
    commands
        .iter()
        .filter(|command| command.is_read())
        .filter_map(|command| Some((harness.watch.lun_sector(command)?, command.sectors)))
        .collect()
}

fn complete_oldest(harness: &mut InPlaceBench, commands: u32) {
    for _ in 0..commands {
        harness.complete(0);
    }
}

fn acknowledged(harness: &mut InPlaceBench) -> Vec<u32> {
    let acknowledged = |event| match event {
        Event::Acknowledged(id) => Some(id),
        _ => None,
    };
    harness.new_events().into_iter().filter_map(acknowledged).collect()
}

#[test]
fn a_write_is_acknowledged_from_the_cache() {
    let mut harness = fresh_in_place(roomy());
    let write = harness.write(4, 160);
    assert!(harness.is_acknowledged(write));
    assert!(harness.commands().iter().all(Command::is_read), "nothing is on a spindle yet");
    let read = harness.read(10, 100);
    assert!(harness.is_acknowledged(read), "dirty sectors are read from the cache");
    let counted = harness.array.counters();
    assert_eq!(counted.cache_hits, 13);
    // Sectors 10 to 109 in pieces of a chunk, each of which touches one block.
    assert_eq!((counted.host_read_blocks, counted.host_read_hits), (13, 13));
    harness.run_to_quiescence();
    lun_is_as_acknowledged(&harness);
}

#[test]
fn a_read_takes_one_command_for_each_chunk() {
    let mut harness = fresh_in_place(roomy());
    harness.new_events();
    harness.read(6, 20);
    let places: Vec<_> = harness.new_commands().iter().map(Command::place).collect();
    let expected: Vec<_> = [(6, 2), (8, 8), (16, 8), (24, 2)]
        .map(|(sector, sectors)| {
            let place = harness.watch.layout.locate(sector);
            (place.spindle.0, place.sector_on_spindle, sectors)
        })
        .to_vec();
    assert_eq!(places, expected);
    assert_eq!(harness.array.counters().data_reads, 4);
    harness.run_to_quiescence();
}

#[test]
fn a_destage_reads_data_and_parity_then_writes_both() {
    let mut harness = fresh_in_place(roomy());
    let place = harness.watch.layout.locate(42);
    harness.new_events();
    harness.write(42, 5);
    let data = (place.spindle.0, place.sector_on_spindle, 5);
    let parity = (place.parity_spindle.0, place.parity_sector, 5);
    let reads = harness.new_commands();
    assert_eq!(reads.iter().map(Command::place).collect::<Vec<_>>(), [data, parity]);
    assert!(reads.iter().all(Command::is_read));
    harness.complete(1);
    assert_eq!(harness.new_commands(), []);
    harness.complete(0);
    let writes = harness.new_commands();
    assert_eq!(writes.iter().map(Command::place).collect::<Vec<_>>(), [data, parity]);
    assert!(writes.iter().all(Command::is_write));
    harness.drain();
    lun_is_as_acknowledged(&harness);
    let counters = harness.array.counters();
    assert_eq!((counters.destages, counters.parity_update_reads), (1, 2));
    assert_eq!((counters.data_writes, counters.parity_writes), (1, 1));
}

#[test]
fn without_parity_a_destage_writes_and_reads_nothing() {
    let config = InPlaceConfig { groups: vec![extents(raid_0(), 4)], ..roomy() };
    let mut harness = fresh_in_place(config);
    harness.new_events();
    // Parts of three chunks, on three spindles, at once.
    harness.write(5, 15);
    let writes = harness.new_commands();
    let places = writes.iter().map(Command::place).collect::<Vec<_>>();
    assert_eq!(places, [(0, 5, 3), (1, 0, 8), (2, 0, 4)]);
    assert!(writes.iter().all(Command::is_write));
    harness.drain();
    lun_is_as_acknowledged(&harness);
    let counters = harness.array.counters();
    assert_eq!((counters.destages, counters.parity_update_reads), (3, 0));
    assert_eq!((counters.data_writes, counters.parity_writes), (3, 0));
}

#[test]
fn two_chunks_of_a_stripe_are_written_back_one_after_the_other() {
    let mut harness = fresh_in_place(roomy());
    harness.new_events();
    harness.write(5, 6);
    assert_eq!(destaged(&mut harness), [(5, 3)]);
    harness.drain();
    assert_eq!(destaged(&mut harness), [(8, 3)]);
    lun_is_as_acknowledged(&harness);
}

#[test]
fn writers_wait_for_room_and_are_let_in_in_order() {
    let config = InPlaceConfig {
        write_cache_sectors: 16,
        groups: vec![extents(layout(vec![6]), 1)],
        ..roomy()
    };
    let mut harness = fresh_in_place(config);
    harness.new_events();
    let first = harness.write(0, 16);
    assert_eq!(acknowledged(&mut harness), [first]);
    let wide = harness.write(100, 12);
    // There would be room for this one sooner than for the one before.
    let narrow = harness.write(200, 2);
    assert_eq!(acknowledged(&mut harness), [0; 0]);
    assert_eq!(harness.array.counters().stalled_writes, 2);
    // The first chunk is back: 8 of 16 sectors are free.
    complete_oldest(&mut harness, 4);
    assert_eq!(acknowledged(&mut harness), [0; 0]);
    complete_oldest(&mut harness, 4);
    assert_eq!(acknowledged(&mut harness), [wide, narrow]);
    harness.run_to_quiescence();
    lun_is_as_acknowledged(&harness);
}

#[test]
fn a_write_larger_than_the_cache_is_let_in_alone() {
    let config = InPlaceConfig { write_cache_sectors: 16, destage_low_sectors: 10, ..roomy() };
    let mut harness = fresh_in_place(config);
    harness.write(0, 8);
    let large = harness.write(100, 100);
    assert!(!harness.is_acknowledged(large));
    harness.run_to_quiescence();
    assert!(harness.is_acknowledged(large));
}

#[test]
fn sectors_written_again_in_the_cache_are_written_back_once() {
    let config = InPlaceConfig { destage_low_sectors: 20, ..roomy() };
    let mut harness = fresh_in_place(config);
    for _ in 0..3 {
        harness.write(64, 8);
    }
    harness.write(60, 8);
    assert_eq!(harness.array.counters().coalesced_sectors, 8 + 8 + 4);
    assert_eq!(harness.commands_out(), 0);
    harness.new_events();
    harness.write(300, 16);
    harness.run_to_quiescence();
    let back = destaged(&mut harness);
    assert!(back.contains(&(64, 8)) || back.contains(&(60, 4)), "{back:?}");
    assert!(back.iter().map(|(_, sectors)| sectors).sum::<u32>() <= 12 + 16);
}

#[test]
fn the_elevator_goes_up_the_lun_and_begins_anew_at_its_end() {
    let config = InPlaceConfig { groups: vec![extents(layout(vec![6]), 1)], ..roomy() };
    let mut harness = fresh_in_place(config);
    harness.new_events();
    for sector in [300, 500, 100, 400, 200, 350, 4] {
        harness.write(sector, 2);
    }
    harness.run_to_quiescence();
    let order: Vec<u64> = destaged(&mut harness).iter().map(|(sector, _)| *sector).collect();
    assert_eq!(order, [300, 350, 400, 500, 4, 100, 200]);
}

#[test]
fn up_to_the_low_water_mark_nothing_is_written_back() {
    let config = InPlaceConfig { destage_low_sectors: 40, ..roomy() };
    let mut harness = fresh_in_place(config);
    for sector in (0..400).step_by(100) {
        harness.write(sector, 10);
    }
    harness.run_to_quiescence();
    assert_eq!(harness.array.counters().destages, 0);
    harness.write(500, 1);
    harness.run_to_quiescence();
    assert_eq!(harness.array.counters().destages, 1);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let refused = |change: fn(&mut InPlaceConfig)| {
        let mut config = roomy();
        change(&mut config);
        InPlace::<Bytes>::new(config).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(|config| config.luns[0].sectors = 1_000_000),
        "LUNs of 1000000 sectors do not fit a layout of 768 sectors"
    );
    assert_eq!(
        refused(|config| config.write_cache_sectors = 0),
        "the write cache is zero: it must be at least 1"
    );
}

#[test]
fn regression_a_write_that_waits_for_room_is_let_in_below_the_low_water_mark() {
    let config = InPlaceConfig { write_cache_sectors: 100, destage_low_sectors: 90, ..roomy() };
    let mut harness = fresh_in_place(config);
    harness.write(0, 80);
    let waiting = harness.write(200, 40);
    assert!(!harness.is_acknowledged(waiting));
    harness.drain();
    assert!(harness.is_acknowledged(waiting));
}

#[test]
fn regression_a_read_is_not_older_than_the_cache_was_when_it_began() {
    let mut harness = fresh_in_place(roomy());
    harness.write(4, 2);
    let destage = harness.commands();
    // Sectors 4 and 5 are dirty, the others of their chunk and the next chunk are not: two commands.
    harness.read(0, 16);
    let is_of_destage = |command: &Command| destage.iter().any(|one| one.tag == command.tag);
    // The first chunk is read before the destage writes it, the second comes when the cache has let go of it.
    assert!(harness.complete_first(|command| !is_of_destage(command)));
    harness.complete_all(is_of_destage);
    harness.drain();
    lun_is_as_acknowledged(&harness);

    // So too when the spindle reads early and says so late.
    harness.write(4, 2);
    harness.read(0, 8);
    harness.execute(2);
    harness.complete_all(is_of_destage);
    harness.drain();
}
