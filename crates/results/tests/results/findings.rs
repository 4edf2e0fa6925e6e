//! What a reader must know before the tables: each finding where it must be, and not where it must not.

use strewn_results::{
    AccessMix, FigureBand, Finding, GroupFigures, HostLoad, HostReadHits, Housekeeping, LayoutKind,
    Parameter, ParityGroup, PoolFigures, REBUILD_NOTE, RESILVER_NOTE, ReallocationScan, Relocation,
    Results, Scaled, SegmentBand, Setting, Severity, Snapshots, SpindleFailure, VdevClass,
    WorkloadFigures, findings, is_steady,
};

use crate::fixture;

/// The published experiment with a file that is written over more than once.
fn results() -> Results {
    let accesses = AccessMix {
        specification: "File Server".to_owned(),
        mean_bytes: 11_345.92,
        read_percent: 80.0,
        random_percent: 100.0,
    };
    let load =
        HostLoad { file_bytes: 100 << 30, written_file_bytes: None, accesses: Some(accesses) };
    Results { load: Some(load), ..fixture::results() }
}

fn of<'f>(all: &'f [Finding], kind: &str) -> Vec<&'f Finding> {
    all.iter().filter(|finding| finding.kind == kind).collect()
}

/// The findings of a kind in results that are changed.
fn found(kind: &str, change: impl Fn(&mut Results)) -> Vec<Finding> {
    let mut results = results();
    change(&mut results);
    findings(&results).into_iter().filter(|finding| finding.kind == kind).collect()
}

#[test]
fn what_is_wrong_comes_first() {
    let mut results = results();
    results.arrays[0].segments[3].refused = Some(7);
    results.load.as_mut().unwrap().file_bytes = 1 << 40;
    let all = findings(&results);
    assert_eq!(all[0].severity, Severity::Warning);
    assert!(all.is_sorted_by_key(|finding| finding.severity));
}

#[test]
fn refused_snapshots_are_found_and_taken_ones_not() {
    let snapshots = |refused, taken| {
        move |results: &mut Results| {
            results.arrays[0].segments[1].snapshots =
                Some(Snapshots { refused, taken, ..Snapshots::default() });
        }
    };
    let [all] = &found("snapshots_refused", snapshots(3, 0))[..] else { panic!() };
    assert!(all.text.contains("all 3 snapshots were refused"), "{}", all.text);
    let [some] = &found("snapshots_refused", snapshots(1, 2))[..] else { panic!() };
    assert!(some.text.contains("1 of 3 snapshots"), "{}", some.text);
    assert_eq!((some.figures["refused"], some.figures["taken"]), (1.0, 2.0));
    assert!(found("snapshots_refused", snapshots(0, 3)).is_empty());
}

#[test]
fn blocks_that_spill_from_special_vdevs_are_found_with_place_and_remedy() {
    let spilled = |segment: usize, metadata, data, in_all| {
        move |results: &mut Results| {
            results.arrays[0].segments[segment].pool = Some(PoolFigures {
                spilled_metadata_blocks: metadata,
                spilled_data_blocks: data,
                spilled_in_all_blocks: in_all,
                ..PoolFigures::default()
            });
        }
    };
    let [late] = &found("special_spilled", spilled(2, 1_200, 0, 1_200))[..] else { panic!() };
    assert_eq!((late.segment, late.figures["metadata_blocks"]), (Some(3), 1_200.0));
    let expected = "went to normal ones, from segment 3 on: 1,200 blocks of metadata. ";
    assert!(late.text.contains(expected), "{}", late.text);
    assert!(late.text.contains("larger special vdevs"), "{}", late.text);
    // All of it as the volumes were filled: the first segment has no blocks of its own.
    let [filled] = &found("special_spilled", spilled(0, 0, 0, 500))[..] else { panic!() };
    assert!(filled.text.contains("ones: 500 while the volumes were filled."), "{}", filled.text);
    assert!(found("special_spilled", spilled(0, 0, 0, 0)).is_empty());
}

#[test]
fn refused_operations_are_found_from_their_first_segment_on() {
    let [one] = &found("operations_refused", |results| {
        results.arrays[1].segments[4].refused = Some(5);
        results.arrays[1].segments[6].refused = Some(6);
    })[..] else {
        panic!()
    };
    assert_eq!((one.array.as_deref(), one.segment), (Some("EVA4400"), Some(5)));
    assert_eq!(one.figures["refused"], 11.0);
    assert!(found("operations_refused", |_| {}).is_empty());
}

#[test]
fn a_goal_that_was_missed_is_named() {
    let until = |goal: &str| {
        let goal = goal.to_owned();
        move |results: &mut Results| {
            results.settings.insert("until".to_owned(), Setting::Text(goal.clone()));
        }
    };
    // 134 GiB are written of 100.
    assert!(found("goal_missed", until("rewritten 130 %")).is_empty());
    let missed = found("goal_missed", until("rewritten 150 %"));
    assert!(missed[0].text.contains("not rewritten 150 % after 14 segments"), "{missed:?}");
    // Of files of their own, not of those of the first array.
    let own = found("goal_missed", |results| {
        until("rewritten 150 %")(results);
        let load = HostLoad { file_bytes: 50 << 30, ..results.load.clone().unwrap() };
        results.arrays.iter_mut().for_each(|array| array.load = Some(load.clone()));
    });
    assert!(own.is_empty(), "{own:?}");
    // The write-anywhere array still slows down, the one in place is what it is.
    let steady = found("goal_missed", until("steady"));
    let arrays: Vec<_> = steady.iter().map(|one| one.array.as_deref().unwrap()).collect();
    assert_eq!(arrays, ["FAS2050"]);
    assert!(found("goal_missed", |_| {}).is_empty());
}

/// 14 segments at some 3,900 IOPS write a fifth of 11.1 KiB each: 134 GiB.
#[test]
fn a_run_that_writes_less_than_its_file_is_too_short() {
    let file = |gib: u64| {
        move |results: &mut Results| {
            results.load.as_mut().unwrap().file_bytes = gib << 30;
        }
    };
    assert!(found("too_short", file(130)).is_empty());
    let [short] = &found("too_short", file(1400))[..] else { panic!() };
    let all = 0.2 * 11_345.92 / f64::from(1 << 30) * 1200.0 * 54_734.0;
    let written = 100.0 * all / 1400.0;
    assert!((short.figures["written_percent"] - written).abs() < 0.01, "{short:?} {written}");
    let needed = 14.0 * 1200.0 * 100.0 / written;
    assert!((short.figures["seconds_for_one_overwrite"] / needed - 1.0).abs() < 0.01);
    // The array in place does not age, and is not said to.
    assert_eq!(short.array.as_deref(), Some("FAS2050"));
    // What only reads ages by nothing.
    assert!(
        found("too_short", |results| {
            results.load.as_mut().unwrap().accesses.as_mut().unwrap().read_percent = 100.0;
        })
        .is_empty()
    );
}

#[test]
fn a_cache_that_fills_is_warm_up() {
    let hits = |hits: [f64; 5]| {
        move |results: &mut Results| {
            results.arrays[0].segments.truncate(5);
            for (segment, hit_percent) in results.arrays[0].segments.iter_mut().zip(hits) {
                let hit_percent = Some(hit_percent);
                segment.cache.host_reads = Some(HostReadHits { blocks: 1000, hit_percent });
            }
        }
    };
    let [fills] = &found("cache_warming", hits([5.0, 15.0, 20.0, 20.5, 20.9]))[..] else {
        panic!()
    };
    assert_eq!(fills.segment, Some(3));
    assert!(fills.text.contains("until segment 3"), "{}", fills.text);
    let [never] = &found("cache_warming", hits([5.0, 15.0, 20.0, 25.0, 30.0]))[..] else {
        panic!()
    };
    assert!(never.text.contains("still warming"), "{}", never.text);
    // A ratio that falls is age, and one that rises later is something else.
    assert!(found("cache_warming", hits([20.0, 19.0, 15.0, 14.0, 10.0])).is_empty());
    assert!(found("cache_warming", hits([20.0, 20.1, 20.2, 30.0, 40.0])).is_empty());
}

#[test]
fn the_limit_is_what_is_busy() {
    let busy = |controller: f64, spindles: f64| {
        let all = found("limit", move |results| {
            let last = results.arrays[0].segments.last_mut().unwrap();
            last.utilization.controller = controller;
            last.utilization.spindles = spindles;
        });
        all[0].text.clone()
    };
    assert!(busy(0.99, 0.8).contains("its controller is the limit (99 % busy"));
    assert!(busy(0.3, 0.98).contains("its spindles are the limit (98 % busy"));
    assert!(busy(0.3, 0.4).contains("more outstanding would give more"));
}

/// Makes an array a pool of a normal vdev and a special one, which are busy for such parts of the time.
fn give_vdevs(results: &mut Results, busy: [f64; 2]) {
    let array = &mut results.arrays[0];
    array.layout = LayoutKind::POOL;
    array.parity_groups = [VdevClass::Normal, VdevClass::Special]
        .map(|class| ParityGroup {
            first_spindle: 0,
            data: 2,
            parity: 2,
            added_at_seconds: 0.0,
            class: Some(class),
        })
        .to_vec();
    let last = array.segments.last_mut().unwrap();
    last.groups =
        busy.map(|busy| GroupFigures { spindles: Some(busy), ..GroupFigures::default() }).to_vec();
    (last.utilization.controller, last.utilization.spindles) = (0.3, 0.7);
}

/// The mean over all spindles hides a special vdev that is busy all the time.
#[test]
fn the_busiest_vdev_is_the_limit() {
    let text = |busy| found("limit", move |results| give_vdevs(results, busy))[0].text.clone();
    let special = text([0.65, 0.98]);
    assert!(
        special.contains("vdev 2 (special) is the limit (98 % busy; all spindles 70 %"),
        "{special}"
    );
    assert!(!text([0.7, 0.7]).contains("vdev"));
}

/// Only what has a rate is held to it: another workload beside it waits for the drives.
#[test]
fn only_workloads_with_a_rate_are_held_to_it() {
    let text = |rated: &[&str]| {
        let rated: Vec<String> = rated.iter().map(|name| (*name).to_owned()).collect();
        let all = found("limit", move |results| {
            for (number, name) in (1..).zip(["vm", "rest"]) {
                let setting = |key: &str| format!("workload.{number}.{key}");
                results.settings.insert(setting("name"), Setting::Text(name.to_owned()));
                if rated.iter().any(|one| one == name) {
                    results
                        .settings
                        .insert(setting("operations_per_second"), Setting::Number(0.001));
                }
            }
            for segment in &mut results.arrays[0].segments {
                (segment.utilization.controller, segment.utilization.spindles) = (0.3, 0.85);
                segment.by_workload = ["vm", "rest"]
                    .map(|name| {
                        let mut figures =
                            WorkloadFigures { name: name.to_owned(), ..WorkloadFigures::default() };
                        figures.reads.ops = segment.ops / 2;
                        figures
                    })
                    .to_vec();
            }
        });
        all[0].text.clone()
    };
    assert!(
        text(&["vm", "rest"]).contains("held to their rates, and reach them"),
        "{}",
        text(&["vm", "rest"])
    );
    let mixed = text(&["rest"]);
    assert!(mixed.contains("what vm has outstanding is the limit"), "{mixed}");
    assert!(mixed.contains("rest is held to its rate"), "{mixed}");
    assert!(text(&[]).contains("the operations outstanding are the limit"));
}

/// More outstanding would not help where writes wait for a transaction group that is never done.
#[test]
fn a_pool_that_always_writes_is_limited_by_that() {
    let text = |layout: LayoutKind, checkpoint_ms: u64| {
        let all = found("limit", move |results| {
            results.arrays[0].layout = layout.clone();
            for segment in &mut results.arrays[0].segments {
                (segment.utilization.controller, segment.utilization.spindles) = (0.1, 0.5);
                segment.housekeeping =
                    Some(Housekeeping { checkpoint_ms, ..Housekeeping::default() });
                let mut host = segment.host.unwrap_or_default();
                (host.reads.mean_ms, host.writes.mean_ms) = (10.0, 80.0);
                segment.host = Some(host);
            }
        });
        all[0].text.clone()
    };
    let always_ms = 1_200_000;
    let limited = text(LayoutKind::POOL, always_ms);
    assert!(limited.contains("transaction groups are the limit"), "{limited}");
    assert!(!limited.contains("  "), "{limited}");
    for other in [text(LayoutKind::POOL, 300_000), text(LayoutKind::of("raid-dp"), always_ms)] {
        assert!(!other.contains("transaction groups"), "{other}");
    }
}

#[test]
fn a_pool_whose_indirect_blocks_do_not_fit_its_arc_reads_them() {
    let reads = |share: u64, layout: LayoutKind| {
        found("metadata_reads", move |results| {
            results.arrays[0].layout = layout.clone();
            let name = format!("array.{}.zfs.arc", results.arrays[0].name);
            results.settings.insert(name, Setting::Text("8 GiB".to_owned()));
            let last = results.arrays[0].segments.last_mut().unwrap();
            last.spindle_commands.metadata_reads = last.ops * share / 100;
        })
    };
    let [one] = &reads(90, LayoutKind::POOL)[..] else { panic!() };
    assert!(one.text.contains("do not fit the ARC of 8 GiB: 0.90 metadata reads"), "{}", one.text);
    assert!(reads(1, LayoutKind::POOL).is_empty());
    assert!(reads(90, LayoutKind::WRITE_ANYWHERE).is_empty());
}

/// A pool has neither a log half nor a write cache, volumes are sparse, and a rewrite that begins there is a cause.
#[test]
fn a_pool_has_words_of_its_own() {
    let step = |results: &mut Results| {
        results.arrays[1].layout = LayoutKind::POOL;
        let name = format!("array.{}.zfs.rewrite.begins", results.arrays[1].name);
        results.settings.insert(name, Setting::Text("1 h".to_owned()));
        for segment in &mut results.arrays[1].segments[6..] {
            segment.iops *= 0.9;
            segment.cache.stalled_writes = 9;
            let scan = Some(ReallocationScan { begun: 1, ..ReallocationScan::default() });
            segment.relocation = Some(Relocation { scan, ..Relocation::default() });
        }
    };
    let [one] = &found("step", step)[..] else { panic!() };
    assert!(one.text.contains("wait for room below the dirty limit"), "{}", one.text);
    assert!(one.text.contains("a rewrite of the volumes begins"), "{}", one.text);
    let [refused] = &found("snapshots_refused", |results| {
        results.arrays[0].layout = LayoutKind::POOL;
        results.arrays[0].segments[1].snapshots =
            Some(Snapshots { refused: 3, ..Snapshots::default() });
    })[..] else {
        panic!()
    };
    assert!(refused.text.ends_with("it takes more room, or sparse = true."), "{}", refused.text);
}

/// A pool's resilvers have a note of their own, and times of a run at a smaller scale stand beside those of full scale.
#[test]
fn rebuilds_have_the_note_of_their_array_and_times_of_full_scale() {
    let failed = |results: &mut Results| {
        results.arrays[0].failures.push(SpindleFailure {
            spindle: 3,
            at_seconds: 10.0,
            rebuild_began_at_seconds: Some(10.0),
            rebuilt_at_seconds: Some(347.5),
            rebuild_seconds: Some(337.5),
            rebuilt_percent: 100.0,
        });
    };
    let mut results = results();
    failed(&mut results);
    assert_eq!(results.rebuild_note().as_deref(), Some(REBUILD_NOTE));
    assert_eq!(results.rebuilds_at_full_scale(), None);
    results.arrays[0].layout = LayoutKind::POOL;
    assert_eq!(results.rebuild_note().as_deref(), Some(RESILVER_NOTE));
    results.scaled = Some(Scaled { by: 128, what: Vec::new(), out_of_proportion: Vec::new() });
    let words = results.rebuilds_at_full_scale().unwrap();
    assert!(words.contains("spindle 3 of FAS2050: 337.5 s; 12 h at full scale"), "{words}");
}

/// What lies on LUNs that nobody writes to does not age, and is no part of an overwrite.
#[test]
fn an_idle_lun_is_no_part_of_an_overwrite() {
    let needed = |written: Option<u64>| {
        let all = found("too_short", move |results| {
            let load = results.load.as_mut().unwrap();
            (load.file_bytes, load.written_file_bytes) = (2_800 << 30, written);
        });
        (all[0].figures["seconds_for_one_overwrite"], all[0].text.clone())
    };
    let ((all, text), (half, of_written)) = (needed(None), needed(Some(1_400 << 30)));
    assert!((all / half - 2.0).abs() < 0.01, "{all} {half}");
    assert!(
        !text.contains("LUNs") && of_written.contains("of the file on the LUNs that they write to")
    );
}

/// What an account needs: the processor's costs of both arrays, and commands by kind.
fn give_costs(results: &mut Results) {
    let parameters = results.arrays[0].parameters.clone();
    results.arrays[1].parameters.extend(parameters);
    for segment in results.arrays.iter_mut().flat_map(|array| &mut array.segments) {
        segment.spindle_commands.data_reads = segment.spindle_commands.read;
    }
}

/// The account of the difference adds up to it.
#[test]
fn why_two_arrays_differ_adds_up() {
    let costs = |results: &mut Results| {
        give_costs(results);
        for segment in &mut results.arrays[1].segments {
            segment.utilization.controller = 0.7;
            segment.utilization.spindles = 0.99;
        }
    };
    let [one] = &found("difference", costs)[..] else { panic!() };
    let parts = one.figures.iter().filter(|(name, _)| name.starts_with("iops_by_"));
    let sum: f64 = parts.map(|(_, iops)| iops).sum();
    let difference = one.figures["iops"] - one.figures["iops_of_other"];
    assert!((sum - difference).abs() < 1.0, "{sum} {difference}");
    assert!(one.text.starts_with("FAS2050 delivers 58.6 % of the IOPS of EVA4400"), "{}", one.text);
    // Arrays that do the same do not differ.
    let alike = found("difference", |results| {
        costs(results);
        results.arrays[1].segments = results.arrays[0].segments.clone();
    });
    assert!(alike.is_empty());
}

#[test]
fn a_step_is_no_slope() {
    assert!(found("step", |_| {}).is_empty());
    let step = |results: &mut Results| {
        for segment in &mut results.arrays[1].segments[6..] {
            segment.iops *= 0.9;
            segment.snapshots = Some(Snapshots { taken: 1, ..Snapshots::default() });
        }
    };
    let [one] = &found("step", step)[..] else { panic!() };
    assert_eq!((one.array.as_deref(), one.segment), (Some("EVA4400"), Some(7)));
    assert!(one.text.contains("the first snapshots are taken"), "{}", one.text);
    assert!((one.figures["change_percent"] + 10.0).abs() < 0.2, "{one:?}");
}

#[test]
fn response_times_of_a_closed_loop_are_no_second_prediction() {
    let all = findings(&results());
    let [one, other] = of(&all, "littles_law")[..] else { panic!("{all:?}") };
    assert_eq!((one.figures["outstanding"], other.figures["outstanding"]), (150.0, 170.0));
    assert!(found("littles_law", |results| results.published.clear()).is_empty());
    assert!(
        found("littles_law", |results| {
            results.arrays.iter_mut().for_each(|array| array.outstanding = 0);
        })
        .is_empty()
    );
}

/// A drop at the end widens the interval of the slope until it holds zero, and is no steady state.
#[test]
fn the_edge_of_a_cliff_is_not_steady() {
    let level = [6811.0, 6807.0, 6812.0, 6809.0, 6810.0, 6808.0, 6811.0, 6809.0, 6810.0];
    assert!(is_steady(&level));
    let mut cliff = level;
    cliff[8] = 6300.0;
    assert!(!is_steady(&cliff[1..]));
    assert!(!is_steady(&level[..7]), "seven are too few");
}

#[test]
fn what_began_earlier_did_not_begin_at_a_step() {
    let [one] = &found("step", |results| {
        results.arrays[1].segments[2].snapshots =
            Some(Snapshots { taken: 1, ..Snapshots::default() });
        for segment in &mut results.arrays[1].segments[6..] {
            segment.iops *= 0.9;
            segment.snapshots = Some(Snapshots { taken: 1, ..Snapshots::default() });
        }
    })[..] else {
        panic!()
    };
    assert!(!one.text.contains("first snapshots"), "{}", one.text);
}

/// Idle time is named as that of the array that has more of it.
#[test]
fn idle_time_is_of_the_array_that_has_it() {
    let text = |fast: f64, slow: f64| {
        let all = found("difference", move |results| {
            give_costs(results);
            let segments = results.arrays.iter_mut().flat_map(|array| &mut array.segments);
            segments.for_each(|segment| segment.utilization.spindles = 0.1);
            results.arrays[0].segments.iter_mut().for_each(|one| one.utilization.controller = slow);
            results.arrays[1].segments.iter_mut().for_each(|one| one.utilization.controller = fast);
        });
        all[0].text.clone()
    };
    assert!(text(0.4, 0.99).contains("controller of EVA4400 idle +"), "{}", text(0.4, 0.99));
    assert!(text(0.99, 0.4).contains("controller of FAS2050 idle -"), "{}", text(0.99, 0.4));
}

/// Of a run at a smaller scale, times are those of full scale.
#[test]
fn an_overwrite_takes_as_long_as_at_full_scale() {
    let [short] = &found("too_short", |results| {
        results.load.as_mut().unwrap().file_bytes = 268 << 30;
        results.scaled = Some(Scaled { by: 8, what: Vec::new(), out_of_proportion: Vec::new() });
    })[..] else {
        panic!()
    };
    // Twice the 14 segments of 20 minutes or nearly so, eight times as long.
    assert!(short.text.contains("takes about 27 segments"), "{}", short.text);
    assert!(short.text.contains("3 days at full scale"), "{}", short.text);
}

/// The parts are joined into the mechanism: how many commands an operation takes, and how long each.
#[test]
fn the_commands_of_both_arrays_stand_beside_their_difference() {
    let costs = |results: &mut Results| {
        give_costs(results);
        let segments = results.arrays.iter_mut().flat_map(|array| &mut array.segments);
        segments.for_each(|segment| segment.spindle_commands.mean_service_ms = 7.25);
    };
    let [one] = &found("difference", costs)[..] else { panic!() };
    assert!(
        one.text.contains(" commands of 7.2 ms an operation on 20 spindles, EVA4400 "),
        "{}",
        one.text
    );
    assert!(!one.text.contains("with the bands of both"), "{}", one.text);
    let band = |low, high| {
        let iops = FigureBand { low, high, ..FigureBand::default() };
        Some(Box::new(SegmentBand { iops, response_ms: None }))
    };
    let [banded] = &found("difference", |results| {
        costs(results);
        results.arrays[0].segments.last_mut().unwrap().band = band(3000.0, 4000.0);
        results.arrays[1].segments.last_mut().unwrap().band = band(5000.0, 6000.0);
    })[..] else {
        panic!()
    };
    assert!(banded.text.contains("(50.0 to 80.0 with the bands of both)"), "{}", banded.text);
}

/// A file of 2 TiB has 4 GiB of indirect blocks.
#[test]
fn a_map_that_does_not_fit_the_cache_is_why_metadata_is_read() {
    let with = |file_bytes: u64, metadata: bool| {
        let all = found("difference", move |results| {
            give_costs(results);
            results.load.as_mut().unwrap().file_bytes = file_bytes;
            results.arrays[0].parameters.push(Parameter {
                name: "write_anywhere.buffer_cache".to_owned(),
                unit: String::new(),
                value: f64::from(1 << 30),
                fitted: false,
                fitted_to_segments: Vec::new(),
                source: "scenario".to_owned(),
            });
            for (at, array) in results.arrays.iter_mut().enumerate() {
                for segment in &mut array.segments {
                    let commands = &mut segment.spindle_commands;
                    let reads = if at == 0 && metadata { commands.read / 2 } else { 0 };
                    commands.metadata_reads = reads;
                    commands.data_reads = commands.read - reads;
                }
            }
        });
        all[0].text.clone()
    };
    let text = with(2 << 40, true);
    assert!(text.contains("FAS2050, 4.02 GiB, do not fit its cache of 1 GiB"), "{text}");
    assert!(with(300 << 30, true).contains("take most of its cache"), "{}", with(300 << 30, true));
    assert!(!with(100 << 30, true).contains("its cache of"));
    assert!(!with(2 << 40, false).contains("its cache of"), "nothing is read for it");
}

/// Of hundreds of segments that scatter, some differ by more than their neighbours.
#[test]
fn scatter_is_no_step() {
    let scattered = |step: f64| {
        found("step", move |results| {
            let array = &mut results.arrays[1];
            let segment = array.segments[0].clone();
            let mut state = 7_u64;
            array.segments = (1..=400)
                .map(|index| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let noise = ((state >> 40) as f64 / (1 << 24) as f64 - 0.5) * 0.04;
                    let level = if index > 200 { 1.0 - step } else { 1.0 };
                    let mut one = segment.clone();
                    (one.index, one.iops) = (index, 5000.0 * level * (1.0 + noise));
                    one
                })
                .collect();
            results.arrays.remove(0);
        })
    };
    assert!(scattered(0.0).is_empty(), "{:?}", scattered(0.0));
    assert_eq!(scattered(0.2)[0].segment, Some(201));
}

#[test]
fn a_run_that_was_stopped_has_not_come_to_its_goal() {
    let [stopped, ..] = &found("goal_missed", |results| {
        results.settings.insert("until".to_owned(), Setting::Text("rewritten 150 %".to_owned()));
        results.partial = true;
    })[..] else {
        panic!()
    };
    assert!(stopped.text.contains("after 14 segments, when it was stopped"), "{}", stopped.text);
}

/// The remedy is in the words of the command, and of full scale.
#[test]
fn a_warm_up_can_be_left_out() {
    let [fills] = &found("cache_warming", |results| {
        results.scaled = Some(Scaled { by: 8, what: Vec::new(), out_of_proportion: Vec::new() });
        for (segment, hits) in results.arrays[0].segments.iter_mut().zip([5.0, 15.0, 20.0]) {
            segment.cache.host_reads = Some(HostReadHits { blocks: 1000, hit_percent: Some(hits) });
            segment.seconds = 150.0;
        }
        results.arrays[0].segments.iter_mut().skip(3).for_each(|segment| {
            segment.cache.host_reads = Some(HostReadHits { blocks: 1000, hit_percent: Some(20.5) });
        });
    })[..] else {
        panic!()
    };
    assert!(fills.text.contains("--set \"warm_up=40 min\" leaves them out"), "{}", fills.text);
}

/// Where IOPS go up and down, the last segment alone is a matter of chance.
#[test]
fn a_last_segment_that_is_not_typical_is_said_to_be() {
    let text = |last: f64| {
        let all = found("difference", move |results| {
            give_costs(results);
            results.arrays[0].segments.last_mut().unwrap().iops = last;
        });
        all[0].text.clone()
    };
    assert!(text(4200.0).contains("the last one alone is not typical"), "{}", text(4200.0));
    assert!(!text(3507.0).contains("not typical"), "{}", text(3507.0));
}

#[test]
fn published_segments_beside_a_warm_up_are_of_another_age() {
    let with = |warm_up: bool, published: bool| {
        found("warm_up_beside_published", move |results| {
            let first = Box::new(results.arrays[0].segments[0].clone());
            results.arrays[0].warm_up = warm_up.then_some(first);
            if !published {
                results.published.clear();
            }
        })
    };
    assert_eq!(with(true, true).len(), 1);
    assert!(with(false, true).is_empty() && with(true, false).is_empty());
}

#[test]
fn a_controller_and_spindles_that_are_as_busy_are_the_limit_alike() {
    let all = found("limit", |results| {
        let last = results.arrays[0].segments.last_mut().unwrap();
        (last.utilization.controller, last.utilization.spindles) = (0.92, 0.93);
        last.utilization.parity_spindles = None;
    });
    assert!(all[0].text.contains("are the limit alike (92 and 93 % busy)"), "{}", all[0].text);
}
