//! Characterizes drives: by seek distance, by place, by load and by command size.
//!
//! Everything but the seek curve and the sequential rate is measured on the simulated drive as on a real one: by
//! closed loops of random commands.
//!
//! ```
//! use strewn_spindle::Profile;
//! use strewn_run::characterization::{CharacterizationOptions, characterize};
//!
//! let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! let measured = characterize(&[profile], &CharacterizationOptions::default(), &())?;
//! let alone = &measured.drives[0].by_depth[0];
//! assert_eq!((alone.scheduler.as_str(), alone.outstanding), ("fcfs", 1));
//! assert!((165.0..180.0).contains(&alone.iops), "{}", alone.iops);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bench;
mod curves;
mod load;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use strewn_results::{DRIVE_CHARACTERIZATION_SCHEMA, DriveCharacterization, DriveFigures};
use strewn_spindle::{CommandError, Drive, Profile, ProfileError, SpindleError};
use thiserror::Error;

use crate::parallel::ThreadsError;

use bench::{BLOCK_BYTES, Bench, LARGEST_BLOCK_BYTES};
use curves::{figure, seek_curve, transfer_rates};

pub use load::{RandomLoad, warm_up_commands};

/// A drive with fewer sectors is too small to measure in hundredths.
const FEWEST_SECTORS: u64 = 10_000;

/// Options of a characterization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CharacterizationOptions {
    /// Seed of the random commands.
    pub seed: u64,
    /// Whether to turn the drives' own caches on.
    pub cache: bool,
}

impl Default for CharacterizationOptions {
    /// Seed 1, caches off.
    fn default() -> Self {
        Self { seed: 1, cache: false }
    }
}

/// Watches a characterization from the threads that it runs on; `()` watches nothing.
pub trait CharacterizationObserver: Sync {
    /// `_done` of `_of` closed loops are done.
    fn progress(&self, _done: usize, _of: usize) {}

    /// Returns whether to stop before the next closed loop; each takes a fraction of a second.
    fn stop(&self) -> bool {
        false
    }
}

impl CharacterizationObserver for () {}

/// Why a drive cannot be studied.
#[derive(Debug, Error)]
pub enum CharacterizationError {
    /// The profile does not describe a drive.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A spindle cannot be set up.
    #[error(transparent)]
    Spindle(#[from] SpindleError),
    /// The cache is to be on, but the drive has none.
    #[error("{profile}: the drive has no cache")]
    NoCache {
        /// Name of the profile.
        profile: String,
    },
    /// Threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The drive refuses a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The drive is too small for realistic commands.
    #[error("{profile}: {sectors} sectors are too few to study")]
    TooSmall {
        /// Name of the profile.
        profile: String,
        /// Capacity of the drive.
        sectors: u64,
    },
    /// The observer asked to stop.
    #[error("stopped before the study was done")]
    Stopped,
}

impl CharacterizationError {
    fn too_small(drive: &Drive) -> Self {
        Self::TooSmall { profile: drive.name().to_owned(), sectors: drive.capacity_sectors() }
    }
}

/// A characterization's progress, reported to its observer.
struct Watched<'a> {
    observer: &'a dyn CharacterizationObserver,
    done: AtomicUsize,
    of: usize,
}

impl Watched<'_> {
    fn begin(&self) -> Result<(), CharacterizationError> {
        if self.observer.stop() { Err(CharacterizationError::Stopped) } else { Ok(()) }
    }

    fn end(&self) {
        self.observer.progress(self.done.fetch_add(1, Ordering::Relaxed) + 1, self.of);
    }
}

/// Characterizes drives, on one thread per core; the figures depend only on the profiles and the options.
///
/// # Errors
/// See [`CharacterizationError`]. Every error but [`CharacterizationError::Stopped`] is found before the first closed
/// loop.
pub fn characterize(
    profiles: &[Profile],
    options: &CharacterizationOptions,
    observer: &dyn CharacterizationObserver,
) -> Result<DriveCharacterization, CharacterizationError> {
    let drives: Vec<Arc<Drive>> =
        profiles.iter().map(|profile| checked(profile, options)).collect::<Result<_, _>>()?;
    let of = drives.iter().map(|drive| Bench::loops(drive)).sum();
    let watched = Watched { observer, done: AtomicUsize::new(0), of };
    let figures = profiles.iter().zip(drives).map(|(profile, drive)| {
        let CharacterizationOptions { seed, cache } = *options;
        figures(profile, &Bench { drive, seed, cache, watched: &watched })
    });
    Ok(DriveCharacterization {
        schema: DRIVE_CHARACTERIZATION_SCHEMA,
        strewn: env!("CARGO_PKG_VERSION").to_owned(),
        seed: options.seed,
        cache: if options.cache { "on" } else { "off" }.to_owned(),
        block_bytes: BLOCK_BYTES,
        drives: figures.collect::<Result<_, _>>()?,
    })
}

/// Returns the drive of a profile, if it can be studied.
fn checked(
    profile: &Profile,
    options: &CharacterizationOptions,
) -> Result<Arc<Drive>, CharacterizationError> {
    let drive = Drive::new(profile)?;
    let fewest = u64::from(2 * LARGEST_BLOCK_BYTES / drive.sector_bytes()).max(FEWEST_SECTORS);
    if drive.capacity_sectors() < fewest {
        return Err(CharacterizationError::too_small(&drive));
    }
    if options.cache && profile.cache.is_none() {
        return Err(CharacterizationError::NoCache { profile: profile.name.clone() });
    }
    Ok(Arc::new(drive))
}

fn figures(profile: &Profile, bench: &Bench<'_>) -> Result<DriveFigures, CharacterizationError> {
    let drive = &bench.drive;
    Ok(DriveFigures {
        profile: profile.name.clone(),
        credit: profile.credit.clone(),
        rpm: profile.rpm,
        heads: profile.heads,
        cylinders: drive.cylinders(),
        zones: profile.zones.len() as u32,
        sector_bytes: drive.sector_bytes(),
        capacity_sectors: drive.capacity_sectors(),
        revolution_ms: figure(drive.rotation().revolution_ms()),
        head_switch_ms: profile.head_switch_ms,
        write_settle_ms: profile.write_settle_ms,
        seek: seek_curve(drive),
        transfer: transfer_rates(drive, profile.bus_mb_per_s)?,
        by_depth: bench.by_depth()?,
        by_span: bench.by_span()?,
        by_block: bench.by_block()?,
    })
}
