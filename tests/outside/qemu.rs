//! qemu-io and qemu-img.

use serde_json::Value;
use strewn_testing::Missing;

use crate::array::Array;
use crate::tools::{needs, run};

fn qemu_io(array: &Array, commands: &[&str]) {
    let uri = array.uri();
    let mut arguments = vec!["-f", "raw", "--discard=unmap"];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command]));
    arguments.push(&uri);
    let text = run(array.folder(), "qemu-io", &arguments);
    assert!(!text.contains("fail") && !text.contains("error"), "{text}");
}

/// Stretches of the LUN in KiB, with whether they have a place.
fn map(array: &Array) -> Vec<(u64, u64, bool)> {
    let uri = array.uri();
    let text = run(array.folder(), "qemu-img", &["map", "--output=json", "-f", "raw", &uri]);
    let stretches: Vec<Value> = serde_json::from_str(&text).unwrap();
    let kib = |stretch: &Value, key: &str| stretch[key].as_u64().unwrap() >> 10;
    stretches
        .iter()
        .map(|one| {
            assert_eq!(one["zero"], !one["data"].as_bool().unwrap(), "{text}");
            (kib(one, "start"), kib(one, "length"), one["data"].as_bool().unwrap())
        })
        .collect()
}

pub fn patterns_zeroes_and_holes_are_as_qemu_has_them() -> Result<(), Missing> {
    needs(&["qemu-io", "qemu-img", "nbdinfo"])?;
    let array = Array::new("raid-dp", 64);
    let served = array.serve(&[]);
    assert_eq!(map(&array), [(0, 64 << 10, false)]);
    qemu_io(
        &array,
        &[
            "read -P 0 0 64M",
            "write -P 0x5a 0 1M",
            "write -f -P 0xa5 4k 12k",
            // Not whole blocks, and over the edges of some.
            "write -P 0x21 512 512",
            "write -f -P 0x22 7680 1024",
            "write -P 0x23 2097664 3584",
            "write -z 64k 64k",
            "write -z -u 256k 256k",
            "write -z -u 634880 2048",
            "discard 768k 128k",
            "discard 1M 1M",
            "aio_write -P 0x11 8M 9M",
            "aio_write -P 0x12 24M 1M",
            "aio_flush",
            "write -P 0x77 67108352 512",
        ],
    );
    let reads = [
        "read -P 0x5a 0 512",
        "read -P 0x21 512 512",
        "read -P 0x5a 1k 3k",
        "read -P 0xa5 4k 3584",
        "read -P 0x22 7680 1024",
        "read -P 0xa5 8704 7680",
        "read -P 0x5a 16k 48k",
        "read -P 0 64k 64k",
        "read -P 0x5a 128k 128k",
        "read -P 0 256k 256k",
        "read -P 0x5a 512k 110592",
        "read -P 0x5a 622592 12288",
        "read -P 0 634880 2048",
        "read -P 0x5a 636928 149504",
        "read -P 0 768k 128k",
        "read -P 0x5a 896k 128k",
        "read -P 0 1M 1M",
        "read -P 0 2M 512",
        "read -P 0x23 2097664 3584",
        "read -P 0x11 8M 9M",
        "read -P 0x12 24M 1M",
        "read -P 0 25M 1M",
        "read -P 0x77 67108352 512",
    ];
    qemu_io(&array, &reads);
    let before = map(&array);
    let data: Vec<(u64, u64)> =
        before.iter().filter(|one| one.2).map(|(start, length, _)| (*start, *length)).collect();
    // What was zeroed without unmapping may be a hole too: it reads as zeros either way.
    let is_data =
        |kib: u64| data.iter().any(|(start, length)| (*start..start + length).contains(&kib));
    for kib in [0, 3, 8, 63, 128, 255, 512, 620, 640, 767, 896, 1_023, 2_048, 8_192, 17_407, 65_532]
    {
        assert!(is_data(kib), "{kib} KiB should have a place: {before:?}");
    }
    for kib in [256, 511, 768, 895, 1_024, 2_047, 2_052, 8_191, 17_408, 40_000, 65_528] {
        assert!(!is_data(kib), "{kib} KiB should have none: {before:?}");
    }
    let uri = array.uri();
    let info = run(array.folder(), "nbdinfo", &["--map", "--json", &uri]);
    let info: Vec<Value> = serde_json::from_str(&info).unwrap();
    let of_info: Vec<(u64, u64, bool)> = info
        .iter()
        .map(|one| {
            let of = |key: &str| one[key].as_u64().unwrap();
            assert!([0, 3].contains(&of("type")), "{info:?}");
            (of("offset") >> 10, of("length") >> 10, of("type") == 0)
        })
        .collect();
    assert_eq!(of_info, before);

    // Neither a loss of power nor a proper end changes anything.
    served.kill();
    let served = array.serve(&[]);
    qemu_io(&array, &reads);
    assert_eq!(map(&array), before);
    served.terminate();
    let served = array.serve(&[]);
    qemu_io(&array, &reads);
    assert_eq!(map(&array), before);

    // All of it given back is a hole again.
    qemu_io(&array, &["discard 0 64M", "read -P 0 0 64M"]);
    assert_eq!(map(&array), [(0, 64 << 10, false)]);
    served.kill();
    let served = array.serve(&[]);
    assert_eq!(map(&array), [(0, 64 << 10, false)]);
    served.terminate();
    array.assert_scrubs_clean();
    Ok(())
}
