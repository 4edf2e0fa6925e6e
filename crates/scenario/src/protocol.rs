//! The settings of protocols between hosts and arrays, of what carries them, and of routers.

use std::ops::RangeInclusive;

use strewn_transport::front_end::{Fcp, Iscsi, Nfs, Smb1, Smb2, Smb2Dialect, WriteStability};
use strewn_transport::{
    FibreChannelOptions, IdleRestart, InitialWindow, Protocol, RouterOptions, RouterStorage,
    SlowStart, TcpOptions, Transport,
};

use crate::fields::{
    Around, Field, Fields, Limit, Multiple, Section, Table, Words, choice, count, flag, size,
    table, time,
};
use crate::quantity::Bytes;

/// What a front end must know of a protocol, beside its settings.
trait Settings: Table {
    /// Returns what carries the protocol unless a scenario says more.
    fn transport() -> Transport {
        Transport::Tcp(TcpOptions::default())
    }

    /// Goes over the protocol's table.
    fn part(&mut self, f: &mut Fields<'_>, field: Field, _transport: &mut Transport)
    where
        Self: Sized,
    {
        f.part(field, self);
    }
}

macro_rules! protocols {
    ($($protocol:ident, $key:literal, $help:literal;)*) => {
        /// A protocol, without its settings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ProtocolName {
            $($protocol,)*
        }

        /// The key of a protocol's table is the word for it.
        impl Words for ProtocolName {
            const WORDS: &'static [(&'static str, Self)] = &[$(($key, Self::$protocol),)*];
        }

        impl ProtocolName {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$protocol,)*];

            /// Returns the name of a protocol. A front end of a scenario has wires, and so one of these.
            pub(crate) const fn of(protocol: &Protocol) -> Self {
                match protocol {
                    Protocol::Direct => Self::Iscsi,
                    $(Protocol::$protocol(_) => Self::$protocol,)*
                }
            }

            /// Returns the protocol with its defaults.
            pub(crate) fn protocol(self) -> Protocol {
                match self {
                    $(Self::$protocol => Protocol::$protocol($protocol::default()),)*
                }
            }

            /// Returns what carries the protocol unless a scenario says more.
            pub(crate) fn transport(self) -> Transport {
                match self {
                    $(Self::$protocol => $protocol::transport(),)*
                }
            }

            /// Returns what its table has.
            const fn help(self) -> &'static str {
                match self {
                    $(Self::$protocol => $help,)*
                }
            }
        }

        fn of_protocol(f: &mut Fields<'_>, field: Field, protocol: &mut Protocol, transport: &mut Transport) {
            match protocol {
                Protocol::Direct => {}
                $(Protocol::$protocol(settings) => settings.part(f, field, transport),)*
            }
        }
    };
}

protocols! {
    Fcp, "fcp", "Settings of FCP.";
    Iscsi, "iscsi", "Settings of iSCSI: the keys of its login (RFC 7143, section 13).";
    Nfs, "nfs", "Settings of NFS version 3.";
    Smb1, "smb1", "Settings of SMB 1.";
    Smb2, "smb2", "Settings of SMB 2.";
}

impl Settings for Iscsi {}
impl Settings for Nfs {}
impl Settings for Smb1 {}
impl Settings for Smb2 {}

/// FCP has the settings of its transport in its own table.
impl Settings for Fcp {
    fn transport() -> Transport {
        Transport::FibreChannel(FibreChannelOptions::default())
    }

    fn part(&mut self, f: &mut Fields<'_>, field: Field, transport: &mut Transport) {
        if let Transport::FibreChannel(carrier) = transport {
            f.part(field, &mut FcpAndCarrier { fcp: self, carrier });
        }
    }
}

/// Where the defaults of protocols of files come from.
const OF_THE_TIME: &str = "chosen, as clients and filers of the time had it";

/// The key of the table of a router's settings.
pub(crate) const ROUTER: &str = "router";

/// Lengths that RFC 7143, section 13, allows for data segments and bursts, in bytes: up to 2^24 - 1, and PDUs are
/// padded to 4 bytes.
const ISCSI_LENGTHS: RangeInclusive<u64> = 512..=(1 << 24) - 4;
/// Data of a SCSI command: 16 MiB is more than any initiator of a disk sends at once.
const COMMAND_BYTES: RangeInclusive<u64> = 512..=16 << 20;
/// Data of a READ or WRITE of NFS. Linux offers up to 1 MiB, other servers more.
const NFS_BYTES: RangeInclusive<u64> = 512..=64 << 20;
/// What a message of SMB 1 holds, in whole sectors (\[MS-SMB\] 2.2.4.2.1).
const SMB1_BYTES: RangeInclusive<u64> = 512..=130_560;
/// Data of a request of SMB 2: 8 MiB is the most that servers offer.
const SMB2_BYTES: RangeInclusive<u64> = 512..=8 << 20;
/// Requests in progress.
const IN_FLIGHT: RangeInclusive<u64> = 1..=65_535;
/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;
/// What a router adds.
const ROUTER_TIMES: RangeInclusive<u64> = 0..=SECOND_NS;
/// From a millisecond to an hour.
const TIMEOUTS: RangeInclusive<u64> = 1_000_000..=3_600 * SECOND_NS;

impl Words for RouterStorage {
    const WORDS: &'static [(&'static str, Self)] = &[("pdu", Self::Pdu), ("frame", Self::Frame)];
}

impl Words for Smb2Dialect {
    const WORDS: &'static [(&'static str, Self)] =
        &[("2.0.2", Self::Smb202), ("2.1", Self::Smb210)];
}

impl Words for WriteStability {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("commit-on-close", Self::CommitOnClose),
        ("commit", Self::Commit),
        ("file-sync", Self::FileSync),
    ];
}

impl Words for Option<InitialWindow> {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", None),
        ("rfc-3390", Some(InitialWindow::Rfc3390)),
        ("rfc-6928", Some(InitialWindow::Rfc6928)),
    ];
}

impl Words for IdleRestart {
    const WORDS: &'static [(&'static str, Self)] =
        &[("keeps", Self::Keeps), ("rfc-5681", Self::Rfc5681), ("rfc-2861", Self::Rfc2861)];
}

/// Where the settings of iSCSI begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IscsiPreset {
    Rfc7143,
    OpenIscsi,
}

impl Words for IscsiPreset {
    const WORDS: &'static [(&'static str, Self)] =
        &[("rfc-7143", Self::Rfc7143), ("open-iscsi", Self::OpenIscsi)];
}

/// Goes over the tables of a front end that belong to its protocol, and refuses those of others.
pub(crate) fn of_protocols(
    f: &mut Fields<'_>,
    protocol: &mut Protocol,
    transport: &mut Transport,
    known: &[ProtocolName],
) {
    let own = ProtocolName::of(protocol);
    for name in known {
        let (key, help) = (name.word(), name.help());
        if f.describes() {
            let (mut protocol, mut transport) = (name.protocol(), name.transport());
            of_protocol(f, table(key, help), &mut protocol, &mut transport);
        } else if *name == own && f.is_right("protocol") {
            of_protocol(f, table(key, help), protocol, transport);
        } else if f.is_right("protocol") {
            let message = format!("the protocol is `{}`", own.word());
            let help = format!("leave the table out, or give protocol = \"{key}\"");
            f.passes_over(key);
            f.refuses(key, &message, &help);
        } else {
            // Of a protocol that is not known, no table is wrong.
            f.passes_over(key);
        }
    }
    const TCP: &str = "tcp";
    match transport {
        Transport::Tcp(tcp) => {
            let help = "Settings of TCP, which carries every protocol but fcp.";
            f.part(table(TCP, help), tcp);
        }
        _ => {
            f.passes_over(TCP);
            f.refuses(
                TCP,
                "Fibre Channel is not carried by TCP",
                "leave the table out, or give protocol = \"iscsi\"",
            );
        }
    }
}

/// Settings of FCP, with those of its transport.
struct FcpAndCarrier<'p> {
    fcp: &'p mut Fcp,
    carrier: &'p mut FibreChannelOptions,
}

impl Table for FcpAndCarrier<'_> {
    fn fields(&mut self, f: &mut Fields<'_>) {
        self.fcp.fields(f);
        let FibreChannelOptions { retry_timeout_ns } = &mut *self.carrier;
        f.value(
            time(
                "retry_timeout",
                "After a frame was lost, the initiator starts the operation again this much \
                 later: 1 ms to 1 h.",
            )
            .within(TIMEOUTS)
            .present("chosen"),
            retry_timeout_ns,
        );
    }
}

impl Table for Fcp {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let Fcp { largest_command_bytes, largest_burst_bytes, commands_in_flight } = self;
        f.value(
            size("largest_command", "Largest data of a command, whole sectors up to 16 MiB.")
                .sized(COMMAND_BYTES, Multiple::Sector)
                .present("chosen"),
            largest_command_bytes,
        );
        f.value(
            size(
                "largest_burst",
                "Largest data that one FCP_XFER_RDY asks for, whole sectors up to 16 MiB. \
                 No limit unless given.",
            )
            .sized(COMMAND_BYTES, Multiple::Sector)
            .present("chosen"),
            &mut Limit(largest_burst_bytes),
        );
        f.value(
            count("commands_in_flight", "Commands of one operation in progress.")
                .within(IN_FLIGHT)
                .present("chosen"),
            commands_in_flight,
        );
    }
}

impl Table for Iscsi {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let mut preset = IscsiPreset::Rfc7143;
        f.value(
            choice::<IscsiPreset>(
                "preset",
                "Where the other keys begin: the defaults of the RFC, or what open-iscsi \
                 proposes if the target agrees (segments of 256 KiB, max_burst 16,776,192 \
                 B, first_burst 256 KiB, no initial_r2t).",
            )
            .default("\"rfc-7143\"", "RFC 7143")
            .listed(false),
            &mut preset,
        );
        if preset == IscsiPreset::OpenIscsi {
            *self = Self::open_iscsi();
        }
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
        } = self;
        f.value(
            flag("header_digest", "A CRC32C behind each header.").present("RFC 7143"),
            header_digest,
        );
        f.value(
            flag("data_digest", "A CRC32C behind the data of each PDU.").present("RFC 7143"),
            data_digest,
        );
        f.value(
            size(
                "host_data_segment",
                "MaxRecvDataSegmentLength that the host declares, 512 B to 16 MiB, a \
                 multiple of 4 B: the largest data of a Data-In.",
            )
            .sized(ISCSI_LENGTHS, Multiple::Word)
            .present("RFC 7143"),
            host_data_segment_bytes,
        );
        f.value(
            size(
                "target_data_segment",
                "MaxRecvDataSegmentLength that the target declares, likewise: the largest \
                 data of a Data-Out or a command.",
            )
            .sized(ISCSI_LENGTHS, Multiple::Word)
            .present("RFC 7143"),
            target_data_segment_bytes,
        );
        f.value(
            size("max_burst", "MaxBurstLength: the largest data that an R2T asks for.")
                .sized(ISCSI_LENGTHS, Multiple::Word)
                .present("RFC 7143"),
            max_burst_bytes,
        );
        f.value(
            size(
                "first_burst",
                "FirstBurstLength: the most data of a write before the first R2T. At most \
                 max_burst.",
            )
            .sized(ISCSI_LENGTHS, Multiple::Word)
            .present("RFC 7143"),
            first_burst_bytes,
        );
        f.value(
            flag("immediate_data", "The command itself may carry data.").present("RFC 7143"),
            immediate_data,
        );
        f.value(
            flag("initial_r2t", "Without an R2T, nothing but immediate data may be sent.")
                .present("RFC 7143"),
            initial_r2t,
        );
        f.value(
            count("max_outstanding_r2t", "MaxOutstandingR2T.")
                .within(IN_FLIGHT)
                .present("RFC 7143"),
            max_outstanding_r2t,
        );
        f.value(
            flag(
                "status_in_data",
                "The last Data-In carries the status; if not, a SCSI Response follows it.",
            )
            .present("RFC 7143"),
            status_in_data,
        );
        f.value(
            size("largest_command", "Largest data of a command, whole sectors up to 16 MiB.")
                .sized(COMMAND_BYTES, Multiple::Sector)
                .present("RFC 7143"),
            largest_command_bytes,
        );
        f.value(
            count("commands_in_flight", "Commands of one operation in progress.")
                .within(IN_FLIGHT)
                .present("RFC 7143"),
            commands_in_flight,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        if s.are_right(&["first_burst", "max_burst"])
            && self.first_burst_bytes > self.max_burst_bytes
        {
            let most = Bytes(self.max_burst_bytes);
            s.problem(
                "first_burst",
                format!("is {}, and max_burst is {most}", Bytes(self.first_burst_bytes)),
                format!("give at most {most} (RFC 7143, 13.14), or a larger max_burst"),
            );
        }
    }
}

impl Table for Nfs {
    fn fields(&mut self, f: &mut Fields<'_>) {
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
        } = self;
        f.value(
            size("read_size", "Mount option rsize: the largest READ, whole sectors up to 64 MiB.")
                .sized(NFS_BYTES, Multiple::Sector)
                .present(OF_THE_TIME),
            read_bytes,
        );
        f.value(
            size("write_size", "Mount option wsize: the largest WRITE, likewise.")
                .sized(NFS_BYTES, Multiple::Sector)
                .present(OF_THE_TIME),
            write_bytes,
        );
        f.value(
            count("slots", "Calls of one operation in progress.")
                .within(IN_FLIGHT)
                .present(OF_THE_TIME),
            slots,
        );
        f.value(
            choice::<WriteStability>(
                "stability",
                "When data is on stable storage: when the file is closed, after a COMMIT \
                 for each operation, or before each reply.",
            )
            .present(OF_THE_TIME),
            stability,
        );
        f.value(
            flag("pre_op_attributes", "Replies to writes carry the attributes from before.")
                .present(OF_THE_TIME),
            pre_op_attributes,
        );
        f.value(
            flag("post_op_attributes", "Replies carry the attributes from after the operation.")
                .present(OF_THE_TIME),
            post_op_attributes,
        );
        f.value(
            size("file_handle", "Length of a file handle, at most 64 B.")
                .sized(1..=64, Multiple::Byte)
                .present(OF_THE_TIME),
            file_handle_bytes,
        );
        f.value(
            size("machine_name", "Length of the client's name in its credentials, at most 255 B.")
                .sized(0..=255, Multiple::Byte)
                .present(OF_THE_TIME),
            machine_name_bytes,
        );
        f.value(
            count("groups", "Groups in the credentials.").within(0..=16).present(OF_THE_TIME),
            groups,
        );
        f.value(
            size("file_name", "Length of a file's name, at most 255 B. Operations do not send it.")
                .sized(1..=255, Multiple::Byte)
                .present(OF_THE_TIME),
            file_name_bytes,
        );
    }
}

impl Table for Smb1 {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let Smb1 { read_bytes, write_bytes, requests_in_flight, file_name_bytes } = self;
        f.value(
            size("read_size", "The largest read, whole sectors up to 127.5 KiB.")
                .sized(SMB1_BYTES, Multiple::Sector)
                .present(OF_THE_TIME),
            read_bytes,
        );
        f.value(
            size("write_size", "The largest write, likewise.")
                .sized(SMB1_BYTES, Multiple::Sector)
                .present(OF_THE_TIME),
            write_bytes,
        );
        f.value(
            count("requests_in_flight", "Requests of one operation in progress.")
                .within(IN_FLIGHT)
                .present(OF_THE_TIME),
            requests_in_flight,
        );
        f.value(
            size(
                "file_name",
                "Length of a file's name as sent, at most 510 B. Operations do not send it.",
            )
            .sized(1..=510, Multiple::Byte)
            .present(OF_THE_TIME),
            file_name_bytes,
        );
    }
}

impl Table for Smb2 {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let Smb2 { dialect, read_bytes, write_bytes, credits, file_name_bytes } = self;
        f.value(
            choice::<Smb2Dialect>(
                "dialect",
                "The version: 2.0.2 reads and writes at most 64 KiB, 2.1 takes several \
                 credits for more.",
            )
            .present(OF_THE_TIME),
            dialect,
        );
        f.value(
            size("read_size", "MaxReadSize, whole sectors up to 8 MiB.")
                .sized(SMB2_BYTES, Multiple::Sector)
                .present(OF_THE_TIME),
            read_bytes,
        );
        f.value(
            size("write_size", "MaxWriteSize, likewise.")
                .sized(SMB2_BYTES, Multiple::Sector)
                .present(OF_THE_TIME),
            write_bytes,
        );
        f.value(
            count("credits", "Credits of an operation; a request takes one for each 64 KiB.")
                .within(IN_FLIGHT)
                .present(OF_THE_TIME),
            credits,
        );
        f.value(
            size(
                "file_name",
                "Length of a file's name as sent, at most 510 B. Operations do not send it.",
            )
            .sized(1..=510, Multiple::Byte)
            .present(OF_THE_TIME),
            file_name_bytes,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        let largest_bytes = u64::from(self.read_bytes.max(self.write_bytes));
        let needed = match self.dialect {
            Smb2Dialect::Smb202 => 1,
            Smb2Dialect::Smb210 => Self::credit_charge(largest_bytes),
        };
        if s.is_good() && u64::from(self.credits) < needed {
            s.problem(
                "credits",
                format!("a request of {} takes {needed}", Bytes(largest_bytes)),
                format!("give at least {needed}, or a smaller read_size and write_size"),
            );
        }
    }
}

impl Table for TcpOptions {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let TcpOptions {
            timestamps,
            window_bytes,
            window_scaling,
            slow_start,
            minimum_timeout_ns,
            maximum_timeout_ns,
            retransmissions,
        } = self;
        f.value(
            flag("timestamps", "Segments carry timestamps, 12 bytes.")
                .present("chosen, as hosts of the time had it"),
            timestamps,
        );
        // RFC 7323, 2.2: a window may be 1 GiB.
        f.value(
            size("window", "Receive window, 1 KiB to 1 GiB.")
                .sized(1 << 10..=1 << 30, Multiple::Byte)
                .present("chosen, as hosts of the time had it"),
            window_bytes,
        );
        f.value(
            flag("window_scaling", "The window may exceed 65,535 bytes.")
                .present("chosen, as hosts of the time had it"),
            window_scaling,
        );
        let mut initial_window = slow_start.map(|slow_start| slow_start.initial_window);
        let mut idle_restart =
            slow_start.map_or(IdleRestart::Rfc2861, |before| before.idle_restart);
        f.value(
            choice::<Option<InitialWindow>>(
                "slow_start",
                "The congestion window: opened long ago, or beginning at 2 to 4 segments \
                 (RFC 3390) or 10 (RFC 6928).",
            )
            .present("chosen, as hosts of the time had it"),
            &mut initial_window,
        );
        if initial_window.is_some() || f.describes() {
            f.value(
                choice::<IdleRestart>(
                    "idle_restart",
                    "What an idle connection keeps of its congestion window: all of it, the \
                 initial window, or half for each timeout. Only with slow_start.",
                )
                .present("chosen, as hosts of the time had it"),
                &mut idle_restart,
            );
        } else {
            let key = "idle_restart";
            f.passes_over(key);
            f.refuses(
                key,
                "there is no slow start that could begin again",
                "give slow_start = \"rfc-3390\" or \"rfc-6928\", or leave this out",
            );
        }
        *slow_start =
            initial_window.map(|initial_window| SlowStart { initial_window, idle_restart });
        f.value(
            time("minimum_timeout", "Shortest retransmission timeout, 1 ms to 1 h.")
                .within(TIMEOUTS)
                .present("chosen, as hosts of the time had it"),
            minimum_timeout_ns,
        );
        f.value(
            time("maximum_timeout", "Longest retransmission timeout, likewise.")
                .within(TIMEOUTS)
                .present("chosen, as hosts of the time had it"),
            maximum_timeout_ns,
        );
        f.value(
            count("retransmissions", "Retransmissions before the connection breaks.")
                .within(0..=255)
                .present("chosen, as hosts of the time had it"),
            retransmissions,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        if s.are_right(&["minimum_timeout", "maximum_timeout"])
            && self.maximum_timeout_ns < self.minimum_timeout_ns
        {
            s.problem(
                "maximum_timeout",
                "is less than minimum_timeout",
                "give a longer time, or a shorter minimum_timeout",
            );
        }
    }
}

impl Table for RouterOptions {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let RouterOptions { latency_ns, command_ns, pdu_ns, kib_ns, storage } = self;
        f.value(
            time("latency", "What each PDU spends in it besides its processor's time.")
                .within(ROUTER_TIMES)
                .present("a router that costs nothing"),
            latency_ns,
        );
        f.value(
            time("command", "Time of its processor for a SCSI command.")
                .within(ROUTER_TIMES)
                .present("a router that costs nothing"),
            command_ns,
        );
        f.value(
            time("pdu", "Time of its processor for a PDU, commands included.")
                .within(ROUTER_TIMES)
                .present("a router that costs nothing"),
            pdu_ns,
        );
        f.value(
            time("per_kib", "Time of its processor for a KiB of data.")
                .within(ROUTER_TIMES)
                .present("a router that costs nothing"),
            kib_ns,
        );
        f.value(
            choice::<RouterStorage>(
                "storage",
                "What it has to have before it passes on any of it: a whole PDU, or a frame.",
            )
            .present("a router that costs nothing"),
            storage,
        );
    }
}
