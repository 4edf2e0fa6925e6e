//! Any bytes as a trace of any format, plain, gzip or zstd, sped up, wrapped: arrivals never decrease,
//! records lie on the LUN, and what is left out or read are lines of the file.
//!
//! The first byte chooses the format and the options.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_formats::trace::{
    Beyond, BlkparseAction, Lun, OutOfOrder, SpeedUp, TraceFormat, TraceOptions, TraceReader,
};

fuzz_target!(|bytes: &[u8]| {
    let [choice, trace @ ..] = bytes else { return };
    let format = TraceFormat::ALL.get(usize::from(choice & 15)).copied();
    let lun = Lun { bytes: 1 << 20, beyond: Beyond::Wrap };
    let options = TraceOptions {
        format,
        name: Some("fuzz".into()),
        speed_up: if choice & 16 == 0 { SpeedUp::NONE } else { SpeedUp::new(0.3).expect("it is") },
        out_of_order: if choice & 32 == 0 { OutOfOrder::Refuse } else { OutOfOrder::HoldBack },
        lun: (choice & 64 != 0).then_some(lun),
        devices: if choice & 128 != 0 { vec![0] } else { Vec::new() },
        at_whole_seconds: false,
        responses: true,
        blkparse_action: BlkparseAction::Queued,
    };
    let Ok(mut reader) = TraceReader::new(trace, options) else { return };
    let mut last_ns = 0;
    for record in reader.by_ref() {
        let Ok(record) = record else { break };
        assert!(record.arrival_ns >= last_ns && record.length_bytes > 0);
        assert!(record.offset_bytes.checked_add(record.length_bytes).is_some());
        assert!(choice & 64 == 0 || record.end_bytes() <= lun.bytes);
        last_ns = record.arrival_ns;
    }
    while let Some(response) = reader.next_response() {
        assert!(response.arrival_ns <= last_ns);
    }
    let skipped = reader.skipped();
    assert!(reader.records() + skipped.all() <= reader.line());
    assert!(reader.bytes_read() <= trace.len() as u64);
    assert!(reader.next().is_none());
});
