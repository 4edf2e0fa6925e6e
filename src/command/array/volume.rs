//! `strewn array volume` and `strewn array clone`.

use clap::{Args, Subcommand};
use strewn::scenario::Bytes;
use strewn::terminal::{Ending, Failure};
use strewn_live::administration::{
    Change, ChangeError, Inventory, LunName, SnapshotName, VolumeName,
};

use super::administered::{AdministeredArguments, no_name};
use super::inventory::{Kind, ListArguments, list};

/// `strewn array volume`.
#[derive(Debug, Args)]
pub(crate) struct VolumeArguments {
    #[command(subcommand)]
    action: VolumeAction,
}

/// What to do with volumes.
#[derive(Debug, Subcommand)]
enum VolumeAction {
    /// Create a volume without LUNs
    Create(CreateArguments),
    /// List the volumes, their LUNs and snapshots
    List(ListArguments),
    /// Make a volume larger or smaller
    Resize(ResizeArguments),
    /// Delete a volume without LUNs and snapshots
    Delete(Named),
}

/// A volume of an array.
#[derive(Debug, Args)]
struct Named {
    #[command(flatten)]
    array: AdministeredArguments,
    /// Name of the volume, 1 to 64 bytes
    volume: String,
}

/// `strewn array volume create`.
#[derive(Debug, Args)]
struct CreateArguments {
    #[command(flatten)]
    named: Named,
    /// The most that its LUNs have together [default: as much as the array has]
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// Allow it to promise more than the array has free
    #[arg(long)]
    thin: bool,
}

/// `strewn array volume resize`.
#[derive(Debug, Args)]
struct ResizeArguments {
    #[command(flatten)]
    named: Named,
    /// The new size
    #[arg(long, value_name = "SIZE")]
    size: Bytes,
}

/// Runs `strewn array volume`.
pub(crate) fn volume(arguments: &VolumeArguments) -> Result<Ending, Failure> {
    match &arguments.action {
        VolumeAction::Create(CreateArguments { named, size, thin }) => {
            named.change("created", |volume| Change::CreateVolume {
                volume,
                bytes: size.map(|size| size.0),
                thin: *thin,
            })
        }
        VolumeAction::List(arguments) => list(arguments, Kind::Volumes),
        VolumeAction::Resize(ResizeArguments { named, size }) => {
            named.change("resized", |volume| Change::ResizeVolume { volume, bytes: size.0 })
        }
        VolumeAction::Delete(named) => {
            named.change("deleted", |volume| Change::DeleteVolume { volume })
        }
    }
}

impl Named {
    fn name(&self) -> Result<VolumeName, Failure> {
        self.volume.parse().map_err(|error| no_name(&error))
    }

    fn done(&self, what: &str) -> String {
        format!("Volume {} of {} is {what}.", self.volume, self.array.directory().display())
    }

    fn change(
        &self,
        what: &str,
        change: impl FnOnce(VolumeName) -> Change,
    ) -> Result<Ending, Failure> {
        self.array.change(change(self.name()?), &self.done(what))
    }
}

/// `strewn array clone`.
#[derive(Debug, Args)]
pub(crate) struct CloneArguments {
    #[command(subcommand)]
    action: CloneAction,
}

/// What to do with clones.
#[derive(Debug, Subcommand)]
enum CloneAction {
    /// Create a volume with the LUNs of a snapshot; the two share what neither has overwritten
    Create(CreateCloneArguments),
    /// Delete a clone with its LUNs; it must not have snapshots
    Delete(Named),
}

/// `strewn array clone create`.
#[derive(Debug, Args)]
struct CreateCloneArguments {
    #[command(flatten)]
    named: Named,
    /// The snapshot
    #[arg(long, value_name = "VOLUME@SNAPSHOT")]
    of: String,
}

/// Runs `strewn array clone`.
pub(crate) fn clone(arguments: &CloneArguments) -> Result<Ending, Failure> {
    match &arguments.action {
        CloneAction::Create(CreateCloneArguments { named, of }) => {
            let of: SnapshotName = of.parse().map_err(|error| no_name(&error))?;
            named.change("created", |volume| Change::CreateClone { volume, of })
        }
        CloneAction::Delete(named) => {
            let name = named.name()?;
            named.array.change_all(|inventory| deletion(inventory, name), &named.done("deleted"))
        }
    }
}

/// Returns the changes that delete a clone with its LUNs.
fn deletion(inventory: &Inventory, name: VolumeName) -> Result<Vec<Change>, ChangeError> {
    let Some(volume) = inventory.volume(&name) else {
        return Err(ChangeError::NoSuchVolume(name));
    };
    if volume.origin.is_none() {
        return Err(ChangeError::NotAClone(name));
    }
    if !volume.snapshots.is_empty() {
        let (luns, snapshots) = (volume.luns.len() as u64, volume.snapshots.len() as u64);
        return Err(ChangeError::NotEmpty { volume: name, luns, snapshots });
    }
    let lun = |lun: &str| {
        let lun = LunName::new(name.clone(), lun);
        lun.map(|lun| Change::DeleteLun { lun })
            .map_err(|error| ChangeError::Impossible(error.to_string()))
    };
    let mut changes =
        volume.luns.iter().map(|one| lun(&one.name)).collect::<Result<Vec<_>, _>>()?;
    changes.push(Change::DeleteVolume { volume: name });
    Ok(changes)
}
