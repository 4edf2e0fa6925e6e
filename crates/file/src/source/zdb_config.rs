//! ZFS: what `zdb -C POOL` prints of the vdevs of a pool.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::text::{Line, TextLines};
use crate::error::FileError;
use crate::space::{MAX_ASHIFT, PoolLayout, VdevKind, VdevLayout, VdevShape};

/// Lines of the longest configuration that is read; a vdev takes some ten.
const MAX_LINES: u64 = 1 << 20;
/// Vdevs within vdevs: a raidz of a mirror being replaced is three deep.
const MAX_DEPTH: usize = 16;

impl PoolLayout {
    /// Reads the output of `zdb -C POOL`. If it has a configuration of the cache and one of the pool (`MOS`), the
    /// latter counts.
    ///
    /// # Errors
    /// If it cannot be read, has no vdevs, or they are not as they should be.
    pub fn read(reader: impl BufRead, name: &str) -> Result<Self, FileError> {
        let mut lines = TextLines::new(reader, name);
        let mut tree = Tree::default();
        while let Some(line) = lines.next_line()? {
            if line.number > MAX_LINES {
                return Err(line.error("the configuration is too long", UNCHANGED));
            }
            tree.line(&line)?;
        }
        tree.pool().map_err(|message| lines.error(&message, UNCHANGED))
    }
}

/// Whether a line begins the output of `zdb -C`.
pub(super) fn begins_configuration(text: &str) -> bool {
    ["MOS Configuration:", "Cached configuration:"].contains(&text.trim())
}

pub(super) const UNCHANGED: &str = "give the output of `zdb -C POOL` for one pool, unchanged";

/// The configuration as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Tree {
    name: String,
    root: Option<Node>,
    /// The indentation of `vdev_tree` while it is read, and the way from the root to the current vdev: for each the
    /// indentation of its title, and its place among its siblings.
    base: Option<usize>,
    way: Vec<(usize, u64)>,
}

/// A vdev of any depth.
#[derive(Debug, Default)]
struct Node {
    values: BTreeMap<String, String>,
    children: BTreeMap<u64, Node>,
}

impl Tree {
    pub(super) fn pool(self) -> Result<PoolLayout, String> {
        self.root.ok_or("there is no vdev_tree")?.pool(self.name)
    }

    pub(super) fn line(&mut self, line: &Line<'_>) -> Result<(), FileError> {
        let text = line.text.trim();
        let indentation = line.text.len() - line.text.trim_start().len();
        let Some((key, value)) = text.split_once(':') else { return Ok(()) };
        // Keys of features contain colons, those of interest do not.
        let value = value.trim().trim_matches('\'');
        match (self.base, key) {
            (Some(base), _) if indentation > base => {
                return self.vdev_line(line, indentation, key, value);
            }
            (_, "vdev_tree") => {
                (self.base, self.root) = (Some(indentation), Some(Node::default()));
                self.way.clear();
                return Ok(());
            }
            (_, "name") => {
                if !self.name.is_empty() && self.name != value {
                    return Err(line.error("a second pool begins", UNCHANGED));
                }
                value.clone_into(&mut self.name);
            }
            _ => {}
        }
        self.base = None;
        Ok(())
    }

    fn vdev_line(
        &mut self,
        line: &Line<'_>,
        indentation: usize,
        key: &str,
        value: &str,
    ) -> Result<(), FileError> {
        while self.way.last().is_some_and(|(above, _)| *above >= indentation) {
            self.way.pop();
        }
        let Some(mut node) = self.root.as_mut() else { return Ok(()) };
        for (_, place) in &self.way {
            node = node.children.entry(*place).or_default();
        }
        if let Some(place) = key.strip_prefix("children[").and_then(|rest| rest.strip_suffix(']')) {
            let place = line.decimal(place, "the number of a vdev")?;
            if self.way.len() == MAX_DEPTH {
                return Err(line.error("vdevs are nested too deeply", UNCHANGED));
            }
            if node.children.insert(place, Node::default()).is_some() {
                return Err(
                    line.error(format!("child {place} of a vdev is there twice"), UNCHANGED)
                );
            }
            self.way.push((indentation, place));
        } else {
            node.values.insert(key.to_owned(), value.to_owned());
        }
        Ok(())
    }
}

impl Node {
    fn text(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }

    fn number<N: std::str::FromStr>(&self, key: &str) -> Option<N> {
        self.values.get(key)?.parse().ok()
    }

    fn pool(&self, name: String) -> Result<PoolLayout, String> {
        let vdevs = self.children.iter().map(|(place, child)| child.vdev(*place));
        let mut vdevs = vdevs.collect::<Result<Vec<_>, _>>()?;
        vdevs.sort_by_key(|vdev| vdev.id);
        if vdevs.is_empty() {
            return Err("the vdev_tree has no vdevs".to_owned());
        }
        if let Some(pair) = vdevs.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(format!("vdev {} is there twice", pair[0].id));
        }
        Ok(PoolLayout { name, vdevs })
    }

    fn vdev(&self, place: u64) -> Result<VdevLayout, String> {
        let id = self.number("id").or(u16::try_from(place).ok());
        let id = id.ok_or_else(|| format!("vdev {place} has no id from 0 to 65535"))?;
        let kind = self.kind();
        let ashift = match self.number("ashift") {
            // From `ASHIFT_MIN` on.
            Some(ashift @ 9..=MAX_ASHIFT) => ashift,
            _ if matches!(kind, VdevKind::Hole | VdevKind::Unsupported(_)) => 0,
            _ => return Err(format!("vdev {id} has no ashift from 9 to {MAX_ASHIFT}")),
        };
        let devices = match kind {
            VdevKind::Disk => vec![self.device()],
            _ => self.children.values().map(Self::device).collect(),
        };
        if kind == VdevKind::Mirror && devices.is_empty() {
            return Err(format!("vdev {id}, a mirror, has no devices"));
        }
        if let VdevKind::RaidZ { parity } = kind
            && !((1..=3).contains(&parity) && devices.len() > parity.into())
        {
            let devices = devices.len();
            return Err(format!(
                "vdev {id}, a raidz, has {devices} devices and parity of {parity}"
            ));
        }
        let children = u16::try_from(devices.len())
            .map_err(|_| format!("vdev {id} has {} devices", devices.len()))?;
        let shape = VdevShape { kind, ashift, children };
        Ok(VdevLayout { id, shape, bytes: self.number("asize"), devices })
    }

    fn kind(&self) -> VdevKind {
        let unsupported = |why: &str| VdevKind::Unsupported(why.to_owned());
        match self.text("type") {
            "disk" | "file" => VdevKind::Disk,
            // A top-level device that is being replaced has all bytes on one of its children.
            "mirror" | "replacing" | "spare" => VdevKind::Mirror,
            "raidz" if self.values.keys().any(|key| key.starts_with("raidz_expan")) => {
                unsupported("raidz that was expanded: older blocks keep the old width")
            }
            "raidz" => VdevKind::RaidZ { parity: self.number("nparity").unwrap_or(0) },
            "hole" | "missing" => VdevKind::Hole,
            "draid" => unsupported("draid: its permutations are not implemented"),
            "indirect" => {
                unsupported("indirect: the vdev was removed, and its blocks are elsewhere")
            }
            "" => unsupported("a vdev without a type"),
            other => unsupported(other),
        }
    }

    /// The path of a device, or of the first one below it.
    fn device(&self) -> String {
        match self.children.values().next() {
            Some(first) => first.device(),
            None => self.text("path").to_owned(),
        }
    }
}
