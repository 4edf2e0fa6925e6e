//! Clients that lay files out over the objects of several blades, and compute parity.

use std::ops::RangeInclusive;

use strewn_raid::{LayoutError, ObjectLayout, ObjectLayoutConfig};

use crate::array::Lun;
use crate::front_end::FrontEnd;
use crate::host::Host;
use crate::key_list::{KeyList, Multiple, ReadKeys};
use crate::layout::ArrayLayout;
use crate::machine::{self, Link, Pair};
use crate::quantity::{Bytes, Nanoseconds};
use crate::section::Section;
use crate::value;

/// Clients that compute parity. Each LUN is then a file, laid out over the objects of several blades, each of which is
/// an array as the scenario describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRaid {
    /// The blades. Each has one object of every file.
    pub blades: u16,
    /// Objects of a parity group, that of parity included.
    pub width: u16,
    /// Bytes that go to one object before the next one has its turn.
    pub stripe_unit_bytes: u64,
    /// Stripes that go to a parity group before the next one has its turn.
    pub group_depth: u32,
    /// The largest request to a blade, in bytes.
    pub largest_request_bytes: u64,
    /// What a KiB that goes into parity takes of a client's core, in nanoseconds.
    pub parity_kib_ns: u64,
    /// The link, by name, of which each blade has one like it, behind the path of the front end.
    pub blade_link: Option<String>,
    /// A blade that is lost.
    pub lost: Option<LostBlade>,
    /// What a KiB that an application reads or writes takes of a client's core, in nanoseconds.
    pub copy_kib_ns: u64,
}

/// A blade that clients cannot reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostBlade {
    /// Which one, counted from 1.
    pub blade: u16,
    /// From when on, in nanoseconds from the start of the run.
    pub at_ns: u64,
}

/// The most blades. Chosen: 25 shelves of ten.
const BLADES: RangeInclusive<u16> = 3..=256;
/// Objects of a parity group: as many as RAID-5 has spindles.
const WIDTHS: RangeInclusive<u32> = 3..=64;
/// A parity group unless a scenario says otherwise: 8 + 1 objects, so that a stripe has 512 KiB.
const DEFAULT_WIDTH: u16 = 9;
/// What a stripe unit and a request may be.
const SIZES: RangeInclusive<u64> = 4 << 10..=64 << 20;
/// Chosen: no file has more stripes.
const DEPTHS: RangeInclusive<u32> = 1..=1_000_000;
/// LUN numbers of a machine have 16 bits.
const MOST_OBJECTS: usize = u16::MAX as usize;

/// What reading the table must know about the rest of the array.
pub(crate) struct Surroundings<'c> {
    pub(crate) links: Option<&'c [Link]>,
    pub(crate) hosts: Option<&'c [Host]>,
    pub(crate) luns: Option<&'c [Lun]>,
    pub(crate) layout: Option<&'c ArrayLayout>,
    pub(crate) front_end: Option<&'c FrontEnd>,
    pub(crate) drive_bytes: u64,
    pub(crate) length_ns: Option<u64>,
}

impl ClientRaid {
    /// The key of the table.
    pub(crate) const KEY: &str = "client_raid";
    /// The key of the link that each blade has one like.
    const BLADE_LINK: &str = "blade_link";

    /// Returns how a file is laid out: the LUN of an array that has so many others before it.
    ///
    /// # Errors
    /// If the settings are not those of a scenario that was checked.
    pub fn object_layout(
        &self,
        files_before: usize,
        file_bytes: u64,
    ) -> Result<ObjectLayout, LayoutError> {
        let config = ObjectLayoutConfig {
            blades: self.blades,
            width: self.width,
            unit_bytes: self.stripe_unit_bytes,
            depth: self.group_depth.into(),
        };
        // Small files of different LUNs are in different parity groups.
        let first_blade = files_before * usize::from(self.width) % usize::from(self.blades.max(1));
        ObjectLayout::new(config, first_blade as u16, file_bytes)
    }

    /// Returns the length of the longest object of a file, in bytes; 0 if it cannot be laid out.
    #[must_use]
    pub fn object_bytes(&self, file_bytes: u64) -> u64 {
        let layout = self.object_layout(0, file_bytes);
        layout.map_or(0, |layout| layout.object_sectors() * strewn_base::SECTOR_BYTES)
    }

    /// Returns the bytes of data in a stripe.
    #[must_use]
    pub fn stripe_bytes(&self) -> u64 {
        self.stripe_unit_bytes * u64::from(self.width.saturating_sub(1))
    }

    /// Goes over the keys that every such table has, but those of blades.
    pub(crate) fn of_keys(&mut self, keys: &mut impl KeyList) {
        let mut width = self.width.into();
        keys.count("width", &mut width, WIDTHS);
        self.width = width as u16;
        keys.size("stripe_unit", &mut self.stripe_unit_bytes, SIZES, Multiple::Block);
        keys.count("group_depth", &mut self.group_depth, DEPTHS);
        keys.size("largest_request", &mut self.largest_request_bytes, SIZES, Multiple::Block);
        keys.time("parity_per_kib", &mut self.parity_kib_ns, 0..=1_000_000_000);
        keys.time("copy_per_kib", &mut self.copy_kib_ns, 0..=1_000_000_000);
    }

    /// Returns the link of a blade that `[array.client_raid]` names, before the table is read.
    pub(crate) fn peek_blade_link(section: &Section<'_>) -> Option<String> {
        section.peek_within(Self::KEY, Self::BLADE_LINK)
    }

    /// Reads `[array.client_raid]`.
    pub(crate) fn read(mut section: Section<'_>, around: &Surroundings<'_>) -> Option<Self> {
        let s = &mut section;
        let blades = s.required("blades", "10", |v| match value::count(v)? {
            blades if u16::try_from(blades).is_ok_and(|blades| BLADES.contains(&blades)) => {
                Ok(blades as u16)
            }
            blades => value::refuse(
                format!("is {blades}"),
                format!("give {} to {}", BLADES.start(), BLADES.end()),
            ),
        });
        let mut raid = Self {
            blades: blades.unwrap_or(*BLADES.end()),
            width: blades.unwrap_or(DEFAULT_WIDTH).min(DEFAULT_WIDTH),
            // From memory of Welch and others, "Scalable Performance of the Panasas Parallel File System" (FAST 2008).
            stripe_unit_bytes: 64 << 10,
            group_depth: 1,
            largest_request_bytes: 512 << 10,
            parity_kib_ns: 0,
            blade_link: None,
            lost: None,
            copy_kib_ns: 0,
        };
        let mut keys = ReadKeys::new(s);
        raid.of_keys(&mut keys);
        let is_good = keys.is_good;
        raid.blade_link = s.optional(Self::BLADE_LINK, value::name);
        if let (Some(link), Some(links)) = (&raid.blade_link, around.links) {
            let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            if known.is_empty() {
                let message = format!("there is no link `{link}`, nor any other");
                s.problem(Self::BLADE_LINK, message, "add [[link]] with a name and a kind");
            } else if !known.contains(&link.as_str()) {
                s.unknown_name(Self::BLADE_LINK, "link", link, &known);
            }
        }
        let link_is_good = s.has(Self::BLADE_LINK) == raid.blade_link.is_some();
        let lost = read_lost(s, &raid, around.length_ns);
        if let Some(blades) = blades.filter(|blades| is_good && raid.width > *blades) {
            s.problem(
                "width",
                format!(
                    "a parity group of {} objects needs as many blades, and there are {blades}",
                    raid.width
                ),
                format!("give {} to {blades}", WIDTHS.start()),
            );
            section.finish();
            return None;
        }
        section.finish();
        blades?;
        raid.lost = lost?;
        (is_good && link_is_good).then_some(raid)
    }

    /// Checks what the rest of the array must be like.
    pub(crate) fn check(&self, section: &Section<'_>, around: &Surroundings<'_>) {
        for (key, message, help) in [
            (Pair::KEY, "a blade has one controller", "leave the table out"),
            (
                "failure",
                "clients cannot do without a spindle of a blade",
                "leave it out, or give `lost_blade` of [array.client_raid]",
            ),
            (
                "volume",
                "a blade has no volumes",
                "leave it out: each LUN is a file over all blades",
            ),
            (
                "write_anywhere",
                "a blade is simulated as an array that updates in place",
                "give [array.in_place]",
            ),
        ] {
            if section.has(key) {
                section.problem(key, message, help);
            }
        }
        if !section.has(FrontEnd::KEY) {
            section.problem(
                Self::KEY,
                "there is no way from clients to blades",
                "add [array.front_end] with a protocol, and a path or `blade_link` here",
            );
        }
        if around.front_end.is_some_and(|front_end| front_end.router.is_some()) {
            section.problem_within(
                FrontEnd::KEY,
                "router",
                "clients reach blades without a router",
                "leave the table out",
            );
        }
        let layout = around.layout.and_then(ArrayLayout::in_place);
        if layout.is_some_and(|layout| layout.groups.len() > 1) {
            section.problem_within(
                "in_place",
                "group",
                "a blade has one disk group",
                "leave it out: give each blade spindles, and more blades",
            );
            return;
        }
        let Some(luns) = around.luns else { return };
        let hosts = around.hosts.map_or(1, |hosts| hosts.len().max(1));
        let objects = hosts * luns.len() * usize::from(self.blades);
        if objects > MOST_OBJECTS {
            section.problem_within(
                Self::KEY,
                "blades",
                format!(
                    "{hosts} hosts have {} LUNs on {} blades each: {objects} objects in all",
                    luns.len(),
                    self.blades
                ),
                format!("give fewer of these, so that there are at most {MOST_OBJECTS}"),
            );
        }
        if let Some(group) = layout.and_then(|layout| layout.groups.first()) {
            let needed = luns.iter().map(|lun| self.object_bytes(lun.bytes));
            let needed = needed.fold(0_u64, u64::saturating_add);
            let (usable, how) = group.usable(around.drive_bytes);
            if needed > usable {
                section.problem(
                    "lun",
                    format!(
                        "the files take {} of each blade, which has {}",
                        Bytes(needed).approximately(),
                        Bytes(usable).approximately()
                    ),
                    format!("give smaller LUNs, or more or larger blades: each has {how}"),
                );
            }
        }
    }
}

/// Reads the blade that is lost. `None` if there is a problem.
fn read_lost(
    section: &mut Section<'_>,
    raid: &ClientRaid,
    length_ns: Option<u64>,
) -> Option<Option<LostBlade>> {
    let most = raid.blades;
    let blade = section.optional("lost_blade", |v| match value::count(v)? {
        blade if (1..=u32::from(most)).contains(&blade) => Ok(blade as u16),
        blade => value::refuse(format!("there is no blade {blade}"), format!("give 1 to {most}")),
    });
    let at_ns = section.optional_or("lost_at", 0, value::nanoseconds);
    if section.gives("lost_at") && !section.has("lost_blade") {
        section.problem("lost_at", "no blade is lost", "give `lost_blade` too, or leave it out");
        return None;
    }
    if let (Some(at_ns), Some(length_ns)) = (at_ns, length_ns) {
        machine::check_before_end(section, "lost_at", at_ns, length_ns);
    }
    match (section.has("lost_blade"), blade) {
        (true, None) => None,
        (false, _) => Some(None),
        (true, Some(blade)) => Some(Some(LostBlade { blade, at_ns: at_ns? })),
    }
}

/// Lists the settings of the table, in the order in which [`ClientRaid::read`] takes them.
pub(crate) fn listed(raid: &ClientRaid, settings: &mut crate::settings::Settings) {
    settings.add("blades", raid.blades);
    raid.clone().of_keys(settings);
    if let Some(link) = &raid.blade_link {
        settings.add(ClientRaid::BLADE_LINK, link.as_str());
    }
    if let Some(LostBlade { blade, at_ns }) = raid.lost {
        settings.add("lost_blade", blade);
        settings.add("lost_at", Nanoseconds(at_ns).to_string());
    }
}
