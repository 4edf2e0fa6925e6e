//! What a scenario lets go out of service, and when it comes back.

use strewn_results::MachineEvent;
use strewn_scenario::{Array, Link, Pair, Scenario};

use strewn_results::seconds;
use strewn_scenario::build::machine;

/// A link or a controller that is out of service.
#[derive(Debug, PartialEq, Eq)]
struct Outage {
    name: String,
    from_ns: u64,
    /// `None` if it does not come back.
    until_ns: Option<u64>,
    /// What happens at which time, in nanoseconds from the start of the run.
    steps: Vec<(u64, String)>,
}

/// Returns what goes out of service or comes back between two times of a run of `array`, the latter excluded, and the
/// names of all that is out of service in between, for however short a time.
pub(crate) fn between(
    scenario: &Scenario,
    array: &Array,
    start_ns: u64,
    end_ns: u64,
) -> (Vec<MachineEvent>, Vec<String>) {
    let outages = outages(scenario, array);
    let is_out = |outage: &&Outage| {
        outage.from_ns < end_ns && outage.until_ns.is_none_or(|until_ns| until_ns > start_ns)
    };
    let names = outages.iter().filter(is_out).map(|outage| outage.name.clone()).collect();
    let steps = outages.into_iter().flat_map(|outage| outage.steps);
    let mut steps: Vec<(u64, String)> =
        steps.filter(|(at_ns, _)| (start_ns..end_ns).contains(at_ns)).collect();
    steps.sort_by_key(|(at_ns, _)| *at_ns);
    let event = |(at_ns, what)| MachineEvent { at_seconds: seconds(at_ns), what };
    (steps.into_iter().map(event).collect(), names)
}

fn outages(scenario: &Scenario, array: &Array) -> Vec<Outage> {
    let of_links = machine::links_of(scenario, array).into_iter().filter_map(|link| {
        let name = format!("link {}", link.name);
        of_link(link, name)
    });
    let of_blades = machine::blade_link(scenario, array)
        .and_then(|link| of_link(link, format!("link {} of each blade", link.name)));
    let lost = array.client_raid.as_ref().and_then(|raid| raid.lost).map(|lost| {
        let name = format!("blade {}", lost.blade);
        let steps = vec![(lost.at_ns, format!("{name} is lost"))];
        Outage { name, from_ns: lost.at_ns, until_ns: None, steps }
    });
    of_links.chain(of_blades).chain(lost).chain(array.pair.as_ref().and_then(of_pair)).collect()
}

fn of_link(link: &Link, name: String) -> Option<Outage> {
    let from_ns = link.down_ns?;
    // The first lanes fail.
    let (name, several) = match (link.lanes, link.down_lanes) {
        (lanes, down) if lanes == down => (name, false),
        (_, 1) => (format!("{name}, lane 1"), false),
        (_, down) => (format!("{name}, lanes 1 to {down}"), true),
    };
    let (go, are) = if several { ("go", "are") } else { ("goes", "is") };
    let mut steps = vec![(from_ns, format!("{name} {go} down"))];
    steps.extend(link.up_ns.map(|at_ns| (at_ns, format!("{name} {are} up again"))));
    Some(Outage { name, from_ns, until_ns: link.up_ns, steps })
}

fn of_pair(pair: &Pair) -> Option<Outage> {
    let from_ns = pair.takeover_ns?;
    let failing = pair.failing;
    let partner = 3 - failing;
    let mut steps = vec![
        (from_ns, format!("controller {failing} fails")),
        (
            from_ns + pair.detection_ns,
            format!("controller {partner} takes over, and replays the log"),
        ),
    ];
    let back_ns = pair.giveback_ns.map(|at_ns| at_ns + pair.giveback_pause_ns);
    if let Some((begins_ns, back_ns)) = pair.giveback_ns.zip(back_ns) {
        steps.push((
            begins_ns,
            format!("the array of controller {failing} stops, to be given back"),
        ));
        steps.push((back_ns, format!("controller {failing} has its array back")));
    }
    Some(Outage { name: format!("controller {failing}"), from_ns, until_ns: back_ns, steps })
}
