//! Arrays on real files: made, started, served, with a spindle lost and replaced, and scrubbed.

mod administration;
mod clients;
mod control;
mod erased;
mod gone_clients;
mod groups;
mod metrics;
mod mirrored_log;

use std::path::Path;
use std::sync::mpsc::channel;

use strewn_live::assembly::{
    ArrayLocation, CreateOptions, LogDevices, OpenOptions, ReplacementDevice, SpindleDevices,
    create, open, prepare_replacement,
};
use strewn_live::configuration::{ArraySpec, LayoutName};
use strewn_live::device::{IoBackend, Space};
use strewn_live::engine::{Answer, HostRequest, RequestError, TargetId};
use strewn_live::serving::Client;
use strewn_live::starting::{StartedArray, start};

const MIB: u64 = 1 << 20;

fn made(directory: &Path, layout: LayoutName, data_spindles: u16) {
    made_with(directory, layout, data_spindles, LogDevices::NewFile);
}

fn made_with(directory: &Path, layout: LayoutName, data_spindles: u16, log: LogDevices) {
    create(&CreateOptions {
        directory: directory.to_owned(),
        spec: ArraySpec {
            layout,
            data_spindles,
            spindle_bytes: 32 * MIB,
            lun_bytes: 48 * MIB,
            log_half_bytes: Some(4 * MIB),
            cache_bytes: Some(8 * MIB),
        },
        spindles: SpindleDevices::NewFiles,
        log,
        space: Space::Sparse,
        force: false,
    })
    .unwrap();
}

fn open_options(degraded: bool) -> OpenOptions {
    OpenOptions { degraded, read_only: false }
}

fn started(directory: &Path, degraded: bool) -> StartedArray {
    let assembled =
        open(&ArrayLocation::Directory(directory.to_owned()), open_options(degraded)).unwrap();
    start(assembled, IoBackend::Auto).unwrap()
}

fn answer(client: &Client, request: HostRequest) -> Result<Answer, RequestError> {
    let (sender, receiver) = channel();
    client.submit(
        TargetId::FIRST_LUN,
        request,
        Box::new(move |answer| sender.send(answer).unwrap()),
    );
    receiver.recv().unwrap()
}

fn ask(client: &Client, request: HostRequest) -> Answer {
    answer(client, request).unwrap()
}

/// What a megabyte of the LUN holds in a round.
fn megabyte(index: u64, round: u64) -> Vec<u8> {
    (0..MIB / 8).flat_map(|word| (word ^ index << 40 ^ round << 56).to_le_bytes()).collect()
}

fn write_all(client: &Client, round: u64) {
    for index in 0..48 {
        let request =
            HostRequest::Write { first_sector: index * 2_048, data: megabyte(index, round) };
        assert_eq!(ask(client, request), Answer::Done);
    }
}

fn check_all(client: &Client, round: u64) {
    for index in 0..48 {
        let sectors = index * 2_048..(index + 1) * 2_048;
        let answer = ask(client, HostRequest::Read(sectors));
        assert!(answer == Answer::Bytes(megabyte(index, round)), "megabyte {index}");
    }
}

#[test]
fn an_array_is_served_restarted_loses_a_spindle_and_is_rebuilt() {
    for (layout, data_spindles) in [
        (LayoutName::RaidDp, 4),
        (LayoutName::Raid4, 4),
        (LayoutName::Vraid5, 6),
        (LayoutName::Raid5, 2),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("array");
        made(&directory, layout, data_spindles);
        let serving = started(&directory, false).serve().unwrap();
        let client = serving.client();
        write_all(&client, 1);
        write_all(&client, 2);
        check_all(&client, 2);
        assert!(client.look().unwrap().counters.consistency_points > 1);
        serving.shut_down().unwrap();

        std::fs::remove_file(directory.join("spindle-01")).unwrap();
        let refused = open(&ArrayLocation::Directory(directory.clone()), OpenOptions::default());
        assert!(refused.unwrap_err().to_string().contains("spindle"), "{layout:?}");
        let serving = started(&directory, true).serve().unwrap();
        let client = serving.client();
        check_all(&client, 2);
        write_all(&client, 3);
        check_all(&client, 3);
        serving.shut_down().unwrap();

        let options = OpenOptions { degraded: true, read_only: false };
        let place = ArrayLocation::Directory(directory.clone());
        let mut assembled = open(&place, options).unwrap();
        let path = directory.join("spindle-01");
        let new = ReplacementDevice::NewFile { path, space: Space::Sparse };
        prepare_replacement(&place, &mut assembled, 1, &new).unwrap();
        start(assembled, IoBackend::Threads).unwrap().rebuild(&mut |_| true).unwrap();

        let assembled =
            open(&ArrayLocation::Directory(directory.clone()), OpenOptions::default()).unwrap();
        let config = assembled.configuration.array().unwrap();
        let scrubbed =
            start(assembled, IoBackend::Auto).unwrap().scrub(&config, &mut |_, _| true).unwrap();
        assert!(scrubbed.is_clean() && scrubbed.stripes > 1_000, "{scrubbed:?}");
        let serving = started(&directory, false).serve().unwrap();
        check_all(&serving.client(), 3);
        serving.shut_down().unwrap();
    }
}
