//! Any bytes: a log that is read, and whose times do not go back, is replayed by what is written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_formats::fio::{IologAction, IologEntry, IologReader, IologWriter};

fn accesses(entries: &[IologEntry], files: &[String]) -> Vec<(u64, String, IologAction)> {
    let management = [IologAction::Add, IologAction::Open, IologAction::Close];
    let accesses = entries.iter().filter(|entry| !management.contains(&entry.action));
    accesses.map(|entry| (entry.at_us, files[entry.file as usize].clone(), entry.action)).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = IologReader::new(bytes, Some("fuzz")) else { return };
    let Ok(entries) = reader.by_ref().collect::<Result<Vec<_>, _>>() else { return };
    let mut writer = IologWriter::new(Vec::new(), reader.version()).expect("memory takes it");
    for entry in &entries {
        let file = &reader.files()[entry.file as usize];
        if writer.write(entry.at_us, file, entry.action).is_err() {
            return;
        }
    }
    let written = writer.finish().expect("memory takes it");
    let mut again = IologReader::new(written.as_slice(), None).expect("what was written is read");
    let copies: Vec<_> = again.by_ref().collect::<Result<_, _>>().expect("so are its entries");
    assert_eq!(accesses(&copies, again.files()), accesses(&entries, reader.files()));
});
