//! Other people's NBD clients.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use strewn_live::nbd::{Address, Limits, OneExport, Server};
use strewn_testing::Missing;

use crate::client::{Random, Serving};
use crate::memory::{Memory, Named, Several, Threads};

const SIZE: u64 = 64 << 20;

/// What clients find the server by: a Unix socket.
fn uri(serving: &Serving) -> String {
    let address = serving.server.as_ref().unwrap().address();
    assert!(matches!(address, Address::Unix(_)));
    address.to_string()
}

/// What a tool prints. It must succeed.
fn run(program: &str, arguments: &[&str]) -> Result<String, Missing> {
    let package = match program {
        "nbdinfo" | "nbdcopy" => "libnbd-bin",
        "qemu-io" | "qemu-img" => "qemu-utils",
        "fio" => "fio",
        _ => "python3-libnbd",
    };
    let program = strewn_testing::program(&[program], &format!("apt-get install {package}"))?;
    let output = Command::new(&program).args(arguments).output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{} {arguments:?}: {text}", program.display());
    Ok(text)
}

pub fn nbdinfo_reads_what_is_offered() -> Result<(), Missing> {
    let serving = Serving::new(Memory::new(SIZE));
    let text = run("nbdinfo", &["--json", &uri(&serving)])?;
    for expected in [
        "\"protocol\": \"newstyle-fixed\"",
        "\"structured\": true",
        "\"export-size\": 67108864",
        "\"base:allocation\"",
        "\"is_rotational\": true",
        "\"is_read_only\": false",
        "\"can_cache\": false",
        "\"can_df\": true",
        "\"can_fast_zero\": false",
        "\"can_flush\": true",
        "\"can_fua\": true",
        "\"can_multi_conn\": true",
        "\"can_trim\": true",
        "\"can_zero\": true",
        "\"block_size_minimum\": 512",
        "\"block_size_preferred\": 4096",
        "\"block_size_maximum\": 33554432",
        "memory of a test",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    let text = run("nbdinfo", &["--list", &uri(&serving)])?;
    assert!(text.contains("export=\"lun\""), "{text}");
    let tcp = Server::tcp(
        "127.0.0.1:0".parse().unwrap(),
        OneExport::new(Memory::new(SIZE)),
        Limits::default(),
    )
    .unwrap();
    assert_eq!(run("nbdinfo", &["--size", &tcp.address().to_string()])?.trim(), "67108864");
    Ok(())
}

pub fn nbdinfo_lists_several_exports() -> Result<(), Missing> {
    let exports = Several::new(vec![
        Named::new("volume/lun", SIZE, false),
        Named::new("volume/lun two", 2 * SIZE, false),
        Named::new("volume/lun@monday", 3 * SIZE, true),
    ]);
    let serving = Serving::of(exports, Limits::default());
    let text = run("nbdinfo", &["--list", "--json", &uri(&serving)])?;
    let listed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let told: Vec<_> = listed["exports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap().to_owned();
            let size = one["export-size"].as_u64().unwrap();
            (text("export-name"), text("description"), size, one["is_read_only"] == true)
        })
        .collect();
    let expected = [
        ("volume/lun", SIZE, false),
        ("volume/lun two", 2 * SIZE, false),
        ("volume/lun@monday", 3 * SIZE, true),
    ];
    let expected = expected.map(|(name, size, is_read_only)| {
        (name.to_owned(), format!("memory {name}"), size, is_read_only)
    });
    assert_eq!(told, expected);
    let socket = serving.path.display();
    for (name, size) in
        [("", SIZE), ("volume/lun%20two", 2 * SIZE), ("volume/lun@monday", 3 * SIZE)]
    {
        let uri = format!("nbd+unix:///{name}?socket={socket}");
        assert_eq!(run("nbdinfo", &["--size", &uri])?.trim(), size.to_string(), "{name}");
    }
    let written = |name: &str| {
        let uri = format!("nbd+unix:///{name}?socket={socket}");
        Command::new("qemu-io").args(["-f", "raw", "-c", "write 0 4k", &uri]).output().unwrap()
    };
    run("qemu-io", &["--version"])?;
    assert!(written("volume/lun").status.success());
    let refused = written("volume/lun@monday");
    assert!(!refused.status.success(), "{refused:?}");
    let read = format!("nbd+unix:///volume/lun@monday?socket={socket}");
    run("qemu-io", &["-r", "-f", "raw", "-c", "read -P 0 0 4k", &read])?;
    Ok(())
}

pub fn nbdcopy_brings_back_what_it_took() -> Result<(), Missing> {
    let export = Arc::new(Threads::new(Memory::new(SIZE), 2));
    let serving = Serving::new(Arc::clone(&export) as _);
    let tcp =
        Server::tcp("127.0.0.1:0".parse().unwrap(), OneExport::new(export), Limits::default())
            .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let [from, to] =
        ["from", "to"].map(|name| directory.path().join(name).to_str().unwrap().to_owned());
    let mut data = Random::new("nbdcopy").bytes(16 << 20);
    // A hole, which is copied as zeroes.
    data[5 << 20..9 << 20].fill(0);
    data.resize(SIZE as usize, 0);
    fs::write(&from, &data).unwrap();
    run("nbdcopy", &["--flush", &from, &uri(&serving)])?;
    run("nbdcopy", &["--connections=4", &uri(&serving), &to])?;
    assert!(fs::read(&to).unwrap() == data);
    fs::remove_file(&to).unwrap();
    run("nbdcopy", &["--synchronous", &tcp.address().to_string(), &to])?;
    assert!(fs::read(&to).unwrap() == data);
    Ok(())
}

pub fn qemu_io_writes_patterns_zeroes_and_discards() -> Result<(), Missing> {
    let memory = Memory::new(SIZE);
    let serving = Serving::new(Arc::clone(&memory) as _);
    let address = uri(&serving);
    let commands = [
        "write -P 0x5a 0 1M",
        "write -f -P 0xa5 4k 12k",
        "read -P 0x5a 0 4k",
        "read -P 0xa5 4k 12k",
        "write -z 64k 64k",
        "write -z -u 256k 256k",
        "read -P 0 64k 64k",
        "aio_write -P 0x11 2M 1M",
        "aio_write -P 0x12 3M 1M",
        "aio_flush",
        "read -P 0x11 2M 1M",
        "read -P 0x12 3M 1M",
        "discard 512k 256k",
        "flush",
        "read -P 0x5a 768k 256k",
        "read -P 0x5a 128k 128k",
        "write -P 0x77 66584576 512k",
    ];
    let mut arguments = vec!["-f", "raw"];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command]));
    arguments.push(&address);
    let text = run("qemu-io", &arguments)?;
    assert!(!text.contains("fail") && !text.contains("error"), "{text}");
    assert!(memory.durable.load(Ordering::Relaxed) >= 2);
    assert_eq!(memory.zeroes_without_holes.load(Ordering::Relaxed), 1);

    let map = run("qemu-img", &["map", "--output=json", "-f", "raw", &address])?;
    let unspaced = map.replace(' ', "");
    assert!(
        unspaced.contains(
            r#""start":0,"length":262144,"depth":0,"present":true,"zero":false,"data":true"#
        ),
        "{map}"
    );
    assert!(unspaced.contains(
        r#""start":262144,"length":524288,"depth":0,"present":true,"zero":true,"data":false"#
    ));
    run("qemu-img", &["info", &address])?;
    let other = Serving::new(Memory::new(SIZE));
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &address, &uri(&other)])?;
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &address, &uri(&other)])?;
    Ok(())
}

pub fn fio_verifies_what_it_wrote() -> Result<(), Missing> {
    let serving = Serving::new(Arc::new(Threads::new(Memory::new(SIZE), 2)));
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("fio.json");
    let arguments = [
        "--name=verify",
        "--ioengine=nbd",
        &format!("--uri={}", uri(&serving)),
        "--rw=randrw",
        "--rwmixread=30",
        "--bs=4k",
        "--iodepth=16",
        "--size=8m",
        "--io_size=8m",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--verify_state_save=0",
        "--do_verify=1",
        "--fsync=64",
        "--output-format=json",
        &format!("--output={}", output.to_str().unwrap()),
    ];
    let engines = run("fio", &["--enghelp"])?;
    if !engines.contains("nbd") {
        return Err(Missing::new("this fio has no engine for NBD", "build fio with libnbd"));
    }
    run("fio", &arguments)?;
    let result = fs::read_to_string(&output).unwrap().replace(' ', "");
    assert!(result.contains("\"error\":0"), "{result}");
    Ok(())
}

pub fn libnbd_asks_for_all_that_there_is() -> Result<(), Missing> {
    let serving = Serving::new(Arc::new(Memory::with(SIZE, true)));
    let script = format!(
        r#"
import nbd
def connected():
    h = nbd.NBD()
    h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    h.set_export_name("lun")
    h.connect_uri("{uri}")
    return h
h = connected()
h.set_strict_mode(0)
h.pwrite(b"x" * 65536, 0, nbd.CMD_FLAG_FUA)
assert h.pread(65536, 0, nbd.CMD_FLAG_DF) == b"x" * 65536
h.zero(4096, 8192, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)
h.trim(4096, 4096)
extents = []
h.block_status(65536, 0, lambda name, offset, e, err: extents.extend(e))
assert extents == [4096, 0, 4096, 3, 57344, 0], extents
def fails(errno, call):
    try:
        call()
    except nbd.Error as error:
        assert error.errno == errno, error
    else:
        raise AssertionError(errno)
fails("ENOTSUP", lambda: h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO))
fails("ENOSPC", lambda: h.pwrite(b"x" * 512, {size}))
fails("EINVAL", lambda: h.pread(512, {size}))
fails("EINVAL", lambda: h.pread(100, 0))
fails("EINVAL", lambda: h.cache(512, 0))
other = connected()
assert other.pread(512, 0) == b"x" * 512
h.flush()
cookies = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray([i] * 4096)), i * 4096) for i in range(64)]
for cookie in cookies:
    while not h.aio_command_completed(cookie):
        h.poll(-1)
assert other.pread(4096, 63 * 4096) == bytes([63] * 4096)
h.shutdown()
o = nbd.NBD()
o.set_opt_mode(True)
o.connect_uri("{uri}")
listed = []
assert o.opt_list(lambda name, description: listed.append((name, description))) == 1
assert listed == [("lun", "memory of a test")], listed
o.set_full_info(True)
o.opt_info()
assert o.get_export_description() == "memory of a test" and o.get_canonical_export_name() == "lun"
o.set_export_name("another")
fails("ENOENT", o.opt_go)
o.opt_abort()
"#,
        uri = uri(&serving),
        size = SIZE
    );
    // The system's own Python has the module, others on the path do not.
    let python = "/usr/bin/python3";
    if !Command::new(python)
        .args(["-c", "import nbd"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        let what = format!("{python} without the module nbd");
        return Err(Missing::new(what, "apt-get install python3-libnbd"));
    }
    let output = Command::new(python).args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
