//! The commands of docs/live.md, as they stand there.

use std::fs;
use std::path::Path;

use strewn_testing::Missing;

use crate::tools::{command, needs};

const PAGE: &str = include_str!("../../docs/live.md");

pub fn the_commands_of_the_page_do_what_it_says() -> Result<(), Missing> {
    needs(&["fio", "bash"])?;
    let folder = tempfile::tempdir().unwrap();
    let block = PAGE.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(block.lines().count(), 5, "{block}");
    // Smaller, and in a directory of its own.
    let script = block
        .replace("/var/tmp", folder.path().to_str().unwrap())
        .replace("512MiB", "32MiB")
        .replace("1GiB", "64MiB")
        .replace("=1g", "=64m")
        .replace("=2g", "=64m")
        .replace("5 s", "1 s")
        // What a person waits to read.
        .replace(" &\n", " &\nuntil [ -S $SOCKET ]; do sleep 0.05; done\n");
    assert_eq!(script.matches("64m").count(), 2, "{script}");
    fs::write(folder.path().join("page.sh"), format!("set -em\n{script}")).unwrap();
    let strewn = Path::new(env!("CARGO_BIN_EXE_strewn")).parent().unwrap();
    let path = format!("{}:{}:/usr/sbin", strewn.display(), std::env::var("PATH").unwrap());
    let output = command("bash")
        .arg("page.sh")
        .env("PATH", path)
        .env("SOCKET", folder.path().join("aged.sock"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("everything is on the spindles"), "{text}");
    // A read takes several times as many commands of spindles, since what it reads lies no longer in one piece.
    let [fresh, aged] = ["fresh-report", "aged-report"].map(|name| {
        let report = fs::read_to_string(folder.path().join(name).join("report.html")).unwrap();
        assert!(report.contains("<svg"), "{text}");
        let results = fs::read(folder.path().join(name).join("results.json")).unwrap();
        let results: serde_json::Value = serde_json::from_slice(&results).unwrap();
        let last = results["arrays"][0]["segments"].as_array().unwrap().last().unwrap().clone();
        last["spindle_commands"]["reads_per_host_op"].as_f64().unwrap()
    });
    assert!(aged > 3.0 * fresh, "{fresh} and {aged} reads of spindles for each of 64 KiB\n{text}");
    Ok(())
}
