use strewn_formats::fio::{
    BlockSizes, Distribution, Extent, JobFile, PatternDirection, PerDirection, RateProcess,
    SizeShare, ThinkTime, Zone, ZoneShare,
};

const JOBS: &str = include_str!("../data/jobs.fio");

#[test]
fn options_are_resolved() {
    let file = JobFile::parse(JOBS, "jobs.fio").unwrap();
    let [database, log, scan] = file.jobs.as_slice() else { panic!("three jobs") };

    assert_eq!((database.name.as_str(), database.line), ("database", 14));
    assert_eq!(database.pattern.direction, PatternDirection::ReadWrite);
    assert!(database.pattern.random && !database.covers_every_block);
    // The two do not add up, so the later one counts.
    assert_eq!(database.read_percent, 70);
    let share = |bytes, percent| SizeShare { bytes, percent };
    let sizes = &database.block_sizes;
    let split = vec![share(4096, 60), share(8192, 20), share(16_384, 20)];
    assert_eq!(sizes.read, BlockSizes::Split(split));
    assert_eq!(sizes.write, BlockSizes::Split(vec![share(8192, 100)]));
    assert_eq!((sizes.read.least_bytes(), &sizes.trim), (4096, &sizes.write));
    assert_eq!(database.alignment_bytes, PerDirection::same(Some(512)));
    assert_eq!((database.outstanding(), database.clones), (32, 2));
    assert_eq!(database.offset_increment, Extent::Percent(10));
    assert_eq!(database.random_percent, PerDirection { read: 100, write: 80, trim: 80 });
    let zone = |access_percent, size| ZoneShare { access_percent, zone: Zone::Percent(size) };
    let zones = vec![zone(60, 10), zone(30, 20), zone(8, 30), zone(2, 40)];
    assert_eq!(database.distribution.read, Distribution::Zoned(zones));
    assert_eq!(database.rate_iops, PerDirection { read: Some(1000), write: None, trim: None });
    assert_eq!(database.think_time, Some(ThinkTime { pause_us: 2000, accesses: 4 }));
    assert_eq!(database.runtime_us, Some(1_200_000_000));
    assert_eq!((database.ramp_time_us, database.seed), (500_000, Some(42)));
    assert_eq!(database.size, Some(Extent::Bytes(10 << 30)));

    assert_eq!((log.name.as_str(), log.stonewall), ("redo", true));
    assert_eq!((log.io_depth, log.outstanding()), (8, 1));
    assert_eq!(
        (log.pattern.direction, log.pattern.modifier),
        (PatternDirection::Write, Some(4096))
    );
    let sizes = [&log.block_sizes.read, &log.block_sizes.write, &log.block_sizes.trim];
    assert_eq!(sizes, [512, 65_536, 4096].map(BlockSizes::Fixed).each_ref());
    assert_eq!((log.io_size, log.offset), (Some(Extent::Percent(50)), Extent::Bytes(1 << 30)));
    assert_eq!((log.runtime_us, log.number_ios), (None, Some(100_000)));

    let range = BlockSizes::Range { least_bytes: 4000, most_bytes: 64_000 };
    assert_eq!(scan.block_sizes.write, range);
    // By its own base, not that of the global section.
    assert_eq!(scan.size, Some(Extent::Bytes(1 << 30)));
    assert_eq!(scan.rate_bytes.read, Some(100_000_000));
    assert_eq!((scan.rate_process, scan.loops), (RateProcess::Poisson, 3));
    assert_eq!(
        (scan.start_delay_us, scan.distribution.read.clone()),
        (1_000_000, Distribution::Uniform)
    );

    let groups: Vec<usize> = file.groups().map(<[_]>::len).collect();
    assert_eq!(groups, [1, 2]);
}

#[test]
fn what_is_not_honoured_is_named_with_its_line() {
    let file = JobFile::parse(JOBS, "jobs.fio").unwrap();
    let notes = |notes: &[strewn_formats::fio::OptionNote]| {
        let shown = notes.iter().map(|note| {
            format!(
                "{} {}={} [{}] {}",
                note.position, note.name, note.value, note.section, note.reason
            )
        });
        shown.collect::<Vec<_>>()
    };
    let expected = [
        "jobs.fio:4:1 direct=1 [global] it is about the host's own software or hardware, which is \
         not simulated",
        "jobs.fio:10:1 group_reporting= [global] it is about fio's own reports and logs",
        "jobs.fio:41:1 verify=0 [log] its value switches it off",
        "jobs.fio:43:1 buffer_compress_percentage=50 [log] what blocks hold is not simulated",
    ];
    assert_eq!(notes(&file.ignored), expected);
    let expected = [
        "jobs.fio:42:1 fsync=1 [log] it makes the host wait for flushes, which are not simulated",
        "jobs.fio:55:1 iodepth_batch=4 [scan] it changes how many accesses are outstanding at a time",
    ];
    assert_eq!(notes(&file.refused), expected);
    let error = file.refuse_unsupported().unwrap_err();
    assert_eq!(
        error.to_string(),
        "jobs.fio:42:1: `fsync` is not supported; it makes the host wait for flushes, which are not \
         simulated; take it out of the job to go without"
    );
}

/// As fio 3.33 runs: `ki` is `k`, and only `kib` is the other base.
#[test]
fn units_are_those_that_fio_runs_with() {
    let size = |base: &str, size: &str| {
        let file = JobFile::parse(&format!("[a]\nkb_base={base}\nsize={size}\n"), "a.fio").unwrap();
        file.jobs[0].size
    };
    for unit in ["1k", "1K", "1kb", "1kB", "1ki", "1Ki"] {
        assert_eq!(size("1024", unit), Some(Extent::Bytes(1024)), "{unit}");
        assert_eq!(size("1000", unit), Some(Extent::Bytes(1000)), "{unit}");
    }
    for unit in ["1kib", "1KiB"] {
        assert_eq!(size("1024", unit), Some(Extent::Bytes(1000)), "{unit}");
        assert_eq!(size("1000", unit), Some(Extent::Bytes(1024)), "{unit}");
    }
    assert_eq!(size("1024", "0x400"), Some(Extent::Bytes(1024)));
    assert_eq!(size("1024", "512b"), Some(Extent::Bytes(512)));
    assert_eq!(size("1024", "2p"), Some(Extent::Bytes(2 << 50)));
    assert_eq!(size("1024", "20%"), Some(Extent::Percent(20)));
}

#[test]
fn distributions_have_their_parameters() {
    let read = |text: &str| {
        let text = format!("[a]\nrw=randread\nrandom_distribution={text}\n");
        JobFile::parse(&text, "a.fio").unwrap().jobs[0].distribution.read.clone()
    };
    assert_eq!(read("zipf:1.2"), Distribution::Zipf { theta: 1.2, centre: None });
    assert_eq!(read("zipf:0.8:0.25"), Distribution::Zipf { theta: 0.8, centre: Some(0.25) });
    assert_eq!(read("pareto:0.2"), Distribution::Pareto { power: 0.2, centre: None });
    let normal = Distribution::Normal { deviation_percent: 20.0, centre: Some(0.5) };
    assert_eq!(read("normal:20:0.5"), normal);
    let zone = |access_percent, size| ZoneShare { access_percent, zone: Zone::Percent(size) };
    let zones = vec![zone(50, 5), zone(30, 15), zone(20, 80)];
    assert_eq!(read("zoned:50/5:30/15:20/"), Distribution::Zoned(zones));
    let zone = |access_percent, bytes| ZoneShare { access_percent, zone: Zone::Bytes(bytes) };
    let zones = vec![zone(60, 20 << 30), zone(40, 100 << 30)];
    assert_eq!(read("zoned_abs:60/20g:40/100g"), Distribution::Zoned(zones));
}

#[test]
fn a_file_may_have_several_global_sections() {
    let text = "[global]\nbs=8k\n[a]\n[global]\nbs=16k\niodepth=4\n[b]\n[c]\nbs=512\n";
    let file = JobFile::parse(text, "a.fio").unwrap();
    let sizes: Vec<u64> = file.jobs.iter().map(|job| job.block_sizes.read.least_bytes()).collect();
    assert_eq!(sizes, [8192, 16_384, 512]);
    assert_eq!([0, 1, 2].map(|job| file.jobs[job].io_depth), [1, 4, 4]);
}

#[test]
fn several_files_are_not_one_lun() {
    let file =
        JobFile::parse("[a]\nfilename=/dev/sda:/dev/sdb\n[b]\nfilename=/dev/x\\:y\n", "a.fio")
            .unwrap();
    assert_eq!((file.refused.len(), file.ignored.len()), (1, 1));
    assert_eq!(file.refused[0].position.to_string(), "a.fio:2:1");
}

#[test]
fn what_is_common_in_the_wild_is_read() {
    let text = "; of old\n[global]\ntimeout=60\nnumjobs=4\t; at the same time\nbsrange=4k-4k\n\
        [f1]\nrw=read:-8k\nfilename=data.tmp\t; or a disk: /dev/sda\n[f2]\nwait_for_previous\n\
        io_submit_mode=inline\n[f3]\nio_submit_mode=offload\nthread\nbuffered=0\n";
    let file = JobFile::parse(text, "old.fio").unwrap();
    let [f1, f2, f3] = file.jobs.as_slice() else { panic!("three jobs") };
    assert_eq!((f1.clones, f1.runtime_us), (4, Some(60_000_000)));
    assert_eq!(f1.pattern.modifier, Some(-8192));
    assert!(f2.stonewall && !f3.stonewall);
    let names = |notes: &[strewn_formats::fio::OptionNote]| {
        notes.iter().map(|note| format!("{}={}", note.name, note.value)).collect::<Vec<_>>()
    };
    let ignored = ["filename=data.tmp", "io_submit_mode=inline", "thread=", "buffered=0"];
    assert_eq!(names(&file.ignored), ignored);
    assert_eq!(names(&file.refused), ["io_submit_mode=offload"]);
}

/// Whether an engine waits for each access is what fio's flag `FIO_SYNCIO` says.
#[test]
fn engines_decide_how_many_accesses_are_outstanding() {
    let file = |engine: &str| {
        JobFile::parse(&format!("[a]\nsize=1g\niodepth=32\nioengine={engine}\n"), "a.fio")
    };
    for engine in ["libaio", "aio", "io_uring", "posixaio", "rbd", "nbd", "null", "gfapi_async"] {
        assert_eq!(file(engine).unwrap().jobs[0].outstanding(), 32, "{engine}");
    }
    for engine in [
        "sync",
        "pvsync2",
        "mmap",
        "splice",
        "sg",
        "libpmem",
        "pmemblk",
        "dev-dax",
        "mtd",
        "libhdfs",
        "libiscsi",
        "http",
        "ime_psync",
        "ime_psyncv",
        "gfapi",
        "libcufile",
        "libzbc",
    ] {
        let file = file(engine).unwrap();
        assert_eq!((file.jobs[0].outstanding(), file.refused.len()), (1, 0), "{engine}");
    }
    for engine in [
        "cpuio",
        "exec",
        "filecreate",
        "filestat",
        "filedelete",
        "ftruncate",
        "falloc",
        "e4defrag",
        "net",
        "netsplice",
        "rdma",
    ] {
        let refused = file(engine).unwrap().refuse_unsupported().unwrap_err();
        assert_eq!(refused.problem(), "a.fio:4:1: `ioengine` is not supported", "{engine}");
        assert!(refused.help().contains("no reads and writes of blocks"), "{}", refused.help());
    }
    let unknown = file("psycn").unwrap_err();
    assert!(unknown.problem().contains("psycn"), "{}", unknown.problem());
    assert_eq!(unknown.help(), "did you mean `psync`?");
    assert!(file("engines/own.so").unwrap_err().help().contains("fio --enghelp"));
    // In [global], it is refused once for all jobs.
    let global = JobFile::parse("[global]\nioengine=cpuio\n[a]\n[b]\n", "a.fio").unwrap();
    assert_eq!(global.refused.len(), 1);
}

#[test]
fn sg_does_nothing_but_write() {
    for (mode, refused) in [("write", 0), ("write_and_verify", 1), ("verify", 1), ("write_same", 1)]
    {
        let text = format!("[a]\nsize=1g\nioengine=sg\nsg_write_mode={mode}\n");
        assert_eq!(JobFile::parse(&text, "a.fio").unwrap().refused.len(), refused, "{mode}");
    }
    // fio takes both spellings.
    let threads = JobFile::parse("[a]\nsize=1g\nthread\n[b]\nsize=1g\nthreads=1\n", "a.fio");
    assert_eq!(threads.unwrap().ignored.len(), 2);
}

/// As fio 3.33 counts them: 3 loops of 7; without an end by number in a job that runs for a time.
#[test]
fn a_number_of_accesses_counts_within_a_loop() {
    let accesses = |options: &str| {
        let text = format!("[a]\nbs=64k\nsize=10m\nnumber_ios=7\n{options}\n");
        JobFile::parse(&text, "a.fio").unwrap().jobs[0].accesses()
    };
    assert_eq!((accesses(""), accesses("loops=3")), (Some(7), Some(21)));
    assert_eq!(accesses("time_based\nruntime=1"), None);
}
