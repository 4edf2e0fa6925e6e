//! Clients that lay files out over the objects of several blades, and compute parity.

use std::ops::RangeInclusive;

use strewn_raid::{LayoutError, ObjectLayout, ObjectLayoutConfig};

use crate::fields::{
    Around, Fields, Multiple, Section, Table, Text, cost, count, name, size, time,
};
use crate::front_end::FrontEnd;
use crate::host::Host;
use crate::kinds::{ArrayLayout, Part};
use crate::lun::Lun;
use crate::machine::{self, Link, Pair};
use crate::quantity::Bytes;

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
const BLADES: RangeInclusive<u64> = 3..=256;
/// Objects of a parity group: as many as RAID-5 has spindles.
const WIDTHS: RangeInclusive<u64> = 3..=64;
/// A parity group unless a scenario says otherwise: 8 + 1 objects, so that a stripe has 512 KiB.
const DEFAULT_WIDTH: u16 = 9;
/// What a stripe unit and a request may be.
const SIZES: RangeInclusive<u64> = 4 << 10..=64 << 20;
/// Chosen: no file has more stripes.
const DEPTHS: RangeInclusive<u64> = 1..=1_000_000;
/// LUN numbers of a machine have 16 bits.
const MOST_OBJECTS: usize = u16::MAX as usize;

/// What checking the table must know about the rest of the array.
pub(crate) struct OfArray<'c> {
    pub(crate) links: Option<&'c [Link]>,
    pub(crate) hosts: Option<&'c [Host]>,
    pub(crate) luns: Option<&'c [Lun]>,
    pub(crate) layout: Option<&'c ArrayLayout>,
    pub(crate) front_end: Option<&'c FrontEnd>,
    pub(crate) drive_bytes: u64,
}

impl ClientRaid {
    /// The key of the table.
    pub(crate) const KEY: &str = "client_raid";
    /// The key of the link that each blade has one like.
    pub(crate) const BLADE_LINK: &str = "blade_link";

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

    fn check_link(&self, table: &Section<'_>, links: Option<&[Link]>) {
        if let (Some(link), Some(links)) = (&self.blade_link, links)
            && table.is_right(Self::BLADE_LINK)
        {
            let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            if known.is_empty() {
                let message = format!("there is no link `{link}`, nor any other");
                table.problem(Self::BLADE_LINK, message, "add [[link]] with a name and a kind");
            } else if !known.contains(&link.as_str()) {
                table.unknown_name(Self::BLADE_LINK, "link", link, &known);
            }
        }
    }

    /// Checks what the rest of the array must be like.
    pub(crate) fn check_array(&self, section: &Section<'_>, of_array: &OfArray<'_>) {
        if let [table] = section.inner(Self::KEY) {
            self.check_link(table, of_array.links);
        }
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
        ] {
            if section.has(key) {
                section.problem(key, message, help);
            }
        }
        let refusal = of_array
            .layout
            .map(|layout| &**layout)
            .and_then(|kind| kind.refusal(Part::Blades).map(|refusal| (kind.table().0, refusal)));
        if let Some((key, (message, help))) = refusal {
            section.problem(key, message, help);
        }
        if !section.has(FrontEnd::KEY) {
            section.problem(
                Self::KEY,
                "there is no way from clients to blades",
                "add [array.front_end] with a protocol, and a path or `blade_link` here",
            );
        }
        if of_array.front_end.is_some_and(|front_end| front_end.router.is_some()) {
            section.problem_within(
                FrontEnd::KEY,
                "router",
                "clients reach blades without a router",
                "leave the table out",
            );
        }
        let layout = of_array.layout.and_then(ArrayLayout::in_place);
        if layout.is_some_and(|layout| layout.groups.len() > 1) {
            section.problem_within(
                "in_place",
                "group",
                "a blade has one disk group",
                "leave it out: give each blade spindles, and more blades",
            );
            return;
        }
        let Some(luns) = of_array.luns else { return };
        let hosts = of_array.hosts.map_or(1, |hosts| hosts.len().max(1));
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
            let (usable, how) = group.usable(of_array.drive_bytes);
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

impl Default for ClientRaid {
    fn default() -> Self {
        Self {
            blades: 0,
            width: DEFAULT_WIDTH,
            stripe_unit_bytes: 0,
            group_depth: 1,
            largest_request_bytes: 0,
            parity_kib_ns: 0,
            blade_link: None,
            lost: None,
            copy_kib_ns: 0,
        }
    }
}

impl Table for ClientRaid {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            count("blades", "The blades. Each has one object of every file.")
                .within(BLADES)
                .required("10"),
            &mut self.blades,
        );
        if f.reads() && f.is_right("blades") {
            self.width = self.blades.min(DEFAULT_WIDTH);
        }
        f.value(
            count(
                "width",
                "Objects of a parity group, that of parity included. Unless given, 9, or as many as there are blades if \
                 they are fewer.",
            )
            .within(WIDTHS)
            .inherited(),
            &mut self.width,
        );
        f.value(
            size(
                "stripe_unit",
                "What goes to one object before the next one has its turn: a multiple of 4 KiB.",
            )
            .sized(SIZES, Multiple::Block)
            .default(
                "\"64 KiB\"",
                "recalled from Welch and others, \"Scalable Performance of the Panasas Parallel File System\", FAST 2008",
            ),
            &mut self.stripe_unit_bytes,
        );
        f.value(
            count(
                "group_depth",
                "Stripes that go to a parity group before the next one, of the blades that follow, has its turn.",
            )
            .within(DEPTHS)
            .chosen("1"),
            &mut self.group_depth,
        );
        f.value(
            size(
                "largest_request",
                "The largest request to a blade. Neighbouring stripe units of an object are one request up to this.",
            )
            .sized(SIZES, Multiple::Block)
            .chosen("\"512 KiB\""),
            &mut self.largest_request_bytes,
        );
        f.value(
            cost("parity_per_kib", "What a KiB that goes into parity takes of a client's core.")
                .chosen("\"0 s\""),
            &mut self.parity_kib_ns,
        );
        f.value(
            cost(
                "copy_per_kib",
                "What a KiB that an application reads or writes takes of a client's core: of a read when all of it has \
                 arrived, of a write before its parity is computed.",
            )
            .chosen("\"0 s\""),
            &mut self.copy_kib_ns,
        );
        f.value(
            name(
                Self::BLADE_LINK,
                "Name of a link: each blade has one like it, behind the path of the front end.",
            ),
            &mut self.blade_link,
        );
        let mut blade = self.lost.map(|lost| lost.blade);
        let mut at_ns = self.lost.map_or(0, |lost| lost.at_ns);
        f.value(
            count(
                "lost_blade",
                "A blade that clients cannot reach, counted from 1: what it had is computed from the others.",
            )
            .within(1..=*BLADES.end()),
            &mut blade,
        );
        f.value(
            time("lost_at", "From when on, from the start of the run.")
                .chosen("\"0 s\"")
                .moment(format!("loss of blade {} of {{}}", blade.unwrap_or_default()))
                .listed(blade.is_some()),
            &mut at_ns,
        );
        self.lost = blade.map(|blade| LostBlade { blade, at_ns });
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        let blades = self.blades;
        if s.are_right(&["blades", "width"]) && self.width > blades {
            s.problem(
                "width",
                format!(
                    "a parity group of {} objects needs as many blades, and there are {blades}",
                    self.width
                ),
                format!("give {} to {blades}", WIDTHS.start()),
            );
        }
        if let Some(LostBlade { blade, at_ns }) = self.lost.filter(|_| s.is_right("lost_blade")) {
            if s.is_right("blades") && blade > blades {
                s.problem(
                    "lost_blade",
                    format!("there is no blade {blade}"),
                    format!("give 1 to {blades}"),
                );
            }
            if let Some(length_ns) = around.length_ns.filter(|_| s.is_right("lost_at")) {
                machine::check_before_end(s, "lost_at", at_ns, length_ns);
            }
        } else if s.gives("lost_at") && !s.has("lost_blade") {
            s.problem("lost_at", "no blade is lost", "give `lost_blade` too, or leave it out");
        }
    }
}
