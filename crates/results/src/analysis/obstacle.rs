//! Why an account of a loss would be wrong. An account knows two things that spend time: the controller and the
//! spindles. What a machine of several parts adds is not among them, and would be booked as waiting for spindles.

use crate::analysis::busiest::busiest_spindles;
use crate::data::machine::{ControllerFigures, MachineFigures};
use crate::data::segment::Segment;

/// Controllers whose utilizations differ by more than this do not share the work evenly.
const EVENLY: f64 = 0.05;

/// Returns in a clause what keeps the difference of two segments from being accounted for; none if nothing does.
pub(crate) fn obstacle(first: &Segment, last: &Segment) -> Option<String> {
    let (Some(before), Some(now)) = (&first.machine, &last.machine) else { return None };
    let both = [(first, &**before), (last, &**now)];
    if is_outage_between(before, now) {
        let of_segment = |(segment, machine): (&Segment, &MachineFigures)| {
            let is_whole = !machine.has_outage() && machine.out_of_service.is_empty();
            (!is_whole).then(|| outage_in_words(segment.index, machine))
        };
        let words: Vec<String> = both.into_iter().filter_map(of_segment).collect();
        return Some(format!("{}, and what that cost is not counted apart", words.join(", ")));
    }
    let of_wire = both.into_iter().find_map(|(segment, machine)| wire_is_limit(segment, machine));
    if of_wire.is_some() || busiest_spindles(first) > first.utilization.controller {
        return of_wire;
    }
    // The account is about the controller.
    if both.into_iter().any(|(_, machine)| !is_even(&machine.controllers)) {
        let why = "the controllers are not equally busy, and commands are counted for all together";
        return Some(why.to_owned());
    }
    let mut cores = now.controllers.iter().filter_map(|one| one.cores.as_ref());
    cores
        .any(|cores| cores.serial_domains.len() != 1)
        .then(|| "the cores of a controller share the work of an operation".to_owned())
}

/// Returns whether outages took something from one of two segments that they did not take from the other.
fn is_outage_between(before: &MachineFigures, now: &MachineFigures) -> bool {
    let interrupts = |machine: &MachineFigures| {
        machine.lost > 0
            || machine.time_in_ms.outage > 0.0
            // What is out from the beginning of a run is out for all of the segment.
            || machine.events.iter().any(|event| event.at_seconds > 0.0)
    };
    interrupts(before) || interrupts(now) || before.out_of_service != now.out_of_service
}

fn outage_in_words(segment: u32, machine: &MachineFigures) -> String {
    match machine.out_of_service.as_slice() {
        [] => format!("in segment {segment} operations waited for an outage to end"),
        [one] => format!("in segment {segment} {one} was out of service"),
        several => format!("in segment {segment} {} were out of service", several.join(" and ")),
    }
}

/// Returns which link or router is busier than controller and spindles, if one is.
fn wire_is_limit(segment: &Segment, machine: &MachineFigures) -> Option<String> {
    let known = segment.utilization.controller.max(busiest_spindles(segment));
    let is_busier = |share: f64| share > known;
    let link = machine.busiest_link().filter(|link| is_busier(link.utilization));
    let busier = match link {
        Some(link) => format!("link {}", link.name),
        None if machine.router_utilization.is_some_and(is_busier) => "the router".to_owned(),
        None => return None,
    };
    let index = segment.index;
    Some(format!("in segment {index} {busier} was busier than controller and spindles"))
}

fn is_even(controllers: &[ControllerFigures]) -> bool {
    let busy = || controllers.iter().map(|one| one.utilization);
    busy().fold(0.0, f64::max) - busy().fold(1.0, f64::min) <= EVENLY
}
