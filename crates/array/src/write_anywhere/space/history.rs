//! Which snapshots hold which blocks, from the trees of pointers on the spindles.

use std::collections::HashMap;

use super::address::BlockAddress;
use super::metadata::Pointer;

/// The images of a volume, told one after another from the oldest snapshot to the active one, as far as each differs
/// from the one before. What the images share is told once.
#[derive(Debug, Clone, Default)]
pub struct History {
    snapshots: Vec<u32>,
    image: u32,
    /// The blocks of the latest image, each with the number of the first image that has it.
    blocks: HashMap<BlockAddress, (Pointer, u32)>,
    dead: Vec<DeadBlock>,
}

/// A block that some snapshots have and the active image has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadBlock {
    /// File, level and index that it had in the active image.
    pub address: BlockAddress,
    /// Where it lies.
    pub pointer: Pointer,
    /// The first snapshot that has it.
    pub birth: u32,
    /// The first image after that without it.
    pub death: u32,
}

impl History {
    /// Begins with an image: a snapshot, or the active image, which is the last and has the number of the next
    /// snapshot. Numbers ascend from 1.
    pub fn begin_image(&mut self, number: u32) {
        if self.image > 0 {
            self.snapshots.push(self.image);
        }
        assert!(number > self.image, "images are told from the oldest on");
        self.image = number;
    }

    /// The image begun has this block, or none, at `address`. Returns whether the image before had another block there
    /// or none: if so, what a pointer block leads to is to be told too.
    pub fn tell(&mut self, address: BlockAddress, pointer: Option<Pointer>) -> bool {
        let before = self.blocks.get(&address).copied();
        if before.map(|(pointer, _)| pointer) == pointer {
            return false;
        }
        if let Some((pointer, birth)) = before {
            self.dead.push(DeadBlock { address, pointer, birth, death: self.image });
        }
        match pointer {
            Some(pointer) => {
                self.blocks.insert(address, (pointer, self.image));
            }
            None => {
                self.blocks.remove(&address);
                for child in address.children() {
                    self.tell(child, None);
                }
            }
        }
        pointer.is_some()
    }

    /// The image begun has no other blocks than those that `has` returns true for.
    pub fn keep(&mut self, has: impl Fn(BlockAddress) -> bool) {
        let gone: Vec<_> = self.blocks.keys().copied().filter(|address| !has(*address)).collect();
        for address in gone {
            if let Some((pointer, birth)) = self.blocks.remove(&address) {
                self.dead.push(DeadBlock { address, pointer, birth, death: self.image });
            }
        }
    }

    /// The number of the image begun last.
    #[must_use]
    pub fn image(&self) -> u32 {
        self.image
    }

    /// The images before it: the snapshots.
    #[must_use]
    pub fn snapshots(&self) -> &[u32] {
        &self.snapshots
    }

    /// The blocks of the image begun last, in no order, each with the first image that has it.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockAddress, Pointer, u32)> {
        self.blocks.iter().map(|(address, (pointer, birth))| (*address, *pointer, *birth))
    }

    /// The blocks that only images before it have.
    #[must_use]
    pub fn dead(&self) -> &[DeadBlock] {
        &self.dead
    }
}

#[cfg(test)]
mod tests {
    use strewn_raid::Vbn;

    use super::*;

    #[test]
    fn what_images_share_is_told_once() {
        let at = |vbn| Some(Pointer { vbn: Vbn(vbn), checksum: 1 });
        let block = |level, index| BlockAddress { file: 3, level, index };
        let (above, one, other) = (block(1, 0), block(0, 0), block(0, 1));
        let mut history = History::default();
        history.begin_image(1);
        for (address, pointer) in [(above, at(50)), (one, at(20)), (other, at(21))] {
            assert!(history.tell(address, pointer));
        }
        history.begin_image(4);
        assert!(!history.tell(above, at(50)));
        history.begin_image(5);
        assert!(history.tell(above, at(51)));
        assert!(history.tell(one, at(22)));
        assert!(!history.tell(other, at(21)));
        history.begin_image(6);
        assert!(!history.tell(above, None));
        let dead: Vec<_> = history
            .dead()
            .iter()
            .map(|dead| (dead.address, dead.pointer.vbn.0, dead.birth, dead.death))
            .collect();
        let expected = [
            (above, 50, 1, 5),
            (one, 20, 1, 5),
            (above, 51, 5, 6),
            (one, 22, 5, 6),
            (other, 21, 1, 6),
        ];
        assert_eq!(dead, expected);
        assert_eq!(history.blocks().count(), 0);
        assert_eq!((history.snapshots(), history.image()), ([1, 4, 5].as_slice(), 6));
        history.begin_image(7);
        assert!(history.tell(one, at(23)) && history.tell(other, at(24)));
        history.begin_image(8);
        history.keep(|address| address.index < 1);
        assert_eq!(history.blocks().count(), 1);
        assert_eq!(history.dead().last().map(|dead| (dead.address, dead.death)), Some((other, 8)));
    }
}
