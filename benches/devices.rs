//! What the engines make of files, beside plain system calls.
//!
//! `DEVICES_DIRECTORY` names where the files are made: on the disks that are to be measured, or a temporary directory.

use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use strewn_live::device::{
    BLOCK_BYTES, Buffer, DeviceFile, DeviceIndex, Devices, Io, IoBackend, IoCompletion, IoId,
    IoRequest, Space, open_devices,
};
use tempfile::TempDir;

const FILES: u16 = 6;
const FILE_BYTES: u64 = 256 << 20;
const DEPTH: usize = 32;
const LARGE_BLOCKS: usize = (1 << 20) / BLOCK_BYTES;

fn files() -> Result<(TempDir, Vec<DeviceFile>), Box<dyn std::error::Error>> {
    let directory = match std::env::var_os("DEVICES_DIRECTORY") {
        Some(path) => TempDir::new_in(PathBuf::from(path))?,
        None => TempDir::new()?,
    };
    let mut files = Vec::new();
    let mut bytes = Buffer::zeroed(LARGE_BLOCKS);
    bytes.bytes_mut().fill(0x5a);
    for number in 0..FILES {
        let path = directory.path().join(format!("device-{number}"));
        let file = DeviceFile::create(path, FILE_BYTES, Space::Preallocated)?;
        // Written through: what was only allocated reads as zeros without a disk.
        for offset in (0..FILE_BYTES).step_by(bytes.bytes().len()) {
            file.file().write_all_at(bytes.bytes(), offset)?;
        }
        file.file().sync_all()?;
        files.push(file);
    }
    Ok((directory, files))
}

/// Places all over the files, none of them near the last.
struct Places(u64);

impl Places {
    fn next(&mut self, bytes: u64) -> (u16, u64) {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = (self.0 >> 33) % (FILE_BYTES / bytes);
        ((self.0 >> 20) as u16 % FILES, place * bytes)
    }
}

/// Keeps `DEPTH` of `blocks` blocks under way until `count` are done, with the same buffers.
fn run(
    devices: &mut impl Devices,
    buffers: &mut Vec<Buffer>,
    places: &mut Places,
    count: u64,
    reads: bool,
) {
    let (mut done, mut asked, mut over): (Vec<IoCompletion>, u64, u64) =
        (Vec::with_capacity(64), 0, 0);
    while over < count {
        while asked < count
            && let Some(buffer) = buffers.pop()
        {
            let (device, offset) = places.next(buffer.bytes().len() as u64);
            let request = match reads {
                true => IoRequest::Read { offset, into: buffer },
                false => IoRequest::Write { offset, from: buffer, durable: false },
            };
            devices.submit(Io { id: IoId(asked), device: DeviceIndex(device), request });
            asked += 1;
        }
        devices.wait(None, &mut done);
        for done in done.drain(..) {
            assert_eq!(done.result, Ok(()));
            over += 1;
            buffers.push(done.buffer);
        }
    }
}

fn engines(criterion: &mut Criterion) {
    for engine in [IoBackend::Uring, IoBackend::Threads] {
        let (_directory, files) = files().expect("files to measure");
        let direct = files.iter().all(DeviceFile::direct);
        let Ok(mut devices) = open_devices(files, engine) else { continue };
        for (what, blocks, reads) in [("read 4 KiB", 1, true), ("write 1 MiB", LARGE_BLOCKS, false)]
        {
            let mut group = criterion.benchmark_group(what);
            group.throughput(Throughput::Bytes((blocks * BLOCK_BYTES) as u64));
            let mut buffers = vec![Buffer::zeroed(blocks); DEPTH];
            let mut places = Places(1);
            let name =
                format!("{engine:?}, {DEPTH} deep{}", if direct { "" } else { ", buffered" });
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|count| {
                    let started = devices.now_ns();
                    run(&mut devices, &mut buffers, &mut places, count, reads);
                    Duration::from_nanos(devices.now_ns() - started)
                });
            });
        }
    }
}

fn plain(criterion: &mut Criterion) {
    let (_directory, files) = files().expect("files to measure");
    let mut places = Places(1);
    let mut small = Buffer::zeroed(1);
    let mut group = criterion.benchmark_group("read 4 KiB");
    group.throughput(Throughput::Bytes(BLOCK_BYTES as u64));
    group.bench_function("pread, one by one", |bencher| {
        bencher.iter(|| {
            let (file, offset) = places.next(BLOCK_BYTES as u64);
            let file = files[usize::from(file)].file();
            file.read_exact_at(black_box(small.bytes_mut()), offset).expect("it reads");
        });
    });
    group.finish();
    let large = Buffer::zeroed(LARGE_BLOCKS);
    let mut group = criterion.benchmark_group("write 1 MiB");
    group.throughput(Throughput::Bytes(large.bytes().len() as u64));
    group.bench_function("pwrite, one by one", |bencher| {
        bencher.iter(|| {
            let (file, offset) = places.next(large.bytes().len() as u64);
            let file = files[usize::from(file)].file();
            file.write_all_at(black_box(large.bytes()), offset).expect("it writes");
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3));
    targets = engines, plain
}
criterion_main!(benches);
