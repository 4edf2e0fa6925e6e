use super::fixture::{grid, grid_sweep, iops, numbers, sweep_of, words};
use super::shapes;
use std::path::Path;
use strewn_report::SweepReport;
use strewn_results::{MissingRun, StudyText, Sweep};

fn page(sweep: &Sweep) -> String {
    SweepReport { sweep, charts: &[], text: &StudyText::default() }.to_html().unwrap()
}

#[test]
fn every_shape_has_a_page_that_asks_nothing_of_a_network() {
    for (name, sweep) in shapes::all() {
        let html = page(&sweep);
        assert_eq!(html, page(&sweep), "{name}: the same sweep gives the same bytes");
        // For visual inspection.
        let file = format!("sweep-{name}.html");
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(file), &html).unwrap();
        assert!(html.contains("default-src 'none'") && html.contains("<h1>Does it matter?</h1>"));
        for link in ["href=\"http", "src=", "@import", "url("] {
            assert!(!html.contains(link), "{name}: {link}");
        }
        assert!(html.contains("<div id=\"explorer\""), "{name}");
        assert_eq!(html.matches("<h2 ").count(), html.matches("<section ").count());
    }
}

#[test]
fn labels_are_text_everywhere() {
    let mut sweep = shapes::named();
    sweep.title = "</script><b>&\"".to_owned();
    sweep.axes[0].name = "{{ title }}</script>".to_owned();
    let run = MissingRun { combination: 0, seed: 4, error: Some("<i>no".to_owned()) };
    sweep.missing = vec![run];
    let html = page(&sweep);
    assert!(html.contains("<h1>&lt;/script&gt;&lt;b&gt;&amp;&quot;</h1>"));
    assert!(html.contains("Combination 0, seed 4: &lt;i&gt;no"));
    assert!(!html.contains("<b>") && !html.contains("<i>no"));
    assert_eq!(html.matches("</script>").count(), 2);
}

#[test]
fn tables_have_the_figures_and_what_differs() {
    let html = page(&shapes::two_named());
    assert!(html.contains("FAS2050: IOPS, last segment</th>"));
    assert!(html.contains(" ±") && html.contains("data-value=\"4002"), "means with intervals");
    assert!(html.contains("id=\"differences-table\"") && html.contains("would look so by chance"));
    // A hypercube has no partners.
    let html = page(&shapes::latin_hypercube());
    assert!(!html.contains("id=\"differences-table\"") && html.contains("With one seed"));
    assert!(html.contains("id=\"matters-table\"") && html.contains("Over 16 points"));
}

#[test]
fn nothing_and_a_thousand_combinations_have_pages() {
    let axes = vec![words("a", &["off", "on"])];
    let nothing = page(&sweep_of(axes, iops(), &[], 3));
    assert!(!nothing.contains("id=\"explorer\"") && nothing.contains("Runs: 0."), "{nothing}");
    let eleven: Vec<f64> = (1..=11).map(f64::from).collect();
    let axes = ["a", "b", "c"].map(|name| numbers(name, "", &eleven)).to_vec();
    assert_eq!(grid(&axes).len(), 1331);
    let html = page(&grid_sweep(axes));
    assert!(html.contains("The first 1000 of 1331 combinations; sweep.csv has all."));
    assert!(html.contains("The largest 1000 of 7260, by percent; differences.csv has all."));
    assert!(html.len() < 2_500_000, "{}", html.len());
}
