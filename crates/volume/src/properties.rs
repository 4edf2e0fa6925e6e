//! What a store may say of files and volumes beside their blocks: lengths, attributes, names.

use std::sync::Arc;

use super::error::VolumeError;
use super::flexible::Inode;
use super::image::Image;
use super::names::{FILE_ATTRIBUTE_BYTES, FileId, MOST_NAME_BYTES, VolumeId};
use super::volumes::Volumes;

impl Volumes {
    /// Sets the length of a file, in bytes. A new file has length 0, and only this call changes it: it is the
    /// application's, as blocks may be written beyond the end before a file grows, and its last block may be used in
    /// part. To shorten a file, also [`truncate`](Self::truncate) it.
    ///
    /// It becomes durable with the commit, and snapshots keep theirs.
    ///
    /// ```
    /// # use strewn_alloc::{Aggregate, AggregateOptions};
    /// # use strewn_raid::{Parity, ParityGroup};
    /// # use strewn_volume::{FILE_ATTRIBUTE_BYTES, Fbn, Volumes};
    /// # let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
    /// # let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
    /// let volume = volumes.create_volume(100_000)?;
    /// volumes.set_volume_name(volume, Some("home"))?;
    ///
    /// volumes.begin(3)?;
    /// let file = volumes.create_file(volume)?;
    /// volumes.write_all(volume, file, &[Fbn(0), Fbn(1), Fbn(2)])?;
    /// volumes.set_length(volume, file, 9_000)?;
    /// let mut attributes = [0; FILE_ATTRIBUTE_BYTES];
    /// attributes[..2].copy_from_slice(&0o644_u16.to_le_bytes());
    /// volumes.set_attributes(volume, file, attributes)?;
    /// // A store writes what `finish` returns, and then commits. Nothing is written here.
    /// volumes.discard_plan();
    /// volumes.commit()?;
    ///
    /// let home = volumes.volume_named("home").ok_or("named above")?;
    /// let image = volumes.image(home)?;
    /// assert_eq!(image.length_of(file), 9_000);
    /// assert_eq!(image.attributes_of(file).map(|bytes| bytes[0]), Some(0o244));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Outside a consistency point; if there is no such file.
    pub fn set_length(
        &mut self,
        id: VolumeId,
        file: FileId,
        bytes: u64,
    ) -> Result<(), VolumeError> {
        self.change_file(id, file, |inode| inode.length = bytes)
    }

    /// Sets the attributes of a file: bytes that mean what the application says, such as an owner, a mode and a time. A
    /// new file has zeros.
    ///
    /// They become durable with the commit, and snapshots keep theirs.
    ///
    /// # Errors
    /// Outside a consistency point; if there is no such file.
    pub fn set_attributes(
        &mut self,
        id: VolumeId,
        file: FileId,
        attributes: [u8; FILE_ATTRIBUTE_BYTES],
    ) -> Result<(), VolumeError> {
        self.change_file(id, file, |inode| inode.attributes = attributes)
    }

    /// Changes a file, with the copy that the last commit and snapshots have left as it is.
    fn change_file(
        &mut self,
        id: VolumeId,
        file: FileId,
        change: impl FnOnce(&mut Inode),
    ) -> Result<(), VolumeError> {
        self.in_consistency_point()?;
        let volume = self.volume_mut(id)?;
        if volume.files.get(file.0).is_none() {
            return Err(VolumeError::NoSuchFile(id, file));
        }
        volume.touch();
        let inode = volume.files.get_mut(file.0).map(Arc::make_mut);
        change(inode.ok_or(VolumeError::NoSuchFile(id, file))?);
        Ok(())
    }

    /// Names a volume, in place of the name that it has, or takes its name away. Names are of 1 to
    /// [`MOST_NAME_BYTES`] bytes, and no two volumes have the same. A new volume, and a clone, has none; a destroyed
    /// one gives its name back at once.
    ///
    /// The name becomes durable with the next commit, also if a consistency point is abandoned before it.
    ///
    /// # Errors
    /// With nothing changed: during a consistency point; if there is no such volume; [`VolumeError::NameBytes`];
    /// [`VolumeError::NameTaken`] if another volume has the name.
    pub fn set_volume_name(&mut self, id: VolumeId, name: Option<&str>) -> Result<(), VolumeError> {
        self.between_consistency_points()?;
        self.volume(id)?;
        if let Some(name) = name {
            if !(1..=MOST_NAME_BYTES).contains(&name.len()) {
                return Err(VolumeError::NameBytes(name.len()));
            }
            match self.names.get(name) {
                Some(holder) if *holder != id => return Err(VolumeError::NameTaken(*holder)),
                _ => {}
            }
        }
        let name: Option<Arc<str>> = name.map(Arc::from);
        let before = std::mem::replace(&mut self.volume_mut(id)?.name, name.clone());
        before.and_then(|before| self.names.remove(&before));
        self.names.extend(name.map(|name| (name, id)));
        Ok(())
    }

    /// The name of a volume, if it has one.
    ///
    /// # Errors
    /// If there is no such volume.
    pub fn volume_name(&self, id: VolumeId) -> Result<Option<&str>, VolumeError> {
        Ok(self.volume(id)?.name.as_deref())
    }

    /// The volume of this name. O(log volumes).
    #[must_use]
    pub fn volume_named(&self, name: &str) -> Option<VolumeId> {
        self.names.get(name).copied()
    }
}

impl<'a> Image<'a> {
    /// The length of `file` in bytes, as [`Volumes::set_length`] set it; 0 if it never did, or there is no such file.
    #[must_use]
    pub fn length_of(&self, file: FileId) -> u64 {
        self.files.get(file.0).map_or(0, |inode| inode.length)
    }

    /// The attributes of `file`, as [`Volumes::set_attributes`] set them, zeros if it never did; `None` if there is no
    /// such file.
    #[must_use]
    pub fn attributes_of(&self, file: FileId) -> Option<&'a [u8; FILE_ATTRIBUTE_BYTES]> {
        self.files.get(file.0).map(|inode| &inode.attributes)
    }
}
