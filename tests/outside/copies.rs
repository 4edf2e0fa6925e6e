//! nbdcopy and nbdinfo.

use std::fs;

use serde_json::Value;
use strewn_testing::Missing;

use crate::array::{Array, MIB};
use crate::client::Random;
use crate::tools::{needs, run};

pub fn a_file_system_comes_back_as_it_was() -> Result<(), Missing> {
    needs(&["nbdcopy", "mke2fs", "e2fsck"])?;
    let array = Array::new("raid-dp", 64);
    let folder = array.folder();
    let mut random = Random::new("file system");
    let files = folder.join("files");
    fs::create_dir_all(files.join("below")).unwrap();
    for index in 0..60 {
        let bytes = random.below(400_000) as usize;
        let name = if index % 2 == 0 { format!("{index}") } else { format!("below/{index}") };
        fs::write(files.join(name), random.bytes(bytes)).unwrap();
    }
    run(folder, "mke2fs", &["-q", "-F", "-t", "ext4", "-d", "files", "image", "64M"]);
    run(folder, "e2fsck", &["-fn", "image"]);

    let served = array.serve(&[]);
    // What was there before has to go.
    served.client().write(0, &random.bytes(3 << 20));
    run(folder, "nbdcopy", &["--flush", "image", &array.uri()]);
    run(folder, "nbdcopy", &["--connections=4", &array.uri(), "before"]);
    served.kill();
    let served = array.serve(&[]);
    run(folder, "nbdcopy", &[&array.uri(), "killed"]);
    served.terminate();
    let served = array.serve(&[]);
    run(folder, "nbdcopy", &["--synchronous", &array.uri(), "ended"]);
    let image = fs::read(folder.join("image")).unwrap();
    for copy in ["before", "killed", "ended"] {
        assert!(fs::read(folder.join(copy)).unwrap() == image, "{copy} differs");
    }
    run(folder, "e2fsck", &["-fn", "ended"]);
    served.terminate();
    array.assert_scrubs_clean();

    // And from a snapshot, when the LUN has been written over and the server killed.
    array.done(&["snapshot", "create", "aged", "file system"]);
    let served = array.serve(&[]);
    for mib in 0..64 {
        served.client().write(mib * MIB, &random.bytes(MIB as usize));
    }
    served.kill();
    array.done(&["snapshot", "copy", "aged", "file system", "kept"]);
    assert!(fs::read(folder.join("kept")).unwrap() == image, "the snapshot differs");
    run(folder, "e2fsck", &["-fn", "kept"]);
    array.assert_scrubs_clean();
    Ok(())
}

pub fn nbdinfo_is_told_what_the_lun_is() -> Result<(), Missing> {
    needs(&["nbdinfo"])?;
    let array = Array::new("raid-4", 64);
    let _served = array.serve(&[]);
    let uri = array.uri();
    let text = run(array.folder(), "nbdinfo", &["--json", &uri]);
    let info: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(info["protocol"], "newstyle-fixed");
    assert_eq!(info["structured"], true);
    let export = &info["exports"][0];
    assert_eq!(export["export-size"], 64 * MIB);
    assert_eq!(export["contexts"], serde_json::json!(["base:allocation"]));
    assert!(export["description"].as_str().unwrap().contains("aged"), "{text}");
    for (flag, expected) in [
        ("is_rotational", true),
        ("is_read_only", false),
        ("can_cache", false),
        ("can_df", true),
        ("can_fast_zero", false),
        ("can_flush", true),
        ("can_fua", true),
        ("can_multi_conn", true),
        ("can_trim", true),
        ("can_zero", true),
    ] {
        assert_eq!(export[flag], expected, "{flag}: {text}");
    }
    assert_eq!(export["block_size_minimum"], 512);
    assert_eq!(export["block_size_preferred"], 4_096);
    let list = run(array.folder(), "nbdinfo", &["--list", &uri]);
    assert!(list.contains("export=\"volume/lun\""), "{list}");
    assert_eq!(run(array.folder(), "nbdinfo", &["--size", &uri]).trim(), "67108864");
    let totals = run(array.folder(), "nbdinfo", &["--map", "--totals", &uri]);
    assert!(totals.contains("100.0%") && totals.contains("hole,zero"), "{totals}");
    Ok(())
}
