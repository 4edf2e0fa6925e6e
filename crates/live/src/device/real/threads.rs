//! Files read and written by threads, several per device, so that a device that hangs blocks only its own.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::super::{DeviceIndex, Devices, Io, IoCompletion, IoError, IoRequest, Waker};
use super::errno::{ended, error_of};
use super::{BACK_AT_ONCE, DeviceFile, assert_countable, closed};

/// Operations in flight per device, one per thread: enough for a disk to sort.
const THREADS_A_DEVICE: usize = 8;

/// Files as devices, read and written by threads.
#[derive(Debug)]
pub struct ThreadDevices {
    devices: Vec<Device>,
    returns: Arc<Returns>,
    opened: Instant,
    // Threads of closed devices, which may still hang.
    leaving: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Device {
    size_bytes: u64,
    workers: Option<Workers>,
}

/// The threads of a device.
#[derive(Debug)]
struct Workers {
    work: Arc<Work>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Work {
    file: DeviceFile,
    queue: Mutex<Queue>,
    something: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Io>,
    ends: bool,
}

/// Completed operations on their way back to the caller.
#[derive(Debug, Default)]
struct Returns {
    state: Mutex<Returned>,
    something: Condvar,
}

#[derive(Debug, Default)]
struct Returned {
    done: Vec<IoCompletion>,
    woken: bool,
}

impl ThreadDevices {
    /// Runs `files` as devices, in this order.
    ///
    /// # Errors
    ///
    /// If the threads cannot be started.
    pub fn new(files: Vec<DeviceFile>) -> io::Result<Self> {
        Self::on(files.into_iter().map(Some).collect())
    }

    pub(super) fn on(files: Vec<Option<DeviceFile>>) -> io::Result<Self> {
        assert_countable(&files);
        let returns = Arc::<Returns>::default();
        let mut devices =
            Self { devices: Vec::new(), returns, opened: Instant::now(), leaving: Vec::new() };
        for file in files {
            let size_bytes = file.as_ref().map_or(0, DeviceFile::size_bytes);
            let workers = file.map(|file| Workers::start(file, &devices.returns)).transpose()?;
            devices.devices.push(Device { size_bytes, workers });
        }
        Ok(devices)
    }
}

impl Devices for ThreadDevices {
    type Replacement = DeviceFile;

    fn count(&self) -> u16 {
        self.devices.len() as u16
    }

    fn size_bytes(&self, device: DeviceIndex) -> u64 {
        self.devices[usize::from(device.0)].size_bytes
    }

    fn now_ns(&self) -> u64 {
        self.opened.elapsed().as_nanos() as u64
    }

    fn submit(&mut self, io: Io) {
        let device = &self.devices[usize::from(io.device.0)];
        match &device.workers {
            Some(workers) => {
                io.assert_within(device.size_bytes);
                held(&workers.work.queue).waiting.push_back(io);
                workers.work.something.notify_one();
            }
            None => self.returns.give(io.refused(closed())),
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>) {
        let mut state = held(&self.returns.state);
        let nothing = |state: &mut Returned| state.done.is_empty() && !state.woken;
        state = match timeout {
            None => self
                .returns
                .something
                .wait_while(state, nothing)
                .unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                self.returns
                    .something
                    .wait_timeout_while(state, timeout, nothing)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
        state.woken = false;
        let back = state.done.len().min(BACK_AT_ONCE);
        done.extend(state.done.drain(..back));
    }

    fn waker(&self) -> Waker {
        let returns = Arc::clone(&self.returns);
        Waker::new(move || {
            held(&returns.state).woken = true;
            returns.something.notify_one();
        })
    }

    fn close(&mut self, device: DeviceIndex) {
        let Some(workers) = self.devices[usize::from(device.0)].workers.take() else { return };
        for io in workers.dismiss() {
            self.returns.give(io.refused(closed()));
        }
        self.leaving.retain(|thread| !thread.is_finished());
        self.leaving.extend(workers.threads);
    }

    fn replace(&mut self, device: DeviceIndex, by: DeviceFile) {
        self.close(device);
        let size_bytes = by.size_bytes();
        // Without threads the device is as good as closed.
        let workers = Workers::start(by, &self.returns).ok();
        self.devices[usize::from(device.0)] = Device { size_bytes, workers };
    }
}

impl Drop for ThreadDevices {
    fn drop(&mut self) {
        for workers in self.devices.iter_mut().filter_map(|device| device.workers.take()) {
            workers.dismiss();
            self.leaving.extend(workers.threads);
        }
        for thread in self.leaving.drain(..) {
            // A thread that panicked has already printed its message.
            let _ = thread.join();
        }
    }
}

impl Workers {
    fn start(file: DeviceFile, returns: &Arc<Returns>) -> io::Result<Self> {
        let work = Arc::new(Work { file, queue: Mutex::default(), something: Condvar::new() });
        let mut workers = Self { work, threads: Vec::new() };
        for number in 0..THREADS_A_DEVICE {
            let (work, returns) = (Arc::clone(&workers.work), Arc::clone(returns));
            let name = format!("device {number}");
            match thread::Builder::new().name(name).spawn(move || work.run(&returns)) {
                Ok(thread) => workers.threads.push(thread),
                // Fewer threads are only slower.
                Err(_) if number > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(workers)
    }

    /// Ends the threads after their current operations, and returns the operations not started.
    fn dismiss(&self) -> VecDeque<Io> {
        let mut queue = held(&self.work.queue);
        queue.ends = true;
        self.work.something.notify_all();
        std::mem::take(&mut queue.waiting)
    }
}

impl Work {
    fn run(&self, returns: &Returns) {
        while let Some(mut io) = self.next() {
            let result = perform(self.file.file(), &mut io.request);
            let buffer = io.request.into_buffer();
            returns.give(IoCompletion { id: io.id, device: io.device, buffer, result });
        }
    }

    fn next(&self) -> Option<Io> {
        let queue = held(&self.queue);
        let mut queue = self
            .something
            .wait_while(queue, |queue| queue.waiting.is_empty() && !queue.ends)
            .unwrap_or_else(PoisonError::into_inner);
        queue.waiting.pop_front()
    }
}

impl Returns {
    fn give(&self, done: IoCompletion) {
        held(&self.state).done.push(done);
        self.something.notify_one();
    }
}

/// Locks a mutex, ignoring poison: a panic leaves nothing half changed here.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn perform(file: &File, request: &mut IoRequest) -> Result<(), IoError> {
    let result = match request {
        IoRequest::Read { offset, into } => file.read_exact_at(into.bytes_mut(), *offset),
        IoRequest::Write { offset, from, durable: true } => {
            write_durably(file, from.bytes(), *offset)
        }
        IoRequest::Write { offset, from, durable: false } => {
            file.write_all_at(from.bytes(), *offset)
        }
        IoRequest::Flush => file.sync_data(),
    };
    result.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ended(),
        _ => error_of(request, &error),
    })
}

#[cfg(target_os = "linux")]
fn write_durably(file: &File, mut from: &[u8], mut offset: u64) -> io::Result<()> {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};

    while !from.is_empty() {
        match pwritev2(file, &[io::IoSlice::new(from)], offset, ReadWriteFlags::DSYNC) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                from = &from[written..];
                offset += written as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn write_durably(file: &File, from: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(from, offset).and_then(|()| file.sync_data())
}
