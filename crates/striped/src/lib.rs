//! A kind of arrays made outside of Strewn: RAID-0 whose controller has neither a cache nor a log.
//!
//! It shows what a kind consists of, and tests that nothing else has to know it: [`array`](mod@array) is the
//! controller, and [`Striped`] its settings, with what Strewn asks of a kind. A program adds it with
//! [`kinds::add`]`::<Striped>()`, and has `[array.striped]` in scenarios.

#![forbid(unsafe_code)]

pub mod array;

use std::any::Any;

use strewn_alloc::MapPicture;
use strewn_base::BLOCK_BYTES;
use strewn_raid::Raid0Group;
use strewn_results::{ArrayMap, CapacityRule, DiskGroupCapacity, LayoutKind};
use strewn_scenario::build::{self, BuildError, Mapped, SetUpError};
use strewn_scenario::kinds::{
    self, Fields, Kind, KindSpindles, Multiple, Part, Section, SetUp, Table,
};
use strewn_scenario::{Array, Bytes, Lun, Scenario, Volume};
use strewn_sim::Simulated;

use array::StripedArray;

strewn_sim::compile_loop!(Loop for StripedArray);

/// The settings of a striped array.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Striped {
    /// Its spindles.
    pub spindles: u16,
    /// Bytes on one spindle before the next spindle has its turn.
    pub chunk_bytes: u64,
}

impl Table for Striped {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let spindles = kinds::spindles("spindles", "Its spindles.").within(1..=64);
        f.value(spindles.required("8").page(3, "Spindles").fit(10), &mut self.spindles);
        let chunk = kinds::size("chunk", "Contiguous bytes on one spindle.");
        let chunk = chunk.sized(BLOCK_BYTES..=1 << 30, Multiple::Block).chosen("\"64 KiB\"");
        f.value(chunk.page(4, "Chunk"), &mut self.chunk_bytes);
    }
}

impl Kind for Striped {
    fn table(&self) -> (&'static str, &'static str) {
        ("striped", "Chunks over all spindles, without parity, cache or log.")
    }

    fn layout(&self) -> LayoutKind {
        LayoutKind::of("striped")
    }

    fn refusal(&self, _: Part) -> Option<(&'static str, &'static str)> {
        Some(("a striped array has no such thing", "leave it out"))
    }

    fn spindles_by_purpose(&self) -> KindSpindles {
        KindSpindles { data: self.spindles.into(), parity: 0, spares: 0 }
    }

    fn check_room(&self, section: &Section<'_>, luns: &[Lun], _: &[Volume], drive_bytes: u64) {
        let how = format!("{} drives of {}", self.spindles, Bytes(drive_bytes).approximately());
        // Whole chunks: a remainder of a spindle is not used.
        let usable = u64::from(self.spindles) * (drive_bytes / self.chunk_bytes * self.chunk_bytes);
        let luns: Vec<&Lun> = luns.iter().collect();
        kinds::check_size(section, &luns, (usable, how), "the array", "a larger array: it");
    }

    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError> {
        kinds::simulate::<Loop>(set_up, |scenario, array| self.build(scenario, array))
    }

    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped> {
        array.downcast_ref().map(|array: &StripedArray| array as _)
    }

    fn capacity(&self) -> CapacityRule {
        CapacityRule::InPlace(vec![DiskGroupCapacity::Raid0 { spindles: self.spindles }])
    }
}

impl Striped {
    fn build(&self, scenario: &Scenario, array: &Array) -> Result<StripedArray, BuildError> {
        let spindle_bytes = build::capacity_bytes(array) / u64::from(scenario.spindle_stretch);
        let group = Raid0Group::new(self.spindles, self.chunk_bytes, spindle_bytes)?;
        let luns = build::luns(array).into_iter();
        let luns = luns.map(|lun| (lun.bytes, scenario.file_bytes_of(array, lun)));
        let costs = build::processor_costs(&array.processor);
        Ok(StripedArray::new(group, luns, costs))
    }
}

impl Mapped for StripedArray {
    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture {
        let spindles = strewn_array::Array::spindles(self);
        let mut picture = MapPicture::new(spindles, map.columns, map.blocks_per_spindle, false);
        for (lun, blocks) in files.iter().enumerate() {
            for (place, sectors) in self.pieces(lun, 0, blocks * 8) {
                picture.add_run(place.spindle.0, place.sector_on_spindle / 8, sectors / 8, 0);
            }
        }
        picture
    }
}
