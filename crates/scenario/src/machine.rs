//! Links, and an array's second controller.

use strewn_transport::{Framing, LaneRule, LinkProfile};

use crate::fields::{
    Around, Fields, Scales, Section, Table, Text, Words, choice, cost, count, known, name, size,
    time,
};
use crate::quantity::Nanoseconds;

/// A link, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// The name by which arrays refer to it.
    pub name: String,
    /// The kind that ships, by name: [`LinkProfile::shipped`].
    pub kind: String,
    /// Parallel links that serve as one.
    pub lanes: u32,
    /// How lanes share what is sent.
    pub lane_rule: LaneRule,
    /// When lanes fail, in nanoseconds from the start of the run; `None` if none ever does.
    pub down_ns: Option<u64>,
    /// How many of them fail, the first one first.
    pub down_lanes: u32,
    /// When they work again; `None` if they do not.
    pub up_ns: Option<u64>,
    /// How long a lane that has failed is still used, in nanoseconds.
    pub detection_ns: u64,
    /// From one end to the other, in nanoseconds; `None` for the kind's.
    pub propagation_ns: Option<u64>,
    /// Buffer credits of Fibre Channel; `None` for as many as never bind.
    pub buffer_credits: Option<u32>,
    /// Bytes a second on the wire, headers included; `None` for the kind's rate.
    pub bytes_per_second: Option<u64>,
}

impl Words for LaneRule {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("flow-hash", Self::FlowHash),
        ("round-robin", Self::RoundRobin),
        ("least-queue", Self::LeastQueue),
    ];
}

/// Most lanes of a link: as many as LACP joins (IEEE 802.1AX).
const MOST_LANES: u64 = 8;

impl Table for Link {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name("name", "The name by which arrays refer to it.").required("\"gigabit\""),
            &mut self.name,
        );
        f.value(
            known(
                "kind",
                "What it is. Jumbo frames have an MTU of 9,000 bytes, others one of 1,500.",
                "kind of link",
                || LinkProfile::shipped_names().collect(),
            )
            .required("\"ethernet-1g\""),
            &mut self.kind,
        );
        f.value(
            count("lanes", "Parallel links that serve as one.")
                .within(1..=MOST_LANES)
                .default("1", "no LACP"),
            &mut self.lanes,
        );
        f.value(
            choice::<LaneRule>(
                "lane_rule",
                "How lanes share what is sent: a connection stays on one (LACP), each message takes the next one (MPIO \
                 round robin), or the one that is free first.",
            )
            .default("\"flow-hash\"", "LACP: IEEE 802.1AX"),
            &mut self.lane_rule,
        );
        f.value(
            time(
                "down",
                "When the link, or some of its lanes, fails, from the start of the run; never unless given.",
            )
            .moment("{} fails"),
            &mut self.down_ns,
        );
        f.value(
            count("down_lanes", "How many lanes fail, the first one first. Only beside down.")
                .within(1..=MOST_LANES)
                .chosen("1")
                .listed(self.down_ns.is_some()),
            &mut self.down_lanes,
        );
        f.value(
            time("up", "When it works again; never unless given.").moment("{} is back"),
            &mut self.up_ns,
        );
        f.value(
            time("detection", "How long a lane that has failed is still used.")
                .default("\"3 s\"", "LACP with short timeouts loses three PDUs, one a second"),
            &mut self.detection_ns,
        );
        f.value(
            cost("propagation", "From one end to the other, at most 1 s: 5 ns a metre.")
                .of_kind("\"50 ns\"", "10 m of cable"),
            &mut self.propagation_ns,
        );
        f.value(
            count(
                "buffer_credits",
                "Frames that may be on the way before the receiver has a free buffer again; only of Fibre Channel. Unless \
                 given, as many as never bind.",
            ),
            &mut self.buffer_credits,
        );
        f.value(
            size(
                "per_second",
                "Bytes a second on the wire, headers included, instead of the kind's rate: an adapter or a bus that \
                 passes no more.",
            )
            .positive(),
            &mut self.bytes_per_second,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        if s.is_right("kind") && !is_fibre_channel(&self.kind) && s.has("buffer_credits") {
            s.problem(
                "buffer_credits",
                "only Fibre Channel has them",
                "leave this out, or give a kind of fc-1g to fc-8g",
            );
        }
        if s.are_right(&["down", "up"]) {
            check_times(s, self.down_ns, self.up_ns, around.length_ns);
        }
        if s.are_right(&["lanes", "down_lanes"]) && self.down_lanes > self.lanes {
            s.problem(
                "down_lanes",
                format!("is {}, and the link has {}", self.down_lanes, self.lanes),
                format!("give at most {}", self.lanes),
            );
        }
        if s.gives("down_lanes") && !s.has("down") {
            s.problem("down_lanes", "no lane fails", "give `down` as well, or leave this out");
        }
    }
}

impl Link {
    /// Checks that a path consists of links that exist, each of them once. Returns whether it does.
    pub(crate) fn check_named(section: &Section<'_>, path: &[String], links: &[Self]) -> bool {
        let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        for (position, name) in path.iter().enumerate() {
            if path[..position].contains(name) {
                section.problem(
                    "path",
                    format!("the link `{name}` is in it twice"),
                    "give each part of the way a link of its own",
                );
                return false;
            }
            if known.is_empty() {
                section.problem(
                    "path",
                    format!("there is no link `{name}`, nor any other"),
                    "add [[link]] with a name and a kind",
                );
                return false;
            }
            if !known.contains(&name.as_str()) {
                section.unknown_name("path", "link", name, &known);
                return false;
            }
        }
        true
    }
}

/// Returns whether a kind of link is Fibre Channel.
pub(crate) fn is_fibre_channel(kind: &str) -> bool {
    LinkProfile::shipped(kind).is_some_and(|profile| profile.framing == Framing::Sequences)
}

fn check_times(
    section: &Section<'_>,
    down_ns: Option<u64>,
    up_ns: Option<u64>,
    length_ns: Option<u64>,
) {
    match (down_ns, up_ns) {
        (None, Some(_)) => {
            section.problem("up", "the link never fails", "give `down` as well, or leave this out");
        }
        (Some(down_ns), Some(up_ns)) if up_ns <= down_ns => section.problem(
            "up",
            format!("is {}, and the link fails at {}", Nanoseconds(up_ns), Nanoseconds(down_ns)),
            "give a later time, or leave it out: the link then stays down",
        ),
        _ => {}
    }
    if let (Some(down_ns), Some(length_ns)) = (down_ns, length_ns)
        && down_ns >= length_ns
    {
        check_before_end(section, "down", down_ns, length_ns);
    }
}

/// Notes a problem if a time is not before the end of the run.
pub(crate) fn check_before_end(
    section: &Section<'_>,
    key: &'static str,
    at_ns: u64,
    length_ns: u64,
) {
    if at_ns >= length_ns {
        let length = Nanoseconds(length_ns);
        section.problem(
            key,
            format!("is {}, and the run ends at {length}", Nanoseconds(at_ns)),
            format!("give a time before {length}, or more segments"),
        );
    }
}

/// A second controller like the first, with an array of its own. The two mirror each other's log and take over from
/// each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pair {
    /// Bytes a second between the two, in each direction.
    pub interconnect_bytes_per_second: u64,
    /// Until the partner confirms a record, in nanoseconds.
    pub interconnect_latency_ns: u64,
    /// The controller that fails, 1 or 2.
    pub failing: u16,
    /// When it fails, in nanoseconds from the start of the run; `None` if it does not.
    pub takeover_ns: Option<u64>,
    /// When it gets its array back; `None` if it does not.
    pub giveback_ns: Option<u64>,
    /// From the failure until the partner takes over, in nanoseconds.
    pub detection_ns: u64,
    /// How long nobody serves the array during a giveback, in nanoseconds.
    pub giveback_pause_ns: u64,
}

impl Pair {
    /// The key of the table.
    pub(crate) const KEY: &str = "pair";
}

impl Table for Pair {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            size("interconnect_per_second", "Bytes a second between the two, in each direction.")
                .positive()
                // A host's writes are a tenth of it.
                .default("\"1 GB\"", "chosen: InfiniBand SDR with four lanes, 8 Gb/s"),
            &mut self.interconnect_bytes_per_second,
        );
        f.value(
            time("interconnect_latency", "Until the partner confirms a record of the log.")
                .default("\"10 us\"", "chosen: an RDMA write and its completion"),
            &mut self.interconnect_latency_ns,
        );
        f.value(
            count("failing", "The controller that fails.")
                .within(1..=2)
                .chosen("1")
                .listed(self.takeover_ns.is_some()),
            &mut self.failing,
        );
        f.value(
            time("takeover", "When it fails, from the start of the run; never unless given.")
                .moment("takeover of {}"),
            &mut self.takeover_ns,
        );
        f.value(
            time("giveback", "When it gets its array back; never unless given.")
                .moment("giveback of {}"),
            &mut self.giveback_ns,
        );
        f.value(
            time("detection", "From the failure until the partner takes over.")
                .default("\"15 s\"", "`cf.takeover.detection.seconds`")
                .scales(Scales::Whole, "detection of a failed controller of {}"),
            &mut self.detection_ns,
        );
        f.value(
            time("giveback_pause", "How long nobody serves the array during a giveback.")
                .default(
                    "\"30 s\"",
                    "chosen: clients of the time had to bear 120 s, and givebacks are reported to take some tens of \
                     seconds",
                )
                .scales(Scales::Whole, "pause of a giveback of {}"),
            &mut self.giveback_pause_ns,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        let takeover_ns = self.takeover_ns.filter(|_| s.is_right("takeover"));
        if let (Some(takeover_ns), Some(length_ns)) = (takeover_ns, around.length_ns) {
            check_before_end(s, "takeover", takeover_ns, length_ns);
        }
        if s.are_right(&["takeover", "giveback", "detection"]) {
            let taken_over_ns =
                takeover_ns.map(|takeover_ns| takeover_ns.saturating_add(self.detection_ns));
            match (taken_over_ns, self.giveback_ns) {
                (None, Some(_)) => s.problem(
                    "giveback",
                    "nothing was taken over",
                    "give `takeover` as well, or leave this out",
                ),
                (Some(taken_over_ns), Some(giveback_ns)) if giveback_ns <= taken_over_ns => {
                    let (back, over) = (Nanoseconds(giveback_ns), Nanoseconds(taken_over_ns));
                    let message = format!("is {back}, and the partner takes over at {over}");
                    s.problem("giveback", message, "give a later time");
                }
                _ => {}
            }
        }
        if s.is_right("failing") && s.gives("failing") && !s.has("takeover") {
            s.problem(
                "failing",
                "no controller fails",
                "give `takeover` as well, or leave this out",
            );
        }
    }
}
