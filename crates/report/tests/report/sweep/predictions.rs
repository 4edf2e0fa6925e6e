use super::fixture::{grid, iops, numbers, row, sweep_of, words};
use std::collections::BTreeMap;
use strewn_report::{StudySource, predictions_sentence, study_page, study_summary, sweep_table};
use strewn_results::{Argument, Prediction, PredictionVerdict, StudyText, Sweep, SweepBase};

const FIGURE: &str = "FAS2050: IOPS, last segment";

fn source() -> StudySource {
    StudySource { command: "strewn sweep study.toml".to_owned(), link: None }
}

/// A sweep of two values of an axis, of which the first figure has these samples.
fn measured(samples: [&[f64]; 2]) -> Sweep {
    let axes = vec![words("alignment", &["512 B", "4 KiB"])];
    let all = grid(&axes);
    let mut sweep = sweep_of(axes, iops(), &all, samples[0].len() as u64);
    for (at, samples) in samples.into_iter().enumerate() {
        let found = sweep.rows.iter().position(|row| row.at == [at] && row.figure == 0).unwrap();
        let samples = samples.iter().copied().map(Some).collect();
        sweep.rows[found] = row(at, &[at], 0, None, samples);
    }
    sweep
}

fn prediction(text: &str, least: Option<f64>, most: Option<f64>) -> Prediction {
    Prediction {
        text: text.to_owned(),
        why: String::new(),
        figure: FIGURE.to_owned(),
        at: BTreeMap::new(),
        over: None,
        segment: None,
        least,
        most,
    }
}

fn verdict(sweep: &Sweep, least: Option<f64>, most: Option<f64>) -> PredictionVerdict {
    sweep.judge(&prediction("", least, most)).verdict
}

#[test]
fn a_prediction_is_decided_only_by_a_whole_interval() {
    // The mean is 1000, its interval 975 to 1025.
    let sweep = measured([&[990.0, 1000.0, 1010.0]; 2]);
    for (least, most, expected) in [
        (Some(970.0), None, PredictionVerdict::Held),
        (Some(970.0), Some(1030.0), PredictionVerdict::Held),
        (Some(999.0), None, PredictionVerdict::Undecided),
        (Some(1001.0), None, PredictionVerdict::Undecided),
        (None, Some(1001.0), PredictionVerdict::Undecided),
        (Some(990.0), Some(1010.0), PredictionVerdict::Undecided),
        (Some(1026.0), None, PredictionVerdict::Failed),
        (Some(900.0), Some(970.0), PredictionVerdict::Failed),
    ] {
        assert_eq!(verdict(&sweep, least, most), expected, "{least:?} {most:?}");
    }
}

#[test]
fn with_one_seed_the_figure_itself_decides() {
    let sweep = measured([&[1000.0]; 2]);
    assert_eq!(verdict(&sweep, Some(1000.0), None), PredictionVerdict::Held);
    assert_eq!(verdict(&sweep, Some(1000.1), None), PredictionVerdict::Failed);
    let mut missing = sweep.clone();
    missing.rows.clear();
    assert_eq!(verdict(&missing, Some(1.0), None), PredictionVerdict::NotMeasured);
}

/// A study with everything that it may say.
fn study() -> (Sweep, StudyText) {
    let sweep = measured([&[4_680.2, 4_679.6, 4_679.0], &[4_700.0, 4_700.0, 4_700.0]]);
    let over = Prediction {
        at: BTreeMap::from([("alignment".to_owned(), "4 KiB".to_owned())]),
        over: Some(BTreeMap::new()),
        ..prediction("Alignment changes nothing.", Some(100.2), Some(101.5))
    };
    let text = StudyText {
        question: "Does <it> matter?".to_owned(),
        arguments: vec![Argument { who: "Someone".to_owned(), said: "It does.".to_owned() }],
        predictions: vec![
            prediction("More than that.", Some(4680.0), None),
            over,
            Prediction {
                why: "No reason.".to_owned(),
                ..prediction("Far more.", Some(9000.0), None)
            },
        ],
        finding: format!("It does {{{{ at('{FIGURE}', 'alignment = 4 KiB') }}}} of `them`."),
        depends: "On nothing.".to_owned(),
    };
    (sweep, text)
}

#[test]
fn bounds_are_as_written_and_figures_do_not_contradict_their_verdict() {
    let (sweep, text) = study();
    let page = study_page(&sweep, &text, &[], &source()).unwrap();
    assert!(page.contains("| at least 4680 IOPS | 4679.6 IOPS (4678 to 4681) |"), "{page}");
    assert!(page.contains("| 100.2 to 101.5 % | 100.4 % ("), "{page}");
    assert!(page.contains("| undecided |") && page.contains("| **failed** |"), "{page}");
    assert_eq!(
        predictions_sentence(&sweep, &text).as_deref(),
        Some("1 of 3 predictions held, 1 undecided.")
    );
    assert_eq!(predictions_sentence(&sweep, &StudyText::default()), None);
}

#[test]
fn the_terminal_has_what_a_study_says() {
    let (sweep, text) = study();
    let summary = study_summary(&sweep, &text);
    assert!(summary.contains("Question: Does <it> matter?\n"), "{summary}");
    assert!(
        summary.contains("  undecided     More than that. [at least 4680 IOPS; measured 4679.6")
    );
    assert!(summary.ends_with("1 of 3 predictions held, 1 undecided.\n"), "{summary}");
    {
        assert!(summary.contains("Finding: It does 4700 of `them`.\n"), "{summary}");
        let finding = "{{ at('no such figure', '') }}".to_owned();
        let wrong = study_summary(&sweep, &StudyText { finding, ..text });
        assert!(wrong.contains("Finding: cannot be filled in: finding: at(\"no such"), "{wrong}");
    }
    assert_eq!(study_summary(&sweep, &StudyText::default()), "");
}

#[test]
fn the_report_has_what_a_study_says() {
    let (sweep, text) = study();
    let report = strewn_report::SweepReport { sweep: &sweep, charts: &[], text: &text };
    let html = report.to_html().unwrap();
    for part in [
        "<p>Does &lt;it&gt; matter?</p>",
        "<p>It does 4700 of <code>them</code>.</p>",
        "<li><strong>Someone</strong>: It does.</li>",
        "Far more. <em>No reason.</em>",
        "at least 4680 IOPS",
        "100.2 to 101.5 %",
        "<strong>failed</strong>",
        "1 of 3 predictions held, 1 undecided.",
        "<p>On nothing.</p>",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    assert_eq!(html.matches("<h2 ").count(), html.matches("<section ").count());
}

#[test]
fn what_was_run_names_what_all_runs_have_in_common_and_what_figures_count() {
    let mut sweep = measured([&[1.0, 2.0], &[1.0, 3.0]]);
    sweep.base = SweepBase {
        scenario: "A database".to_owned(),
        arrays: vec!["FAS2050".to_owned(), "CX3".to_owned()],
        segments: 14,
        segment_seconds: 1200.0,
        set: vec![("workload.file".to_owned(), "200 GiB".to_owned())],
        design: "grid".to_owned(),
    };
    let page = study_page(&sweep, &StudyText::default(), &[], &source()).unwrap();
    for line in [
        "- scenario: A database\n",
        "- arrays: FAS2050, CX3\n",
        "- segments: 14 of 20 min each at full scale\n",
        "- set in every run: workload.file = 200 GiB\n",
        "- design: grid\n",
        "- alignment: 512 B; 4 KiB\n",
        "- figure \"IOPS, last segment\": host operations per second, all segments together\n",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    // A file of an earlier version has none of it.
    let old = Sweep { base: SweepBase::default(), ..sweep.clone() }.to_json_string().unwrap();
    assert!(!old.contains("\"base\""));
    assert!(Sweep::from_json(&old).unwrap().base.is_unknown());
    let new = sweep.to_json_string().unwrap();
    assert_eq!(Sweep::from_json(&new).unwrap().base, sweep.base);
}

#[test]
fn what_cannot_differ_is_not_counted_among_what_may_differ_by_chance() {
    let mut sweep = measured([&[1.0, 2.0, 3.0], &[11.0, 12.1, 13.2]]);
    let zeros = measured([&[5.0, 6.0, 7.0]; 2]);
    let nothing = strewn_results::differences(&zeros.axes, &zeros.figures, &zeros.rows);
    sweep.differences = strewn_results::differences(&sweep.axes, &sweep.figures, &sweep.rows);
    let judged = sweep.differences.len();
    let zero = nothing.iter().find(|one| one.figure == 0).unwrap();
    assert_eq!(zero.interval, Some([0.0, 0.0]));
    sweep.differences.extend(vec![zero.clone(); 100]);
    let words = strewn_results::noise_sentence(&sweep).unwrap();
    assert!(words.contains(&format!(" of {judged} differences are larger than noise")), "{words}");
    assert!(words.contains("fewer than one would look so by chance"), "{words}");
    assert!(words.ends_with("100 more are zero with every seed, and are not counted."), "{words}");
    sweep.differences = vec![zero.clone(); 2];
    let words = strewn_results::noise_sentence(&sweep).unwrap();
    assert_eq!(words, "All differences are zero with every seed.");
}

#[test]
fn a_figure_in_percent_changes_by_points() {
    let axes = vec![numbers("file", "GB", &[100.0, 500.0])];
    let all = grid(&axes);
    let mut sweep = sweep_of(axes, iops(), &all, 2);
    sweep.figures[0].unit = "%".to_owned();
    let samples = |value: f64| vec![Some(value), Some(value + 0.1)];
    for (at, value) in [(0, 50.0), (1, 55.0)] {
        let found = sweep.rows.iter().position(|row| row.at == [at] && row.figure == 0).unwrap();
        sweep.rows[found] = row(at, &[at], 0, None, samples(value));
    }
    sweep.differences = strewn_results::differences(&sweep.axes, &sweep.figures, &sweep.rows);
    let text = sweep_table(&sweep);
    assert!(text.contains("+5.00 points") && !text.contains("+10.0"), "{text}");
}
