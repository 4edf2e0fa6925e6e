//! Devices that are files and block devices.

mod errno;
mod lock;
mod open;
#[cfg(target_os = "linux")]
mod slot;
mod threads;
#[cfg(target_os = "linux")]
mod uring;

use std::io;
use std::time::Duration;

use super::{DeviceIndex, Devices, Io, IoCompletion, IoError, Waker};
pub use errno::remedy_of_system;
pub(crate) use open::is_whole_blocks;
pub use open::{DeviceFile, OpenDevice, OpenDeviceError, Space};
pub use threads::ThreadDevices;
#[cfg(target_os = "linux")]
pub use uring::UringDevices;

/// The most completions returned by one wait. They arrive in bursts, and the devices can start on the follow-up I/Os
/// of the first while the rest are handled.
const BACK_AT_ONCE: usize = 8;

/// How files are accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoBackend {
    /// io_uring if the kernel allows it, otherwise threads.
    #[default]
    Auto,
    /// Linux's io_uring: one thread submits everything.
    Uring,
    /// Several threads per device, each with one operation at a time.
    Threads,
}

/// Files and block devices as an array's devices.
///
/// Dropping them waits for I/Os in flight; queued I/Os are never started.
#[derive(Debug)]
pub struct RealDevices {
    inner: Inner,
    fallback_reason: Option<String>,
}

#[derive(Debug)]
enum Inner {
    #[cfg(target_os = "linux")]
    Uring(Box<UringDevices>),
    Threads(ThreadDevices),
}

/// Runs `files` as devices, in this order. `None` is a closed device.
///
/// # Errors
///
/// If io_uring is requested explicitly and refused, or threads cannot be started.
pub fn open_devices(
    files: impl IntoIterator<Item = impl Into<Option<DeviceFile>>>,
    backend: IoBackend,
) -> io::Result<RealDevices> {
    let files: Vec<Option<DeviceFile>> = files.into_iter().map(Into::into).collect();
    let mut fallback_reason = None;
    let inner = match backend {
        IoBackend::Threads => Inner::Threads(ThreadDevices::on(files)?),
        #[cfg(target_os = "linux")]
        IoBackend::Uring => Inner::Uring(Box::new(UringDevices::on(uring::Ring::new()?, files))),
        #[cfg(not(target_os = "linux"))]
        IoBackend::Uring => return Err(io::Error::from(io::ErrorKind::Unsupported)),
        #[cfg(target_os = "linux")]
        IoBackend::Auto => match uring::Ring::new() {
            Ok(ring) => Inner::Uring(Box::new(UringDevices::on(ring, files))),
            Err(refusal) => {
                fallback_reason = Some(refusal.to_string());
                Inner::Threads(ThreadDevices::on(files)?)
            }
        },
        #[cfg(not(target_os = "linux"))]
        IoBackend::Auto => {
            fallback_reason = Some("io_uring is Linux's".to_owned());
            Inner::Threads(ThreadDevices::on(files)?)
        }
    };
    Ok(RealDevices { inner, fallback_reason })
}

impl RealDevices {
    /// Returns the backend in use: never [`IoBackend::Auto`].
    #[must_use]
    pub fn backend(&self) -> IoBackend {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Uring(_) => IoBackend::Uring,
            Inner::Threads(_) => IoBackend::Threads,
        }
    }

    /// Returns why [`IoBackend::Auto`] did not choose io_uring.
    #[must_use]
    pub fn fallback_reason(&self) -> Option<&str> {
        self.fallback_reason.as_deref()
    }
}

macro_rules! each {
    ($devices:expr, $name:ident => $call:expr) => {
        match $devices {
            #[cfg(target_os = "linux")]
            Inner::Uring($name) => $call,
            Inner::Threads($name) => $call,
        }
    };
}

impl Devices for RealDevices {
    type Replacement = DeviceFile;

    fn count(&self) -> u16 {
        each!(&self.inner, devices => devices.count())
    }

    fn size_bytes(&self, device: DeviceIndex) -> u64 {
        each!(&self.inner, devices => devices.size_bytes(device))
    }

    fn now_ns(&self) -> u64 {
        each!(&self.inner, devices => devices.now_ns())
    }

    fn submit(&mut self, io: Io) {
        each!(&mut self.inner, devices => devices.submit(io));
    }

    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>) {
        each!(&mut self.inner, devices => devices.wait(timeout, done));
    }

    fn waker(&self) -> Waker {
        each!(&self.inner, devices => devices.waker())
    }

    fn close(&mut self, device: DeviceIndex) {
        each!(&mut self.inner, devices => devices.close(device));
    }

    fn replace(&mut self, device: DeviceIndex, by: DeviceFile) {
        each!(&mut self.inner, devices => devices.replace(device, by));
    }
}

fn closed() -> IoError {
    IoError::Gone("closed".to_owned())
}

fn assert_countable(files: &[Option<DeviceFile>]) {
    assert!(files.len() <= usize::from(u16::MAX), "{} devices", files.len());
}
