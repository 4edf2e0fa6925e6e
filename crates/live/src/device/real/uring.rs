//! Files read and written through io_uring: one thread submits everything, many I/Os per system call.

// The kernel is given the address of a buffer, which must stay in place until the kernel reports completion. The
// slots ensure this. Nothing else here is unsafe.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::event::EventfdFlags;
use rustix::io::Errno;

use super::super::{DeviceIndex, Devices, Io, IoCompletion, IoError, Waker};
use super::slot::{Outcome, Slot};
use super::{BACK_AT_ONCE, DeviceFile, assert_countable, closed};

/// Entries of the submission ring.
const ENTRIES: u32 = 512;

/// Operations in the kernel: one entry is reserved for the wake-up.
const AT_ONCE: usize = ENTRIES as usize - 1;

/// A flush that takes longer than this is better left to the kernel's threads.
const QUICK_FLUSH: Duration = Duration::from_micros(500);

/// After a slow flush, this many are left to the kernel's threads before the next try.
const FLUSHES_LEFT_AFTER_A_SLOW_ONE: u32 = 1000;

/// Identifier of the wake-up's completion.
const WOKEN: u64 = u64::MAX;

/// A ring without devices. If the kernel refuses io_uring, it refuses it here.
#[derive(Debug)]
pub(super) struct Ring {
    ring: RingHandle,
    wake: Arc<OwnedFd>,
}

impl Ring {
    pub(super) fn new() -> io::Result<Self> {
        let ring = IoUring::new(ENTRIES)?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "io_uring of before Linux 5.11",
            ));
        }
        let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { ring: RingHandle(ring), wake: Arc::new(wake) })
    }
}

/// Files as devices, read and written through io_uring.
#[derive(Debug)]
pub struct UringDevices {
    ring: RingHandle,
    devices: Vec<Device>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    // Slots that were not submitted to the kernel yet, in order of arrival.
    queued: VecDeque<u32>,
    in_kernel: usize,
    // I/Os that completed without the kernel.
    refused: Vec<IoCompletion>,
    wake: Arc<OwnedFd>,
    wake_is_armed: bool,
    woken: bool,
    // How many more flushes to leave to the kernel's threads, because one was slow.
    flushes_left: u32,
    opened: Instant,
}

#[derive(Debug)]
struct Device {
    size_bytes: u64,
    file: Option<Arc<DeviceFile>>,
}

impl Device {
    /// A closed device: it has no valid range.
    const CLOSED: Self = Self { size_bytes: 0, file: None };
}

impl UringDevices {
    /// Runs `files` as devices, in this order.
    ///
    /// # Errors
    ///
    /// If the kernel has no io_uring, does not allow it, or is older than 5.11.
    pub fn new(files: Vec<DeviceFile>) -> io::Result<Self> {
        Ok(Self::on(Ring::new()?, files.into_iter().map(Some).collect()))
    }

    pub(super) fn on(ring: Ring, files: Vec<Option<DeviceFile>>) -> Self {
        assert_countable(&files);
        Self {
            ring: ring.ring,
            devices: files
                .into_iter()
                .map(|file| file.map_or(Device::CLOSED, Device::new))
                .collect(),
            slots: Vec::new(),
            free: Vec::new(),
            queued: VecDeque::new(),
            in_kernel: 0,
            refused: Vec::new(),
            wake: ring.wake,
            wake_is_armed: false,
            woken: false,
            flushes_left: 0,
            opened: Instant::now(),
        }
    }

    fn occupy(&mut self, slot: Slot) -> u32 {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = Some(slot);
            return index;
        }
        self.slots.push(Some(slot));
        u32::try_from(self.slots.len() - 1).expect("fewer operations than memory for them")
    }

    /// Fills the ring as far as there is room.
    fn fill(&mut self) {
        if !self.wake_is_armed {
            let poll = opcode::PollAdd::new(Fd(self.wake.as_raw_fd()), POLL_IN).build();
            // SAFETY: a poll references no memory of ours, and the descriptor lives as long as the ring.
            self.wake_is_armed = unsafe { self.ring.push(&poll.user_data(WOKEN)) };
        }
        while self.in_kernel < AT_ONCE
            && let Some(index) = self.queued.pop_front()
        {
            let Some(slot) = &mut self.slots[index as usize] else { continue };
            let entry = slot.entry().user_data(u64::from(index));
            // SAFETY: the slot owns the buffer and the open file. It is not touched, moved out or dropped before the
            // completion of this entry is seen (`finish`), and `drop` waits for that or leaks it. The buffer's memory
            // is on the heap, and does not move with the slot. The kernel may write to it, because the pointer was
            // made from an exclusive reference.
            if !unsafe { self.ring.push(&entry) } {
                self.queued.push_front(index);
                break;
            }
            self.in_kernel += 1;
        }
    }

    /// Collects completions from the kernel, until `done` has `most`.
    fn reap(&mut self, done: &mut Vec<IoCompletion>, most: usize) {
        while done.len() < most
            && let Some((name, result)) = self.ring.next_completion()
        {
            if name == WOKEN {
                self.wake_is_armed = false;
                self.woken = true;
                // Reset it to zero, so that it can be waited for again. If it is already zero, that is fine.
                let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
                continue;
            }
            assert!(self.in_kernel > 0, "an operation completes once");
            self.in_kernel -= 1;
            let index = name as u32;
            let slot = self.slots[index as usize].as_mut();
            let outcome = slot.map(|slot| slot.came_back(result));
            done.extend(outcome.and_then(|outcome| self.on_outcome(index, outcome)));
        }
    }

    /// Handles the outcome of an operation: completes it, or queues its remainder.
    fn on_outcome(&mut self, index: u32, outcome: Outcome) -> Option<IoCompletion> {
        match outcome {
            Outcome::Over(result) => self.finish(index, result),
            Outcome::Again => {
                // The remainder goes before later operations.
                self.queued.push_front(index);
                None
            }
        }
    }

    /// Flushes a device on this thread, if the flush is all there is to do or to wait for. The kernel would hand the
    /// flush to one of its own threads, and the round trip takes a tenth of the time of a write to the log with its
    /// flush.
    fn flush_alone(&mut self, done: &mut Vec<IoCompletion>) {
        let [index] = self.queued.make_contiguous() else { return };
        let index = *index;
        let Some(slot) = self.slots[index as usize].as_mut().filter(|slot| slot.is_flush()) else {
            return;
        };
        if self.in_kernel > 0 {
            return;
        }
        if self.flushes_left > 0 {
            self.flushes_left -= 1;
            return;
        }
        self.queued.clear();
        let began = Instant::now();
        let outcome = slot.flush();
        if began.elapsed() > QUICK_FLUSH {
            self.flushes_left = FLUSHES_LEFT_AFTER_A_SLOW_ONE;
        }
        done.extend(self.on_outcome(index, outcome));
    }

    /// Frees a slot that the kernel no longer uses.
    fn finish(&mut self, index: u32, result: Result<(), IoError>) -> Option<IoCompletion> {
        let io = self.slots[index as usize].take()?.io;
        self.free.push(index);
        Some(IoCompletion {
            id: io.id,
            device: io.device,
            buffer: io.request.into_buffer(),
            result,
        })
    }
}

impl Devices for UringDevices {
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
        let Some(file) = &device.file else {
            self.refused.push(io.refused(closed()));
            return;
        };
        io.assert_within(device.size_bytes);
        let file = Arc::clone(file);
        let index = self.occupy(Slot::new(io, file));
        self.queued.push_back(index);
    }

    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>) {
        let before = done.len();
        done.append(&mut self.refused);
        let most = before + BACK_AT_ONCE;
        self.reap(done, most);
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            // A caller that cannot wait for a flush has other work to do.
            if left.is_none_or(|left| left >= QUICK_FLUSH) {
                self.flush_alone(done);
            }
            if done.len() > before && self.queued.is_empty() {
                break;
            }
            self.fill();
            let left = match left {
                _ if done.len() > before || self.woken => Some(Duration::ZERO),
                left => left,
            };
            // If the ring cannot be entered, the kernel never returns the buffers, and nothing can go on.
            assert!(self.ring.enter(left), "io_uring no longer answers");
            self.reap(done, most);
            // A half-done operation is no reason to return: its remainder is submitted.
            let woken = std::mem::take(&mut self.woken);
            if done.len() > before || woken || left.is_some_and(|left| left.is_zero()) {
                break;
            }
        }
        // Start the operations that take the freed entries now, not at the next wait.
        if !self.queued.is_empty() {
            self.fill();
            self.ring.enter(Some(Duration::ZERO));
        }
    }

    fn waker(&self) -> Waker {
        let wake = Arc::clone(&self.wake);
        Waker::new(move || {
            // A write fails only if the counter is full of wake-ups.
            let _ = rustix::io::write(&*wake, &1_u64.to_ne_bytes());
        })
    }

    fn close(&mut self, device: DeviceIndex) {
        self.devices[usize::from(device.0)].file = None;
        let mut queued = std::mem::take(&mut self.queued);
        queued.retain(|index| {
            let of = self.slots[*index as usize].as_ref().map(|slot| slot.io.device);
            if of == Some(device) {
                let done = self.finish(*index, Err(closed()));
                self.refused.extend(done);
            }
            of != Some(device)
        });
        self.queued = queued;
    }

    fn replace(&mut self, device: DeviceIndex, by: DeviceFile) {
        self.close(device);
        self.devices[usize::from(device.0)] = Device::new(by);
    }
}

impl Drop for UringDevices {
    fn drop(&mut self) {
        // Operations that were not submitted are dropped, and so are the remainders of those done in part.
        let mut done = Vec::new();
        while self.in_kernel > 0 {
            if !self.ring.enter(None) {
                // The kernel may still use the buffers, so they are leaked.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            self.reap(&mut done, usize::MAX);
            done.clear();
        }
    }
}

impl Device {
    fn new(file: DeviceFile) -> Self {
        Self { size_bytes: file.size_bytes(), file: Some(Arc::new(file)) }
    }
}

/// `POLLIN`.
const POLL_IN: u32 = 1;

/// The ring, with the few operations used here.
struct RingHandle(IoUring);

impl RingHandle {
    /// Adds an entry to the submission ring, and returns whether there was room.
    ///
    /// # Safety
    ///
    /// Everything that the entry references must stay valid until its completion is collected.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.submission().push(entry) }.is_ok()
    }

    /// Submits the entries, and waits up to `timeout` for one completion. Returns whether the call may be repeated.
    fn enter(&mut self, timeout: Option<Duration>) -> bool {
        let result = match timeout {
            Some(timeout) if timeout.is_zero() => self.0.submit(),
            Some(timeout) => {
                let timespec = Timespec::from(timeout);
                self.0.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
            }
            None => self.0.submit_and_wait(1),
        };
        // A timeout, a signal, a full completion ring, or lack of memory is no operation's error: the caller goes on
        // and tries again.
        let passing = [Errno::TIME, Errno::INTR, Errno::BUSY, Errno::AGAIN, Errno::NOMEM];
        match result {
            Ok(_) => true,
            Err(error) => {
                Errno::from_io_error(&error).is_some_and(|errno| passing.contains(&errno))
            }
        }
    }

    fn next_completion(&mut self) -> Option<(u64, i32)> {
        self.0.completion().next().map(|entry| (entry.user_data(), entry.result()))
    }
}

impl std::fmt::Debug for RingHandle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("RingHandle")
    }
}
