//! The controller: each operation becomes a command for each chunk that it touches, and is answered with the last.

use strewn_alloc::FileLayout;
use strewn_array::{
    Acknowledge, Array, Counters, DataLost, Driver, Durable, Growable, HostOperation,
    LayoutMeasures, LunLayoutMeasures, OperationId, ProcessorCosts, ProcessorWork, Snapshots,
    SpindleCommand, Tag,
};
use strewn_base::{Direction, SECTOR_BYTES};
use strewn_raid::{ChunkLocation, Raid0Group, SpindleIndex, StripedLayout};

/// RAID-0 without a cache.
pub struct StripedArray {
    group: Raid0Group,
    /// The first sector of each LUN in the group, and the sectors of its file.
    luns: Vec<(u64, u64)>,
    costs: ProcessorCosts,
    counters: Counters,
    /// Commands under way, by operation.
    pending: Vec<u32>,
}

impl StripedArray {
    /// Creates an array of LUNs with files, each of so many bytes.
    pub(crate) fn new(
        group: Raid0Group,
        luns: impl Iterator<Item = (u64, u64)>,
        costs: ProcessorCosts,
    ) -> Self {
        let mut next = 0;
        let luns = luns.map(|(bytes, file_bytes)| {
            let first = next;
            next += bytes / SECTOR_BYTES;
            (first, file_bytes / SECTOR_BYTES)
        });
        let luns = luns.collect();
        Self { group, luns, costs, counters: Counters::default(), pending: vec![] }
    }

    /// Where `sectors` of a LUN lie from `first` on, and how many sectors at each place.
    pub(crate) fn pieces(
        &self,
        lun: usize,
        first: u64,
        sectors: u64,
    ) -> impl Iterator<Item = (ChunkLocation, u64)> + use<> {
        let (group, mut at) = (self.group, self.luns[lun].0 + first);
        let end = at + sectors;
        std::iter::from_fn(move || {
            let place = (at < end).then(|| group.locate(at))?;
            let sectors = u64::from(place.sectors_left_in_chunk).min(end - at);
            at += sectors;
            Some((place, sectors))
        })
    }
}

impl Array<()> for StripedArray {
    fn spindles(&self) -> u16 {
        self.group.spindles()
    }

    fn host_operation(&mut self, _: u64, op: HostOperation<()>, driver: &mut impl Driver<()>) {
        driver.processor(ProcessorWork::Operation, self.costs.of_operation(op.sectors));
        let id = op.id.0 as usize;
        self.pending.resize(self.pending.len().max(id + 1), 0);
        for (place, sectors) in self.pieces(op.lun.0.into(), op.first_sector, op.sectors.into()) {
            match op.direction {
                Direction::Read => self.counters.data_reads += 1,
                Direction::Write => self.counters.data_writes += 1,
            }
            self.pending[id] += 1;
            let sectors = sectors as u32;
            driver.processor(ProcessorWork::Command, self.costs.of_command(sectors));
            driver.command(SpindleCommand {
                tag: Tag::new(id as u64),
                spindle: place.spindle,
                direction: op.direction,
                first_sector: place.sector_on_spindle,
                sectors,
                payload: (),
                all_or_none: false,
            });
        }
    }

    fn command_completed(&mut self, _: u64, tag: Tag, _: (), driver: &mut impl Driver<()>) {
        let id = tag.number() as usize;
        self.pending[id] -= 1;
        if self.pending[id] == 0 {
            driver.acknowledge(OperationId(id as u32), Acknowledge::Now, ());
        }
    }

    fn spindle_failed(
        &mut self,
        at_ns: u64,
        spindle: SpindleIndex,
        _: &mut impl Driver<()>,
    ) -> Result<(), DataLost> {
        let stripes = self.group.stripes() / u64::from(self.spindles());
        let lun_bytes = self.luns.iter().map(|lun| lun.1 * SECTOR_BYTES).sum::<u64>();
        Err(DataLost {
            at_ns,
            spindles: vec![spindle],
            stripes,
            stripes_in_all: self.group.stripes(),
            lun_bytes: lun_bytes / u64::from(self.spindles()),
        })
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        &self.costs
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn layout(&self) -> LayoutMeasures {
        let of_lun = |(lun, (_, sectors)): (usize, &(u64, u64))| {
            let (blocks, extents) = (sectors / 8, self.pieces(lun, 0, *sectors).count() as u64);
            let span = *sectors as f64 / self.group.lun_capacity_sectors() as f64;
            let file = FileLayout::of_extents(blocks, extents, span);
            LunLayoutMeasures { file, rewritten: None }
        };
        let luns = self.luns.iter().enumerate().map(of_lun).collect();
        LayoutMeasures { luns, ..LayoutMeasures::nothing() }
    }
}

impl Growable<()> for StripedArray {}
impl Snapshots<()> for StripedArray {}
impl Durable<()> for StripedArray {}

strewn_base::saved_state! {
    impl for StripedArray {
        parts:;
        values: counters, pending;
        built: group, luns, costs;
    }
}
