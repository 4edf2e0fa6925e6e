//! What `zdb -mm` and `zdb -MMM` print (`dump_metaslabs` and `dump_metaslab_groups` of `zdb.c`), of OpenZFS from 0.6.5
//! on.

use crate::error::FileError;

/// The smallest segment is of a sector of 512 bytes.
pub(super) const FIRST_LOG: usize = 9;
/// Classes of vdevs that are not for data (`print_vdev_metaslab_header`).
const CLASSES: [&str; 3] = ["log", "special", "dedup"];

/// A histogram that zdb printed, and the figure beside it.
#[derive(Default)]
pub(super) struct Printed {
    /// The line of its title.
    pub(super) line: usize,
    /// Binary logarithms of the bytes of segments, and their numbers.
    pub(super) runs: Vec<(u32, u64)>,
    pub(super) frag_percent: Option<u64>,
}

/// A vdev as it is printed.
pub(super) struct Vdev {
    pub(super) number: u64,
    pub(super) line: usize,
    /// `log`, `special` or `dedup`.
    pub(super) class: Option<String>,
    /// How many metaslabs are announced.
    pub(super) announced: Option<usize>,
    /// Those that are listed, from 0 on.
    pub(super) metaslabs: Vec<Metaslab>,
}

pub(super) struct Metaslab {
    pub(super) line: usize,
    pub(super) offset: u64,
    /// Free bytes, as precise as zdb has printed them.
    pub(super) free_bytes: u64,
    /// Whether it was never written: it is free and has no histogram.
    pub(super) is_untouched: bool,
    pub(super) printed: Option<Printed>,
    /// Whether the last line of its space map is there, which OpenZFS prints from 0.8 on.
    pub(super) has_space_map: bool,
    /// Whether the line of its last flush is there, of pools with the feature log_spacemap.
    pub(super) has_flush: bool,
}

/// What is printed of a pool.
#[derive(Default)]
pub(super) struct MetaslabList {
    /// Vdevs with their metaslabs (`-mm`).
    pub(super) vdevs: Vec<Vdev>,
    /// Histograms of vdevs (`-M`).
    pub(super) groups: Vec<(u64, Printed)>,
    pub(super) pool: Option<Printed>,
    pub(super) pool_name: Option<String>,
    /// Whether the pool's log of space maps is there, which comes last.
    pub(super) has_log: bool,
}

/// What a row of a histogram belongs to.
enum Section {
    Other,
    Metaslab,
    Vdev,
    Pool,
}

/// Returns whether a text looks like the output of `zdb -m`.
pub(super) fn is_metaslab_list(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        line.starts_with("metaslab ") && line.contains("spacemap")
            || (line.starts_with("pool ") || line.starts_with("vdev "))
                && line.contains("fragmentation")
    })
}

impl MetaslabList {
    /// Reads such an output. Lines that are of neither metaslabs nor histograms are left out.
    ///
    /// # Errors
    /// If a line is not understood.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        let mut list = Self::default();
        let mut section = Section::Other;
        for (number, line) in (1..).zip(text.lines()) {
            let line = Line { name, number, words: line.split_whitespace().collect() };
            if let Some(next) = list.take(&line, &section)? {
                section = next;
            }
        }
        Ok(list)
    }

    /// Takes the next line. Returns what rows after it belong to, if it is no row itself.
    fn take(&mut self, line: &Line<'_>, section: &Section) -> Result<Option<Section>, FileError> {
        let words = &line.words;
        let title = || {
            let figure = line
                .after("fragmentation")
                .ok_or_else(|| line.wrong("the list breaks off in this line"))?;
            Ok(Printed { line: line.number, runs: Vec::new(), frag_percent: percent(figure) })
        };
        match words.first().copied() {
            Some("vdev") => {
                let vdev = line.after("vdev").and_then(|word| word.parse().ok());
                let vdev = vdev.ok_or_else(|| line.wrong("a vdev without a number"))?;
                let is_group = words.contains(&"fragmentation");
                let is_again = match is_group {
                    true => self.groups.iter().any(|(known, _)| *known == vdev),
                    false => self.vdevs.iter().any(|known| known.number == vdev),
                };
                if is_again {
                    return Err(line.wrong(&format!("vdev {vdev} is listed a second time")));
                }
                if is_group {
                    self.groups.push((vdev, title()?));
                    return Ok(Some(Section::Vdev));
                }
                let class = words.get(2).filter(|word| CLASSES.contains(word));
                self.vdevs.push(Vdev {
                    number: vdev,
                    line: line.number,
                    class: class.map(|word| (*word).to_owned()),
                    announced: None,
                    metaslabs: Vec::new(),
                });
            }
            Some("pool") if words.contains(&"fragmentation") => {
                if self.pool.is_some() {
                    return Err(line.wrong("a second pool"));
                }
                self.pool_name = words.get(1).map(|word| (*word).to_owned());
                self.pool = Some(title()?);
                return Ok(Some(Section::Pool));
            }
            Some("metaslabs") => {
                let count = line.after("metaslabs").and_then(|word| word.parse().ok());
                let count = count.ok_or_else(|| line.wrong("no number of metaslabs"))?;
                let vdev = self.vdevs.last_mut();
                vdev.ok_or_else(|| line.wrong("metaslabs before a vdev"))?.announced = Some(count);
            }
            Some("metaslab") if words.contains(&"spacemap") => self.take_metaslab(line)?,
            Some("On-disk") => {
                if let Some(metaslab) = self.last_metaslab() {
                    metaslab.printed = Some(title()?);
                    return Ok(Some(Section::Metaslab));
                }
            }
            Some("smp_alloc") => {
                if let Some(metaslab) = self.last_metaslab() {
                    metaslab.has_space_map = true;
                }
            }
            Some("unflushed") => {
                if let Some(metaslab) = self.last_metaslab() {
                    metaslab.has_flush = words.get(1).is_some_and(|word| word.starts_with("txg="));
                }
            }
            Some("Log") if words.starts_with(&["Log", "Space", "Maps"]) => self.has_log = true,
            Some(first) => {
                if let Some(log) = first.strip_suffix(':').and_then(|word| word.parse().ok()) {
                    self.take_row(line, log, section)?;
                    return Ok(None);
                }
            }
            None => return Ok(None),
        }
        Ok(Some(Section::Other))
    }

    fn last_metaslab(&mut self) -> Option<&mut Metaslab> {
        self.vdevs.last_mut()?.metaslabs.last_mut()
    }

    fn take_metaslab(&mut self, line: &Line<'_>) -> Result<(), FileError> {
        let offset = line.after("offset").and_then(|word| u64::from_str_radix(word, 16).ok());
        let offset = offset.ok_or_else(|| line.wrong("a metaslab without a hexadecimal offset"))?;
        let free = line.after("free").and_then(size);
        let free_bytes = free.ok_or_else(|| line.wrong("a metaslab without free bytes"))?;
        let vdev = self.vdevs.last_mut();
        let vdev = vdev.ok_or_else(|| line.wrong("a metaslab before a vdev"))?;
        let next = vdev.metaslabs.len();
        if line.after("metaslab") != Some(next.to_string().as_str()) {
            let what = format!("metaslab {next} of vdev {} is not before it", vdev.number);
            return Err(line.wrong(&what));
        }
        vdev.metaslabs.push(Metaslab {
            line: line.number,
            offset,
            free_bytes,
            is_untouched: line.after("spacemap") == Some("0"),
            printed: None,
            has_space_map: false,
            has_flush: false,
        });
        Ok(())
    }

    fn take_row(&mut self, line: &Line<'_>, log: u32, section: &Section) -> Result<(), FileError> {
        let printed = match section {
            Section::Other => None,
            Section::Metaslab => {
                self.last_metaslab().and_then(|metaslab| metaslab.printed.as_mut())
            }
            Section::Vdev => self.groups.last_mut().map(|(_, printed)| printed),
            Section::Pool => self.pool.as_mut(),
        };
        let Some(printed) = printed else { return Ok(()) };
        let count = line.words.get(1).and_then(|word| word.parse::<u64>().ok());
        let count =
            count.ok_or_else(|| line.wrong(&format!("no number of segments of 2^{log} bytes")))?;
        if !(FIRST_LOG as u32..FIRST_LOG as u32 + 32).contains(&log) {
            return Err(line.wrong(&format!("segments of 2^{log} bytes, which no pool has")));
        }
        // A star at least is behind each number but 0 (`dump_histogram`): without it, digits may be missing.
        if count > 0 && !line.words.get(2).is_some_and(|stars| stars.starts_with('*')) {
            return Err(line.wrong("the list breaks off in this line"));
        }
        printed.runs.push((log, count));
        Ok(())
    }
}

/// A line, in words.
struct Line<'a> {
    name: &'a str,
    number: usize,
    words: Vec<&'a str>,
}

impl<'a> Line<'a> {
    /// The word after `key`.
    fn after(&self, key: &str) -> Option<&'a str> {
        self.words.iter().skip_while(|word| **word != key).nth(1).copied()
    }

    fn wrong(&self, what: &str) -> FileError {
        not_whole(self.name, self.number, what)
    }
}

/// A list that is not as zdb prints it.
pub(super) fn not_whole(name: &str, line: usize, what: &str) -> FileError {
    FileError::input(
        format!("{name}, line {line}: {what}"),
        "save the list again, whole, as zdb prints it",
    )
}

/// Reads a size as zdb prints it: 158M, 1.25G, or bytes with `-P`.
fn size(word: &str) -> Option<u64> {
    let number = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match &word[number.len()..] {
        "" | "B" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        "P" => 1 << 50,
        _ => return None,
    };
    // A comma is the point of some locales.
    let number: f64 = number.replace(',', ".").parse().ok()?;
    (number >= 0.0).then_some((number * unit as f64) as u64)
}

/// Reads a percentage. A pool without the feature spacemap_histogram has none: a dash, or the largest number.
fn percent(word: &str) -> Option<u64> {
    word.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100)
}
