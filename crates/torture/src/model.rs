//! A model of an array's volumes, LUNs, snapshots and clones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use strewn_base::SECTOR_BYTES;

use crate::image::Image;
use strewn_live::administration::{Change, Inventory, LunName, SnapshotName, VolumeName};

/// Names something that can be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ImageName {
    Lun(LunName),
    /// A LUN as it is in a snapshot of its volume, by its name then.
    InSnapshot(SnapshotName, String),
}

impl ImageName {
    pub(crate) fn is_lun(&self) -> bool {
        matches!(self, Self::Lun(_))
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lun(lun) => lun.fmt(formatter),
            Self::InSnapshot(snapshot, lun) => formatter.write_str(&snapshot.of_lun(lun)),
        }
    }
}

/// A volume as the host expects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) bytes: u64,
    pub(crate) thin: bool,
    pub(crate) origin: Option<SnapshotName>,
}

/// What an array has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Model {
    pub(crate) volumes: BTreeMap<VolumeName, Volume>,
    pub(crate) snapshots: BTreeSet<SnapshotName>,
    images: BTreeMap<ImageName, Image>,
}

impl Model {
    /// The model of a new array.
    pub(crate) fn new(sectors: u64) -> Self {
        let volume = Volume { bytes: sectors * SECTOR_BYTES, thin: false, origin: None };
        Self {
            volumes: BTreeMap::from([(VolumeName::first(), volume)]),
            snapshots: BTreeSet::new(),
            images: BTreeMap::from([(ImageName::Lun(LunName::first()), Image::new(sectors))]),
        }
    }

    /// The model of an array that has this and was never written.
    pub(crate) fn of(inventory: &Inventory) -> Self {
        let mut model = Self::default();
        let image = |bytes: u64| Image::new(bytes / SECTOR_BYTES);
        for volume in &inventory.volumes {
            let of_volume =
                Volume { bytes: volume.bytes, thin: volume.thin, origin: volume.origin.clone() };
            model.volumes.insert(volume.name.clone(), of_volume);
            for lun in &volume.luns {
                if let Ok(name) = LunName::new(volume.name.clone(), &lun.name) {
                    model.images.insert(ImageName::Lun(name), image(lun.bytes));
                }
            }
            for snapshot in &volume.snapshots {
                let Ok(name) = SnapshotName::new(volume.name.clone(), &snapshot.name) else {
                    continue;
                };
                for lun in &snapshot.luns {
                    let of = ImageName::InSnapshot(name.clone(), lun.name.clone());
                    model.images.insert(of, image(lun.bytes));
                }
                model.snapshots.insert(name);
            }
        }
        model
    }

    /// Returns whether an array has what the model has, whatever is in it.
    pub(crate) fn describes(&self, inventory: &Inventory) -> bool {
        let other = Self::of(inventory);
        let sizes = |model: &Self| -> Vec<(ImageName, u64)> {
            model.images.iter().map(|(name, image)| (name.clone(), image.sectors())).collect()
        };
        self.volumes == other.volumes
            && self.snapshots == other.snapshots
            && sizes(self) == sizes(&other)
    }

    /// Describes everything in one line.
    pub(crate) fn outline(&self) -> String {
        let volumes = self.volumes.iter().map(|(name, Volume { bytes, thin, origin })| {
            let thin = if *thin { " thin" } else { "" };
            let origin = origin.as_ref().map_or(String::new(), |of| format!(" of {of}"));
            format!("{name} ({bytes}{thin}{origin})")
        });
        let snapshots = self.snapshots.iter().map(ToString::to_string);
        let images =
            self.images.iter().map(|(name, image)| format!("{name} [{}]", image.sectors()));
        let all: Vec<String> = volumes.chain(snapshots).chain(images).collect();
        all.join(", ")
    }

    pub(crate) fn image(&self, name: &ImageName) -> &Image {
        &self.images[name]
    }

    pub(crate) fn image_mut(&mut self, name: &ImageName) -> &mut Image {
        let image = self.images.get_mut(name);
        image.unwrap_or_else(|| unreachable!("{name} is used and not there"))
    }

    pub(crate) fn luns(&self) -> Vec<LunName> {
        let luns = self.images.keys().filter_map(|name| match name {
            ImageName::Lun(lun) => Some(lun.clone()),
            ImageName::InSnapshot(..) => None,
        });
        luns.collect()
    }

    pub(crate) fn luns_of(&self, volume: &VolumeName) -> Vec<LunName> {
        self.luns().into_iter().filter(|lun| lun.volume() == volume).collect()
    }

    pub(crate) fn snapshots_of(&self, volume: &VolumeName) -> Vec<SnapshotName> {
        let of_volume = |snapshot: &&SnapshotName| snapshot.volume() == volume;
        self.snapshots.iter().filter(of_volume).cloned().collect()
    }

    pub(crate) fn lun(&self, lun: &LunName) -> Option<&Image> {
        self.images.get(&ImageName::Lun(lun.clone()))
    }

    /// Returns whether volumes may together be larger than the array: writes may find it full.
    pub(crate) fn is_overcommitted(&self) -> bool {
        self.volumes.values().any(|volume| volume.thin)
    }

    /// Returns the model after a change, or why that cannot be made.
    pub(crate) fn after(&self, change: &Change) -> Result<Self, String> {
        let mut after = self.clone();
        let there = |what: Option<()>| what.ok_or_else(|| "there is no such thing".to_owned());
        match change.clone() {
            Change::CreateVolume { volume, bytes, thin } => {
                let bytes = bytes.ok_or("a volume of any size")?;
                after.volumes.insert(volume, Volume { bytes, thin, origin: None });
            }
            Change::ResizeVolume { volume, bytes } => {
                there(after.volumes.get_mut(&volume).map(|volume| volume.bytes = bytes))?;
            }
            Change::DeleteVolume { volume } => {
                if !self.luns_of(&volume).is_empty() || !self.snapshots_of(&volume).is_empty() {
                    return Err("the volume is not empty".to_owned());
                }
                there(after.volumes.remove(&volume).map(|_| ()))?;
            }
            Change::CreateLun { lun, bytes } => {
                after.images.insert(ImageName::Lun(lun), Image::new(bytes / SECTOR_BYTES));
            }
            Change::ResizeLun { lun, bytes } => {
                let image = after.images.get_mut(&ImageName::Lun(lun));
                let image = image.ok_or("there is no such LUN")?;
                if !image.resize(bytes / SECTOR_BYTES) {
                    return Err("data is cut off".to_owned());
                }
            }
            Change::DeleteLun { lun } => {
                there(after.images.remove(&ImageName::Lun(lun)).map(|_| ()))?;
            }
            Change::TakeSnapshot { snapshot, .. } => {
                for lun in self.luns_of(snapshot.volume()) {
                    let name = ImageName::InSnapshot(snapshot.clone(), lun.lun().to_owned());
                    let image = self.images[&ImageName::Lun(lun)].clone();
                    after.images.insert(name, image);
                }
                after.snapshots.insert(snapshot);
            }
            Change::DeleteSnapshot { snapshot } => {
                let origin = Some(snapshot.clone());
                if self.volumes.values().any(|volume| volume.origin == origin) {
                    return Err("the snapshot has clones".to_owned());
                }
                let is_of = |name: &ImageName| matches!(name, ImageName::InSnapshot(of, _) if *of == snapshot);
                after.images.retain(|name, _| !is_of(name));
                there(after.snapshots.remove(&snapshot).then_some(()))?;
            }
            Change::CreateClone { volume, of } => {
                let origin = self.volumes.get(of.volume()).ok_or("there is no such volume")?;
                let mut bytes = 0;
                for (name, image) in &self.images {
                    let ImageName::InSnapshot(snapshot, lun) = name else { continue };
                    if *snapshot == of
                        && let Ok(lun) = LunName::new(volume.clone(), lun)
                    {
                        bytes += image.sectors() * SECTOR_BYTES;
                        after.images.insert(ImageName::Lun(lun), image.clone());
                    }
                }
                let bytes = origin.bytes.max(bytes);
                after.volumes.insert(volume, Volume { bytes, thin: true, origin: Some(of) });
            }
        }
        Ok(after)
    }
}
