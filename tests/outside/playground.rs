//! The page of `strewn playground` in Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use strewn_testing::Missing;

use crate::chromium::{Browser, Page, chromium};
use crate::common::{Folder, PROJECT};

const TARGET: &str = "wasm32-unknown-unknown";
const SCENARIO: &str = "making-sense-of-wafl-4";

/// Most bytes of the page as a server sends it.
const MOST_GZIPPED_BYTES: usize = 1_135_000;

/// Builds the module as `docs/playground.md` says.
fn module() -> Result<PathBuf, Missing> {
    static BUILT: OnceLock<Result<PathBuf, Missing>> = OnceLock::new();
    let build = || {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let libraries =
            Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
        let libraries =
            libraries.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        if !libraries.is_some_and(|path| Path::new(&path).is_dir()) {
            return Err(Missing::new(
                format!("no standard library for {TARGET}"),
                format!("rustup target add {TARGET}"),
            ));
        }
        let words = ["rustc", "--quiet", "--profile", "playground", "--target", TARGET];
        let built = Command::new(env!("CARGO"))
            .args(words)
            .args(["-p", "strewn-playground", "--crate-type", "cdylib"])
            .current_dir(PROJECT)
            .status()
            .unwrap();
        assert!(built.success(), "the module was not built");
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| Path::new(PROJECT).join("target"), PathBuf::from);
        Ok(target.join(TARGET).join("playground/strewn_playground.wasm"))
    };
    BUILT.get_or_init(build).clone()
}

/// A browser, and the page in a folder.
struct Opened {
    browser: Browser,
    folder: Folder,
}

impl Opened {
    fn new() -> Result<Self, Missing> {
        let (program, module) = (chromium()?, module()?);
        let folder = Folder::new();
        let module = module.to_str().unwrap();
        let written =
            folder.strewn(&["playground", "--module", module, "--out", "playground.html"]);
        assert!(written.succeeded().contains("playground.html"));
        Ok(Self { browser: Browser::start(&program), folder })
    }

    fn address(&self, fragment: &str) -> String {
        format!("file://{}{fragment}", self.folder.path("playground.html").display())
    }

    fn open(&mut self, fragment: &str, width: u32) -> Page {
        let address = self.address(fragment);
        self.browser.open(&address, width)
    }

    /// Waits until the page is in one of these states, and returns which.
    fn state(&mut self, page: &Page, states: &[&str]) -> String {
        self.browser.until(page, &format!("{}.includes(window.strewn?.state())", json!(states)));
        self.browser.text(page, "strewn.state()")
    }

    fn ends(&mut self, page: &Page) {
        let state = self.state(page, &["done", "failed", "bad"]);
        let said = self.browser.text(page, "document.querySelector('#experiment').innerText");
        assert_eq!(state, "done", "{said}");
    }

    fn results(&mut self, page: &Page) -> Value {
        serde_json::from_str(&self.browser.text(page, "strewn.results()")).unwrap()
    }
}

/// The text without the line that says how long it took.
fn without_wall(results: &str) -> String {
    results.lines().filter(|line| !line.contains("wall_seconds")).collect::<Vec<_>>().join("\n")
}

/// It opens from disk and runs at once; what it shows and gives is what the command gives, to the byte.
pub fn the_page_runs_and_gives_the_bytes_of_the_command() -> Result<(), Missing> {
    let mut opened = Opened::new()?;
    let page = opened.open("", 1280);
    opened.ends(&page);
    let first_ms = opened.browser.text(&page, "document.documentElement.dataset.firstResultMs");
    println!("first result after {first_ms} ms");

    // The page calls every scenario by this name, and has the files that it names beside it.
    let text = opened.browser.text(&page, "strewn.text()");
    assert_eq!(text, include_str!("../../scenarios/making-sense-of-wafl-4.toml"));
    let folder = Folder::new();
    folder.write("scenario.toml", &text);
    for (here, there) in
        [("published", &*format!("{SCENARIO}.published")), ("sensitivity", "scenario.sensitivity")]
    {
        let shipped = format!("{PROJECT}/scenarios/{SCENARIO}.{here}.toml");
        folder.write(&format!("{there}.toml"), &std::fs::read_to_string(shipped).unwrap());
    }
    folder.strewn(&["run", "scenario.toml", "--scale-down", "64", "--out", "out"]).succeeded();
    let own = opened.browser.text(&page, "strewn.results()");
    assert_eq!(without_wall(&own), without_wall(&folder.read("out/results.json")));
    assert_eq!(opened.browser.text(&page, "strewn.map()"), folder.read("out/map.json"));
    assert_eq!(opened.browser.text(&page, "strewn.csv()"), folder.read("out/segments.csv"));

    // What is downloaded is what the command writes, charts too.
    for name in ["iops.svg", "response.svg", "loss.svg", "map.svg"] {
        let downloaded = format!(
            "(async () => {{
                let blob;
                const made = URL.createObjectURL;
                URL.createObjectURL = (made) => {{ blob = made; return 'blob:none'; }};
                HTMLAnchorElement.prototype.click = () => {{}};
                document.getElementById('file').value = '{name}';
                document.getElementById('download').click();
                URL.createObjectURL = made;
                return blob.text();
            }})()"
        );
        assert_eq!(
            opened.browser.text(&page, &downloaded),
            folder.read(&format!("out/{name}")),
            "{name}"
        );
    }

    // The report's sections are there, and the map follows its slider.
    for id in ["summary", "loss", "map", "segments"] {
        opened.browser.until(
            &page,
            &format!("document.getElementById('{id}')?.querySelector('table, svg, canvas')"),
        );
    }
    let picture = "document.getElementById('map-file-0').toDataURL()";
    let last = opened.browser.text(&page, picture);
    opened.browser.evaluate(&page, "(() => { const slider = document.getElementById('map-segment'); slider.value = 0; slider.dispatchEvent(new Event('input')); })()");
    assert_ne!(opened.browser.text(&page, picture), last);
    assert_eq!(opened.browser.complaints(), [""; 0]);
    Ok(())
}

/// A link holds everything: whoever opens it sees the same, also of a scenario that no page came with.
pub fn a_link_has_the_whole_scenario() -> Result<(), Missing> {
    let mut opened = Opened::new()?;
    let page = opened.open("", 1280);
    opened.ends(&page);
    let text = opened.browser.text(&page, "strewn.text()");
    let text =
        text.replace("segments = 14\n", "segments = 2\n").replace("emptiest-area\"", "first-fit\"");
    // Whatever is in a scenario is words, and no markup.
    let text = text.replace("title = \"", "title = \"<img src=x onerror=document.title='bad'> ");
    opened.browser.evaluate(&page, &format!("strewn.setText({})", json!(text)));
    opened.state(&page, &["ready"]);
    opened.browser.evaluate(&page, "strewn.run()");
    opened.ends(&page);
    let results = opened.browser.text(&page, "strewn.results()");
    assert!(results.contains("first-fit"));
    // The run before is drawn beside it, faintly.
    let charts = "document.getElementById('chart-iops').textContent";
    opened.browser.until(&page, &format!("{charts}.includes('earlier runs')"));

    let link = opened.browser.text(&page, "strewn.link()");
    let (_, fragment) = link.split_once('#').unwrap();
    let other = opened.open(&format!("#{fragment}"), 1280);
    opened.ends(&other);
    assert_eq!(opened.browser.text(&other, "strewn.text()"), text);
    let again = opened.browser.text(&other, "strewn.results()");
    assert_eq!(without_wall(&again), without_wall(&results));
    assert_ne!(opened.browser.text(&other, "document.title"), "bad");

    // A damaged link is said to be one, and the page goes on.
    for fragment in
        ["#s=1AAAA", "#s=2", "#s=1%%%", &format!("#{}", &fragment[..fragment.len() / 2])]
    {
        let damaged = opened.open(fragment, 1280);
        opened.ends(&damaged);
        let said = opened.browser.text(&damaged, "document.getElementById('notice').innerText");
        assert!(said.contains("cannot be opened"), "{fragment}: {said:?}");
    }
    assert_eq!(opened.browser.complaints(), [""; 0]);
    Ok(())
}

/// What is wrong is said with its place and remedy, and cannot be run; controls change the text, and refuse what it
/// would.
pub fn bad_input_has_a_place_and_a_remedy() -> Result<(), Missing> {
    let mut opened = Opened::new()?;
    let page = opened.open("", 1280);
    opened.ends(&page);
    let text = opened.browser.text(&page, "strewn.text()");
    let wrong = text.replacen("outstanding = 150", "outstandign = 150", 1);
    opened.browser.evaluate(&page, &format!("strewn.setText({})", json!(wrong)));
    opened.state(&page, &["bad"]);
    let problems = opened.browser.text(&page, "document.getElementById('problems').innerText");
    for words in ["scenario.toml:19:1", "outstandign: unknown key", "did you mean `outstanding`?"] {
        assert!(problems.contains(words), "no {words:?} in {problems}");
    }
    assert_eq!(opened.browser.evaluate(&page, "document.getElementById('run').disabled"), true);
    // As the command says it.
    let folder = Folder::new();
    folder.write("scenario.toml", &wrong);
    folder.strewn(&["run", "scenario.toml"]).refused(&[
        "scenario.toml:19:1",
        "outstandign: unknown key",
        "did you mean `outstanding`?",
    ]);

    opened.browser.evaluate(&page, &format!("strewn.setText({})", json!(text)));
    opened.state(&page, &["ready", "done"]);
    let set = |path: &str, value: &str| {
        format!(
            "(() => {{ const input = document.querySelector('[data-setting=\"{path}\"]');
                input.value = '{value}'; input.dispatchEvent(new Event('change')); }})()"
        )
    };
    opened.browser.evaluate(&page, &set("array.FAS2050.write_anywhere.policy", "first-fit"));
    opened.browser.until(&page, "strewn.text().includes('policy = \"first-fit\"')");
    // Comments stay.
    opened.browser.until(&page, "strewn.text().includes('# or \"sequential-sweep\"')");
    let before = opened.browser.text(&page, "strewn.text()");
    opened.browser.evaluate(&page, &set("workload.file", "3 furlongs"));
    opened.browser.until(&page, "document.querySelector('[data-setting=\"workload.file\"]').ariaInvalid === 'true' || document.querySelector('[data-setting=\"workload.file\"]').getAttribute('aria-invalid') === 'true'");
    assert_eq!(opened.browser.text(&page, "strewn.text()"), before);
    let settings = opened.browser.text(&page, "document.getElementById('settings').textContent");
    assert!(settings.contains("`furlongs` is not a unit"), "{settings}");
    assert_eq!(opened.browser.complaints(), [""; 0]);
    Ok(())
}

/// A run at full scale is stopped, keeps its complete segments, and another one begins, by the keyboard.
pub fn a_run_is_stopped_and_keeps_what_it_has() -> Result<(), Missing> {
    let mut opened = Opened::new()?;
    let page = opened.open("", 1280);
    opened.ends(&page);
    opened.browser.evaluate(&page, "document.querySelector('[name=scale][value=\"1\"]').click()");
    opened.state(&page, &["ready"]);
    opened.browser.evaluate(&page, "document.getElementById('text').focus()");
    opened.browser.press(&page, "Enter", 2);
    opened.state(&page, &["running"]);
    opened.browser.until(&page, "Number(document.documentElement.dataset.segments) >= 1");
    opened.browser.evaluate(&page, "document.getElementById('stop').click()");
    opened.state(&page, &["stopped"]);
    let results = opened.results(&page);
    assert_eq!(results["partial"], true);
    let segments: usize = results["arrays"]
        .as_array()
        .unwrap()
        .iter()
        .map(|array| array["segments"].as_array().unwrap().len())
        .sum();
    assert!((1..28).contains(&segments), "{segments}");
    opened.browser.until(&page, "document.getElementById('notes').innerText.includes('stopped')");

    opened.browser.evaluate(&page, "document.querySelector('[name=scale][value=\"64\"]').click()");
    opened.browser.evaluate(&page, "strewn.run()");
    opened.ends(&page);
    assert_ne!(opened.results(&page)["partial"], true);
    assert_eq!(opened.browser.complaints(), [""; 0]);
    Ok(())
}

/// A run that fails says so when it has, whatever the page is doing, and the next one is as any.
pub fn regression_a_run_that_fails_at_once_has_an_end() -> Result<(), Missing> {
    let mut opened = Opened::new()?;
    let page = opened.open("", 1280);
    opened.ends(&page);
    let avanade = include_str!("../../scenarios/avanade.toml");
    // All of a file in the cache, before a processor that costs nothing: time stands still.
    let text = avanade.replacen("file = \"100 GiB\"", "file = \"5 MB\"", 1).replacen(
        "controller = \"fas2050\"\noutstanding = 128\nlun = \"1000 GB\"",
        "controller = \"eva4400\"\noutstanding = 5000\nlun = \"3 GB\"",
        1,
    );
    for _ in 0..3 {
        opened.browser.evaluate(&page, &format!("strewn.setText({})", json!(text)));
        opened.state(&page, &["ready", "failed"]);
        opened.browser.evaluate(&page, "strewn.run()");
        assert_eq!(opened.state(&page, &["failed", "done"]), "failed");
        opened.browser.until(&page, "document.documentElement.dataset.state === 'failed'");
        opened
            .browser
            .until(&page, "document.getElementById('status').textContent.startsWith('Failed')");
        let alarm = opened.browser.text(&page, "document.getElementById('alarm').innerText");
        assert!(alarm.contains("give the processor a cost"), "{alarm}");
    }
    opened.browser.evaluate(&page, "document.getElementById('undo').click()");
    opened.state(&page, &["ready", "done"]);
    opened.browser.evaluate(&page, "strewn.run()");
    opened.ends(&page);
    assert_eq!(opened.browser.complaints(), [""; 0]);
    Ok(())
}

/// Every scenario and study that ships can be chosen and is valid, and so is each value of each axis.
pub fn everything_that_ships_can_be_chosen() -> Result<(), Missing> {
    let mut opened = Opened::new()?;
    let page = opened.open("", 1280);
    opened.ends(&page);
    let choices = opened.browser.evaluate(
        &page,
        "[...document.getElementById('choice').options].map((one) => one.value).filter(Boolean)",
    );
    let choices: Vec<String> = serde_json::from_value(choices).unwrap();
    assert!(choices.len() > 30, "{}", choices.len());
    for choice in choices {
        opened.browser.evaluate(&page, &format!("(() => {{ const choice = document.getElementById('choice'); choice.value = {}; choice.dispatchEvent(new Event('change')); }})()", json!(choice)));
        opened.browser.until(&page, "['ready', 'done', 'bad'].includes(strewn.state())");
        let axes = opened.browser.evaluate(
            &page,
            "[...document.querySelectorAll('#axes select')].map((axis) => axis.options.length)",
        );
        let axes: Vec<usize> = serde_json::from_value(axes).unwrap();
        let mut values = vec![(0, 0)];
        values.extend(
            (0..axes.len()).flat_map(|axis| (1..axes[axis]).map(move |value| (axis, value))),
        );
        for (axis, value) in values {
            if !axes.is_empty() {
                opened.browser.evaluate(&page, &format!("(() => {{ const axis = document.querySelectorAll('#axes select')[{axis}]; axis.value = {value}; axis.dispatchEvent(new Event('change')); }})()"));
                std::thread::sleep(std::time::Duration::from_millis(30));
            }
            opened.browser.until(&page, "['ready', 'done', 'bad'].includes(strewn.state())");
            let wrong = opened.browser.text(&page, "document.getElementById('axes-problem').textContent + document.getElementById('problems').textContent");
            assert_eq!(wrong, "", "{choice}, axis {axis}, value {value}");
        }
    }
    assert_eq!(opened.browser.complaints(), [""; 0]);
    Ok(())
}

/// On a phone, the page itself does not scroll sideways. It is no longer than a picture.
pub fn the_page_fits_a_phone_and_is_small() -> Result<(), Missing> {
    let mut opened = Opened::new()?;
    let page = opened.open("", 400);
    opened.ends(&page);
    let width = opened.browser.evaluate(&page, "document.documentElement.scrollWidth");
    assert!(width.as_u64().unwrap() <= 400, "{width}");
    // Every input has a name.
    let unnamed = opened.browser.evaluate(&page, "[...document.querySelectorAll('input, select, textarea, button')].filter((one) => !one.labels?.length && !one.textContent.trim() && !one.getAttribute('aria-label') && !one.getAttribute('aria-labelledby')).length");
    assert_eq!(unnamed, 0);

    let html = std::fs::read(opened.folder.path("playground.html")).unwrap();
    let mut gzipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut gzipped, &html).unwrap();
    let bytes = gzipped.finish().unwrap().len();
    assert!(bytes <= MOST_GZIPPED_BYTES, "{bytes} bytes, compressed");
    println!("the page has {bytes} bytes, compressed");
    Ok(())
}
