use proptest::prelude::*;
use strewn_formats::fio::{IologAction, IologEntry, IologReader, IologVersion, IologWriter};

const V2: &str = include_str!("../data/v2.log");
const V3: &str = include_str!("../data/v3.log");

fn read(log: &[u8]) -> (Vec<IologEntry>, Vec<String>) {
    let mut reader = IologReader::new(log, Some("a.log")).unwrap();
    let entries = reader.by_ref().collect::<Result<_, _>>().unwrap();
    (entries, reader.files().to_vec())
}

#[test]
fn version_2_is_timed_by_its_waits() {
    let (entries, files) = read(V2.as_bytes());
    assert_eq!(files, ["/dev/lun0", "/dev/lun1"]);
    let entry = |at_us, file, action| IologEntry { at_us, file, action };
    assert_eq!(entries.len(), 10);
    let first = IologAction::Read { offset_bytes: 4096, length_bytes: 8192 };
    assert_eq!(entries[3], entry(0, 0, first));
    let write = IologAction::Write { offset_bytes: 0, length_bytes: 512 };
    assert_eq!(entries[5], entry(5_000, 1, write));
    assert_eq!(entries[6], entry(5_000, 1, IologAction::DataSync));
    // From the start of the log, not from the previous wait.
    let trim = IologAction::Trim { offset_bytes: 1 << 20, length_bytes: 65_536 };
    assert_eq!(entries[7], entry(12_000, 0, trim));
}

#[test]
fn version_3_has_microseconds() {
    let (entries, _) = read(V3.as_bytes());
    let read = IologAction::Read { offset_bytes: 2_023_424, length_bytes: 8192 };
    assert_eq!(entries[3], IologEntry { at_us: 130, file: 0, action: read });
    assert_eq!(entries[6], IologEntry { at_us: 2_000_997, file: 0, action: IologAction::Close });
}

#[test]
fn what_was_read_is_written_the_same() {
    for (log, version) in [(V2, IologVersion::V2), (V3, IologVersion::V3)] {
        let (entries, files) = read(log.as_bytes());
        let mut writer = IologWriter::new(Vec::new(), version).unwrap();
        for entry in &entries {
            writer.write(entry.at_us, &files[entry.file as usize], entry.action).unwrap();
        }
        let written = writer.finish().unwrap();
        assert_eq!(read(&written).0[..entries.len()], entries);
    }
}

#[test]
fn what_fio_would_not_replay_is_not_written() {
    let mut writer = IologWriter::new(Vec::new(), IologVersion::V3).unwrap();
    let read = |length_bytes| IologAction::Read { offset_bytes: 0, length_bytes };
    writer.write(100, "a", read(512)).unwrap();
    for (at_us, file, length_bytes, message) in [
        (99, "a", 512, "the time 99 us cannot be written: it is before 100 us"),
        (100, "a b", 512, "the file `a b` cannot be written: fio reads names"),
        (100, "", 512, "the file `` cannot be written: fio reads names"),
        (100, "a", 1 << 32, "a length of 4294967296 bytes cannot be written: fio reads lengths"),
    ] {
        let error = writer.write(at_us, file, read(length_bytes)).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

fn action() -> impl Strategy<Value = IologAction> {
    let range = (any::<u64>(), any::<u32>());
    prop_oneof![
        Just(IologAction::Sync),
        Just(IologAction::DataSync),
        range.prop_map(|(offset_bytes, length)| IologAction::Read {
            offset_bytes,
            length_bytes: length.into()
        }),
        range.prop_map(|(offset_bytes, length)| IologAction::Write {
            offset_bytes,
            length_bytes: length.into()
        }),
        range.prop_map(|(offset_bytes, length)| IologAction::Trim {
            offset_bytes,
            length_bytes: length.into()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(
        actions in prop::collection::vec((0..5_000_u64, "[a-z/]{1,3}", action()), 0..30),
        is_old in any::<bool>(),
    ) {
        let version = if is_old { IologVersion::V2 } else { IologVersion::V3 };
        let mut writer = IologWriter::new(Vec::new(), version).unwrap();
        let mut at_us = 0;
        let mut expected = Vec::new();
        for (after_us, file, action) in actions {
            at_us += after_us;
            writer.write(at_us, &file, action).unwrap();
            // Version 2 counts in milliseconds.
            expected.push((if is_old { at_us / 1000 * 1000 } else { at_us }, file, action));
        }
        let (entries, files) = read(&writer.finish().unwrap());
        let is_access = |entry: &&IologEntry| {
            !matches!(entry.action, IologAction::Add | IologAction::Open | IologAction::Close)
        };
        let found: Vec<_> = entries
            .iter()
            .filter(is_access)
            .map(|entry| (entry.at_us, files[entry.file as usize].clone(), entry.action))
            .collect();
        prop_assert_eq!(found, expected);
    }
}
