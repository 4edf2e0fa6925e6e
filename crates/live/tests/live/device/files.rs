//! Real files through both backends, and what opening refuses.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use strewn_base::Rng;
use strewn_live::device::{
    Buffer, DeviceFile, DeviceIndex, Devices, IoBackend, IoCompletion, IoError, IoRequest,
    OpenDevice, OpenDeviceError, RealDevices, Space, open_devices,
};
use tempfile::TempDir;

use super::support::*;

const BLOCKS: u64 = 256;

/// The backends that run here.
fn backends() -> Vec<IoBackend> {
    let directory = tempfile::tempdir().unwrap();
    let file = DeviceFile::create(directory.path().join("try"), BLOCK, Space::Sparse).unwrap();
    let auto = open_devices(vec![file], IoBackend::Auto).unwrap();
    match auto.backend() {
        IoBackend::Uring => vec![IoBackend::Uring, IoBackend::Threads],
        _ => {
            eprintln!("without io_uring: {:?}", auto.fallback_reason());
            vec![IoBackend::Threads]
        }
    }
}

fn create(directory: &Path, count: u16, direct: bool) -> Vec<DeviceFile> {
    let open = OpenDevice::new().direct(direct);
    let path = |number| directory.join(format!("device-{number}"));
    (0..count)
        .map(|number| open.create(path(number), BLOCKS * BLOCK, Space::Sparse).unwrap())
        .collect()
}

fn devices(count: u16, backend: IoBackend) -> (TempDir, RealDevices) {
    let directory = tempfile::tempdir().unwrap();
    let devices = open_devices(create(directory.path(), count, true), backend).unwrap();
    assert_eq!(devices.backend(), backend);
    (directory, devices)
}

#[test]
fn what_was_written_is_read_on_every_engine() {
    for backend in backends() {
        for direct in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let mut devices = open_devices(create(directory.path(), 3, direct), backend).unwrap();
            assert_eq!((devices.count(), devices.size_bytes(DeviceIndex(2))), (3, BLOCKS * BLOCK));
            for (device, value) in (0..3).zip(1..) {
                let done = ask(&mut devices, device, write(7, filled(300_000 / 4096, value)));
                assert_eq!(done.result, Ok(()), "{backend:?}");
                assert_eq!(done.buffer.blocks(), 73, "it comes back");
                assert_eq!(
                    ask(&mut devices, device, write_durably(8, filled(1, 99))).result,
                    Ok(())
                );
                assert_eq!(ask(&mut devices, device, IoRequest::Flush).result, Ok(()));
                let found = first_bytes(&ask(&mut devices, device, read(6, 4)).buffer);
                assert_eq!(found, [0, value, 99, value]);
            }
        }
    }
}

/// A thousand operations under way, each of which comes back once, with its own bytes.
#[test]
fn more_than_fits_the_ring_all_comes_back() {
    for backend in backends() {
        let (_directory, mut devices) = devices(4, backend);
        let mut done = Vec::new();
        for pass in 0..2 {
            for id in 0..1024 {
                let (device, block) = ((id % 4) as u16, id / 4);
                let request = match pass {
                    0 => write(block, filled(1, (id % 251) as u8)),
                    _ => read(block, 1),
                };
                devices.submit(io(id, device, request));
            }
            done.clear();
            while done.len() < 1024 {
                devices.wait(None, &mut done);
            }
            let mut ids: Vec<u64> = done.iter().map(|done| done.id.0).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..1024), "{backend:?}: each once");
            for done in &done {
                assert_eq!(done.result, Ok(()), "{backend:?}");
                let value = (done.id.0 % 251) as u8;
                assert!(done.buffer.bytes().iter().all(|byte| *byte == value), "{backend:?}");
            }
        }
    }
}

#[test]
fn a_wait_ends_by_time_and_by_a_wake_up() {
    for backend in backends() {
        let (_directory, mut devices) = devices(1, backend);
        let mut done = Vec::new();
        for _ in 0..3 {
            let started = Instant::now();
            devices.wait(Some(Duration::from_millis(30)), &mut done);
            assert!(started.elapsed() >= Duration::from_millis(29), "{backend:?}");
        }
        // Before the wait: several are one.
        let waker = devices.waker();
        waker.wake();
        waker.wake();
        devices.wait(None, &mut done);
        let started = Instant::now();
        devices.wait(Some(Duration::from_millis(30)), &mut done);
        assert!(started.elapsed() >= Duration::from_millis(29), "{backend:?}: woken twice by one");
        // During it, again and again.
        for _ in 0..20 {
            let waker = devices.waker();
            let other = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(2));
                waker.wake();
            });
            devices.wait(None, &mut done);
            other.join().unwrap();
        }
        assert!(done.is_empty());
        assert!(devices.now_ns() > 90_000_000);
    }
}

/// None of a stream of wake-ups that come while operations do is missed.
#[test]
fn wake_ups_among_completions_are_not_missed() {
    for backend in backends() {
        let (_directory, mut devices) = devices(1, backend);
        let (sender, receiver) = std::sync::mpsc::channel();
        let waker = devices.waker();
        let other = std::thread::spawn(move || {
            for number in 0..2_000 {
                sender.send(number).unwrap();
                waker.wake();
            }
        });
        let (mut received, mut done, mut id) = (0, Vec::new(), 0);
        while received < 2_000 {
            if id < 4_000 {
                devices.submit(io(id, 0, read(id % BLOCKS, 1)));
                id += 1;
            }
            devices.wait(None, &mut done);
            received += receiver.try_iter().count();
        }
        other.join().unwrap();
    }
}

#[test]
fn a_closed_device_answers_no_more_and_lets_its_file_go() {
    for backend in backends() {
        let (directory, mut devices) = devices(2, backend);
        for id in 0..64 {
            devices.submit(io(id, 0, write(id, filled(1, 1))));
        }
        devices.close(DeviceIndex(0));
        devices.submit(io(64, 0, IoRequest::Flush));
        let mut done = Vec::new();
        while done.len() < 65 {
            devices.wait(Some(Duration::from_secs(5)), &mut done);
        }
        let gone = Err(IoError::Gone("closed".to_owned()));
        assert!(
            done.iter().all(|done| done.result == Ok(()) || done.result == gone),
            "{backend:?}"
        );
        assert_eq!(done.iter().find(|done| done.id.0 == 64).unwrap().result, gone);
        assert_eq!(ask(&mut devices, 1, read(0, 1)).result, Ok(()));

        // The threads let go of it when they see that they are to end.
        let path = directory.path().join("device-0");
        let again = (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            DeviceFile::open(&path).ok()
        });
        drop(again.expect("its lock is free"));

        let by = DeviceFile::create(directory.path().join("new"), 2 * BLOCK, Space::Preallocated)
            .unwrap();
        devices.replace(DeviceIndex(0), by);
        assert_eq!(devices.size_bytes(DeviceIndex(0)), 2 * BLOCK);
        assert_eq!(ask(&mut devices, 0, write(1, filled(1, 5))).result, Ok(()));
    }
}

/// A file cut short behind our back: what is asked beyond is gone, whole or in part.
#[test]
fn a_file_that_became_shorter_is_gone() {
    for backend in backends() {
        for direct in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let mut devices = open_devices(create(directory.path(), 1, direct), backend).unwrap();
            let path = directory.path().join("device-0");
            std::fs::OpenOptions::new()
                .write(true)
                .open(path)
                .unwrap()
                .set_len(10 * BLOCK)
                .unwrap();
            assert_eq!(ask(&mut devices, 0, read(0, 10)).result, Ok(()));
            for block in [8, 10, 20] {
                let result = ask(&mut devices, 0, read(block, 4)).result;
                assert!(matches!(result, Err(IoError::Gone(_))), "{backend:?}: {result:?}");
            }
        }
    }
}

/// Dropped with writes in flight: nothing is written through a buffer that is free, and nobody hangs.
#[test]
fn dropped_in_the_middle() {
    for backend in backends() {
        for round in 0..20 {
            let (_directory, mut devices) = devices(2, backend);
            for id in 0..300 {
                let request =
                    if id % 3 == 0 { read(0, 64) } else { write_durably(id % 128, filled(64, 7)) };
                devices.submit(io(id, (id % 2) as u16, request));
            }
            let mut done = Vec::new();
            if round % 2 == 0 {
                devices.wait(Some(Duration::ZERO), &mut done);
            }
            drop(devices);
        }
    }
}

#[test]
fn a_second_opening_is_refused_with_the_path_and_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk-3");
    let file = DeviceFile::create(&path, 4 * BLOCK, Space::Sparse).unwrap();
    let refused = DeviceFile::open(&path).unwrap_err();
    assert!(matches!(refused, OpenDeviceError::InUse { .. }));
    let us = if cfg!(target_os = "linux") {
        format!(" by process {}", std::process::id())
    } else {
        String::new()
    };
    assert_eq!(refused.to_string(), format!("{} is in use{us}", path.display()));
    assert!(OpenDevice::new().writable(false).open(&path).is_err());
    drop(file);
    let readers: Vec<_> =
        (0..2).map(|_| OpenDevice::new().writable(false).open(&path).unwrap()).collect();
    assert!(DeviceFile::open(&path).is_err(), "it is being read");
    drop(readers);
    assert_eq!(DeviceFile::open(&path).unwrap().size_bytes(), 4 * BLOCK);
}

#[test]
fn what_is_no_device_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let opened = |name: &str| DeviceFile::open(path(name)).unwrap_err().to_string();
    assert!(opened("nothing").contains("cannot open it: No such file"), "{}", opened("nothing"));
    std::fs::create_dir(path("directory")).unwrap();
    assert!(opened("directory").ends_with("is neither a file nor a block device"));
    std::fs::write(path("odd"), [0; 5000]).unwrap();
    assert!(opened("odd").contains("holds 5000 bytes"));
    std::fs::write(path("empty"), []).unwrap();
    assert!(opened("empty").contains("holds 0 bytes"));
    let refused = DeviceFile::create(path("odd"), BLOCK, Space::Sparse).unwrap_err();
    assert!(refused.to_string().contains("cannot create it: File exists"), "{refused}");
    assert!(path("odd").exists(), "what was there is not taken away");
    assert!(DeviceFile::create(path("new"), 100, Space::Sparse).is_err());
    let file =
        OpenDevice::new().direct(false).create(path("buffered"), BLOCK, Space::Sparse).unwrap();
    assert!(!file.direct() && !file.is_block_device());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Operations that do not meet, many under way: each backend ends with the bytes that a model has.
    #[test]
    fn files_end_as_a_model_does(seed: u64) {
        for backend in backends() {
            let (_directory, mut devices) = devices(2, backend);
            let mut rng = Rng::new(seed);
            let mut model = vec![0_u8; 2 * BLOCKS as usize];
            let (mut busy, mut done) = (HashMap::new(), Vec::new());
            for id in 0..400 {
                let device = (rng.below(2)) as u16;
                let block = rng.below(BLOCKS);
                let blocks = 1 + rng.below(16).min(BLOCKS - 1 - block);
                let (value, kind) = (rng.bits() as u8, rng.below(8));
                let places = usize::from(device) * BLOCKS as usize + block as usize;
                let places = places..places + blocks as usize;
                let meets = |busy: &HashMap<u64, (std::ops::Range<usize>, bool)>| busy.values()
                    .any(|(other, _)| other.start < places.end && places.start < other.end);
                while meets(&busy) {
                    devices.wait(None, &mut done);
                    take(&mut done, &mut busy, &model);
                }
                let request = match kind {
                    0 => IoRequest::Flush,
                    1..4 => read(block, blocks as usize),
                    _ => {
                        model[places.clone()].fill(value);
                        let offset = block * BLOCK;
                        IoRequest::Write { offset, from: filled(blocks as usize, value), durable: kind == 4 }
                    }
                };
                busy.insert(id, (places, (1..4).contains(&kind)));
                devices.submit(io(id, device, request));
            }
            while !busy.is_empty() {
                devices.wait(None, &mut done);
                take(&mut done, &mut busy, &model);
            }
            for device in 0..2 {
                let into = Buffer::zeroed(BLOCKS as usize);
                let all = ask(&mut devices, device, IoRequest::Read { offset: 0, into });
                let places = usize::from(device) * BLOCKS as usize;
                prop_assert_eq!(&first_bytes(&all.buffer)[..], &model[places..places + BLOCKS as usize]);
            }
        }
    }
}

fn take(
    done: &mut Vec<IoCompletion>,
    busy: &mut HashMap<u64, (std::ops::Range<usize>, bool)>,
    model: &[u8],
) {
    for done in done.drain(..) {
        assert_eq!(done.result, Ok(()));
        let (places, is_read) = busy.remove(&done.id.0).expect("asked for");
        if is_read {
            assert_eq!(first_bytes(&done.buffer), model[places]);
        }
    }
}

/// A child has a copy of every open file until it runs its program: that must not keep a lock.
#[test]
fn a_lock_is_free_though_children_are_being_started() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    drop(DeviceFile::create(&path, BLOCK, Space::Sparse).unwrap());
    let ends = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                Command::new("true").status().unwrap();
            }
        });
        let opened = (0..2_000).all(|_| DeviceFile::open(&path).is_ok());
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(opened);
    });
}
