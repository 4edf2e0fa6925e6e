//! `strewn spindle --fit`: fits a profile to a drive, using reads only.

use std::path::{Path, PathBuf};

use strewn::terminal::Failure;

use super::out_file::out_file;

/// Extension of a profile's file, which tells it from the name of a shipped profile.
const EXTENSION: &str = "toml";

#[cfg(unix)]
pub(crate) use measured::fit;

/// Refuses: measuring needs positioned reads that bypass the page cache, which only Unix provides.
#[cfg(not(unix))]
pub(crate) fn fit(
    _device: &Path,
    out: &Path,
    force: bool,
) -> Result<strewn::terminal::Ending, Failure> {
    profile_file(out, force)?;
    Err(Failure::bad_input("drives can be measured on Unix only", "use --fit there"))
}

/// Returns the file that a profile may be written to, following a symbolic link at `out`. Only a regular file is ever
/// replaced, never the drive under measurement or any other device.
pub(crate) fn profile_file(out: &Path, force: bool) -> Result<PathBuf, Failure> {
    let shown = out.display();
    let unusable =
        |what: &str, help: &str| Failure::bad_input(format!("--out {shown}: {what}"), help);
    if out.extension().is_none_or(|extension| extension != EXTENSION) {
        let help = "by its .toml a profile's file is told from the name of one that ships";
        return Err(unusable("does not end in .toml", help));
    }
    out_file(out, force, "the profile")
}

#[cfg(unix)]
mod measured {
    use std::fmt::Write;
    use std::path::Path;

    use indicatif::{ProgressBar, ProgressStyle};
    use strewn::spindle::Profile;
    use strewn::spindle::fit::{self, Fit, FitError, MeasuredDrive, Progress, Stage, UnixFile};
    use strewn::terminal::{self, Ending, Failure};

    use super::profile_file;
    use strewn::Replacement;

    /// Measures the drive at `device` and writes its profile to `out`, which is replaced only with `force`. The
    /// device is opened read-only; Ctrl-C ends the program, and leaves nothing behind.
    pub(crate) fn fit(device: &Path, out: &Path, force: bool) -> Result<Ending, Failure> {
        let file = profile_file(out, force)?;
        if device.canonicalize().is_ok_and(|device| device == file) {
            let help = "give another file for the profile";
            return Err(Failure::bad_input("--out is what is to be measured", help));
        }
        let mut drive = UnixFile::open(device).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            Failure::bad_input(
                format!("{error}{}", cause.unwrap_or_default()),
                "give a block device such as /dev/sdX that you may read, or a file",
            )
        })?;
        let mut what = device.display().to_string();
        if let Some(model) = drive.model() {
            let _ = write!(what, " ({model})");
        }
        if !drive.is_direct() {
            what.push_str(", through the page cache");
        }
        let text = measure_into(&mut drive, &what, &file, out)?;
        terminal::print(&text)?;
        Ok(Ending::Complete)
    }

    /// Measures `drive`, described as `what`, and writes its profile to `file`, which the user named as `out`.
    /// Returns a description of the fit.
    pub(super) fn measure_into<D: MeasuredDrive>(
        drive: &mut D,
        what: &str,
        file: &Path,
        out: &Path,
    ) -> Result<String, Failure> {
        // Test before minutes of measuring, not after.
        let temporary = Replacement::write(file, b"").map_err(|error| {
            let help = "give a file in a directory that can be written to";
            Failure::bad_input(format!("--out {}: {error}", out.display()), help)
        })?;
        drop(temporary);
        let name = out.file_stem().unwrap_or_default().to_string_lossy();
        let found = measure(drive, what, &name).map_err(|error| failure(what, error))?;
        let replacement = Replacement::write(file, found.toml.as_bytes());
        replacement.and_then(Replacement::put_in_place).map_err(|error| {
            Failure::failed(format!("cannot write the profile to {}: {error}", out.display()))
        })?;
        Ok(described(&found, drive, out))
    }

    fn measure<D: MeasuredDrive>(drive: &mut D, what: &str, name: &str) -> Result<Fit, FitError> {
        // Drawn on standard error, if that is a terminal.
        let bar = ProgressBar::new(1000);
        let style = ProgressStyle::with_template("{prefix} [{bar:24}] {msg}, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        let found = fit::fit(drive, name, what, &mut |Progress { stage, done, reads }| {
            bar.set_prefix(match stage {
                Stage::Rotation => "rotation",
                Stage::Zones => "zones",
                Stage::Seeks => "seeks",
            });
            bar.set_position((1000.0 * done) as u64);
            bar.set_message(format!("{reads} reads"));
        });
        bar.finish_and_clear();
        found
    }

    fn failure(what: &str, error: FitError) -> Failure {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        let message = format!("{what}: {error}{}", cause.unwrap_or_default());
        match error {
            FitError::DoesNotRotate(_) => Failure::bad_input(
                message,
                "only a drive whose platters turn has a profile: give a whole one; nothing was written",
            ),
            FitError::CacheAnswers(_) => Failure::bad_input(
                message,
                "measure a whole device, and its own cache off: on SCSI and SAS drives by `sdparm --set RCD DEVICE`, \
                 and on again by --clear; nothing was written",
            ),
            FitError::Capacity { .. } => {
                Failure::bad_input(message, "give a whole drive; nothing was written")
            }
            _ => Failure::failed(message).with_help(
                "nothing was written; measure a whole device that nothing else uses, its own cache off",
            ),
        }
    }

    /// Describes the fit.
    fn described(found: &Fit, drive: &impl MeasuredDrive, out: &Path) -> String {
        let Fit { profile, reads, drive_ns, .. } = found;
        let Profile { rpm, zones, seek, overhead_ms, .. } = profile;
        let gigabytes = drive.capacity_sectors() as f64 * f64::from(drive.sector_bytes()) / 1e9;
        let sectors =
            |zone: Option<&strewn::spindle::Zone>| zone.map_or(0, |zone| zone.sectors_per_track);
        let mut text = format!("{rpm} rpm, {gigabytes:.1} GB, {} zones", zones.len());
        let (outer, inner) = (sectors(zones.first()), sectors(zones.last()));
        let _ = writeln!(text, " of {outer} to {inner} sectors a track");
        if let [first, .., last] = seek[..] {
            let _ = writeln!(
                text,
                "seek {:.2} ms to the next track, {:.2} ms over the whole drive; {:.3} ms overhead a read",
                first.1, last.1, overhead_ms.read_after_read
            );
        }
        let seconds = drive_ns / 1_000_000_000;
        let _ = writeln!(text, "{reads} reads in {seconds} s. Written to {}.", out.display());
        text
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_plain_file_is_replaced_and_only_by_force() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("drive.toml");
        assert_eq!(profile_file(&file, false).unwrap(), file);
        fs::write(&file, "mine").unwrap();
        assert!(profile_file(&file, false).is_err());
        assert_eq!(profile_file(&file, true).unwrap(), file.canonicalize().unwrap());
        for wrong in ["drive.txt", "drive", "no/such/directory/drive.toml"] {
            assert!(profile_file(&directory.path().join(wrong), true).is_err(), "{wrong}");
        }
        let folder = directory.path().join("folder.toml");
        fs::create_dir(&folder).unwrap();
        assert!(profile_file(&folder, true).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn no_device_is_written_to_even_by_force() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("device.toml");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(profile_file(&link, true).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_measured_is_written_as_a_profile_that_loads() {
        use std::sync::Arc;
        use strewn::spindle::fit::SimulatedDrive;
        use strewn::spindle::{Drive, Profile};

        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("measured.toml");
        let true_profile = Profile::shipped("seagate-cheetah-x15-st318451fc").unwrap();
        let drive = Arc::new(Drive::new(&true_profile).unwrap());
        let mut drive = SimulatedDrive::new(drive).unwrap();
        let text = measured::measure_into(&mut drive, "a box", &out, &out).unwrap();
        assert!(text.starts_with("15000 rpm, 18.4 GB, 12 zones of 382 to 292"), "{text}");
        let profile = crate::command::spindle::load_profile(out.to_str().unwrap()).unwrap();
        assert_eq!((profile.name.as_str(), profile.rpm), ("measured", 15_000));
        assert!(profile.credit.contains("a box"), "{}", profile.credit);
        // No temporary file is left.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_does_not_rotate_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        // A sparse file of 1 GiB takes no space.
        fs::File::create(&image).unwrap().set_len(1 << 30).unwrap();
        let out = directory.path().join("drive.toml");
        let failure = fit(&image, &out, false).err().unwrap();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.message().contains("rotat"), "{failure:?}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
