//! What Windows prints, in several languages and encodings: written after its documentation, no Windows was at hand.

use strewn_file::{Address, Extent, ExtentListReader, ListedFile, Place};

use crate::{data, listed};

fn at(offset: u64, bytes: u64, byte: u64) -> Extent {
    Extent { offset, bytes, place: Place::At(Address::new(byte)), shared: false }
}

/// The files of bytes that are no UTF-8.
fn listed_bytes(bytes: &[u8]) -> Vec<(ListedFile, Vec<Extent>)> {
    let mut list = ExtentListReader::new(bytes, "list");
    let mut files = Vec::new();
    while let Some(file) = list.next_file().unwrap() {
        files.push((file, list.extents().collect::<Result<_, _>>().unwrap()));
    }
    files
}

#[test]
fn extents_are_in_clusters_of_the_volume() {
    let [(file, extents)] = listed(&data("fsutil.txt")).unwrap().try_into().unwrap();
    assert_eq!(file.block_bytes, Some(65536));
    // An LCN of -1 is a hole.
    let first = at(0, 0x2a << 16, 0x1a_2b3c << 16);
    assert_eq!(extents, [first, at(0x3a << 16, 6 << 16, 0x42 << 16)]);
    // Without the volume clusters are of 4 KiB, and a list may begin with an indentation.
    let text = data("fsutil.txt");
    let rows: String = text.lines().skip(14).map(|row| format!("\t{row}  \n")).collect();
    let [(file, extents)] = listed(&rows).unwrap().try_into().unwrap();
    assert_eq!((file.block_bytes, extents[0]), (None, at(0, 0x2a << 12, 0x1a_2b3c << 12)));
}

#[test]
fn redirections_of_windows_are_read() {
    let text = data("fsutil.txt");
    let expected = listed(&text).unwrap();
    let lines = text.replace('\n', "\r\n");
    assert_eq!(listed(&lines).unwrap(), expected);
    let marked = format!("\u{feff}{lines}");
    // `>` of PowerShell 5, and `-Encoding utf8`, `bigendianunicode`.
    let little: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big, marked.into_bytes()] {
        assert_eq!(listed_bytes(&bytes), expected);
    }
    // Errors name the line.
    let wrong: Vec<u8> =
        "\u{feff}VCN: 0x0 Clusters: 0x1 LCN: 0x1\r\nVCN: 0x1 Clusters: 0xü LCN: 0x2\r\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
    let mut list = ExtentListReader::new(wrong.as_slice(), "list");
    list.next_file().unwrap();
    let error = list.extents().find_map(Result::err).unwrap().to_string();
    assert!(
        error.contains("list:2:") && error.contains("the number of clusters is `0xü`"),
        "{error}"
    );
}

#[test]
fn other_languages_name_clusters_otherwise() {
    let expected = listed(&data("fsutil.txt")).unwrap();
    for (volume, bytes, clusters) in [
        ("NTFS-Volumeseriennummer :", "Bytes pro Cluster :", "Cluster:"),
        ("NTFS-Volumeseriennummer:", "Bytes pro Cluster:", "Cluster:"),
        ("Numéro de série NTFS du volume :", "Octets par cluster :", "Clusters :"),
        // No word of Latin letters: the order tells.
        ("Серийный номер тома NTFS :", "Байт на кластер :", "Кластеры:"),
        ("REFS Volume Serial Number :", "Bytes Per Cluster :", "Clusters:"),
    ] {
        let text = data("fsutil.txt")
            .replace("NTFS Volume Serial Number :", volume)
            .replace("Bytes Per Cluster :", bytes)
            .replace("Clusters: 0x", &format!("{clusters} 0x"));
        assert_eq!(listed(&text).unwrap(), expected, "{volume}");
    }
}

#[test]
fn several_files_have_the_names_they_are_given() {
    let text = "VCN: 0x0 Clusters: 0x1 LCN: 0x9\n# path = C:\\vm\\two.vhdx\n# file_bytes = 5000\nVCN: 0x0 Clusters: 0x2 LCN: \
                0xffffffffffffffff\nVCN: 0x2 Clusters: 0x1 LCN: 0x7\n\nVCN: 0x0 Clusters: 0x1 LCN: 12\n";
    let files = listed(text).unwrap();
    let paths: Vec<Option<&str>> = files.iter().map(|(file, _)| file.path.as_deref()).collect();
    assert_eq!(paths, [None, Some("C:\\vm\\two.vhdx"), None]);
    assert_eq!((files[1].0.file_bytes, files[2].0.file_bytes), (Some(5000), None));
    assert_eq!(files[1].1, [at(8192, 4096, 7 << 12)]);
    assert_eq!(files[2].1, [at(0, 4096, 12 << 12)]);
}

#[test]
fn what_is_no_extent_is_named() {
    let refused = |row: &str, fragments: &[&str]| {
        let text = format!("VCN: 0x0 Clusters: 0x1 LCN: 0x9\n{row}\n");
        let error = listed(&text).unwrap_err().to_string();
        for fragment in fragments.iter().chain(&["list:2:", "queryExtents"]) {
            assert!(error.contains(fragment), "no {fragment:?} in {error}");
        }
    };
    refused("VCN: 0x1 Clusters: 0x1 LCN:", &["an extent has 3 numbers, and this one 2"]);
    refused("VCN: 0xg Clusters: 0x1 LCN: 0x1", &["the VCN is `0xg`"]);
    refused("Error:  The system cannot find the file specified.", &["is not a line of `fsutil`"]);
    let zero = listed("VCN: 0x0 Clusters: 0x0 LCN: 0x9\n").unwrap_err().to_string();
    assert!(zero.contains("the extent has no bytes"), "{zero}");
    let far = listed("VCN: 0x0 Clusters: 0x1 LCN: 0xfffffffffffffffe\n").unwrap_err().to_string();
    assert!(far.contains("beyond 2^64"), "{far}");
}

#[test]
fn lists_of_ones_own_have_any_separator() {
    let expected = [at(0, 4096, 81_920), at(4096, 8192, 4_194_304)];
    for text in [
        "offset length physical\n0 4096 81920\n4096   8192 4194304\n",
        "offset\tphysical\tlength\n0\t81920\t4096\n4096\t4194304\t8192\n",
        "offset;length;physical\r\n0;4096;81920\r\n4096;8192;4194304\r\n",
        "# path = a\noffset,bytes,address\n0,4096,81920\n4096,8192,4194304\n",
    ] {
        assert_eq!(listed(text).unwrap()[0].1, expected, "{text}");
    }
    let twice = listed("offset length bytes physical\n").unwrap_err().to_string();
    assert!(twice.contains("is there twice"), "{twice}");
    // A list of xfs_db has the word too, and is still named for what it is.
    let other = listed("data offset 0 startblock 12 count 1 flag 0\n").unwrap_err().to_string();
    assert!(other.contains("xfs_db"), "{other}");
}
