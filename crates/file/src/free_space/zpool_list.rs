//! What `zpool list -Hpv` says of a pool and its vdevs.

use serde::Serialize;

use crate::error::FileError;

/// The columns that are asked for: they have had these names since OpenZFS 0.6.4.
pub(super) const COLUMNS: &str = "name,size,allocated,free,fragmentation,capacity,health";

/// What zpool says of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ZpoolFigures {
    /// Bytes of the pool, of RAID-Z with parity.
    pub bytes: u64,
    /// Allocated bytes.
    pub allocated_bytes: u64,
    /// FRAG in percent. None if a feature is missing or the pool is read-only.
    pub frag_percent: Option<u64>,
    /// `ONLINE`, `DEGRADED` and others.
    pub health: String,
    /// Its top-level vdevs, in order: those for data, then those of other classes.
    pub vdevs: Vec<ZpoolVdev>,
}

/// What zpool says of a top-level vdev.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ZpoolVdev {
    /// Its name, such as `mirror-0`.
    pub name: String,
    /// Its class, such as `special` or `logs`; none if it is one of those that take data.
    pub class: Option<String>,
    /// Its bytes.
    pub bytes: u64,
    /// Allocated bytes.
    pub allocated_bytes: u64,
    /// FRAG in percent.
    pub frag_percent: Option<u64>,
}

/// Parses the output of `zpool list -Hpv -o name,size,allocated,free,fragmentation,capacity,health POOL`. Devices
/// within vdevs are left out.
///
/// # Errors
/// If the first line is not one of a pool, or a number is none; the message names the line.
pub fn parse_zpool_list(name: &str, text: &str) -> Result<ZpoolFigures, FileError> {
    let wrong = |number: usize, what: String| {
        FileError::input(
            format!("{name}, line {number}: {what}"),
            format!("give the output of `zpool list -Hpv -o {COLUMNS} POOL`"),
        )
    };
    let figure = |number: usize, word: &str| {
        let digits = word.trim_end_matches('%');
        digits.parse::<u64>().map_err(|_| wrong(number, format!("{word:?} is no number")))
    };
    let (mut pool, mut class): (Option<ZpoolFigures>, Option<String>) = (None, None);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        let is_vdev = line.starts_with([' ', '\t']);
        let words: Vec<&str> = match line.trim_start().contains('\t') {
            true => line.trim_start().split('\t').collect(),
            false => line.split_whitespace().collect(),
        };
        let &[first, size, allocated, _, frag, _, ref health @ ..] = words.as_slice() else {
            // The title of a class has dashes or nothing behind it.
            match &pool {
                Some(_) if !is_vdev => class = words.first().map(|word| (*word).to_owned()),
                Some(_) => {}
                None => return Err(wrong(number, "not the columns of a pool".to_owned())),
            }
            continue;
        };
        let frag = match frag {
            "-" => None,
            percent => Some(figure(number, percent)?).filter(|percent| *percent <= 100),
        };
        match &mut pool {
            None => {
                pool = Some(ZpoolFigures {
                    bytes: figure(number, size)?,
                    allocated_bytes: figure(number, allocated)?,
                    frag_percent: frag,
                    health: health.first().copied().unwrap_or_default().to_owned(),
                    vdevs: Vec::new(),
                });
            }
            Some(_) if !is_vdev => class = Some(first.to_owned()),
            // Devices within a vdev have no allocated bytes of their own.
            Some(_) if allocated == "-" => {}
            Some(pool) => pool.vdevs.push(ZpoolVdev {
                name: first.to_owned(),
                class: class.clone(),
                bytes: figure(number, size)?,
                allocated_bytes: figure(number, allocated)?,
                frag_percent: frag,
            }),
        }
    }
    pool.ok_or_else(|| wrong(1, "no pool is listed".to_owned()))
}
