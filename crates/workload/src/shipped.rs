//! Access specifications that come with the crate.

use crate::{AccessLine, AccessSpecification};
use strewn_base::SECTOR_BYTES;

const FILE_SERVER: &str = "file-server";

/// Sizes in bytes and the percentage of accesses of each: Intel's "File Server Access Pattern",
/// as Iometer distributed it and as fio's `iometer-file-access-server` job repeats it.
const FILE_SERVER_SIZES: [(u32, u8); 8] = [
    (512, 10),
    (1 << 10, 5),
    (2 << 10, 5),
    (4 << 10, 60),
    (8 << 10, 2),
    (16 << 10, 4),
    (32 << 10, 4),
    (64 << 10, 10),
];

/// Returns the names that [`AccessSpecification::shipped`] knows.
pub fn shipped_names() -> &'static [&'static str] {
    &[FILE_SERVER]
}

impl AccessSpecification {
    /// Returns the shipped specification called `name`; `None` if there is none.
    ///
    /// | name | contents |
    /// |---|---|
    /// | `file-server` | Intel's File Server pattern: 512 B to 64 KiB, 60 % of it 4 KiB; 80 % read, 100 % random, aligned to sectors |
    pub fn shipped(name: &str) -> Option<Self> {
        (name == FILE_SERVER).then(|| Self {
            name: FILE_SERVER.to_owned(),
            lines: FILE_SERVER_SIZES
                .map(|(bytes, percent_of_accesses)| AccessLine {
                    bytes,
                    percent_of_accesses,
                    read_percent: 80,
                    random_percent: 100,
                })
                .to_vec(),
            alignment_bytes: SECTOR_BYTES as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_specification_is_valid() {
        for &name in shipped_names() {
            let shipped = AccessSpecification::shipped(name).unwrap();
            let checked = AccessSpecification::new(
                shipped.name(),
                shipped.lines().to_vec(),
                shipped.alignment_bytes(),
            );
            assert_eq!(checked, Ok(shipped));
        }
        assert_eq!(AccessSpecification::shipped("File Server"), None);
    }

    /// 11.08 KiB, which turns accesses per second into MiB per second.
    #[test]
    fn file_server_mean() {
        let file_server = AccessSpecification::shipped("file-server").unwrap();
        assert_eq!(file_server.mean_bytes(), 11_345.92);
        assert_eq!(file_server.read_fraction(), 0.8);
    }
}
