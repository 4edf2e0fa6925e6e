use strewn_formats::fio::{DirectionResult, JobResult, LatencyBins, Output};

/// Printed by `fio --output-format=json+` of 3.33, with every key it has.
const REAL: &str = include_str!("../data/fio-3.33.json");
const GOLDEN: &str = include_str!("../data/output.json");

fn output() -> Output {
    let mut reads = LatencyBins::default();
    let mut writes = LatencyBins::default();
    for access in 0..1000_u64 {
        reads.record(4_000_000 + access * 7_001);
        writes.record(300_000 + access * 11);
    }
    let mut both = reads.clone();
    both.merge(&writes);
    let mut job = JobResult::new("segment-1");
    job.job_options = vec![("rw".into(), "randrw".into()), ("bs".into(), "4k".into())];
    job.elapsed = 2;
    job.job_runtime = 2000;
    job.read = DirectionResult::new(1000, 4_096_000, 2000)
        .with_latency(&reads)
        .with_bins(&reads)
        .with_samples(&[1800.0, 2200.0], &[450.0, 550.0]);
    job.write =
        DirectionResult::new(1000, 8_192_000, 2000).with_latency(&writes).with_bins(&writes);
    job.set_outstanding(150);
    job.set_latency_distribution(&both);
    let mut output = Output::new("Sat Nov 21 09:54:02 2026", 1_795_254_842_760, vec![job]);
    output.global_options =
        vec![("ioengine".into(), "strewn".into()), ("size".into(), "100g".into())];
    output
}

/// Other programs read the file: its keys and their order must not change unnoticed.
#[test]
fn golden_output() {
    let written = output().to_json().unwrap();
    assert_eq!(written, GOLDEN, "written:\n{written}");
    assert_eq!(serde_json::from_str::<Output>(&written).unwrap().jobs[0].jobname, "segment-1");
}

#[test]
fn what_is_written_reads_back() {
    let written = output().to_json().unwrap();
    let read: Output = serde_json::from_str(&written).unwrap();
    assert_eq!(read.to_json().unwrap(), written);
}

/// Key for key, in fio's order, and figure for figure.
#[test]
fn what_fio_wrote_is_written_the_same() {
    let output: Output = serde_json::from_str(REAL).unwrap();
    assert_eq!(output.to_json().unwrap(), REAL);
}

#[test]
fn figures_that_json_cannot_hold_are_refused() {
    for figure in [f64::NAN, f64::INFINITY] {
        let mut output = output();
        output.jobs[0].read.iops = figure;
        let error = output.to_json().unwrap_err().to_string();
        assert!(error.starts_with("a figure that is not finite cannot be written"), "{error}");
    }
}

#[test]
fn a_long_figure_is_the_same_when_read_again() {
    // A reader that rounds differently from the writer returned another last digit.
    let figure = "6".repeat(85);
    let text = format!(r#"{{"fio version":"fio-3.33","jobs":[{{"read":{{"iops":{figure}}}}}]}}"#);
    let output: Output = serde_json::from_str(&text).unwrap();
    let written = output.to_json().unwrap();
    let again: Output = serde_json::from_str(&written).unwrap();
    assert_eq!(again.to_json().unwrap(), written);
}

#[test]
fn results_are_read_with_remarks_around_them() {
    let real = Output::parse(REAL, "real.json").unwrap();
    assert_eq!(real, serde_json::from_str(REAL).unwrap());
    let remarks = format!("fio: engine libaio not loadable\nnote: a remark\n{REAL}\nfio: done\n");
    assert_eq!(Output::read(remarks.as_bytes(), None).unwrap(), real);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, REAL).unwrap();
    assert_eq!(Output::load(&path).unwrap(), real);
}

#[test]
fn what_is_no_result_of_fio_is_refused_at_its_place() {
    let problem = |text: &str| Output::parse(text, "x.json").unwrap_err().problem();
    assert_eq!(problem("no JSON"), "x.json: there is no JSON in it");
    assert_eq!(problem("{}"), "x.json: the JSON has no `fio version`");
    let wrong = "fio: a remark\n{\n \"fio version\" : \"fio-3.33\",\n \"timestamp\" : \"now\"\n}";
    let expected = "x.json:4:20: invalid type: string \"now\", expected u64";
    assert_eq!(problem(wrong), expected);
    assert!(problem("{\n \"jobs\" : [").starts_with("x.json:2:11: EOF"));
    assert!(Output::load("/nowhere/at/all.json").is_err());
    assert!(Output::read(&[b'{', 0xff][..], None).is_err());
}
