//! Workloads of people's files, end to end: Iometer's access specifications, fio's jobs, traces.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use strewn::formats::trace::{
    Direction, TraceFormat, TraceOptions, TraceReader, TraceRecord, TraceWriter,
};
use strewn::formats::{fio, iometer};
use strewn::results::{Results, Segment};

use crate::common::{Folder, SMALL};

const ICF: &str = "Version 1.1.0
'ACCESS SPECIFICATIONS =========================================================
'Access specification name,default assignment
\tFile Server,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t512,10,80,100,0,1,0,0
\t1024,5,80,100,0,1,0,0
\t2048,5,80,100,0,1,0,0
\t4096,60,80,100,0,1,0,0
\t8192,2,80,100,0,1,0,0
\t16384,4,80,100,0,1,0,0
\t32768,4,80,100,0,1,0,0
\t65536,10,80,100,0,1,0,0
'Access specification name,default assignment
\t4 KiB: paced, in bursts,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t4096,100,100,100,1000,4,4096,0
'Access specification name,default assignment
\tmixed,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t4096,25,100,100,0,1,4096,0
\t8192,75,0,100,0,1,8192,0
'Access specification name,default assignment
\techo,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t4096,100,100,100,0,1,0,512
'Access specification name,default assignment
\todd,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t1000,100,100,100,0,1,0,0
'END access specifications
Version 1.1.0
";

/// The test setup and the managers of a file, around its access specifications.
fn icf_with(test_type: &str, workers: &[(&str, u32, u64, u64)]) -> String {
    let setup = format!(
        "'TEST SETUP ====================================================================
'Test Description
\t
'Run Time
'\thours      minutes    seconds
\t0          10         0
'Ramp Up Time (s)
\t30
'Queue Depth Cycling
'\tstart      end        step       step type
\t1          16         4          EXPONENTIAL
'Test Type
\t{test_type}
'END test setup
'ACCESS SPEC"
    );
    let mut managers =
        "'MANAGER LIST ==================================================================\n\
         'Manager ID, manager name\n\t1,HOST\n'Manager network address\n\t\n"
            .to_owned();
    for (name, outstanding, size, start) in workers {
        managers.push_str(&format!(
            "'Worker\n\t{name}\n'Worker type\n\tDISK\n'Default target settings for worker\n\
             'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n\
             \t{outstanding},DISABLED,1,DISABLED,0\n\
             'Disk maximum size,starting sector\n\t{size},{start}\n\
             'End default target settings for worker\n'Assigned access specs\n\tmixed\n\
             'End assigned access specs\n'Target assignments\n'Target\n\tLUN\n'Target type\n\tDISK\n\
             'End target\n'End target assignments\n'End worker\n"
        ));
    }
    managers.push_str("'End manager\n'END manager list\n");
    let head = ICF.replacen("'ACCESS SPEC", &setup, 1);
    let (specifications, end) = head.rsplit_once("Version 1.1.0").unwrap();
    format!("{specifications}{managers}Version 1.1.0{end}")
}

/// A folder with the scenario of one array, to be quick.
fn folder(array: &str) -> Folder {
    let folder = Folder::new();
    let mut parts = SMALL.split("[[array]]\n");
    let head = parts.next().unwrap().replace("published = \"small.published.toml\"\n", "");
    let one = parts.find(|part| part.contains(&format!("name = \"{array}\""))).unwrap();
    let one = one.split("[overhead]").next().unwrap();
    let fitted = "[array.fitted]\nparameters = [\"processor.host_operation\"]\nsegments = [1]\n";
    folder.write("one.toml", &format!("{head}[[array]]\n{}", one.replace(fitted, "")));
    folder.write("x.icf", ICF);
    folder
}

fn results(folder: &Folder, words: &[&str]) -> Results {
    let ran = folder.strewn(&[&["run", "one.toml", "--json"], words].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    Results::from_json(&ran.stdout).unwrap()
}

fn segments(results: &Results) -> &[Segment] {
    &results.arrays[0].segments
}

/// The operations of a log that a run has written.
fn logged(folder: &Folder, name: &str) -> Vec<TraceRecord> {
    let text = folder.read(name);
    let reader = TraceReader::new(text.as_bytes(), TraceOptions::default()).unwrap();
    reader.map(|record| record.unwrap()).collect()
}

fn share(records: &[TraceRecord], wanted: impl Fn(&TraceRecord) -> bool) -> f64 {
    records.iter().filter(|record| wanted(record)).count() as f64 / records.len() as f64
}

#[track_caller]
fn near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value} is not {expected} within {within}");
}

#[test]
fn a_plain_access_specification_runs_as_the_scenarios_own_does() {
    for array in ["anywhere", "inplace"] {
        let folder = folder(array);
        let own = results(&folder, &["--segments", "2"]);
        let named = ["--access-spec", "x.icf:file server", "--segments", "2"];
        let of_file = results(&folder, &named);
        assert_eq!(own.arrays, of_file.arrays);
        let workload = of_file.workload.unwrap();
        assert_eq!((workload.file.as_str(), workload.seed), ("x.icf", 7));
        assert_eq!(workload.name.as_deref(), Some("File Server"));
        assert_eq!(own.workload, None);

        // Watching a run changes nothing of it.
        let log = results(&folder, &[&named[..], &["--record-iolog", "o.log"]].concat());
        let without_host = |results: &Results| {
            let mut segments = segments(results).to_vec();
            segments.iter_mut().for_each(|segment| segment.host = None);
            segments
        };
        assert_eq!(without_host(&log), segments(&own));
        let records = logged(&folder, "o.log");
        near(share(&records, |record| record.length_bytes == 4096), 0.6, 0.01);
        near(share(&records, |record| record.length_bytes == 65_536), 0.1, 0.01);
        near(share(&records, |record| record.direction == Direction::Read), 0.8, 0.01);
    }
}

#[test]
fn bursts_and_delays_give_the_rate_that_they_say() {
    // Eight are outstanding and four a burst: an idle array answers long before the next burst, so that delays alone
    // set the pace.
    let folder = folder("inplace");
    let words = ["--access-spec", "x.icf:4 KiB: paced, in bursts", "--segments", "1"];
    let results = results(&folder, &words);
    near(segments(&results)[0].iops, 4.0, 0.07);
    let host = segments(&results)[0].host.unwrap();
    assert_eq!((host.reads.ops, host.writes.ops), (segments(&results)[0].ops, 0));
    assert!(host.mean_outstanding < 0.1 && host.littles_law_unexplained_percent < 0.1);
}

#[test]
fn workers_have_their_own_depths_and_regions() {
    let folder = folder("anywhere");
    // A worker on the first 16 MiB and one on 32 MiB from 64 MiB on.
    let workers = [("one", 2, 32_768, 0), ("two", 6, 65_536, 131_072)];
    folder.write("w.icf", &icf_with("NORMAL", &workers));
    let words = ["--access-spec", "w.icf", "--segments", "1", "--record-iolog", "o.log"];
    let ran = folder.strewn(&[&["run", "one.toml", "--json"], &words[..]].concat());
    for said in ["ignored: Run Time (w.icf, test setup)", "ignored: Ramp Up Time"] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let results = Results::from_json(&ran.stdout).unwrap();
    assert_eq!(results.arrays[0].outstanding, 8);
    let workload = results.workload.as_ref().unwrap();
    assert_eq!((workload.workers.len(), workload.ignored.len()), (2, 2));
    assert_eq!(workload.workers[1].first_byte, 64 << 20);
    near(segments(&results)[0].host.unwrap().mean_outstanding, 8.0, 1e-3);

    let records = logged(&folder, "o.log");
    let first = |record: &TraceRecord| record.end_bytes() <= 16 << 20;
    let second =
        |record: &TraceRecord| record.offset_bytes >= 64 << 20 && record.end_bytes() <= 96 << 20;
    assert!(records.iter().all(|record| first(record) || second(record)));
    // A quarter is reads of 4 KiB, the rest writes of 8 KiB, each aligned to its size.
    near(share(&records, |record| record.length_bytes == 4096), 0.25, 0.01);
    assert!(records.iter().all(|record| record.offset_bytes % record.length_bytes == 0));
    let read = |record: &TraceRecord| record.direction == Direction::Read;
    assert!(records.iter().all(|record| read(record) == (record.length_bytes == 4096)));
}

#[test]
fn queue_depths_cycle_from_segment_to_segment() {
    let folder = folder("inplace");
    folder.write("c.icf", &icf_with("CYCLE_OUTSTANDING_IOS", &[("one", 1, 0, 0)]));
    let results = results(&folder, &["--access-spec", "c.icf"]);
    assert_eq!(results.workload.as_ref().unwrap().queue_depths, [1, 4, 16]);
    assert!(!results.partial && segments(&results).len() == 3);
    for (segment, depth) in segments(&results).iter().zip([1.0, 4.0, 16.0]) {
        near(segment.host.unwrap().mean_outstanding, depth, 0.01);
    }
    assert!(segments(&results)[2].iops > segments(&results)[0].iops);
}

#[test]
fn a_fio_job_runs_until_it_is_done() {
    let folder = folder("anywhere");
    folder.write(
        "j.fio",
        "[global]\nioengine=libaio\ndirect=1\nsize=64m\niodepth=4\n\
         [fill]\nrw=randwrite\nbs=64k\n\
         [mix]\nstonewall\nrw=randrw\nrwmixread=75\nbssplit=4k/50:8k/50,16k\nrate_iops=60,20\n\
         runtime=90\ntime_based\nnumjobs=2\nnorandommap\n",
    );
    let all = results(&folder, &["--fio-job", "j.fio", "--record-iolog", "o.log"]);
    let workload = all.workload.as_ref().unwrap();
    assert_eq!((workload.ended, all.partial), (Some(true), false));
    let workers: Vec<&str> = workload.workers.iter().map(|worker| worker.name.as_str()).collect();
    assert_eq!(workers, ["fill", "mix.0", "mix.1"]);
    assert_eq!(workload.ignored[0].name, "direct");
    let seconds: f64 = segments(&all).iter().map(|segment| segment.seconds).sum();
    let records = logged(&folder, "o.log");
    let (fill, mix) = records.split_at(1024);
    // Each block of the region once: fio's random map.
    let mut blocks: Vec<u64> = fill.iter().map(|record| record.offset_bytes >> 16).collect();
    blocks.sort_unstable();
    assert_eq!(blocks, (0..1024).collect::<Vec<_>>());
    let began = mix[0].arrival_ns as f64 / 1e9;
    near(seconds - began, 90.0, 0.2);
    // Two clones of at most 60 reads and 20 writes a second; the mix of 75 % needs just that.
    near(mix.len() as f64 / 90.0, 160.0, 6.0);
    near(share(mix, |record| record.direction == Direction::Read), 0.75, 0.01);
    let reads: Vec<TraceRecord> =
        mix.iter().filter(|record| record.direction == Direction::Read).copied().collect();
    near(share(&reads, |record| record.length_bytes == 4096), 0.5, 0.02);
    assert!(
        mix.iter()
            .all(|record| { record.direction == Direction::Read || record.length_bytes == 16_384 })
    );

    let one = results(&folder, &["--fio-job", "j.fio:fill"]);
    assert_eq!(one.host_ops, 1024);
    assert_eq!(one.workload.unwrap().name.as_deref(), Some("fill"));
}

/// As fio 3.33 does: a direction that is ahead of its rate lets the other go first, whatever their share.
#[test]
fn each_direction_of_a_mixed_job_has_its_own_rate() {
    let folder = folder("inplace");
    let counts = |options: &str| {
        let job = "[m]\nioengine=libaio\niodepth=4\nsize=32M\nbs=4k\ntime_based\nruntime=11\n";
        folder.write("m.fio", &format!("{job}{options}\n"));
        let results = results(&folder, &["--fio-job", "m.fio"]);
        let host = segments(&results)[0].host.unwrap();
        (host.reads.ops as f64, host.writes.ops as f64)
    };
    for (options, reads, writes) in [
        ("rw=rw\nrate=1m,200k", 256.0 * 11.0, 50.0 * 11.0),
        ("rw=rw\nrate_iops=90,10\nrwmixread=50", 990.0, 110.0),
        ("rw=randrw\nrate_iops=100,100\nrwmixread=90", 1100.0, 1100.0),
        ("rw=randrw\nrate_iops=60,20\nrwmixread=75", 660.0, 220.0),
    ] {
        let (read, written) = counts(options);
        near(read, reads, 0.01 * reads);
        near(written, writes, 0.01 * writes + 1.0);
    }
    // Only writes have a limit: reads go on as fast as they are answered.
    let (read, written) = counts("rw=randrw\nrate_iops=,20");
    near(written, 220.0, 3.0);
    assert!(read > 10.0 * written, "{read} {written}");
}

/// As in fio: without a name, each job and each clone has a file of its own.
#[test]
fn jobs_without_a_common_file_do_not_share_bytes() {
    let folder = folder("anywhere");
    let regions = |name: &str, jobs: &str| -> Vec<(u64, u64)> {
        folder.write(name, jobs);
        let results = results(&folder, &["--fio-job", name, "--segments", "1"]);
        let workers = results.workload.unwrap().workers;
        workers.iter().map(|one| (one.first_byte >> 20, one.region_bytes >> 20)).collect()
    };
    let job = |name: &str, more: &str| {
        format!("[{name}]\nrw=randread\nbs=4k\nsize=32m\ntime_based\nruntime=5s\n{more}")
    };
    let own = regions("own.fio", &(job("a", "") + &job("b", "numjobs=2\n")));
    assert_eq!(own, [(0, 32), (32, 32), (64, 32)]);
    let named = job("a", "filename=x\n") + &job("b", "filename=x\noffset=16m\n") + &job("c", "");
    assert_eq!(regions("named.fio", &named), [(0, 32), (16, 32), (48, 32)]);
    // Without lengths nobody knows where the second begins, and a person is told.
    let whole =
        "[a]\nrw=randread\ntime_based\nruntime=5s\n[b]\nrw=randread\ntime_based\nruntime=5s\n";
    let all = regions("whole.fio", whole);
    assert_eq!(all, [(0, 256), (0, 256)]);
    let ignored = results(&folder, &["--fio-job", "whole.fio", "--segments", "1"]);
    let ignored = ignored.workload.unwrap().ignored;
    assert!(ignored.iter().any(|one| one.name == "filename"), "{ignored:?}");
    // Files that do not fit are an error, and no two of them overlap silently.
    folder.write("large.fio", &job("a", "numjobs=9\n"));
    let large = folder.strewn(&["run", "one.toml", "--fio-job", "large.fio"]);
    large.refused(&["from byte 268435456", "256 MiB"]);
}

#[test]
fn a_rate_stands_beside_what_was_reached() {
    let folder = folder("inplace");
    let job = |name: &str, rate: &str| {
        format!(
            "[{name}]\nioengine=libaio\niodepth=1\nsize=32M\nbs=4k\nrw=randread\ntime_based\nruntime=60\n{rate}\n"
        )
    };
    let jobs = job("met", "rate_iops=20") + &job("missed", "rate=400m");
    folder.write("two.fio", &jobs);
    let tables = folder.strewn(&["run", "one.toml", "--fio-job", "two.fio"]).succeeded();
    assert!(tables.contains("reads 20 IOPS") && tables.contains("reads 400 MiB/s"), "{tables}");
    let text = tables.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("inplace: missed does ") && text.contains("its rate allows 400:"),
        "{text}"
    );
    assert!(!text.contains("inplace: met does "), "{text}");
    // One job alone has no table of its own, and is named all the same.
    folder.write("one.fio", &job("alone", "rate_iops=100000"));
    let tables = folder.strewn(&["run", "one.toml", "--fio-job", "one.fio"]).succeeded();
    assert!(tables.contains("alone does ") && tables.contains("100,000"), "{tables}");
    // What is met is not called a limit of the array.
    folder.write("met.fio", &job("met", "rate_iops=20"));
    let tables = folder.strewn(&["run", "one.toml", "--fio-job", "met.fio", "--brief"]).succeeded();
    let text = tables.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("held to their rates, and reach them"), "{text}");
}

/// As in fio, an offset in percent begins at the next block.
#[test]
fn regression_offsets_in_percent_begin_at_a_block() {
    let folder = folder("anywhere");
    let job = "[a]\nrw=randread\nbs=64k\noffset=30%\nsize=32m\ntime_based\nruntime=5s\n";
    folder.write("a.fio", job);
    let results = results(&folder, &["--fio-job", "a.fio", "--segments", "1"]);
    let first = results.workload.unwrap().workers[0].first_byte;
    let exact = (256_u64 << 20) * 30 / 100;
    assert_eq!((first % 65_536, first / 65_536), (0, exact.div_ceil(65_536)));
    folder.write("none.fio", "[a]\nrw=read\nsize=0\n");
    let none = folder.strewn(&["run", "one.toml", "--fio-job", "none.fio"]);
    none.refused(&["accesses 0 B", "give a larger `size`"]);
}

#[test]
fn a_number_of_accesses_is_of_each_loop() {
    let folder = folder("inplace");
    let job = |options: &str| {
        folder.write("l.fio", &format!("[l]\nrw=read\nbs=64k\nsize=10M\n{options}\n"));
        results(&folder, &["--fio-job", "l.fio"]).host_ops
    };
    assert_eq!((job("number_ios=7\nloops=3"), job("number_ios=7")), (21, 7));
    assert_eq!((job("loops=2"), job("io_size=3M\nloops=2")), (320, 96));
}

/// The host is idle as the last segment ends, or has operations outstanding: there is no segment after it.
#[test]
fn a_job_or_trace_that_ends_with_a_segment_has_none_after_it() {
    // Segments of a minute.
    let folder = folder("anywhere");
    let paces = ["rate_iops=50", "rate=200k", "thinktime=20ms", "iodepth=4\nioengine=libaio"];
    for (number, pace) in paces.into_iter().enumerate() {
        let job = format!("[a]\nrw=read\nbs=4k\nsize=64M\n{pace}\ntime_based\nruntime=120\n");
        folder.write("j.fio", &job);
        let results = results(&folder, &["--fio-job", "j.fio"]);
        let [first, last] = segments(&results) else { panic!("{pace}: two segments") };
        assert_eq!(first.seconds, 60.0, "{pace}");
        if number == 3 {
            assert!(last.seconds > 60.0 && last.seconds < 60.2, "{}", last.seconds);
            near(last.iops / first.iops, 1.0, 0.02);
        } else {
            assert_eq!(last.seconds, 60.0, "{pace}");
            // A pause begins when the read before it is answered.
            near(last.iops, 50.0, if pace.starts_with("think") { 2.0 } else { 0.1 });
        }
        assert_eq!(results.workload.unwrap().ended, Some(true));
    }
    for (last_ms, lengths) in [(59_999, 1), (60_000, 2), (119_999, 2)] {
        let at = |ms: u64| TraceRecord { arrival_ns: ms * 1_000_000, ..records()[1] };
        let mut records: Vec<TraceRecord> = (0..last_ms).step_by(50).map(at).collect();
        records.push(at(last_ms));
        std::fs::write(folder.path("t.csv"), trace(TraceFormat::Msr, &records)).unwrap();
        let results = results(&folder, &["--trace", "t.csv"]);
        assert_eq!(segments(&results).len(), lengths, "{last_ms}");
        let seconds: f64 = segments(&results).iter().map(|segment| segment.seconds).sum();
        near(seconds, last_ms as f64 / 1e3, 0.05);
        assert_eq!(results.host_ops, records.len() as u64);
    }
}

#[test]
fn each_of_two_jobs_has_figures_of_its_own() {
    let folder = folder("anywhere");
    let job = |name: &str, rw: &str, bs: &str| {
        format!(
            "[{name}]\nrw={rw}\nbs={bs}\nsize=32m\nioengine=libaio\niodepth=4\ntime_based\nruntime=90s\n"
        )
    };
    folder.write("two.fio", &(job("small", "randread", "4k") + &job("large", "write", "64k")));
    folder.write("small.fio", &job("small", "randread", "4k"));
    let words = ["run", "one.toml", "--fio-job", "two.fio"];
    let tables = folder.strewn(&words).succeeded();
    assert!(tables.contains("anywhere: by workload") && tables.contains(" small "), "{tables}");
    let results = self::results(&folder, &["--fio-job", "two.fio"]);
    for segment in segments(&results) {
        let [small, large] = &segment.by_workload[..] else { panic!("{segment:?}") };
        assert_eq!((small.name.as_str(), large.name.as_str()), ("small", "large"));
        assert_eq!((small.writes.ops, large.reads.ops), (0, 0));
        let host = segment.host.unwrap();
        assert_eq!(small.reads.ops, host.reads.ops);
        near(small.reads.mean_ms, host.reads.mean_ms, 1e-3);
        near(large.writes.p95_ms, host.writes.p95_ms, 1e-3 * host.writes.p95_ms);
        near(small.iops + large.iops, segment.iops, 0.01);
        near(large.mib_per_s * 16.0, large.iops, 0.01);
        for one in [small.reads, large.writes] {
            assert!(one.p95_ms <= one.max_ms && one.max_ms <= segment.response_ms.max, "{one:?}");
        }
    }
    // One job is one row already.
    let alone = self::results(&folder, &["--fio-job", "small.fio"]);
    assert!(segments(&alone).iter().all(|segment| segment.by_workload.is_empty()));
}

#[test]
fn a_fill_and_a_scan_after_it_are_not_compared() {
    let folder = folder("anywhere");
    folder.write(
        "fill.fio",
        "[global]\nsize=64m\nioengine=libaio\niodepth=4\ntime_based\nruntime=60s\n\
         [fill]\nrw=randwrite\nbs=4k\n[scan]\nstonewall\nrw=read\nbs=64k\n",
    );
    let results = results(&folder, &["--fio-job", "fill.fio"]);
    assert!(results.losses.is_empty(), "{:?}", results.losses);
    assert!(segments(&results).len() >= 2);
    let tables = folder.strewn(&["run", "one.toml", "--fio-job", "fill.fio"]).succeeded();
    assert!(!tables.contains("Where the loss came from"), "{tables}");
    let first = tables.lines().next().unwrap();
    assert!(first.contains("anywhere answers ") && first.ends_with(" ms on average"), "{first}");
}

#[test]
fn zipf_goes_to_hot_blocks_as_often_as_it_should() {
    let folder = folder("inplace");
    folder.write(
        "z.fio",
        "[hot]\nrw=randread\nbs=4k\nsize=16m\nioengine=libaio\niodepth=8\nnumber_ios=20000\n\
         random_distribution=zipf:1.2:0.5\nio_size=1g\n",
    );
    results(&folder, &["--fio-job", "z.fio", "--record-iolog", "o.log"]);
    let records = logged(&folder, "o.log");
    assert_eq!(records.len(), 20_000);
    let sum: f64 = (1..=4096).map(|rank| f64::from(rank).powf(-1.2)).sum();
    let mut counts = vec![0_u32; 4096];
    records.iter().for_each(|record| counts[(record.offset_bytes >> 12) as usize] += 1);
    near(f64::from(counts[2048]) / 20_000.0, 1.0 / sum, 0.01);
    // The hot blocks do not lie side by side.
    counts.sort_unstable_by(|a, b| b.cmp(a));
    near(f64::from(counts[1]) / 20_000.0, 2_f64.powf(-1.2) / sum, 0.01);
    assert!(share(&records, |record| (record.offset_bytes >> 12).abs_diff(2048) < 20) < 0.35);
}

/// 2000 operations in 100 s: reads and writes of 4 KiB, on 128 MiB.
fn records() -> Vec<TraceRecord> {
    let record = |number: u64| TraceRecord {
        arrival_ns: number * 50_000_000,
        device: 0,
        offset_bytes: (number * 7919 % 32_768) * 4096,
        length_bytes: 4096,
        direction: if number.is_multiple_of(4) { Direction::Write } else { Direction::Read },
    };
    (0..2000).map(record).collect()
}

fn trace(format: TraceFormat, records: &[TraceRecord]) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), format).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap()
}

#[test]
fn every_format_of_trace_is_replayed_by_its_times() {
    let folder = folder("anywhere");
    let mut before = None;
    // Tencent's times are whole seconds.
    let formats = TraceFormat::ALL.into_iter().filter(|format| *format != TraceFormat::Tencent);
    for format in formats {
        let name = format!("trace.{format}");
        std::fs::write(folder.path(&name), trace(format, &records())).unwrap();
        let results = results(&folder, &["--trace", &name]);
        let workload = results.workload.as_ref().unwrap();
        let replay = workload.trace.as_ref().unwrap();
        assert_eq!((replay.format.as_str(), replay.records), (format.name(), 2000));
        assert_eq!((replay.reads, workload.ended), (1500, Some(true)));
        assert_eq!((results.arrays[0].outstanding, results.host_ops), (0, 2000));
        // A minute at the rate of the trace, and the rest of it, up to the last answer.
        let [first, last] = segments(&results) else { panic!("{format}: two segments") };
        near(first.iops, 20.0, 0.05);
        near(last.iops, 20.0, 0.05);
        near(first.seconds + last.seconds, 99.95, 0.05);
        let (one, two) = (first.host.unwrap(), last.host.unwrap());
        assert_eq!(one.writes.ops + two.writes.ops, 500);
        // Little's law of the open loop.
        let mean = first.iops * first.response_ms.mean / 1e3;
        near(one.mean_outstanding, mean, 0.01 * mean);
        assert!(one.littles_law_unexplained_percent < 0.1);
        let arrays = results.arrays;
        assert_eq!(*before.get_or_insert(arrays.clone()), arrays, "{format}");
    }
}

#[test]
fn a_trace_may_be_compressed_faster_or_closed() {
    let folder = folder("inplace");
    let plain = trace(TraceFormat::Msr, &records());
    std::fs::write(folder.path("t.csv"), &plain).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&plain).unwrap();
    std::fs::write(folder.path("t.csv.gz"), gzip.finish().unwrap()).unwrap();
    let as_recorded = results(&folder, &["--trace", "t.csv"]);
    assert_eq!(results(&folder, &["--trace", "t.csv.gz"]).arrays, as_recorded.arrays);

    let faster = results(&folder, &["--trace", "t.csv", "--speedup", "4"]);
    near(segments(&faster)[0].iops, 80.0, 0.5);
    near(segments(&faster)[0].seconds, 24.99, 0.1);

    let closed = results(&folder, &["--trace", "t.csv", "--closed-loop-trace"]);
    assert_eq!((closed.arrays[0].outstanding, closed.host_ops), (8, 2000));
    near(segments(&closed)[0].host.unwrap().mean_outstanding, 8.0, 0.2);
    assert!(segments(&closed)[0].iops > 4.0 * segments(&faster)[0].iops);

    // Cut off, and said so.
    let cut = results(&folder, &["--trace", "t.csv", "--segments", "1"]);
    assert_eq!((cut.workload.unwrap().ended, cut.partial), (Some(false), false));
}

#[test]
fn what_lies_beyond_is_an_error_or_wrapped() {
    let folder = folder("inplace");
    let mut records = records();
    // The file of the scenario has 256 MiB.
    records[6].offset_bytes = (256 << 20) + 8192;
    std::fs::write(folder.path("t.spc"), trace(TraceFormat::Spc, &records)).unwrap();
    folder.strewn(&["run", "one.toml", "--trace", "t.spc", "--out", "out"]).refused(&[
        "t.spc:7: 4096 bytes from byte 268443648 lie beyond the file under load",
        "--wrap",
    ]);
    assert!(!folder.path("out").exists());
    let words = ["--trace", "t.spc", "--wrap", "--record-iolog", "o.log"];
    let wrapped = results(&folder, &words);
    assert_eq!(wrapped.workload.unwrap().trace.unwrap().wrapped, 1);
    assert_eq!(logged(&folder, "o.log")[6].offset_bytes, 8192);
}

#[test]
fn a_log_of_a_run_is_a_trace_of_it() {
    let folder = folder("anywhere");
    let words = ["--access-spec", "x.icf:mixed", "--segments", "1", "--record-iolog", "o.log"];
    let run = results(&folder, &words);
    let again = results(&folder, &["--trace", "o.log", "--segments", "1"]);
    let trace = again.workload.as_ref().unwrap().trace.as_ref().unwrap();
    assert!(trace.records.abs_diff(run.host_ops) <= 8);
    near(segments(&again)[0].iops / segments(&run)[0].iops, 1.0, 0.01);
    let refused = folder.strewn(&[&["run", "one.toml"], &words[..]].concat());
    refused.refused(&["o.log is there already"]);
}

#[test]
fn results_are_written_in_the_shapes_of_fio_and_iometer() {
    let folder = folder("anywhere");
    let words = ["--out", "out", "--also", "fio,iometer,hdr"];
    let results = results(&folder, &words);
    let fio: fio::Output = serde_json::from_str(&folder.read("out/fio.json")).unwrap();
    let csv = folder.read("out/results.csv");
    let series = iometer::Results::read(csv.as_bytes(), Some("results.csv")).unwrap();
    assert_eq!((fio.jobs.len(), series.len(), series[0].tests.len()), (3, 1, 3));
    for (position, segment) in segments(&results).iter().enumerate() {
        let job = &fio.jobs[position];
        assert_eq!(job.jobname, format!("anywhere segment {}", segment.index));
        assert_eq!(job.read.total_ios + job.write.total_ios, segment.ops);
        near(job.read.iops + job.write.iops, segment.iops, 0.01);
        let sum = job.read.lat_ns.mean * job.read.total_ios as f64
            + job.write.lat_ns.mean * job.write.total_ios as f64;
        near(sum / segment.ops as f64 / 1e6 / segment.response_ms.mean, 1.0, 1e-5);
        let row = &series[0].tests[position].rows[0];
        let measured = row.measured.as_ref().unwrap();
        assert_eq!((measured.reads, measured.writes), (job.read.total_ios, job.write.total_ios));
        near(measured.iops.total, segment.iops, 0.01);
        assert_eq!(row.latency_bins.unwrap().iter().sum::<u64>(), segment.ops);
        assert_eq!((row.access_specification.as_str(), row.queue_depth), ("file-server", Some(8)));
    }
    // Latency bins from which others draw their own percentiles: fio's, and HdrHistogram's own reader of its log.
    let log = folder.read("out/latency.hlog");
    let intervals =
        IntervalLogIterator::new(log.as_bytes()).filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        });
    let intervals: Vec<_> = intervals.collect();
    assert_eq!(intervals.len(), 6);
    for (position, segment) in segments(&results).iter().enumerate() {
        let job = &fio.jobs[position];
        let mut both = Histogram::<u64>::new(3).unwrap();
        let directions = [("anywhere.read", &job.read), ("anywhere.write", &job.write)];
        for (interval, (tag, direction)) in intervals[2 * position..].iter().zip(directions) {
            assert_eq!(interval.tag().unwrap().as_str(), tag);
            near(interval.start_timestamp().as_secs_f64(), position as f64 * segment.seconds, 1e-3);
            let bytes = BASE64_STANDARD.decode(interval.encoded_histogram()).unwrap();
            let times: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!(times.len(), direction.total_ios);
            let bins = direction.clat_ns.bins.as_ref().unwrap();
            assert_eq!(bins.values().sum::<u64>(), direction.total_ios);
            both.add(times).unwrap();
        }
        let ms = |quantile: f64| both.value_at_quantile(quantile) as f64 / 1e6;
        near(ms(0.99) / segment.response_ms.p99, 1.0, 0.002);
        near(ms(0.50) / segment.response_ms.p50, 1.0, 0.002);
    }
    // Without these, tools such as fio-plot do not draw a job.
    let option = |job: &fio::JobResult, name: &str| {
        let found = job.job_options.iter().find(|(option, _)| option == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    for job in &fio.jobs {
        let options = ["name", "rw", "rwmixread", "iodepth", "numjobs", "size"];
        let values = [job.jobname.as_str(), "randrw", "80", "8", "1", "256m"];
        assert_eq!(options.map(|name| option(job, name)), values);
        let moved = job.read.io_bytes + job.write.io_bytes;
        let mean_bytes = moved / (job.read.total_ios + job.write.total_ios);
        assert_eq!(option(job, "bs"), mean_bytes.to_string());
    }
    // Measured closer, but the same run.
    let plain = self::results(&folder, &[]);
    assert_eq!(plain.host_ops, results.host_ops);
    folder.strewn(&["run", "one.toml", "--also", "fio"]).refused(&["--out <DIR>"]);
}

/// Over all segments in which it was at work, beside the segments.
#[test]
fn each_job_of_fio_has_a_job_of_its_own_in_the_shape_of_fio() {
    let folder = folder("inplace");
    folder.write(
        "two.fio",
        "[global]\nioengine=libaio\ntime_based\nruntime=80\n[small]\nrw=randread\nbs=4k\nsize=32m\niodepth=4\n\
         numjobs=2\n[large]\nstonewall\nrw=write\nbs=64k\nsize=64m\niodepth=2\n",
    );
    let words = ["--fio-job", "two.fio", "--out", "out", "--also", "fio"];
    let results = results(&folder, &words);
    let fio: fio::Output = serde_json::from_str(&folder.read("out/fio.json")).unwrap();
    let [_, _, _, small, large] = &fio.jobs[..] else { panic!("{} jobs", fio.jobs.len()) };
    let names = [&small.jobname, &large.jobname].map(String::as_str);
    assert_eq!(names, ["inplace small", "inplace large"]);
    let options = |job: &fio::JobResult| {
        job.job_options[1..]
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(options(small), ["rw=randread", "bs=4k", "iodepth=4", "numjobs=2", "size=32m"]);
    assert_eq!(options(large), ["rw=write", "bs=64k", "iodepth=2", "numjobs=1", "size=64m"]);
    for (job, name) in [(small, "small"), (large, "large")] {
        let of_job = || {
            segments(&results).iter().map(|segment| {
                let own = segment.by_workload.iter().find(|own| own.name == name);
                (segment.seconds, own.map_or(0, |own| own.ops()))
            })
        };
        let ops: u64 = of_job().map(|(_, ops)| ops).sum();
        assert_eq!(job.read.total_ios + job.write.total_ios, ops, "{name}");
        // Each was at work in two of the three segments, 60 s and the rest of 160 s long.
        let seconds: f64 = of_job().filter(|(_, ops)| *ops > 0).map(|(seconds, _)| seconds).sum();
        // A job's length is in whole milliseconds.
        near((job.read.iops + job.write.iops) * seconds / ops as f64, 1.0, 1e-4);
        near(job.job_runtime as f64 / 1000.0, seconds, 0.01);
        near(seconds, if name == "small" { 120.0 } else { 100.0 }, 0.1);
    }
}

#[test]
fn results_repeat() {
    let folder = folder("anywhere");
    folder.write("z.fio", "[a]\nrw=randrw\nsize=64m\nrandom_distribution=pareto:0.2\nrate_iops=100\n\
                           rate_process=poisson\nioengine=libaio\niodepth=2\nruntime=30\ntime_based\n");
    let json = || {
        let ran = folder.strewn(&["run", "one.toml", "--json", "--fio-job", "z.fio"]);
        let mut json: Value = serde_json::from_str(&ran.stdout).unwrap();
        json["wall_seconds"] = Value::Null;
        json
    };
    assert_eq!(json(), json());
}

/// Everything that a tired person may do: exit code 2, the place and the remedy, nothing written.
#[test]
fn bad_input() {
    let folder = folder("inplace");
    std::fs::create_dir(folder.path("directory")).unwrap();
    folder.write("empty", "");
    folder
        .write("idle.icf", &ICF.replace("\t4096,100,100,100,0,1,0,512", "\t0,100,100,100,0,1,0,0"));
    folder.write("cycle.icf", &icf_with("CYCLE_WORKERS", &[("one", 1, 0, 0)]));
    folder.write("large.icf", &icf_with("NORMAL", &[("one", 1, 1 << 30, 0)]));
    let two_targets = icf_with("NORMAL", &[("one", 1, 0, 0), ("two", 1, 0, 0)]);
    folder.write("targets.icf", &two_targets.replacen("\tLUN", "\tother", 1));
    folder.write("t.spc", "0,8,4096,r,0.5\n0,16,4096,w,0.25\n");
    folder.write("units.spc", "0,8,4096,r,0.5\n3,16,4096,w,0.75\n");
    folder.write(
        "half.csv",
        "128166372003061629,web,0,Read,4096,4096,1\n128166372003061630,web,0,Re",
    );
    folder.write("flush.blk", "  8,0    1        1     0.000000001   697  Q   R 8 + 8 [x]\n");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&trace(TraceFormat::Spc, &records())).unwrap();
    let gzip = gzip.finish().unwrap();
    std::fs::write(folder.path("cut.gz"), &gzip[..gzip.len() / 2]).unwrap();
    let job = |name: &str, options: &str| {
        folder.write(
            name,
            &format!("[global]\nsize=1m\nioengine=libaio\n[job]\nrw=randread\n{options}\n"),
        );
    };
    job("fsync.fio", "fsync=1");
    job("typo.fio", "iodpeth=1");
    job("trim.fio", "rw=randtrim");
    job("endless.fio", "time_based");
    job("large.fio", "size=1t");
    job("odd.fio", "bs=1000");
    job("cpu.fio", "ioengine=cpuio\ncpuload=50");
    job("engine.fio", "ioengine=psycn");
    job("sg.fio", "ioengine=sg\nsg_write_mode=verify");
    job("three.fio", "fsync=1\niodpeth=1\nbs=4kk\n[next]\nrw=randtrim\nverify=crc32c\ntime_based");
    job("two.fio", "fsync=1\n[next]\nrw=randtrim\ntime_based");
    let before = folder.contents();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--fio-job", "three.fio"], &["did you mean `iodepth`", "three.fio:8", "2 problems"]),
        (
            &["--fio-job", "two.fio"],
            &[
                "`fsync` is not supported",
                "`rw` discards",
                "`time_based` has no `runtime`",
                "3 problems",
            ],
        ),
        (
            &["--trace", "units.spc", "--trace-device", "7"],
            &["no reads or writes of device 7", "0, 3"],
        ),
        (&["--trace", "t.spc", "--quick"], &["--quick cannot be used with --trace", "--segments"]),
        (&["--access-spec", "x.icf"], &["5 access specifications", "\"mixed\"", "x.icf:NAME"]),
        (
            &["--access-spec", "x.icf:none"],
            &["no access specification \"none\"", "\"File Server\""],
        ),
        (&["--access-spec", "missing.icf"], &["cannot read missing.icf", "an .icf file"]),
        (&["--access-spec", "directory"], &["directory is a directory", "an .icf file"]),
        (&["--access-spec", "empty"], &["empty", "the file is empty", "help: "]),
        (&["--access-spec", "t.spc"], &["t.spc:1", "help: "]),
        (&["--access-spec", "fsync.fio"], &["fsync.fio:1", "help: "]),
        (&["--access-spec", "x.icf:echo"], &["replies", "not supported", "set the reply to 0"]),
        (&["--access-spec", "x.icf:odd"], &["not whole sectors", "multiple of 512"]),
        (&["--access-spec", "idle.icf:echo"], &["idle", "help: "]),
        (&["--access-spec", "cycle.icf"], &["CYCLE_WORKERS", "CYCLE_OUTSTANDING_IOS are"]),
        (
            &["--access-spec", "large.icf"],
            &["worker \"HOST/one\" accesses 512 GiB", "enlarge `file`"],
        ),
        (&["--access-spec", "targets.icf"], &["and there is other too", "one LUN"]),
        (&["--fio-job", "fsync.fio"], &["fsync.fio:6:1: `fsync` is not supported", "flushes"]),
        (&["--fio-job", "typo.fio"], &["typo.fio:6:1", "did you mean `iodepth`"]),
        (&["--fio-job", "fsync.fio:jbo"], &["no job \"jbo\"", "\"job\""]),
        (&["--fio-job", "trim.fio"], &["trim.fio:4", "`rw` discards", "help: "]),
        (&["--fio-job", "endless.fio"], &["`time_based` has no `runtime`", "runtime=20m"]),
        (&["--fio-job", "large.fio"], &["large.fio:4", "accesses 1 TiB", "enlarge `file`"]),
        (&["--fio-job", "odd.fio"], &["odd.fio:4", "1000 bytes is not whole sectors"]),
        (&["--fio-job", "cpu.fio"], &["cpu.fio:6", "`ioengine`", "no reads and writes of blocks"]),
        (&["--fio-job", "engine.fio"], &["engine.fio:6", "did you mean `psync`?"]),
        (&["--fio-job", "sg.fio"], &["sg.fio:7:1: `sg_write_mode` is not supported"]),
        (&["--fio-job", "x.icf"], &["x.icf:1", "help: "]),
        (&["--fio-job", "empty"], &["there is no job", "help: "]),
        (&["--trace", "empty"], &["the trace is empty", "help: "]),
        (&["--trace", "directory"], &["is a directory", "plain, gzip or zstd"]),
        (&["--trace", "x.icf"], &["x.icf:1", "help: "]),
        (&["--trace", "t.spc"], &["t.spc:2", "arrives before the one ahead", "--hold-back"]),
        (&["--trace", "units.spc"], &["several devices: 0, 3", "--trace-device N"]),
        (&["--trace", "t.spc", "--trace-device", "9"], &["no reads or writes", "that device"]),
        (&["--trace", "half.csv"], &["half.csv:2", "help: "]),
        (&["--trace", "flush.blk"], &["no reads or writes", "action D"]),
        (&["--trace", "cut.gz"], &["cut.gz", "help: "]),
        (&["--trace", "t.spc", "--trace-format", "spcc"], &["did you mean `spc`"]),
        (&["--trace", "t.spc", "--trace-format", "disksim"], &["t.spc:1", "help: "]),
        (&["--trace", "t.spc", "--speedup", "0"], &["a speed-up of 0 is not possible"]),
        (&["--trace", "t.spc", "--speedup", "-2"], &["a speed-up of -2 is not possible"]),
        (&["--trace", "t.spc", "--speedup", "2", "--closed-loop-trace"], &["cannot be used with"]),
        (&["--trace", "t.spc", "--access-spec", "x.icf"], &["cannot be used with"]),
        (&["--trace", "t.spc", "--quick"], &["cannot be used with"]),
        (&["--speedup", "2"], &["--trace <FILE>"]),
        (&["--wrap"], &["--trace <FILE>"]),
        (&["--record-iolog", "none/o.log"], &["no such directory", "help: "]),
    ];
    for (words, says) in cases {
        folder.strewn(&[&["run", "one.toml", "--out", "out"], *words].concat()).refused(says);
    }
    assert_eq!(folder.contents(), before);
}

/// What a run was made of can be told from its directory, and two runs with the same figures have the same digest.
#[test]
fn a_run_says_what_it_was_made_of() {
    let folder = folder("anywhere");
    let sha256 = |bytes: &[u8]| -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let provenance = |words: &[&str]| -> serde_json::Value {
        results(&folder, words);
        serde_json::from_str(&folder.read("out/provenance.json")).unwrap()
    };
    folder.write("t.spc", "0,0,4096,w,0.0\n0,8,4096,r,0.5\n");
    let one = provenance(&["--out", "out"]);
    let json = folder.read("out/results.json");
    let figures: String =
        json.split_inclusive('\n').filter(|line| !line.contains("wall_seconds")).collect();
    assert_eq!(one["figures_sha256"], sha256(figures.as_bytes()));
    assert_eq!(one["inputs"][0]["path"], "one.toml");
    assert_eq!(one["inputs"][0]["sha256"], sha256(folder.read("one.toml").as_bytes()));
    assert_eq!(
        one["strewn"]["sha256"],
        sha256(&std::fs::read(env!("CARGO_BIN_EXE_strewn")).unwrap())
    );
    assert_eq!(one["arguments"][0], "run");
    assert!(one["host"]["cores"].as_u64().unwrap() > 0);
    let again = provenance(&["--out", "out", "--force"]);
    assert_eq!(again["figures_sha256"], one["figures_sha256"]);
    let other = provenance(&["--out", "out", "--force", "--seed", "8"]);
    assert_ne!(other["figures_sha256"], one["figures_sha256"]);
    let traced = provenance(&["--out", "out", "--force", "--trace", "t.spc"]);
    let inputs = traced["inputs"].as_array().unwrap();
    let trace = inputs.iter().find(|input| input["path"] == "t.spc").unwrap();
    assert_eq!(trace["sha256"], sha256(folder.read("t.spc").as_bytes()));
    // However its path is typed.
    let elsewhere = folder.path("t.spc").display().to_string();
    let same = provenance(&["--out", "out", "--force", "--trace", &elsewhere]);
    assert_eq!(same["figures_sha256"], traced["figures_sha256"]);

    let digest = |provenance: &serde_json::Value, path: &str| -> serde_json::Value {
        let inputs = provenance["inputs"].as_array().unwrap();
        let input = inputs.iter().find(|input| input["path"] == path);
        input.unwrap_or_else(|| panic!("no {path} in {inputs:?}"))["sha256"].clone()
    };
    folder.write("t.csv", "3,R,0,4096,10\n3,W,0,4096,20\n");
    folder.write("sizes.csv", "3,1048576\n");
    let volumes = ["--trace", "t.csv", "--trace-volumes", "3", "--trace-sizes", "sizes.csv"];
    let sized = provenance(&[&["--out", "out", "--force"], &volumes[..]].concat());
    assert_eq!(digest(&sized, "sizes.csv"), sha256(folder.read("sizes.csv").as_bytes()));
    let read = |words: &[&str]| -> serde_json::Value {
        let file = std::fs::File::open(folder.path("one.toml")).unwrap();
        let ran = folder.command(words).stdin(file).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_str(&folder.read("out/provenance.json")).unwrap()
    };
    let piped = read(&["run", "-", "--out", "out", "--force", "--set", "segments=1"]);
    assert_eq!(digest(&piped, "standard input"), sha256(folder.read("one.toml").as_bytes()));
    read(&["run", "one.toml", "--save", "saved", "--out", "out", "--force"]);
    let state = std::fs::read(folder.path("saved/run.state")).unwrap();
    let resumed = read(&["run", "--resume", "saved", "--out", "out", "--force"]);
    assert_eq!(digest(&resumed, "saved/run.state"), sha256(&state));
    let scenario = digest(&resumed, "scenario of saved");
    assert_eq!(scenario, sha256(folder.read("one.toml").as_bytes()));
}
