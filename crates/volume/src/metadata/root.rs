//! The root of a commit: what leads to all its metadata.

use strewn_alloc::crc32;
use strewn_raid::ParityGroup;

use super::array::ArrayRoot;
use super::damage::Damage;
use super::page::{pointer_from, pointer_words};

/// A name and a version.
const MAGIC: [u8; 8] = *b"STRWNVR3";
/// The version before: files had neither lengths nor attributes, volumes no names. The words of these were zeros.
const MAGIC_2: [u8; 8] = *b"STRWNVR2";

/// The root of one commit of a persistent store: it leads to all metadata, and with them to all blocks.
///
/// The store writes it to a place of its own, such as a superblock, when everything that it leads to is durable. It
/// fits a sector, so a crash leaves the old bytes or the new ones; keep two copies, written in turn, if that is not
/// certain.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    pub(crate) consistency_points: u64,
    /// Groups, and a checksum of what makes them these.
    pub(crate) groups: u32,
    pub(crate) shapes: u32,
    /// Bytes of a block.
    pub(crate) block_bytes: u32,
    pub(crate) next_volume: u32,
    pub(crate) next_teardown: u64,
    pub(crate) nodes: ArrayRoot,
    pub(crate) volumes: ArrayRoot,
    pub(crate) delayed_frees: ArrayRoot,
    pub(crate) free_maps: ArrayRoot,
    pub(crate) application: [u8; APPLICATION_BYTES],
}

/// Bytes of a [`Root`] that are the application's.
pub const APPLICATION_BYTES: usize = 32;

/// A checksum of the parity, the stripes and the data spindles of `groups`, in their order.
pub(crate) fn checksum_of_shapes(groups: &[ParityGroup]) -> u32 {
    let shape = |group: &ParityGroup| {
        let mut bytes = [0; 11];
        bytes[..8].copy_from_slice(&group.stripes().to_le_bytes());
        bytes[8..10].copy_from_slice(&group.data_spindles().to_le_bytes());
        bytes[10] = group.parity().number();
        bytes
    };
    crc32(&groups.iter().flat_map(shape).collect::<Vec<u8>>())
}

impl Root {
    /// Bytes of a root.
    pub const BYTES: usize = 128;
    const CHECKSUM_AT: usize = Self::BYTES - 4;

    /// Consistency points committed, the root's own included. Of several roots, the one with the most is current.
    #[must_use]
    pub fn consistency_points(&self) -> u64 {
        self.consistency_points
    }

    /// The parity groups that the aggregate had.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// What the application had set ([`Volumes::set_application_bytes`](crate::Volumes::set_application_bytes)); zeros
    /// if it never did.
    #[must_use]
    pub fn application_bytes(&self) -> &[u8; APPLICATION_BYTES] {
        &self.application
    }

    /// Serialises the root.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.consistency_points.to_le_bytes());
        bytes.extend(self.next_teardown.to_le_bytes());
        bytes.extend(self.groups.to_le_bytes());
        bytes.extend(self.shapes.to_le_bytes());
        bytes.extend(self.next_volume.to_le_bytes());
        bytes.extend(self.block_bytes.to_le_bytes());
        let arrays = [self.nodes, self.volumes, self.delayed_frees, self.free_maps];
        bytes.extend(arrays.map(|array| array.levels));
        for array in arrays {
            let [vbn, crc] = pointer_words(array.top);
            bytes.extend(vbn.to_le_bytes());
            bytes.extend((crc as u32).to_le_bytes());
        }
        bytes.extend(self.application);
        debug_assert_eq!(bytes.len(), Self::CHECKSUM_AT);
        let mut whole = [0; Self::BYTES];
        whole[..bytes.len()].copy_from_slice(&bytes);
        let checksum = crc32(&whole[..Self::CHECKSUM_AT]);
        whole[Self::CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        whole
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, of this version of the format or the one before.
    ///
    /// # Errors
    /// [`Damage`] if the bytes are something else or damaged.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self, Damage> {
        let mut rest = &bytes[..];
        if ![MAGIC, MAGIC_2].contains(&take(&mut rest)) {
            return Err(Damage::ForeignRoot);
        }
        let checksum = crc32(&bytes[..Self::CHECKSUM_AT]).to_le_bytes();
        if bytes[Self::CHECKSUM_AT..] != checksum && !cfg!(fuzzing) {
            return Err(Damage::RootChecksum);
        }
        let consistency_points = u64::from_le_bytes(take(&mut rest));
        let next_teardown = u64::from_le_bytes(take(&mut rest));
        let [groups, shapes, next_volume, block_bytes] =
            [(); 4].map(|()| u32::from_le_bytes(take(&mut rest)));
        let levels: [u8; 4] = take(&mut rest);
        let [nodes, volumes, delayed_frees, free_maps] = levels.map(|levels| {
            let vbn = u64::from_le_bytes(take(&mut rest));
            let crc = u32::from_le_bytes(take(&mut rest));
            ArrayRoot { levels, top: pointer_from([vbn, crc.into()]) }
        });
        Ok(Self {
            consistency_points,
            groups,
            shapes,
            block_bytes,
            next_volume,
            next_teardown,
            nodes,
            volumes,
            delayed_frees,
            free_maps,
            // Zeros in a root that was written before there were any.
            application: take(&mut rest),
        })
    }
}

/// The next bytes. There are as many, since a root has a fixed size.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let mut taken = [0; N];
    let (these, after) = rest.split_at(N);
    taken.copy_from_slice(these);
    *rest = after;
    taken
}
