//! What is wrong with a list is told with its place and a remedy.

use strewn_file::{MapReader, PoolLayout};

use crate::listed;

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = listed(text).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("; "), "a remedy: {error}");
}

#[test]
fn lists_of_no_known_dialect() {
    refused("", "list: there is nothing in it; give a CSV file");
    refused("\n hello\n", "list:2:1: ` hello` does not begin a list of extents");
    refused(&"x".repeat(70_000), "list:1: the line is longer than 65536 bytes");
}

/// What people have at hand from other programs is named, with the command whose output is read.
#[test]
fn lists_of_other_programs() {
    let named = |text: &str, program: &str, remedy: &str| {
        let error = listed(text).unwrap_err().to_string();
        let message = format!("this is the output of {program}, which is not read; ");
        assert!(error.contains(&message) && error.contains(remedy), "{error}");
    };
    let map = "Offset          Length          Mapped to       File\n0               0x20000         0x50000         a\n";
    named(map, "`qemu-img map`", "give the image itself");
    let json =
        "[{ \"start\": 0, \"length\": 65536, \"depth\": 0, \"data\": true, \"offset\": 327680}]\n";
    named(json, "`qemu-img map --output=json`", "give the image itself");
    let hdparm = "\n/srv/a:\n filesystem blocksize 4096, begins at LBA 2048; assuming 512 byte sectors.\n byte_offset  \
                  begin_LBA    end_LBA    sectors\n           0     264192     264199          8\n";
    named(hdparm, "`hdparm --fibmap`", "filefrag -v");
    named("debugfs 1.47.0 (5-Feb-2023)\n", "`debugfs`", "filefrag -v");
    let extents = "Level Entries       Logical          Physical Length Flags\n 0/ 0   1/  1     0 -   767 40747520\n";
    named(extents, "`debugfs`", "filefrag -v");
    named(
        "Inode: 12   Type: regular    Mode:  0644   Flags: 0x80000\n",
        "`debugfs`",
        "filefrag -v",
    );
    named("a: 3 extents found\n", "`filefrag` without -v", "filefrag -v");
    named("data offset 0 startblock 12 (0/12) count 1 flag 0\n", "`xfs_db`", "xfs_bmap -vp");
    named(
        "Indirect blocks:\n 0 L0 0:0:1000 1000L/1000P\n",
        "`zdb` without its first lines",
        "zdb -ddddd",
    );
}

#[test]
fn csv() {
    let header = "offset,bytes,address,kind,stored_bytes,shared\n";
    let row = |row: &str, expected: &str| refused(&format!("{header}{row}\n"), expected);
    row("0,1", "list:2: there are 2 fields, and 6 columns");
    row("0,0x10,0,,,", "list:2:3: bytes is `0x10`; give a decimal number below 2^64");
    row("0,0,0,,,", "list:2:1: the extent has no bytes");
    row("+1,1,0,,,", "list:2:1: offset is `+1`");
    row("18446744073709551615,1,0,,,", "list:2:1: the extent ends beyond 2^64 bytes");
    row("0,2,18446744073709551615,,,", "list:2:1: the address lies beyond 2^64 bytes");
    row("0,1,,,,", "list:2:5: address is ``");
    row("0,1,0,zip,,", "list:2:7: there is no kind `zip`; give data, block, unwritten");
    row("0,1,0,data,7,", "list:2:12: stored_bytes is given for an extent that is not encoded");
    refused(
        "offset,bytes,address,kind,allocated_bytes\n0,1,0,,7\n",
        "list:2:8: allocated_bytes is given for an extent that is not a block",
    );
    row("0,1,0,,,yes", "list:2:9: shared is `yes`; give 0, 1, true or false");
    row("0,1,0,\"data,,", "list:2:7: a quote is not closed");
    row(
        "0,9,0,,,\n8,1,0,,,",
        "list:3:1: the extent begins at byte 8, before the end of the extent in line 2 at byte 9",
    );
    refused("offset,bytes\n", "list:1: the header has no column address");
    refused("offset,bytes,address,bytes\n", "list:1:22: the column bytes is there twice");
    refused("# block_bytes = 0\n", "list:1:17: a block has 0 bytes");
    refused("# path = \"a\n", "list:1:10: the path in quotes is not a JSON string");
    refused(&",".repeat(100).replacen(',', "offset,", 1), "list:1: there are more than 64 columns");
    let late = format!("{header}0,1,0,,,\n# file_bytes = 7\n");
    refused(&late, "list:3:3: file_bytes comes after extents of the file");
}

#[test]
fn tools() {
    let filefrag = "File size of a is 8192 (2 blocks of 4096 bytes)\n";
    let line = |line: &str, expected: &str| refused(&format!("{filefrag}{line}\n"), expected);
    line("   0:  0.. 3: 7.. 9: 3: last", "list:2:8: 0..3 is not 3 blocks long; give the output");
    line("   0:  0.. 3ff: 7.. 9: 400: ", "list:2:12: a block is `3ff`; give the output");
    line("   0:  0: 7.. 9: 3: last", "list:2:8: there is no range FIRST..LAST");
    line("a: No such file", "list:2:1: `a: No such file` is not a line of `filefrag -v`");
    refused(
        "Filesystem type is: 1\n 0: 0..0: 0..0: 1:\n",
        "list:2: an extent comes before its file",
    );
    refused("File size of a is 1 (1 block)\n", "list:1:14: the sizes of the file are not there");
    refused("a:\n 0: [7..3]: 0..4\n", "list:2:6: the extent ends before it begins");
    refused("a:\n 0: 0..4\n", "list:2:2: there is no `[FIRST..LAST]:`");
    refused(
        "Dataset a [ZPL]\nIndirect blocks:\n 0 L0 0:0:z 1L/1P\n",
        "list:3:11: the allocated size",
    );
    refused(
        "Dataset a [ZPL]\nIndirect blocks:\n 0 L0 1L/1P\n",
        "list:3:7: the block has a size, and no place",
    );
    refused("Dataset a [ZPL]\nIndirect blocks:\n 0 L0 0:0:1\n", "list:3: the block has no size");
}

#[test]
fn maps_of_images() {
    let range = r#"{"start":0,"length":8,"depth":0,"zero":false,"data":true,"offset":0}"#;
    let map = |text: &str, expected: &str| {
        let result: Result<Vec<_>, _> = MapReader::new(text.as_bytes(), "map").collect();
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    map("", "map:1:0: the map is cut short; give the output of `qemu-img map --output=json`");
    map("{}", "map:1:1: `{` does not belong there");
    map("[", "map:1:1: the map is cut short");
    map("[\n{\"start\": 5", "map:2:1: the object is cut short");
    map("[{}]", "map:1:2: a range is not readable: missing field");
    map(&format!("[{range},\n{range}]"), "map:2:1: the range begins at byte 0, before the end");
    map(&format!("[{range},]"), "map:1:");
    map(&format!("[{range}]x"), "map:1:");
    map(&format!("[{{\"a\":\"{}\"}}]", "x".repeat(70_000)), "map:1:2: the object is too long");
    let text = format!(" [ {range} ]\n");
    assert_eq!(MapReader::new(text.as_bytes(), "map").count(), 1);
}

#[test]
fn configurations_of_pools() {
    let read = |text: &str| PoolLayout::read(text.as_bytes(), "pool").unwrap_err().to_string();
    assert!(read("").starts_with("pool: there is no vdev_tree; give the output of `zdb -C POOL`"));
    assert!(read("vdev_tree:\n type: 'root'\n").starts_with("pool: the vdev_tree has no vdevs"));
    let top = "vdev_tree:\n children[0]:\n  type: 'raidz'\n  id: 0\n";
    assert!(read(top).starts_with("pool: vdev 0 has no ashift from 9 to 16"));
    let raidz = format!("{top}  ashift: 12\n  nparity: 2\n  children[0]:\n   path: 'a'\n");
    assert!(read(&raidz).starts_with("pool: vdev 0, a raidz, has 1 devices and parity of 2"));
    assert!(read("name: 'a'\nname: 'b'\n").starts_with("pool:2: a second pool begins"));
    let nested: String =
        (0..20).map(|depth| format!("{:1$}children[0]:\n", "", depth + 1)).collect();
    assert!(
        read(&format!("vdev_tree:\n{nested}")).starts_with("pool:18: vdevs are nested too deeply")
    );
}
