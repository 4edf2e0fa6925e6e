use crate::fixture;
use strewn_report::{Report, loss_table};
use strewn_results::{Cause, Limit, LossPart, MachineFigures, Results, loss, losses};

/// Returns the fixture's results, with commands told apart and spindles as the limit of the second array.
fn counted() -> Results {
    let mut results = fixture::results();
    for (position, array) in results.arrays.iter_mut().enumerate() {
        for segment in &mut array.segments {
            let commands = &mut segment.spindle_commands;
            commands.edge_reads = commands.read / 5;
            commands.metadata_reads = commands.read / 100;
            commands.parity_update_reads = commands.read / 50;
            commands.data_reads = commands.read
                - commands.edge_reads
                - commands.metadata_reads
                - commands.parity_update_reads;
            commands.parity_writes = commands.write / 3;
            if position == 1 {
                segment.utilization.controller = 0.2;
            }
        }
    }
    results
}

#[test]
fn the_parts_add_up_to_the_whole() {
    let results = counted();
    for (array, limit) in results.arrays.iter().zip([Limit::Controller, Limit::Spindles]) {
        let account = loss(&results, array).unwrap();
        assert_eq!(account.limit, limit, "{}", array.name);
        let sum: f64 = account.parts.iter().map(|part| part.iops).sum();
        let whole = account.to_iops - account.from_iops;
        assert!((sum - whole).abs() <= 0.000_1 * account.from_iops, "{sum} of {whole}");
        let time = |us: fn(&LossPart) -> f64| account.parts.iter().map(us).sum::<f64>();
        let (from, to) = (time(|part| part.from_us_per_op), time(|part| part.to_us_per_op));
        assert!((from * account.from_iops / 1e6 - 1.0).abs() < 1e-4, "{from} us");
        assert!((to * account.to_iops / 1e6 - 1.0).abs() < 1e-4, "{to} us");
    }
}

#[test]
fn commands_cost_what_the_scenario_says() {
    let mut results = counted();
    let array = &mut results.arrays[0];
    array.segments.truncate(2);
    let [first, last] = &mut array.segments[..] else { panic!() };
    *last = first.clone();
    last.index = 2;
    // Half a data read more per operation, and nothing else.
    last.spindle_commands.data_reads += last.ops / 2;
    last.spindle_commands.read += last.ops / 2;
    let command_us = array
        .parameters
        .iter()
        .find(|parameter| parameter.name == "processor.spindle_command")
        .map(|parameter| parameter.value);
    let command_us = command_us.unwrap();
    let first = &array.segments[0];
    let slower = 1e6 / (1e6 / first.iops + command_us / 2.0);
    array.segments[1].iops = slower;
    let account = loss(&results, &results.arrays[0]).unwrap();
    let fan_out = account.parts.iter().find(|part| part.cause == Cause::FanOut).unwrap();
    let whole = account.to_iops - account.from_iops;
    assert!((fan_out.iops / whole - 1.0).abs() < 0.001, "{account:?}");
}

#[test]
fn results_that_do_not_tell_commands_apart_have_no_account() {
    let results = fixture::results();
    assert!(losses(&results).is_empty());
    assert_eq!(loss_table(&results), "");
    let mut results = counted();
    for array in &mut results.arrays {
        array.segments.truncate(1);
    }
    assert!(losses(&results).is_empty());
}

/// A controller's added wait counts as slower service only as far as spindles at their old speed would not be the
/// limit.
#[test]
fn what_the_controller_waits_for_is_told_apart() {
    let part = |service_ms: f64, controller: f64, spindles: f64| {
        let mut results = counted();
        let array = &mut results.arrays[0];
        array.segments.truncate(2);
        array.segments[0].utilization.controller = 1.0;
        let last = &mut array.segments[1];
        last.iops = 3000.0;
        last.spindle_commands.mean_service_ms = service_ms;
        last.utilization.controller = controller;
        last.utilization.spindles = spindles;
        let account = loss(&results, &results.arrays[0]).unwrap();
        let sum: f64 = account.parts.iter().map(|part| part.iops).sum();
        assert!((sum - (account.to_iops - account.from_iops)).abs() < 0.1);
        [Cause::Waiting, Cause::ServiceTime].map(|cause| {
            let part = account.parts.iter().find(|part| part.cause == cause).unwrap();
            part.to_us_per_op * 3000.0 / 1e6
        })
    };
    let close = |found: [f64; 2], expected: [f64; 2]| {
        let near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-4);
        assert!(near, "{found:?}, not {expected:?}");
    };
    // Twice as slow: at the old speed spindles would be half as busy, and the controller would be the limit.
    close(part(2.0 * 2.71, 0.7, 1.0), [0.0, 0.3]);
    // At the old speed they would be busy for 0.8: a third of the wait is due to more commands.
    close(part(2.71 / 0.8, 0.7, 1.0), [0.1, 0.2]);
    // No slower than before.
    close(part(2.71, 0.7, 1.0), [0.3, 0.0]);
}

/// The full-scale results: the named causes add up to the difference, within 2 %.
#[test]
fn a_full_run_is_accounted_for_by_what_was_counted() {
    let text = include_str!("../../../results/tests/results/full-run.json");
    let results = Results::from_json(text).unwrap();
    let account = loss(&results, results.array("FAS2050").unwrap()).unwrap();
    let whole = account.to_iops - account.from_iops;
    let named = |part: &&LossPart| !matches!(part.cause, Cause::DataMoved | Cause::Waiting);
    let sum: f64 = account.parts.iter().filter(named).map(|part| part.iops).sum();
    assert!((sum / whole - 1.0).abs() < 0.02, "{sum} of {whole}");
    let table = loss_table(&results);
    assert!(table.contains("fan-out of host reads") && table.contains("EVA4400"), "{table}");
}

/// Returns the fixture's first array on real spindles, losing a tenth of its IOPS.
fn of_real_spindles(first_busy: f64, parity_busy: f64) -> Results {
    let mut results = counted();
    results.real_spindles = Some(fixture::real_spindles());
    results.arrays.truncate(1);
    let array = &mut results.arrays[0];
    array.segments.truncate(2);
    for segment in &mut array.segments {
        segment.utilization.controller = 0.3;
        segment.utilization.spindles = first_busy;
        segment.utilization.parity_spindles = Some(parity_busy);
        // Enough commands to take eight tenths of that.
        let busy_us = (18.0 * first_busy + 2.0 * parity_busy) * 1e6;
        let commands = segment.commands_per_host_op() * segment.iops;
        segment.spindle_commands.mean_service_ms = 0.8 * busy_us / commands / 1e3;
    }
    array.segments[1].iops = 0.9 * array.segments[0].iops;
    results
}

#[test]
fn spindles_are_idle_for_as_long_as_they_are_not_busy() {
    let results = of_real_spindles(0.976, 0.25);
    let account = loss(&results, &results.arrays[0]).unwrap();
    assert_eq!(account.limit, Limit::Spindles);
    let share = |cause: Cause| {
        let part = account.parts.iter().find(|part| part.cause == cause).unwrap();
        part.from_us_per_op * account.from_iops / 1e6
    };
    // Of eighteen spindles that hold data, and of two that hold parity.
    assert!((share(Cause::Waiting) - 0.024 * 18.0 / 20.0).abs() < 1e-4);
    assert!((share(Cause::ParityWaiting) - 0.75 * 2.0 / 20.0).abs() < 1e-4);
    let busy = (0.976 * 18.0 + 0.25 * 2.0) / 20.0;
    assert!((share(Cause::OtherIo) - 0.2 * busy).abs() < 1e-4);
    let table = loss_table(&results);
    let service = table.lines().find(|line| line.contains("service time")).unwrap();
    assert!(service.split_whitespace().any(|cell| cell == "-"), "{table}");
}

#[test]
fn where_the_log_was_busiest_spindles_are_not_said_to_be_the_limit() {
    let mut results = of_real_spindles(0.9, 0.25);
    assert!(loss(&results, &results.arrays[0]).is_some());
    let log = |results: &mut Results, busy: f64| {
        results.real_spindles.as_mut().unwrap().log[0].utilization = busy;
    };
    // Both are nearly always busy, which says little about either.
    log(&mut results, 0.93);
    assert!(loss(&results, &results.arrays[0]).is_some());
    log(&mut results, 0.999);
    assert!(loss(&results, &results.arrays[0]).is_none());
    let page = strewn_report::Report { results: &results, map: None, scenario: None };
    assert!(page.to_html().unwrap().contains("Busiest at first: the log\u{2019}s device"));
}

#[test]
fn what_was_not_lost_is_not_explained() {
    let mut results = counted();
    results.arrays.truncate(1);
    let array = &mut results.arrays[0];
    let iops = array.segments[0].iops;
    array.segments.last_mut().unwrap().iops = 1.1 * iops;
    let table = loss_table(&results);
    assert_eq!(table.lines().count(), 1, "{table}");
    assert!(table.contains("+10.0 %") && !table.contains("fan-out"), "{table}");
    let draw = |results: &Results| {
        strewn_report::ResultsChart::Loss.draw(results, None, strewn_report::ChartStyle::default())
    };
    assert_eq!(draw(&results).unwrap(), None);
    let page = strewn_report::Report { results: &results, map: None, scenario: None };
    let html = page.to_html().unwrap();
    assert!(!html.contains("Where the loss came from") && !html.contains("Of the difference"));
}

/// Returns the fixture's first array behind a machine, in a first and a last segment. Its controller loses a tenth of
/// its IOPS.
fn behind_machine() -> Results {
    let mut results = counted();
    results.arrays.truncate(1);
    let array = &mut results.arrays[0];
    array.segments.truncate(2);
    for segment in &mut array.segments {
        let mut machine = fixture::machine();
        machine.time_in_ms.outage = 0.0;
        for controller in &mut machine.controllers {
            controller.utilization = segment.utilization.controller;
        }
        segment.machine = Some(Box::new(machine));
    }
    array.segments[1].iops = 0.9 * array.segments[0].iops;
    results
}

/// Changes the machine of the last segment.
fn with_last(change: impl FnOnce(&mut MachineFigures)) -> Results {
    let mut results = behind_machine();
    change(results.arrays[0].segments[1].machine.as_mut().unwrap());
    results
}

#[test]
fn an_outage_is_not_booked_as_waiting() {
    assert_eq!(losses(&behind_machine()).len(), 1);
    let down = "link gigabit, lane 1";
    let outages = [
        (with_last(|machine| machine.time_in_ms.outage = 0.5), "waited for an outage to end"),
        (with_last(|machine| machine.lost = 7), "waited for an outage to end"),
        (with_last(|machine| machine.out_of_service = vec![down.to_owned()]), "lane 1 was out"),
    ];
    for (results, why) in outages {
        assert!(losses(&results).is_empty(), "{why}");
        let table = loss_table(&results);
        assert!(table.contains("(-10.0 %). No breakdown: in segment 2"), "{table}");
        assert!(table.contains(why), "{table}");
        let html = Report { results: &results, map: None, scenario: None }.to_html().unwrap();
        assert!(html.matches("No breakdown: in segment 2").count() >= 2, "summary and section");
    }
    // Out all the time, and so in both.
    let mut results = with_last(|machine| machine.out_of_service = vec![down.to_owned()]);
    let segments = &mut results.arrays[0].segments;
    segments[0].machine = segments[1].machine.clone();
    assert_eq!(losses(&results).len(), 1);
}

#[test]
fn what_an_account_does_not_know_has_none() {
    for (results, why) in [
        (
            with_last(|machine| machine.links[0].utilization_to_array = 0.99),
            "link gigabit was busier than controller and spindles",
        ),
        (with_last(|machine| machine.router_utilization = Some(0.99)), "the router was busier"),
        (
            with_last(|machine| machine.controllers[1].utilization = 0.1),
            "the controllers are not equally busy",
        ),
    ] {
        assert!(losses(&results).is_empty(), "{why}");
        let table = loss_table(&results);
        assert!(table.contains(why), "{table}");
    }
}

/// Two controllers that are equally busy do half of the operations each.
#[test]
fn the_costs_of_two_controllers_are_of_both() {
    let us = |results: &Results, cause: Cause| {
        let account = loss(results, &results.arrays[0]).unwrap();
        account.parts.iter().find(|part| part.cause == cause).unwrap().from_us_per_op
    };
    let mut one = behind_machine();
    for segment in &mut one.arrays[0].segments {
        segment.machine.as_mut().unwrap().controllers.truncate(1);
    }
    for cause in [Cause::HostOperations, Cause::FanOut] {
        let (of_two, of_one) = (us(&behind_machine(), cause), us(&one, cause));
        assert!((2.0 * of_two / of_one - 1.0).abs() < 1e-4, "{of_two} and {of_one} us");
    }
}
