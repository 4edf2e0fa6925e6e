//! Windows: what `fsutil file queryExtents FILE` prints, and before it `fsutil fsinfo ntfsinfo VOLUME:` for the size of
//! a cluster.
//!
//! ```text
//! NTFS Volume Serial Number :        0x1234567812345678
//! Bytes Per Cluster :                4096  (4 KB)
//! VCN: 0x0        Clusters: 0x2a       LCN: 0x12345
//! VCN: 0x2a       Clusters: 0x10       LCN: 0xffffffffffffffff
//! ```
//!
//! An LCN of -1 is a hole, or what compression has saved. Words are those of the language of Windows, so that numbers
//! count, and the names VCN and LCN.

use super::parser::{Dialect, Events, LineParser, ListedFile};
use super::text::{Line, shortened};
use crate::error::FileError;
use crate::extent::{Address, Extent, Place};

/// The list.
pub(super) static DIALECT: Dialect = Dialect {
    name: "fsutil",
    begins: |text| is_extent(text) || is_volume(text),
    parser: || Box::new(FsutilParser::default()),
    file_system: Some("ntfs"),
    is_copy_on_write: false,
    is_of_kernel: false,
    counts_in_units: false,
};

/// Bytes of a cluster of most volumes up to 16 TB.
const USUAL_CLUSTER_BYTES: u64 = 4096;
/// Clusters are powers of two within these bytes.
const CLUSTER_BYTES: std::ops::RangeInclusive<u64> = 512..=2 << 20;
/// Lines of a volume that are kept; it has some twenty.
const MOST_FIGURES: usize = 64;
/// What has no place.
const NO_LCN: u64 = u64::MAX;

#[derive(Debug, Default)]
pub(crate) struct FsutilParser {
    cluster_bytes: Option<u64>,
    /// What is said of the volume.
    figures: Vec<(String, u64)>,
    path: Option<String>,
    file_bytes: Option<u64>,
    has_file: bool,
}

fn is_extent(text: &str) -> bool {
    text.trim_start().starts_with("VCN:") && text.contains("LCN:")
}

/// Whether a line has the serial number of a volume of NTFS or ReFS, with which `fsutil fsinfo` begins.
fn is_volume(text: &str) -> bool {
    let is_named = ["NTFS", "REFS", "ReFS"].iter().any(|name| text.contains(name));
    // A path, which xfs_bmap begins with, ends with a colon.
    is_named && text.contains(':') && text.contains("0x") && !text.trim_end().ends_with(':')
}

/// Returns what a line of `fsutil fsinfo` is called, and its figure if that could be bytes of a sector or a cluster:
/// `Bytes Per Cluster : 4096  (4 KB)`.
fn power_of_two(text: &str) -> Option<(String, u64)> {
    let (label, value) = text.split_once(':')?;
    let bytes: u64 = value.split_whitespace().next()?.parse().ok()?;
    let is_size = bytes.is_power_of_two() && CLUSTER_BYTES.contains(&bytes);
    is_size.then(|| (label.trim().to_lowercase(), bytes))
}

/// Returns the bytes of a cluster of a volume of these figures. Its label tells, or else the order of the figures of
/// NTFS: a sector, a physical sector (since Windows 7), a cluster, a record of the MFT.
fn cluster_bytes(figures: &[(String, u64)]) -> Option<u64> {
    let is_of_cluster = |label: &str| label.contains("cluster") && !label.starts_with("cluster");
    let named = figures.iter().find(|(label, _)| is_of_cluster(label));
    let ordered = match figures {
        [(_, 512 | 4096), (_, cluster), (_, 1024 | 4096)]
        | [(_, 512 | 4096), (_, 512 | 4096), (_, cluster), (_, 1024 | 4096)] => Some(*cluster),
        _ => None,
    };
    named.map(|(_, bytes)| *bytes).or(ordered)
}

impl LineParser for FsutilParser {
    fn line(&mut self, line: &Line<'_>, events: &mut Events) -> Result<(), FileError> {
        let text = line.text.trim();
        if is_extent(text) {
            return self.extent(line, text, events);
        }
        if let Some((name, value)) = text.strip_prefix('#').and_then(|text| text.split_once('=')) {
            match name.trim() {
                "path" => {
                    (self.path, self.file_bytes) = (Some(value.trim().to_owned()), None);
                    self.has_file = false;
                }
                "file_bytes" => {
                    self.file_bytes = Some(line.decimal(value.trim(), "file_bytes")?);
                }
                "block_bytes" => {
                    let bytes = line.decimal(value.trim(), "block_bytes")?;
                    if !CLUSTER_BYTES.contains(&bytes) {
                        let remedy = "give the bytes of a cluster, 512 to 2097152";
                        return Err(line.error_at(value, "no volume has such clusters", remedy));
                    }
                    self.cluster_bytes = Some(bytes);
                }
                _ => {}
            }
            return Ok(());
        }
        if is_volume(text) {
            // Of another volume.
            (self.cluster_bytes, self.has_file) = (None, false);
            self.figures.clear();
        } else if !self.has_file && text.contains(':') {
            self.figures.extend(power_of_two(text).filter(|_| self.figures.len() < MOST_FIGURES));
        } else {
            let message = format!("`{}` is not a line of `fsutil`", shortened(text));
            let remedy = "give the output of `fsutil file queryExtents FILE` unchanged";
            return Err(line.error_at(text, message, remedy));
        }
        Ok(())
    }
}

impl FsutilParser {
    fn extent(
        &mut self,
        line: &Line<'_>,
        text: &str,
        events: &mut Events,
    ) -> Result<(), FileError> {
        self.cluster_bytes = self.cluster_bytes.or_else(|| cluster_bytes(&self.figures));
        let remedy = "give the output of `fsutil file queryExtents FILE` unchanged";
        let numbers: Vec<&str> = text
            .split_whitespace()
            .filter(|word| word.starts_with(|first: char| first.is_ascii_digit()))
            .collect();
        let &[first, clusters, place] = numbers.as_slice() else {
            let message = format!("an extent has 3 numbers, and this one {}", numbers.len());
            return Err(line.error_at(text, message, remedy));
        };
        let number = |word: &str, what: &str| {
            let found = match word.strip_prefix("0x") {
                Some(digits) => line.hexadecimal(digits, what),
                None => line.decimal(word, what),
            };
            found.map_err(|_| {
                line.error_at(word, format!("{what} is `{}`", shortened(word)), remedy)
            })
        };
        let cluster_bytes = self.cluster_bytes.unwrap_or(USUAL_CLUSTER_BYTES);
        let bytes_of = |word: &str, what: &str| {
            number(word, what).and_then(|clusters| line.bytes(word, clusters, cluster_bytes))
        };
        let offset = bytes_of(first, "the VCN")?;
        // The list of another file begins at its first cluster.
        if !self.has_file || offset == 0 {
            events.file(ListedFile {
                path: self.path.take(),
                file_bytes: self.file_bytes.take(),
                block_bytes: self.cluster_bytes,
                device_bytes: None,
            });
            self.has_file = true;
        }
        let bytes = bytes_of(clusters, "the number of clusters")?;
        let lcn = number(place, "the LCN")?;
        if lcn == NO_LCN {
            return Ok(());
        }
        let place = Place::At(Address::new(line.bytes(place, lcn, cluster_bytes)?));
        events.extent(line, first, Extent { offset, bytes, place, shared: false })
    }
}
