//! Links, and an array's second controller.

use strewn_transport::{Framing, LaneRule, LinkProfile};

use crate::quantity::Nanoseconds;
use crate::section::Section;
use crate::value;

/// A link, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// The key of a link's own rate.
pub(crate) const PER_SECOND: &str = "per_second";

/// The words for the rules by which lanes are chosen.
pub(crate) const LANE_RULES: [(&str, LaneRule); 3] = [
    ("flow-hash", LaneRule::FlowHash),
    ("round-robin", LaneRule::RoundRobin),
    ("least-queue", LaneRule::LeastQueue),
];

/// Most lanes of a link: as many as LACP joins (IEEE 802.1AX).
const MOST_LANES: u32 = 8;

/// How long a lane that has failed is still used, unless a scenario says: LACP with short timeouts loses three PDUs,
/// one a second.
const DETECTION_NS: u64 = 3_000_000_000;

impl Link {
    /// Reads every `[[link]]`; a scenario may have none.
    pub(crate) fn read_all(section: &mut Section<'_>, length_ns: Option<u64>) -> Option<Vec<Self>> {
        if !section.has("link") {
            section.get("link");
            return Some(Vec::new());
        }
        let mut links: Vec<Option<Self>> = Vec::new();
        for mut table in section.sections("link")? {
            let name = table.required("name", "\"gigabit\"", value::name);
            if let Some(name) = &name {
                table.rename(format!("link[{name}]"));
            }
            let kind = read_kind(&mut table);
            let lanes = table.optional_or("lanes", 1, value::positive_count);
            let lane_rule = table
                .optional_or("lane_rule", LaneRule::FlowHash, |v| value::choice(v, &LANE_RULES));
            let down_ns = table.optional("down", value::nanoseconds);
            let down_lanes = table.optional_or("down_lanes", 1, value::positive_count);
            let up_ns = table.optional("up", value::nanoseconds);
            let detection_ns = table.optional_or("detection", DETECTION_NS, value::nanoseconds);
            let propagation_ns = table.optional("propagation", value::at_most_a_second);
            let buffer_credits = table.optional("buffer_credits", value::positive_count);
            let per_second = table.optional(PER_SECOND, value::positive_bytes);
            let is_ethernet = kind.as_deref().is_some_and(|kind| !is_fibre_channel(kind));
            if is_ethernet && table.has("buffer_credits") {
                table.problem(
                    "buffer_credits",
                    "only Fibre Channel has them",
                    "leave this out, or give a kind of fc-1g to fc-8g",
                );
            }
            check_times(&table, down_ns, up_ns, length_ns);
            if lanes.is_some_and(|lanes| lanes > MOST_LANES) {
                table.problem(
                    "lanes",
                    format!("is more than {MOST_LANES}"),
                    format!("give 1 to {MOST_LANES}"),
                );
            }
            if let (Some(lanes), Some(down_lanes)) = (lanes, down_lanes)
                && down_lanes > lanes
            {
                table.problem(
                    "down_lanes",
                    format!("is {down_lanes}, and the link has {lanes}"),
                    format!("give at most {lanes}"),
                );
            }
            if table.gives("down_lanes") && !table.has("down") {
                table.problem(
                    "down_lanes",
                    "no lane fails",
                    "give `down` as well, or leave this out",
                );
            }
            if name.is_some()
                && links.iter().flatten().any(|link| Some(&link.name) == name.as_ref())
            {
                table.problem("name", "another link has the same name", "give each its own");
            }
            let is_good = table.has("down") == down_ns.is_some()
                && table.has("up") == up_ns.is_some()
                && table.has("propagation") == propagation_ns.is_some()
                && table.has("buffer_credits") == buffer_credits.is_some()
                && table.has(PER_SECOND) == per_second.is_some();
            table.finish();
            let of_lanes = lanes.zip(down_lanes).zip(lane_rule);
            links.push(match (name, kind, of_lanes, detection_ns) {
                (
                    Some(name),
                    Some(kind),
                    Some(((lanes, down_lanes), lane_rule)),
                    Some(detection_ns),
                ) if is_good => Some(Self {
                    name,
                    kind,
                    lanes,
                    lane_rule,
                    down_ns,
                    down_lanes,
                    up_ns,
                    detection_ns,
                    propagation_ns,
                    buffer_credits,
                    bytes_per_second: per_second,
                }),
                _ => None,
            });
        }
        links.into_iter().collect()
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

fn read_kind(section: &mut Section<'_>) -> Option<String> {
    let kind = section.required("kind", "\"ethernet-1g\"", value::text)?;
    let known: Vec<&str> = LinkProfile::shipped_names().collect();
    if known.contains(&kind.as_str()) {
        return Some(kind);
    }
    section.unknown_name("kind", "kind of link", &kind, &known);
    None
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Until a partner is declared dead: `cf.takeover.detection.seconds`, 15 s unless set.
const TAKEOVER_DETECTION_NS: u64 = 15_000_000_000;
/// Chosen: clients of the time had to bear 120 s, and givebacks are reported to take some tens of seconds.
const GIVEBACK_PAUSE_NS: u64 = 30_000_000_000;
/// Chosen: InfiniBand SDR with four lanes, 8 Gb/s. A host's writes are a tenth of it.
const INTERCONNECT_BYTES_PER_SECOND: u64 = 1_000_000_000;
/// Chosen: an RDMA write and its completion.
const INTERCONNECT_LATENCY_NS: u64 = 10_000;

impl Pair {
    /// The key of the table.
    pub(crate) const KEY: &str = "pair";

    /// Reads `[array.pair]`.
    pub(crate) fn read(mut section: Section<'_>, length_ns: Option<u64>) -> Option<Self> {
        let s = &mut section;
        let per_second = s.optional_or(
            "interconnect_per_second",
            INTERCONNECT_BYTES_PER_SECOND,
            value::positive_bytes,
        );
        let latency =
            s.optional_or("interconnect_latency", INTERCONNECT_LATENCY_NS, value::nanoseconds);
        let failing = s.optional_or("failing", 1, value::controller_number);
        let takeover_ns = s.optional("takeover", value::nanoseconds);
        let giveback_ns = s.optional("giveback", value::nanoseconds);
        let detection = s.optional_or("detection", TAKEOVER_DETECTION_NS, value::nanoseconds);
        let pause = s.optional_or("giveback_pause", GIVEBACK_PAUSE_NS, value::nanoseconds);
        let is_good = s.has("takeover") == takeover_ns.is_some()
            && s.has("giveback") == giveback_ns.is_some();
        if let (Some(takeover_ns), Some(length_ns)) = (takeover_ns, length_ns) {
            check_before_end(s, "takeover", takeover_ns, length_ns);
        }
        match (takeover_ns, giveback_ns, detection) {
            (None, Some(_), _) if is_good => s.problem(
                "giveback",
                "nothing was taken over",
                "give `takeover` as well, or leave this out",
            ),
            (Some(takeover_ns), Some(giveback_ns), Some(detection_ns))
                if giveback_ns <= takeover_ns.saturating_add(detection_ns) =>
            {
                s.problem(
                    "giveback",
                    format!(
                        "is {}, and the partner takes over at {}",
                        Nanoseconds(giveback_ns),
                        Nanoseconds(takeover_ns.saturating_add(detection_ns))
                    ),
                    "give a later time",
                );
            }
            _ => {}
        }
        if failing.is_some() && s.gives("failing") && !s.has("takeover") {
            s.problem(
                "failing",
                "no controller fails",
                "give `takeover` as well, or leave this out",
            );
        }
        section.finish();
        if !is_good {
            return None;
        }
        Some(Self {
            interconnect_bytes_per_second: per_second?,
            interconnect_latency_ns: latency?,
            failing: failing?,
            takeover_ns,
            giveback_ns,
            detection_ns: detection?,
            giveback_pause_ns: pause?,
        })
    }
}
