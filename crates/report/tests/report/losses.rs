use crate::fixture;
use strewn_report::{Cause, Limit, LossPart, Results, loss, loss_table, losses};

/// The fixture's results, with commands told apart and spindles the limit of the second array.
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
    for (array, limit) in counted().arrays.iter().zip([Limit::Controller, Limit::Spindles]) {
        let account = loss(array).unwrap();
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
    // Half a data read more for each operation, and nothing else.
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
    let account = loss(array).unwrap();
    let fan_out = account.parts.iter().find(|part| part.cause == Cause::FanOut).unwrap();
    let whole = account.to_iops - account.from_iops;
    assert!((fan_out.iops / whole - 1.0).abs() < 0.001, "{account:?}");
}

#[test]
fn results_that_do_not_tell_commands_apart_have_no_account() {
    let results = fixture::results();
    assert!(losses(&results.arrays).is_empty());
    assert_eq!(loss_table(&results), "");
    let mut results = counted();
    for array in &mut results.arrays {
        array.segments.truncate(1);
    }
    assert!(losses(&results.arrays).is_empty());
}

/// A controller that comes to wait: for slower spindles as far as they would not be the limit at their old speed.
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
        let account = loss(array).unwrap();
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
    // Twice as slow: at the old speed spindles would be half as busy, and the controller the limit.
    close(part(2.0 * 2.71, 0.7, 1.0), [0.0, 0.3]);
    // At the old speed they would be busy for 0.8: a third of the wait is for more commands.
    close(part(2.71 / 0.8, 0.7, 1.0), [0.1, 0.2]);
    // No slower than before.
    close(part(2.71, 0.7, 1.0), [0.3, 0.0]);
}

/// The real thing: at full scale the named causes are the difference, within 2 %.
#[test]
fn a_full_run_is_accounted_for_by_what_was_counted() {
    let text = include_str!("full-run.json");
    let results = Results::from_json(text).unwrap();
    let account = loss(results.array("FAS2050").unwrap()).unwrap();
    let whole = account.to_iops - account.from_iops;
    let named = |part: &&LossPart| !matches!(part.cause, Cause::DataMoved | Cause::Waiting);
    let sum: f64 = account.parts.iter().filter(named).map(|part| part.iops).sum();
    assert!((sum / whole - 1.0).abs() < 0.02, "{sum} of {whole}");
    let table = loss_table(&results);
    assert!(table.contains("fan-out of host reads") && table.contains("EVA4400"), "{table}");
}
