//! Scenarios written as text and read again, and scenarios that code has changed.

use strewn_raid::Parity;
use strewn_scenario::{
    BackgroundScan, DiskGroup, FrontEnd, FurtherGroup, HostReceives, InPlace, InPlaceLayout, Link,
    NoFiles, OtherData, PerKib, ProcessorWork, ProtectionLevel, ReallocationScan, RelocationConfig,
    Scenario, SnapshotSchedule, SpindleFailure, Template, WriteAnywhere,
};
use strewn_transport::front_end::{Fcp, Iscsi, Nfs, Smb1, Smb2, Smb2Dialect, WriteStability};
use strewn_transport::{
    FibreChannelOptions, Forwarding, IdleRestart, InitialWindow, LaneRule, Protocol, RouterOptions,
    RouterStorage, SlowStart, TcpOptions, Transport,
};

use crate::common::good;
use crate::good_scenarios::shipped;
use crate::hosts::TWO_HOSTS;

/// A front end for each protocol, with no setting at its default.
fn every_front_end() -> impl Iterator<Item = FrontEnd> {
    let protocols = [
        Protocol::Fcp(Fcp {
            largest_command_bytes: 64 << 10,
            largest_burst_bytes: 16 << 10,
            commands_in_flight: 3,
        }),
        Protocol::Iscsi(Iscsi {
            header_digest: true,
            data_digest: true,
            host_data_segment_bytes: 512,
            target_data_segment_bytes: 65_536,
            max_burst_bytes: 16_776_192,
            first_burst_bytes: 1_048_576,
            immediate_data: false,
            initial_r2t: false,
            max_outstanding_r2t: 4,
            status_in_data: false,
            largest_command_bytes: 1 << 20,
            commands_in_flight: 7,
        }),
        Protocol::Nfs(Nfs {
            read_bytes: 65_536,
            write_bytes: 1 << 20,
            slots: 128,
            stability: WriteStability::FileSync,
            pre_op_attributes: false,
            post_op_attributes: false,
            file_handle_bytes: 28,
            machine_name_bytes: 12,
            groups: 16,
            file_name_bytes: 9,
        }),
        Protocol::Smb1(Smb1 {
            read_bytes: 16_384,
            write_bytes: 130_560,
            requests_in_flight: 50,
            file_name_bytes: 20,
        }),
        Protocol::Smb2(Smb2 {
            dialect: Smb2Dialect::Smb202,
            read_bytes: 65_536,
            write_bytes: 32_768,
            credits: 1,
            file_name_bytes: 22,
        }),
    ];
    protocols.into_iter().map(|protocol| {
        let is_routed = matches!(protocol, Protocol::Iscsi(_));
        let is_fibre_channel = matches!(protocol, Protocol::Fcp(_));
        let path: &[&str] = match (is_routed, is_fibre_channel) {
            (true, _) => &["front", "behind"],
            (_, true) => &["behind"],
            _ => &["front"],
        };
        FrontEnd {
            protocol,
            transport: match is_fibre_channel {
                true => {
                    Transport::FibreChannel(FibreChannelOptions { retry_timeout_ns: 7_000_000 })
                }
                false => Transport::Tcp(TcpOptions {
                    timestamps: false,
                    window_bytes: 65_535,
                    window_scaling: false,
                    slow_start: Some(SlowStart {
                        initial_window: InitialWindow::Rfc6928,
                        idle_restart: IdleRestart::Keeps,
                    }),
                    minimum_timeout_ns: 1_000_000_000,
                    maximum_timeout_ns: 60_000_000_000,
                    retransmissions: 5,
                }),
            },
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            switch_latency_ns: 3_000,
            switch_forwarding: Forwarding::CutThrough,
            router: is_routed.then_some(RouterOptions {
                latency_ns: 1,
                command_ns: 2,
                pdu_ns: 3,
                kib_ns: 4,
                storage: RouterStorage::Frame,
            }),
            connections: 3,
            host_cores: 2,
            host_pdu_ns: 1.0,
            host_per_kib: PerKib { both_ns: 2.0, read_ns: Some(5.0), write_ns: None },
            controller_pdu_ns: 3.0,
            controller_per_kib: PerKib { both_ns: 4.0, read_ns: None, write_ns: Some(6.0) },
            host_interrupt_delay_ns: 5,
            host_receives: HostReceives::AsItArrives,
        }
    })
}

fn every_scenario() -> Vec<Scenario> {
    let read =
        |template: &Template| Scenario::parse(&template.scenario("new"), "new.toml").unwrap();
    let templates = Template::ALL.iter().map(read);
    let mut full = good();
    let layout = full.arrays[0].layout.get_mut::<WriteAnywhere>().unwrap();
    layout.other_data = Some(OtherData { full_percent: 33.25, run_blocks: 16 });
    layout.spares = 2;
    layout.further_groups = vec![
        FurtherGroup { parity: Parity::Raid4, data_spindles: 7, at_ns: None },
        FurtherGroup { parity: Parity::RaidDp, data_spindles: 3, at_ns: Some(1_000_000_001) },
    ];
    layout.snapshots = Some(SnapshotSchedule { every_ns: 7_000_000_001, keep: 255 });
    layout.relocation = RelocationConfig {
        after_reads: true,
        reads_in_flight: 5,
        scan: Some(ReallocationScan {
            begins_ns: 1_000_000_003,
            every_ns: Some(3_000_000_001),
            bytes_per_s: 12_345_678,
            stretch_blocks: 100,
            threshold: 2.5,
        }),
        cleaned_blocks: Some(77),
    };
    layout.read_through_blocks = 126;
    layout.background.reclaim_interval_ns = 300_000_000_001;
    layout.background.scan = Some(BackgroundScan {
        blocks_per_second: 17,
        begins_ns: 3,
        ends_ns: 5,
        ..BackgroundScan::default()
    });
    let processor = &mut full.arrays[0].processor;
    processor.allocated_block_ns = 1.0;
    processor.freed_block_ns = 2.0;
    processor.metadata_block_ns = 3.0;
    processor.parity_per_kib_ns = 4.0;
    processor.interrupt_ns = 5.0;
    full.arrays[0].name = "with.dots \"and\" quotes".to_owned();
    full.arrays[0].failures =
        [1, 3].map(|at| SpindleFailure { at_ns: at, spindle: at as u16 }).to_vec();
    full.overhead.as_mut().unwrap().configurations[0].array = full.arrays[0].name.clone();
    full.segment_ns = 1_234_567_891;
    let layout = full.arrays[1].layout.get_mut::<InPlace>().unwrap();
    layout.groups.push(DiskGroup {
        layout: InPlaceLayout::Raid5,
        spindles: 7,
        redundancy_sets: vec![7],
        chunk_bytes: 64 << 10,
        segment_bytes: 1 << 20,
        protection_level: ProtectionLevel::None,
    });
    layout.groups.push(DiskGroup {
        spindles: 9,
        redundancy_sets: vec![9],
        protection_level: ProtectionLevel::Double,
        ..layout.groups[0].clone()
    });
    let networks = every_front_end().map(|front_end| {
        let mut scenario = good();
        let link = |name: &str, kind: &str| Link {
            name: name.to_owned(),
            kind: kind.to_owned(),
            lanes: 2,
            lane_rule: LaneRule::LeastQueue,
            down_lanes: 1,
            down_ns: None,
            up_ns: None,
            detection_ns: 1,
            propagation_ns: Some(50_000),
            buffer_credits: kind.starts_with("fc").then_some(16),
            bytes_per_second: Some(100_000_000),
        };
        scenario.links = vec![link("front", "ethernet-1g"), link("behind", "fc-2g")];
        scenario.arrays[0].front_end = Some(front_end);
        scenario
    });
    let mut several_hosts = Scenario::parse(TWO_HOSTS, "two-hosts.toml").unwrap();
    several_hosts.arrays[0].processor.cores = 3;
    several_hosts.arrays[0].processor.serial_domains =
        vec![vec![ProcessorWork::Network], vec![ProcessorWork::Operations]];
    let more = [full, Scenario::default(), several_hosts].into_iter().chain(networks);
    shipped().into_iter().chain(templates).chain(more).collect()
}

#[test]
fn a_scenario_that_is_written_reads_back_as_itself() {
    for scenario in every_scenario() {
        let text = scenario.to_toml().unwrap();
        assert_eq!(Scenario::parse(&text, "copy").unwrap(), scenario, "{text}");
        scenario.check().unwrap();
        let json = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario, "{json}");
    }
    let smaller = good().scaled_down(8).0;
    assert_eq!(smaller.to_toml(), None);
    assert!(serde_json::to_string(&smaller).unwrap_err().to_string().contains("scaled down"));
}

/// As `--segments 1` has it.
#[test]
fn a_run_of_fewer_segments_is_no_mistake() {
    let mut scenario = good();
    scenario.arrays[0].failures =
        vec![SpindleFailure { at_ns: 5 * scenario.segment_ns, spindle: 0 }];
    scenario.check().unwrap();
    scenario.segments = 1;
    scenario.check().unwrap();
}

#[test]
fn what_code_sets_is_checked_as_a_text_is() {
    let problem = |change: fn(&mut Scenario)| {
        let mut scenario = good();
        change(&mut scenario);
        scenario.check().unwrap_err().problems()[0].to_string()
    };
    let cost = problem(|scenario| scenario.arrays[0].processor.host_operation_ns = f64::NAN);
    assert!(cost.contains("array[anywhere].processor.host_operation"), "{cost}");
    let cost = problem(|scenario| scenario.arrays[1].processor.per_kib_ns = -1.0);
    assert!(cost.contains("array[inplace].processor.per_kib"), "{cost}");
    let lun = problem(|scenario| scenario.arrays[0].luns[0].bytes = 1 << 50);
    assert!(lun.contains("array[anywhere].lun"), "{lun}");
    let segments = problem(|scenario| scenario.segments = 0);
    assert!(segments.contains("segments"), "{segments}");
    let name = problem(|scenario| scenario.arrays[0].name = "inplace".to_owned());
    assert!(name.contains("another array"), "{name}");
    let json = serde_json::to_string(&good()).unwrap().replace("\"sptf\"", "\"stpf\"");
    let error = serde_json::from_str::<Scenario>(&json).unwrap_err().to_string();
    assert!(
        error.contains("there is no scheduler `stpf`") || error.contains("problems"),
        "{error}"
    );
}

/// What an array does only if asked has no setting until then, and can be set all the same.
#[test]
fn options_that_are_off_can_be_set_by_name() {
    let text = Scenario::default().to_toml().unwrap();
    for (path, value, is_set) in [
        ("read_reallocation", "true", "read_reallocation = true"),
        ("reallocation_scan.begins", "1 min", "begins = \"1 min\""),
        ("cleaning.blocks_per_checkpoint", "100", "blocks_per_checkpoint = 100"),
        ("read_through_blocks", "16", "read_through_blocks = 16"),
        ("reclaim_interval", "300 s", "reclaim_interval = \"300 s\""),
        ("freed_block", "1 us", "freed_block = \"1 us\""),
    ] {
        let setting = [(path.to_owned(), value.to_owned())];
        let (set, written) = Scenario::parse_with(&text, "set.toml", &setting, &NoFiles).unwrap();
        assert!(written.contains(is_set), "{path}: no {is_set:?} in\n{written}");
        assert_eq!(Scenario::parse(&set.to_toml().unwrap(), "again.toml").unwrap(), set);
    }
    let misspelt = [("read_realocation".to_owned(), "true".to_owned())];
    let error = Scenario::parse_with(&text, "set.toml", &misspelt, &NoFiles).unwrap_err();
    assert!(error.help().unwrap().contains("read_reallocation"), "{:?}", error.help());
}

#[test]
fn a_shorter_run_need_not_come_to_a_reallocation_scan() {
    let text = Scenario::default().to_toml().unwrap();
    let setting = [("reallocation_scan.begins".to_owned(), "40 min".to_owned())];
    let (mut scenario, _) = Scenario::parse_with(&text, "set.toml", &setting, &NoFiles).unwrap();
    scenario.segments = 1;
    scenario.check().unwrap();
}
