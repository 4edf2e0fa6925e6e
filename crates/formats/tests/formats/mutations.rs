//! A file damaged in any way is read, or refused with a position in it, and never panics.

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_formats::FileFormatError;
use strewn_formats::fio::{IologReader, JobFile};
use strewn_formats::iometer::{Configuration, Results};
use strewn_formats::trace::{TraceFormat, TraceOptions, TraceReader};

const FILES: [&[u8]; 17] = [
    include_bytes!("../data/full.icf"),
    include_bytes!("../data/script.icf"),
    include_bytes!("../data/unnamed.icf"),
    include_bytes!("../data/results.csv"),
    include_bytes!("../data/jobs.fio"),
    include_bytes!("../data/v2.log"),
    include_bytes!("../data/v3.log"),
    include_bytes!("../data/msr.csv"),
    include_bytes!("../data/spc.spc"),
    include_bytes!("../data/disksim.trace"),
    include_bytes!("../data/blkparse.txt"),
    include_bytes!("../data/columns.csv"),
    include_bytes!("../data/alibaba.csv"),
    include_bytes!("../data/tencent.csv"),
    include_bytes!("../data/vscsi.bin"),
    include_bytes!("../data/blktrace.bin"),
    include_bytes!("../data/alibaba.csv.zst"),
];

/// One way to damage a file.
#[derive(Clone, Debug)]
enum Mutation {
    CutOff(Index),
    SetByte(Index, u8),
    InsertBytes(Index, Vec<u8>),
    DeleteLine(Index),
    RepeatLine(Index, Index),
    SwapWords(Index, Index),
}

impl Mutation {
    fn apply(&self, mut file: Vec<u8>) -> Vec<u8> {
        if file.is_empty() {
            return file;
        }
        let joined = |lines: Vec<&[u8]>| lines.join(&b'\n');
        match self {
            Self::CutOff(at) => file.truncate(at.index(file.len())),
            Self::SetByte(at, byte) => {
                let at = at.index(file.len());
                file[at] = *byte;
            }
            Self::InsertBytes(at, bytes) => {
                let at = at.index(file.len());
                file.splice(at..at, bytes.iter().copied());
            }
            Self::DeleteLine(line) => {
                let mut lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
                lines.remove(line.index(lines.len()));
                return joined(lines);
            }
            Self::RepeatLine(line, at) => {
                let mut lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
                let (line, at) = (line.index(lines.len()), at.index(lines.len()));
                lines.insert(at, lines[line]);
                return joined(lines);
            }
            Self::SwapWords(one, other) => {
                let mut words: Vec<&[u8]> = file.split(|byte| *byte == b',').collect();
                let (one, other) = (one.index(words.len()), other.index(words.len()));
                words.swap(one, other);
                return words.join(&b',');
            }
        }
        file
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let odd = prop::sample::select(vec![
        b"-1".to_vec(),
        b"99999999999999999999".to_vec(),
        b"nan".to_vec(),
        b"1e999".to_vec(),
        b"\xff\xfe".to_vec(),
        b"\0".to_vec(),
        b"%".to_vec(),
        b"[".to_vec(),
        b"'".to_vec(),
        b"\n".to_vec(),
        b",".to_vec(),
        b":".to_vec(),
        b"/".to_vec(),
    ]);
    prop_oneof![
        any::<Index>().prop_map(Mutation::CutOff),
        any::<(Index, u8)>().prop_map(|(at, byte)| Mutation::SetByte(at, byte)),
        (any::<Index>(), odd).prop_map(|(at, bytes)| Mutation::InsertBytes(at, bytes)),
        any::<Index>().prop_map(Mutation::DeleteLine),
        any::<[Index; 2]>().prop_map(|[line, at]| Mutation::RepeatLine(line, at)),
        any::<[Index; 2]>().prop_map(|[one, other]| Mutation::SwapWords(one, other)),
    ]
}

/// Returns the errors of every reader, whatever the file.
fn errors(file: &[u8]) -> Vec<FileFormatError> {
    let mut errors = Vec::new();
    errors.extend(Configuration::read(file, Some("f")).err());
    errors.extend(Results::read(file, Some("f")).err());
    errors.extend(JobFile::read(file, Some("f")).err());
    match IologReader::new(file, Some("f")) {
        Ok(reader) => errors.extend(reader.filter_map(Result::err)),
        Err(error) => errors.push(error),
    }
    for format in TraceFormat::ALL.map(Some).into_iter().chain([None]) {
        let options = TraceOptions { name: Some("f".into()), format, ..TraceOptions::default() };
        match TraceReader::new(file, options) {
            Ok(reader) => errors.extend(reader.filter_map(Result::err)),
            Err(error) => errors.push(error),
        }
    }
    errors
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn never_panic(
        file in prop::sample::select(FILES.to_vec()),
        mutations in prop::collection::vec(mutation(), 1..5),
    ) {
        let file = mutations.iter().fold(file.to_vec(), |file, mutation| mutation.apply(file));
        // Records of a binary trace count as lines; a compressed file may have more lines than bytes.
        let is_compressed = [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd"].iter().any(|magic| file.starts_with(magic));
        let lines = match std::str::from_utf8(&file).is_ok_and(|text| !text.contains('\0')) {
            _ if is_compressed => u64::MAX,
            true => file.split(|byte| *byte == b'\n').count() as u64,
            false => file.len() as u64,
        };
        for error in errors(&file) {
            prop_assert_eq!(error.position().file(), Some("f"));
            prop_assert!(error.position().line().is_none_or(|line| line <= lines), "{}", error);
            prop_assert!(!error.message().is_empty() && !error.help().is_empty(), "{:?}", error);
            prop_assert!(error.to_string().len() < 1000, "{}", error);
        }
    }
}
