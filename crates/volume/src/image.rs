//! Reading the maps of a volume: its active image, or a snapshot.

use strewn_raid::Vbn;

use super::error::VolumeError;
use super::flexible::Files;
use super::names::{BlockName, Fbn, FileId, SnapshotId, VirtualVbn, VolumeId};
use super::volumes::Volumes;

/// The files of a volume: its active image, or a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    volumes: &'a Volumes,
    volume: VolumeId,
    pub(crate) files: &'a Files,
    mapped: u64,
}

impl Volumes {
    /// The active image of `volume`, including the changes of an open consistency point.
    ///
    /// # Errors
    /// If there is no such volume.
    pub fn image(&self, volume: VolumeId) -> Result<Image<'_>, VolumeError> {
        let found = self.volume(volume)?;
        Ok(Image { volumes: self, volume, files: &found.files, mapped: found.mapped })
    }

    /// The image of `volume` in `snapshot`.
    ///
    /// # Errors
    /// If there is no such snapshot.
    pub fn image_of(
        &self,
        volume: VolumeId,
        snapshot: SnapshotId,
    ) -> Result<Image<'_>, VolumeError> {
        let found = self.volume(volume)?.snapshots.get(snapshot);
        let found = found.ok_or(VolumeError::NoSuchSnapshot(volume, snapshot))?;
        Ok(Image { volumes: self, volume, files: &found.files, mapped: found.mapped })
    }

    /// Where a block of a file lies; `None` if it is not mapped. O(log₆₄ of the file's blocks + generations of
    /// clones).
    #[must_use]
    pub fn locate(&self, block: BlockName) -> Option<Vbn> {
        self.image(block.volume).ok()?.locate(block.file, block.fbn)
    }
}

impl<'a> Image<'a> {
    /// The files, in ascending order.
    pub fn files(&self) -> impl Iterator<Item = FileId> + use<'a> {
        self.files.iter_from(0).map(|(file, _)| FileId(file))
    }

    /// Whether the file exists.
    #[must_use]
    pub fn has_file(&self, file: FileId) -> bool {
        self.files.get(file.0).is_some()
    }

    /// Mapped blocks of all files. O(1).
    #[must_use]
    pub fn mapped_blocks(&self) -> u64 {
        self.mapped
    }

    /// Mapped blocks of `file`; 0 if there is no such file. O(1).
    #[must_use]
    pub fn blocks_of(&self, file: FileId) -> u64 {
        self.files.get(file.0).map_or(0, |inode| inode.mapped)
    }

    /// The virtual VBN of block `fbn` of `file`.
    #[must_use]
    pub fn number(&self, file: FileId, fbn: Fbn) -> Option<VirtualVbn> {
        self.files.get(file.0)?.blocks.get(fbn.0).map(|slot| (*slot).into())
    }

    /// The VBN of block `fbn` of `file`.
    #[must_use]
    pub fn locate(&self, file: FileId, fbn: Fbn) -> Option<Vbn> {
        let (_, _, entry) = self.volumes.resolve(self.volume, self.number(file, fbn)?)?;
        Some(entry.vbn())
    }

    /// The mapped blocks of `file` from `fbn` on, with their VBNs, in ascending order.
    pub fn blocks_from(
        &self,
        file: FileId,
        fbn: Fbn,
    ) -> impl Iterator<Item = (Fbn, Vbn)> + use<'a> {
        let (volumes, volume) = (self.volumes, self.volume);
        self.numbers_from(file, fbn).filter_map(move |(fbn, number)| {
            let (_, _, entry) = volumes.resolve(volume, number)?;
            Some((fbn, entry.vbn()))
        })
    }

    pub(crate) fn numbers_from(
        &self,
        file: FileId,
        fbn: Fbn,
    ) -> impl Iterator<Item = (Fbn, VirtualVbn)> + use<'a> {
        let inode = self.files.get(file.0);
        let blocks = inode.into_iter().flat_map(move |inode| inode.blocks.iter_from(fbn.0));
        blocks.map(|(fbn, slot)| (Fbn(fbn), (*slot).into()))
    }
}
