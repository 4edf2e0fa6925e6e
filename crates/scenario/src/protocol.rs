//! The settings of protocols between hosts and arrays, of what carries them, and of routers.

use strewn_transport::front_end::{Fcp, Iscsi, Nfs, Smb1, Smb2, Smb2Dialect, WriteStability};
use strewn_transport::{
    FibreChannelSettings, IdleRestart, InitialWindow, Protocol, RouterSettings, RouterStorage,
    SlowStart, TcpSettings, Transport,
};

use crate::key_list::{KeyList, Multiple, ReadKeys};
use crate::quantity::Bytes;
use crate::section::Section;

/// The words for protocols, and their defaults.
pub(crate) fn protocols() -> [(&'static str, Protocol); 5] {
    [
        ("fcp", Protocol::Fcp(Fcp::default())),
        ("iscsi", Protocol::Iscsi(Iscsi::default())),
        ("nfs", Protocol::Nfs(Nfs::default())),
        ("smb1", Protocol::Smb1(Smb1::default())),
        ("smb2", Protocol::Smb2(Smb2::default())),
    ]
}

/// Returns the word for a protocol, which is also the key of its table.
pub(crate) fn word_for(protocol: &Protocol) -> &'static str {
    match protocol {
        // A front end of a scenario has wires.
        Protocol::Direct => "",
        Protocol::Fcp(_) => "fcp",
        Protocol::Iscsi(_) => "iscsi",
        Protocol::Nfs(_) => "nfs",
        Protocol::Smb1(_) => "smb1",
        Protocol::Smb2(_) => "smb2",
    }
}

/// What carries a protocol unless a scenario says more.
pub(crate) fn transport_of(protocol: &Protocol) -> Transport {
    match protocol {
        Protocol::Fcp(_) => Transport::FibreChannel(FibreChannelSettings::default()),
        _ => Transport::Tcp(TcpSettings::default()),
    }
}

/// The key of the table of TCP's settings.
pub(crate) const TCP: &str = "tcp";
/// The key of the table of a router's settings.
pub(crate) const ROUTER: &str = "router";

/// Lengths that RFC 7143, section 13, allows for data segments and bursts, in bytes.
const ISCSI_LENGTHS: std::ops::RangeInclusive<u64> = 512..=(1 << 24) - 1;
/// Data of a SCSI command: 16 MiB is more than any initiator of a disk sends at once.
const COMMAND_BYTES: std::ops::RangeInclusive<u64> = 512..=16 << 20;
/// Data of a READ or WRITE of NFS. Linux offers up to 1 MiB, other servers more.
const NFS_BYTES: std::ops::RangeInclusive<u32> = 512..=64 << 20;
/// What a message of SMB 1 holds, in whole sectors (\[MS-SMB\] 2.2.4.2.1).
const SMB1_BYTES: std::ops::RangeInclusive<u32> = 512..=130_560;
/// Data of a request of SMB 2: 8 MiB is the most that servers offer.
const SMB2_BYTES: std::ops::RangeInclusive<u32> = 512..=8 << 20;
/// Requests in progress.
const IN_FLIGHT: std::ops::RangeInclusive<u32> = 1..=65_535;
/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;
/// What a router adds.
const ROUTER_TIMES: std::ops::RangeInclusive<u64> = 0..=SECOND_NS;

const ROUTER_STORAGES: [(&str, RouterStorage); 2] =
    [("pdu", RouterStorage::Pdu), ("frame", RouterStorage::Frame)];

const DIALECTS: [(&str, Smb2Dialect); 2] =
    [("2.0.2", Smb2Dialect::Smb202), ("2.1", Smb2Dialect::Smb210)];

const STABILITIES: [(&str, WriteStability); 3] = [
    ("commit-on-close", WriteStability::CommitOnClose),
    ("commit", WriteStability::Commit),
    ("file-sync", WriteStability::FileSync),
];

const INITIAL_WINDOWS: [(&str, Option<InitialWindow>); 3] = [
    ("off", None),
    ("rfc-3390", Some(InitialWindow::Rfc3390)),
    ("rfc-6928", Some(InitialWindow::Rfc6928)),
];

const IDLE_RESTARTS: [(&str, IdleRestart); 3] = [
    ("keeps", IdleRestart::Keeps),
    ("rfc-5681", IdleRestart::Rfc5681),
    ("rfc-2861", IdleRestart::Rfc2861),
];

/// Goes over the keys of a protocol's table. Fibre Channel's transport has its keys there too.
pub(crate) fn of_protocol(
    keys: &mut impl KeyList,
    protocol: &mut Protocol,
    transport: &mut Transport,
) {
    match protocol {
        Protocol::Direct => {}
        Protocol::Fcp(fcp) => {
            of_fcp(keys, fcp);
            if let Transport::FibreChannel(FibreChannelSettings { retry_timeout_ns }) = transport {
                keys.time("retry_timeout", retry_timeout_ns, 1_000_000..=3_600 * SECOND_NS);
            }
        }
        Protocol::Iscsi(iscsi) => of_iscsi(keys, iscsi),
        Protocol::Nfs(nfs) => of_nfs(keys, nfs),
        Protocol::Smb1(smb) => of_smb1(keys, smb),
        Protocol::Smb2(smb) => of_smb2(keys, smb),
    }
}

fn of_fcp(keys: &mut impl KeyList, fcp: &mut Fcp) {
    let Fcp { largest_command_bytes, largest_burst_bytes, commands_in_flight } = fcp;
    keys.size("largest_command", largest_command_bytes, COMMAND_BYTES, Multiple::Sector);
    keys.size("largest_burst", largest_burst_bytes, COMMAND_BYTES, Multiple::Sector);
    keys.count("commands_in_flight", commands_in_flight, IN_FLIGHT);
}

fn of_iscsi(keys: &mut impl KeyList, iscsi: &mut Iscsi) {
    let Iscsi {
        header_digest,
        data_digest,
        host_data_segment_bytes,
        target_data_segment_bytes,
        max_burst_bytes,
        first_burst_bytes,
        immediate_data,
        initial_r2t,
        max_outstanding_r2t,
        status_in_data,
        largest_command_bytes,
        commands_in_flight,
    } = iscsi;
    let segments = *ISCSI_LENGTHS.start() as u32..=*ISCSI_LENGTHS.end() as u32;
    keys.flag("header_digest", header_digest);
    keys.flag("data_digest", data_digest);
    keys.small_size("host_data_segment", host_data_segment_bytes, segments.clone(), Multiple::Word);
    keys.small_size("target_data_segment", target_data_segment_bytes, segments, Multiple::Word);
    keys.size("max_burst", max_burst_bytes, ISCSI_LENGTHS, Multiple::Word);
    keys.size("first_burst", first_burst_bytes, ISCSI_LENGTHS, Multiple::Word);
    keys.flag("immediate_data", immediate_data);
    keys.flag("initial_r2t", initial_r2t);
    keys.count("max_outstanding_r2t", max_outstanding_r2t, IN_FLIGHT);
    keys.flag("status_in_data", status_in_data);
    keys.size("largest_command", largest_command_bytes, COMMAND_BYTES, Multiple::Sector);
    keys.count("commands_in_flight", commands_in_flight, IN_FLIGHT);
}

fn of_nfs(keys: &mut impl KeyList, nfs: &mut Nfs) {
    let Nfs {
        read_bytes,
        write_bytes,
        slots,
        stability,
        pre_op_attributes,
        post_op_attributes,
        file_handle_bytes,
        machine_name_bytes,
        groups,
        file_name_bytes,
    } = nfs;
    keys.small_size("read_size", read_bytes, NFS_BYTES, Multiple::Sector);
    keys.small_size("write_size", write_bytes, NFS_BYTES, Multiple::Sector);
    keys.count("slots", slots, IN_FLIGHT);
    keys.choice("stability", stability, &STABILITIES);
    keys.flag("pre_op_attributes", pre_op_attributes);
    keys.flag("post_op_attributes", post_op_attributes);
    keys.small_size("file_handle", file_handle_bytes, 1..=64, Multiple::Byte);
    keys.small_size("machine_name", machine_name_bytes, 0..=255, Multiple::Byte);
    keys.count("groups", groups, 0..=16);
    keys.small_size("file_name", file_name_bytes, 1..=255, Multiple::Byte);
}

fn of_smb1(keys: &mut impl KeyList, smb: &mut Smb1) {
    let Smb1 { read_bytes, write_bytes, requests_in_flight, file_name_bytes } = smb;
    keys.small_size("read_size", read_bytes, SMB1_BYTES, Multiple::Sector);
    keys.small_size("write_size", write_bytes, SMB1_BYTES, Multiple::Sector);
    keys.count("requests_in_flight", requests_in_flight, IN_FLIGHT);
    keys.small_size("file_name", file_name_bytes, 1..=510, Multiple::Byte);
}

fn of_smb2(keys: &mut impl KeyList, smb: &mut Smb2) {
    let Smb2 { dialect, read_bytes, write_bytes, credits, file_name_bytes } = smb;
    keys.choice("dialect", dialect, &DIALECTS);
    keys.small_size("read_size", read_bytes, SMB2_BYTES, Multiple::Sector);
    keys.small_size("write_size", write_bytes, SMB2_BYTES, Multiple::Sector);
    keys.count("credits", credits, IN_FLIGHT);
    keys.small_size("file_name", file_name_bytes, 1..=510, Multiple::Byte);
}

/// Goes over the keys of TCP's table.
pub(crate) fn of_tcp(keys: &mut impl KeyList, tcp: &mut TcpSettings) {
    let TcpSettings {
        timestamps,
        window_bytes,
        window_scaling,
        slow_start,
        minimum_timeout_ns,
        maximum_timeout_ns,
        retransmissions,
    } = tcp;
    let timeouts = 1_000_000..=3_600 * SECOND_NS;
    keys.flag("timestamps", timestamps);
    // RFC 7323, 2.2: a window may be 1 GiB.
    keys.size("window", window_bytes, 1 << 10..=1 << 30, Multiple::Byte);
    keys.flag("window_scaling", window_scaling);
    let mut initial_window = slow_start.map(|slow_start| slow_start.initial_window);
    let mut idle_restart = slow_start.map_or(IdleRestart::Rfc2861, |before| before.idle_restart);
    keys.choice("slow_start", &mut initial_window, &INITIAL_WINDOWS);
    match initial_window {
        Some(_) => keys.choice("idle_restart", &mut idle_restart, &IDLE_RESTARTS),
        None => keys.refuse(
            "idle_restart",
            "there is no slow start that could begin again",
            "give slow_start = \"rfc-3390\" or \"rfc-6928\", or leave this out",
        ),
    }
    *slow_start = initial_window.map(|initial_window| SlowStart { initial_window, idle_restart });
    keys.time("minimum_timeout", minimum_timeout_ns, timeouts.clone());
    keys.time("maximum_timeout", maximum_timeout_ns, timeouts);
    keys.count("retransmissions", retransmissions, 0..=255);
}

/// Goes over the keys of a router's table.
pub(crate) fn of_router(keys: &mut impl KeyList, router: &mut RouterSettings) {
    let RouterSettings { latency_ns, command_ns, pdu_ns, kib_ns, storage } = router;
    keys.time("latency", latency_ns, ROUTER_TIMES);
    keys.time("command", command_ns, ROUTER_TIMES);
    keys.time("pdu", pdu_ns, ROUTER_TIMES);
    keys.time("per_kib", kib_ns, ROUTER_TIMES);
    keys.choice("storage", storage, &ROUTER_STORAGES);
}

/// Reads the tables of a front end that belong to `protocol`, and refuses those of others. `None` if something is
/// wrong.
pub(crate) fn read(section: &mut Section<'_>, protocol: Protocol) -> Option<(Protocol, Transport)> {
    let (mut protocol, mut transport) = (protocol, transport_of(&protocol));
    let own = word_for(&protocol);
    let mut is_good = true;
    for (word, _) in protocols() {
        let is_given = section.has(word);
        let table = section.section(word);
        if word != own {
            // Of a protocol that is not known, no table is wrong.
            if is_given && !own.is_empty() {
                is_good = false;
                section.problem(
                    word,
                    format!("the protocol is `{own}`"),
                    format!("leave the table out, or give protocol = \"{word}\""),
                );
            }
            continue;
        }
        let Some(mut table) = table else {
            is_good &= !is_given;
            continue;
        };
        if let Protocol::Iscsi(iscsi) = &mut protocol {
            let presets = [("rfc-7143", Iscsi::default()), ("open-iscsi", Iscsi::open_iscsi())];
            let mut keys = ReadKeys::new(&mut table);
            keys.choice("preset", iscsi, &presets);
            is_good &= keys.is_good;
        }
        let mut keys = ReadKeys::new(&mut table);
        of_protocol(&mut keys, &mut protocol, &mut transport);
        is_good &= keys.is_good && check(&table, &protocol);
        table.finish();
    }
    is_good &= read_tcp(section, &mut transport);
    is_good.then_some((protocol, transport))
}

/// Checks what keys of a protocol's table say together.
fn check(section: &Section<'_>, protocol: &Protocol) -> bool {
    match protocol {
        Protocol::Iscsi(iscsi) if iscsi.first_burst_bytes > iscsi.max_burst_bytes => {
            let most = Bytes(iscsi.max_burst_bytes);
            section.problem(
                "first_burst",
                format!("is {}, and max_burst is {most}", Bytes(iscsi.first_burst_bytes)),
                format!("give at most {most} (RFC 7143, 13.14), or a larger max_burst"),
            );
            false
        }
        Protocol::Smb2(smb) => {
            let largest_bytes = u64::from(smb.read_bytes.max(smb.write_bytes));
            let needed = match smb.dialect {
                Smb2Dialect::Smb202 => 1,
                Smb2Dialect::Smb210 => Smb2::credit_charge(largest_bytes),
            };
            if u64::from(smb.credits) < needed {
                section.problem(
                    "credits",
                    format!("a request of {} takes {needed}", Bytes(largest_bytes)),
                    format!("give at least {needed}, or a smaller read_size and write_size"),
                );
            }
            u64::from(smb.credits) >= needed
        }
        _ => true,
    }
}

/// Reads the table of TCP's settings into `transport`. Returns whether all is right.
fn read_tcp(section: &mut Section<'_>, transport: &mut Transport) -> bool {
    let is_given = section.has(TCP);
    let Some(mut table) = section.section(TCP) else { return !is_given };
    let Transport::Tcp(tcp) = transport else {
        section.problem(
            TCP,
            "Fibre Channel is not carried by TCP",
            "leave the table out, or give protocol = \"iscsi\"",
        );
        return false;
    };
    let mut keys = ReadKeys::new(&mut table);
    of_tcp(&mut keys, tcp);
    let mut is_good = keys.is_good;
    if is_good && tcp.maximum_timeout_ns < tcp.minimum_timeout_ns {
        is_good = false;
        table.problem(
            "maximum_timeout",
            "is less than minimum_timeout",
            "give a longer time, or a shorter minimum_timeout",
        );
    }
    table.finish();
    is_good
}

/// Reads the table of a router. `None` if something is wrong; `Some(None)` if there is none.
pub(crate) fn read_router(section: &mut Section<'_>) -> Option<Option<RouterSettings>> {
    let is_given = section.has(ROUTER);
    let Some(mut table) = section.section(ROUTER) else { return (!is_given).then_some(None) };
    let mut router = RouterSettings::default();
    let mut keys = ReadKeys::new(&mut table);
    of_router(&mut keys, &mut router);
    let is_good = keys.is_good;
    table.finish();
    is_good.then_some(Some(router))
}
