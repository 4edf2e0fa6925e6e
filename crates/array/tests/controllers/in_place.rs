//! The in-place controller: what it does to get there.

use proptest::prelude::*;
use strewn_array::ProcessorCosts;
use strewn_array::in_place::{InPlace, InPlaceConfig};
use strewn_raid::{StripeMember, SpindleIndex, VraidConfig, VraidLayout};

use crate::bench::{Bench, Command, Event, Watch, World};
use crate::bytes::{Bytes, claim, content};

type InPlaceBench = Bench<InPlace<Bytes>, DestageWatch>;

const CHUNK_SECTORS: u64 = 8;

/// Spindles of chunks of 8 sectors, in redundancy sets of 5 and 6.
fn layout(redundancy_sets: Vec<u16>) -> VraidLayout {
    let chunk_bytes = CHUNK_SECTORS * 512;
    let config = VraidConfig { redundancy_sets, chunk_bytes, segment_bytes: 2 * chunk_bytes };
    VraidLayout::new(config, 10 * 2 * chunk_bytes).unwrap()
}

fn roomy() -> InPlaceConfig {
    InPlaceConfig {
        layout: layout(vec![6]),
        lun_sectors: 600,
        write_cache_sectors: 400,
        destage_low_sectors: 0,
        destages_in_flight: 4,
        processor: ProcessorCosts::default(),
    }
}

pub fn any_in_place() -> impl Strategy<Value = InPlaceConfig> {
    let sets = prop_oneof![Just(vec![5]), Just(vec![5, 6]), Just(vec![8])];
    let low = prop_oneof![Just(0), 0..300u64];
    (sets, 100..=600u64, 1..400u64, low, 1..8u32).prop_map(
        |(sets, lun_sectors, write_cache_sectors, destage_low_sectors, destages_in_flight)| {
            InPlaceConfig {
                layout: layout(sets),
                lun_sectors,
                write_cache_sectors,
                destage_low_sectors,
                destages_in_flight,
                ..roomy()
            }
        },
    )
}

/// A new array whose spindles hold version 0 of the LUN.
pub fn fresh_in_place(config: InPlaceConfig) -> InPlaceBench {
    let layout = config.layout.clone();
    let lun_sectors = config.lun_sectors;
    let watch = DestageWatch::new(layout.clone());
    let array = InPlace::new(config).unwrap();
    let mut bench = Bench::new(array, watch, 10 * 2 * CHUNK_SECTORS, lun_sectors);
    for lun_sector in 0..lun_sectors {
        let place = layout.locate(lun_sector);
        let bytes = content(lun_sector, 0);
        bench.world.put_sector(place.spindle.0, place.sector_on_spindle, &bytes);
    }
    bench
}

/// With nothing in the cache, the spindles hold what was acknowledged.
pub fn lun_is_as_acknowledged(bench: &InPlaceBench) {
    for (lun_sector, &version) in (0..).zip(&bench.world.host.acknowledged) {
        let place = bench.watch.layout.locate(lun_sector);
        let there = bench.world.sector(place.spindle.0, place.sector_on_spindle);
        assert!(there == content(lun_sector, version), "sector {lun_sector}: {}", claim(there));
    }
}

/// Follows every destage: it reads data and the parity over it, then writes both, and no other is at work on the
/// same chunk of parity meanwhile.
pub struct DestageWatch {
    layout: VraidLayout,
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
    fn new(layout: VraidLayout) -> Self {
        Self { layout, destages: Vec::new() }
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
            assert_eq!((parity.direction, parity.tag), (command.direction, command.tag));
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
    fn saw(&mut self, _array: &InPlace<Bytes>, _world: &World, events: &[Event]) {
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Issued(command) => self.issued(*command, events.get(at + 1)),
                Event::Completed(command) => self.completed(command),
                Event::Acknowledged(_) | Event::TimerSet(_) => {}
            }
        }
    }
}
