//! Which snapshots hold which blocks, from the trees of pointers on the spindles.

use std::collections::HashMap;

use super::metadata::Pointer;

/// The images of a volume, told one after another from the oldest snapshot to the active one, as far as each differs
/// from the one before. What the images share is told once.
#[derive(Debug, Clone, Default)]
pub struct History {
    snapshots: Vec<u32>,
    image: u32,
    /// The blocks of the latest image by key, each with the number of the first image that has it.
    blocks: HashMap<u32, (Pointer, u32)>,
    dead: Vec<DeadBlock>,
}

/// A block that some snapshots have and the active image has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadBlock {
    /// Its key.
    pub key: u32,
    /// Where it lies.
    pub pointer: Pointer,
    /// The first snapshot that has it.
    pub birth: u32,
    /// The first image after that without it.
    pub death: u32,
}

impl History {
    /// Begins with an image: a snapshot, or the active image, which is the last and has the number of the next snapshot.
    /// Numbers ascend from 1.
    pub fn begin_image(&mut self, number: u32) {
        if self.image > 0 {
            self.snapshots.push(self.image);
        }
        assert!(number > self.image, "images are told from the oldest on");
        self.image = number;
    }

    /// The image begun has this block, or none, under `key`; `children` gives the keys that a pointer block points to.
    /// Returns whether the image before had another block there or none: if so, what the pointer block leads to is to be
    /// told too.
    pub fn tell(
        &mut self,
        key: u32,
        pointer: Option<Pointer>,
        children: &impl Fn(u32) -> Vec<u32>,
    ) -> bool {
        let before = self.blocks.get(&key).copied();
        if before.map(|(pointer, _)| pointer) == pointer {
            return false;
        }
        if let Some((pointer, birth)) = before {
            self.dead.push(DeadBlock { key, pointer, birth, death: self.image });
        }
        match pointer {
            Some(pointer) => {
                self.blocks.insert(key, (pointer, self.image));
            }
            None => {
                self.blocks.remove(&key);
                for child in children(key) {
                    self.tell(child, None, children);
                }
            }
        }
        pointer.is_some()
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
    pub fn blocks(&self) -> impl Iterator<Item = (u32, Pointer, u32)> {
        self.blocks.iter().map(|(key, (pointer, birth))| (*key, *pointer, *birth))
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
        // Block 10 points to 0 and 1.
        let children = |key| if key == 10 { vec![0, 1] } else { vec![] };
        let mut history = History::default();
        history.begin_image(1);
        for (key, pointer) in [(10, at(50)), (0, at(20)), (1, at(21))] {
            assert!(history.tell(key, pointer, &children));
        }
        history.begin_image(4);
        assert!(!history.tell(10, at(50), &children));
        history.begin_image(5);
        assert!(history.tell(10, at(51), &children));
        assert!(history.tell(0, at(22), &children));
        assert!(!history.tell(1, at(21), &children));
        history.begin_image(6);
        assert!(!history.tell(10, None, &children));
        let dead: Vec<_> =
            history.dead().iter().map(|d| (d.key, d.pointer.vbn.0, d.birth, d.death)).collect();
        assert_eq!(
            dead,
            [(10, 50, 1, 5), (0, 20, 1, 5), (10, 51, 5, 6), (0, 22, 5, 6), (1, 21, 1, 6)]
        );
        assert_eq!(history.blocks().count(), 0);
        assert_eq!((history.snapshots(), history.image()), ([1, 4, 5].as_slice(), 6));
    }
}
