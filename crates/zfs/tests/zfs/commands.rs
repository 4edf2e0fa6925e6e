//! Commands to drives beside those of a real pool on emulated drives: 8 ms for each command that does not follow the
//! one before, 150 MB/s, first come, first served, and with or without half a millisecond for any command. The real
//! pool was RAID-Z2 of six drives with a volume of 256 MiB in blocks of 8 KiB, written 4,096 blocks a transaction
//! group, and read in order, cold, in requests of 1 MiB (`real_pool -x 4096 -P 2 -L 8000 -r`, the same with `-K 500`).

use strewn_array::{Array, Direction};
use strewn_zfs::{PipelineCosts, Waves, ZfsConfig};

use crate::machine::{Machine, SECTORS_A_BLOCK, raid_z2};
use crate::recording;
use crate::volumes::SplitMix;

const MIB: u64 = 1 << 20;
const BLOCKS: u64 = 32_768;

/// What the thread that reads took for a block of 8 KiB in user space.
const WITH_READS: PipelineCosts = PipelineCosts { issue_ns: 0, completion_ns: 0, read_ns: 60_000 };

impl Machine {
    /// Writes blocks, 4,096 a transaction group. Returns the commands for each.
    fn write(&mut self, blocks: impl Iterator<Item = u64>) -> f64 {
        let before = self.drives.writes;
        let blocks: Vec<u64> = blocks.collect();
        for group in blocks.chunks(4_096) {
            for block in group {
                self.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
            }
            self.run_until(|_| false);
        }
        (self.drives.writes - before) as f64 / blocks.len() as f64
    }

    /// Reads the volume in order. Returns the commands for each MiB, and MiB a second.
    fn read(&mut self) -> (f64, f64) {
        self.array.forget_cache();
        let (reads, began_ns) = (self.drives.reads, self.drives.now_ns);
        for mib in 0..256 {
            self.issue(Direction::Read, mib * MIB / 512, MIB / 512);
            let issued = u64::from(self.issued);
            self.run_until(|machine| machine.drives.answered == issued);
        }
        let took_ns = self.drives.now_ns - began_ns;
        self.run_until(|_| false);
        ((self.drives.reads - reads) as f64 / 256.0, 256e9 / took_ns as f64)
    }
}

/// What drives got: commands for each block written, commands for each MiB read, and MiB a second, as the volume was
/// filled, overwritten at random once, and twice.
fn passes(command_ns: u64, pipeline: PipelineCosts, waves: Waves) -> [(f64, f64, f64); 3] {
    let mut machine = Machine::new(ZfsConfig { pipeline, waves, ..raid_z2(BLOCKS * 8_192) });
    machine.drives.command_ns = command_ns;
    let mut random = SplitMix(1);
    [0, 1, 2].map(|pass| {
        let written = match pass {
            0 => machine.write(0..BLOCKS),
            _ => machine.write((0..BLOCKS).map(|_| random.next() % BLOCKS)),
        };
        let (read, rate) = machine.read();
        println!(
            "pass {pass}: {written:.2} commands for a block written, {read:.2} for a MiB read, {rate:.1} MiB/s"
        );
        (written, read, rate)
    })
}

#[test]
fn drives_get_as_many_commands_as_those_of_a_real_pool() {
    let real = [(0.443, 2.31), (0.431, 6.19), (0.430, 20.19)];
    let model = passes(500_000, WITH_READS, Waves::Short);
    for ((writes, reads), (written, read, _)) in real.into_iter().zip(model) {
        assert!((written / writes - 1.0).abs() <= 0.10, "{written:.2} for a block, real {writes}");
        // Where blocks lie decides what is left: docs/zfs.md, and the next test.
        assert!((read / reads - 1.0).abs() <= 0.30, "{read:.2} for a MiB, real {reads}");
    }
}

/// The same volume where a real pool had it (`cold-read.csv.gz`), so that only reading is compared.
#[test]
fn a_cold_read_of_a_real_volume_takes_as_many_commands() {
    let text = recording::read("cold-read.csv.gz");
    // Commands for a MiB in that run and five others.
    let real = [2.71..=3.27, 6.19..=6.62, 19.97..=20.71];
    for (pass, real) in real.into_iter().enumerate() {
        let places = text.lines().map(|line| {
            let sector: u64 = line.split(',').nth(pass).unwrap().parse().unwrap();
            sector * 4_096
        });
        let config = ZfsConfig { pipeline: WITH_READS, ..raid_z2(BLOCKS * 8_192) };
        let mut machine = Machine::new(config);
        machine.drives.command_ns = 500_000;
        machine.write(0..BLOCKS);
        machine.array.read_from_places(&places.collect::<Vec<_>>());
        let (read, rate) = machine.read();
        println!("pass {pass}: {read:.2} commands for a MiB, real {real:?}; {rate:.1} MiB/s");
        let off = (read - read.clamp(*real.start(), *real.end())) / real.start();
        assert!(off.abs() <= 0.05, "{read:.2} for a MiB, real {real:?}");
    }
}

/// Drives that take nothing for a command that follows the last are as fast as the threads that blocks pass. Whoever is
/// faster decides how many commands there are: a real pool had 0.6 to 1.8 for a block, by what else the processor did.
#[test]
fn threads_decide_how_many_commands_there_are_only_if_drives_are_as_fast() {
    let measured = PipelineCosts { issue_ns: 17_600, completion_ns: 27_000, read_ns: 0 };
    let slower = PipelineCosts { completion_ns: 30_000, ..measured };
    let written = |command_ns, pipeline| {
        passes(command_ns, pipeline, Waves::Long).map(|(written, ..)| written)
    };
    for written in written(0, PipelineCosts::default()) {
        assert!((0.4..0.5).contains(&written), "{written:.2} without threads");
    }
    for written in written(0, measured) {
        assert!((0.57..1.83).contains(&written), "{written:.2} as measured");
    }
    // A sector takes a drive 27.3 us: no two are joined.
    for written in written(0, slower) {
        assert!(written > 3.5, "{written:.2} with threads that are slower than drives");
    }
    for written in written(500_000, slower) {
        assert!(written < 0.5, "{written:.2} with drives that are slower than threads");
    }
}
