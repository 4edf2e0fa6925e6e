//! What the protocols put on the wire.

use strewn_transport::front_end::{Fcp, Iscsi, Nfs, Smb1, Smb2, Smb2Dialect, WriteStability};
use strewn_transport::{
    Direction, FrontEnd, PduCount, PduKind, ProcessorCosts, Protocol, SubRequestKind, Toward,
};

fn count(pdus: u64, header_bytes: u64, payload_bytes: u64) -> PduCount {
    PduCount { pdus, header_bytes, payload_bytes }
}

/// The kinds and counts of an operation, by name.
fn counts(protocol: Protocol, direction: Direction, bytes: u64) -> Vec<(&'static str, PduCount)> {
    let counts = FrontEnd::from(protocol).exchange(direction, bytes).wire_counts();
    counts.kinds().map(|(kind, count)| (kind.name(), count)).collect()
}

#[test]
fn iscsi_reads_in_data_segments_and_puts_the_status_into_the_last() {
    let default = Protocol::Iscsi(Iscsi::default());
    assert_eq!(
        counts(default, Direction::Read, 65_536),
        [("iscsi-command", count(1, 48, 0)), ("iscsi-data-in", count(8, 8 * 48, 65_536))]
    );
    let separate = Protocol::Iscsi(Iscsi { status_in_data: false, ..Iscsi::open_iscsi() });
    assert_eq!(
        counts(separate, Direction::Read, 65_536),
        [
            ("iscsi-command", count(1, 48, 0)),
            ("iscsi-data-in", count(1, 48, 65_536)),
            ("iscsi-response", count(1, 48, 0))
        ]
    );
}

#[test]
fn iscsi_writes_immediate_data_and_then_what_it_is_asked_for() {
    // RFC 7143's defaults: 8 KiB with the command, an R2T for the other 56 KiB.
    let default = Protocol::Iscsi(Iscsi::default());
    assert_eq!(
        counts(default, Direction::Write, 65_536),
        [
            ("iscsi-command", count(1, 48, 8_192)),
            ("iscsi-data-out", count(7, 7 * 48, 57_344)),
            ("iscsi-r2t", count(1, 48, 0)),
            ("iscsi-response", count(1, 48, 0)),
        ]
    );
    let exchange = FrontEnd::from(default).exchange(Direction::Write, 65_536);
    let rounds: Vec<_> = exchange.rounds(0).collect();
    assert_eq!(rounds.len(), 2);
    assert_eq!(rounds[0].to_target.train.payload_bytes(), 8_192);
    assert_eq!(rounds[0].to_host.train.parts[0].kind, PduKind::IscsiR2t);
    assert_eq!(rounds[1].to_target.train.payload_bytes(), 57_344);
    assert_eq!(rounds[1].to_host.train.parts[0].kind, PduKind::IscsiResponse);
}

#[test]
fn iscsi_without_initial_r2t_sends_the_first_burst_unasked() {
    let eager = Protocol::Iscsi(Iscsi { initial_r2t: false, ..Iscsi::default() });
    let exchange = FrontEnd::from(eager).exchange(Direction::Write, 65_536);
    assert_eq!(exchange.rounds(0).count(), 1);
    assert_eq!(exchange.round(0, 0).unwrap().to_target.train.pdus(), 8);
    // 512 KiB: 64 KiB unasked, then bursts of 256 KiB and 192 KiB.
    let rounds: Vec<_> =
        FrontEnd::from(eager).exchange(Direction::Write, 524_288).rounds(0).collect();
    let sent = rounds.iter().map(|round| round.to_target.train.payload_bytes());
    assert_eq!(sent.collect::<Vec<_>>(), [65_536, 262_144, 196_608]);
    // Two R2Ts at once: one round less.
    let two = Iscsi { initial_r2t: false, max_outstanding_r2t: 2, ..Iscsi::default() };
    let rounds: Vec<_> = FrontEnd::from(Protocol::Iscsi(two))
        .exchange(Direction::Write, 524_288)
        .rounds(0)
        .collect();
    assert_eq!(rounds.len(), 2);
    assert_eq!(rounds[0].to_host.train.pdus(), 2);
}

#[test]
fn iscsi_digests_and_padding_count_as_headers() {
    let digests = Iscsi { header_digest: true, data_digest: true, ..Iscsi::default() };
    assert_eq!(
        counts(Protocol::Iscsi(digests), Direction::Read, 8_193),
        [("iscsi-command", count(1, 52, 0)), ("iscsi-data-in", count(2, 2 * 56 + 3, 8_193))]
    );
}

#[test]
fn fcp_sends_information_units() {
    let fcp = Protocol::Fcp(Fcp::default());
    assert_eq!(
        counts(fcp, Direction::Read, 65_536),
        [
            ("fcp-cmnd", count(1, 32, 0)),
            ("fcp-data-in", count(1, 0, 65_536)),
            ("fcp-rsp", count(1, 24, 0))
        ]
    );
    let bursts = Protocol::Fcp(Fcp { largest_burst_bytes: 32_768, ..Fcp::default() });
    assert_eq!(
        counts(bursts, Direction::Write, 65_536),
        [
            ("fcp-cmnd", count(1, 32, 0)),
            ("fcp-data-out", count(2, 0, 65_536)),
            ("fcp-xfer-rdy", count(2, 24, 0)),
            ("fcp-rsp", count(1, 24, 0))
        ]
    );
}

#[test]
fn nfs_reads_in_calls_of_rsize() {
    // Calls: mark 4, RPC 24, AUTH_SYS 8 + 20 + 8 + 4, verifier 8, handle 4 + 32, offset and count 12. Replies: 132.
    assert_eq!(
        counts(Protocol::Nfs(Nfs::default()), Direction::Read, 256_000),
        [("nfs-read-call", count(8, 8 * 124, 0)), ("nfs-read-reply", count(8, 8 * 132, 256_000))]
    );
    let exchange = FrontEnd::from(Protocol::Nfs(Nfs::default())).exchange(Direction::Read, 256_000);
    assert_eq!(exchange.in_flight(), 16);
    let last = exchange.sub_request(7).unwrap();
    assert_eq!((last.offset_bytes, last.bytes), (7 * 32_768, 256_000 - 7 * 32_768));
}

#[test]
fn nfs_pads_data_to_four_bytes() {
    let reply = counts(Protocol::Nfs(Nfs::default()), Direction::Read, 5)[1];
    assert_eq!(reply, ("nfs-read-reply", count(1, 132 + 3, 5)));
}

#[test]
fn nfs_commits_after_an_operation_or_at_close_or_never() {
    let write = |stability, bytes| {
        FrontEnd::from(Protocol::Nfs(Nfs { stability, ..Nfs::default() }))
            .exchange(Direction::Write, bytes)
    };
    let committed = write(WriteStability::Commit, 65_536);
    assert_eq!(committed.sub_requests(), 3);
    assert_eq!(committed.sub_request(2).unwrap().kind, SubRequestKind::Commit);
    let counts = committed.wire_counts();
    assert_eq!(counts.of(PduKind::NfsWriteCall), count(2, 2 * 132, 65_536));
    assert_eq!(counts.of(PduKind::NfsWriteReply), count(2, 2 * 164, 0));
    assert_eq!(counts.of(PduKind::NfsCommitCall), count(1, 124, 0));
    assert_eq!(counts.of(PduKind::NfsCommitReply), count(1, 156, 0));
    for stability in [WriteStability::CommitOnClose, WriteStability::FileSync] {
        assert_eq!(write(stability, 65_536).sub_requests(), 2);
    }
    let commits = |stability| {
        FrontEnd::from(Protocol::Nfs(Nfs { stability, ..Nfs::default() }))
            .copy_counts(Direction::Write, 1 << 20, 65_536)
            .of(PduKind::NfsCommitCall)
            .pdus
    };
    assert_eq!(commits(WriteStability::CommitOnClose), 1);
    assert_eq!(commits(WriteStability::Commit), 16);
    assert_eq!(commits(WriteStability::FileSync), 0);
}

#[test]
fn smb1_reads_60_kib_at_a_time_and_never_more_than_17_bits_say() {
    assert_eq!(
        counts(Protocol::Smb1(Smb1::default()), Direction::Read, 122_880),
        [
            ("smb1-read-request", count(2, 2 * 63, 0)),
            ("smb1-read-response", count(2, 2 * 64, 122_880))
        ]
    );
    assert_eq!(
        counts(Protocol::Smb1(Smb1::default()), Direction::Write, 61_440),
        [("smb1-write-request", count(1, 68, 61_440)), ("smb1-write-response", count(1, 51, 0))]
    );
    let large = Smb1 { read_bytes: 1 << 20, ..Smb1::default() };
    let exchange = FrontEnd::from(Protocol::Smb1(large)).exchange(Direction::Read, 1 << 17);
    assert_eq!(exchange.sub_requests(), 2);
    assert_eq!(exchange.sub_request(0).unwrap().bytes, 131_007);
}

#[test]
fn smb2_takes_credits_by_64_kib() {
    assert_eq!(
        counts(Protocol::Smb2(Smb2::default()), Direction::Read, 1 << 20),
        [("smb2-read-request", count(1, 117, 0)), ("smb2-read-response", count(1, 84, 1 << 20))]
    );
    assert_eq!(
        counts(Protocol::Smb2(Smb2::default()), Direction::Write, 1 << 20),
        [("smb2-write-request", count(1, 116, 1 << 20)), ("smb2-write-response", count(1, 84, 0))]
    );
    // 128 credits: eight requests of 1 MiB, or 128 of 64 KiB.
    let in_flight =
        |smb| FrontEnd::from(Protocol::Smb2(smb)).exchange(Direction::Read, 8 << 20).in_flight();
    assert_eq!(in_flight(Smb2::default()), 8);
    let old = Smb2 { dialect: Smb2Dialect::Smb202, ..Smb2::default() };
    assert_eq!(in_flight(old), 128);
    let requests = FrontEnd::from(Protocol::Smb2(old)).exchange(Direction::Read, 1 << 20);
    assert_eq!(requests.sub_requests(), 16);
    assert_eq!(Smb2::credit_charge(65_536), 1);
    assert_eq!(Smb2::credit_charge(65_537), 2);
}

#[test]
fn a_copied_file_is_opened_moved_and_closed() {
    let front_end = FrontEnd::from(Protocol::Smb2(Smb2::default()));
    let counts = front_end.copy_counts(Direction::Read, 10_000_000, 65_536);
    assert_eq!(counts.of(PduKind::Smb2ReadRequest).pdus, 153);
    assert_eq!(counts.of(PduKind::FileCall).pdus, 2);
    assert_eq!(counts.toward(Toward::Host).payload_bytes, 10_000_000);
    assert_eq!(counts.toward(Toward::Target).payload_bytes, 0);
    assert_eq!(counts.toward(Toward::Host).pdus, counts.toward(Toward::Target).pdus);
    // A LUN has no open and close.
    let counts =
        FrontEnd::from(Protocol::Fcp(Fcp::default())).copy_counts(Direction::Write, 1 << 20, 0);
    assert_eq!(counts.of(PduKind::FileCall).pdus, 0);
    assert_eq!(counts.of(PduKind::FcpCommand).pdus, 2);
}

#[test]
fn nothing_crosses_a_wire_without_a_protocol() {
    let exchange = FrontEnd::from(Protocol::Direct).exchange(Direction::Write, 1 << 30);
    assert_eq!(exchange.sub_requests(), 1);
    let round = exchange.round(0, 0).unwrap();
    assert!(
        round.array_works && round.to_target.train.is_empty() && round.to_host.train.is_empty()
    );
    assert_eq!(exchange.wire_counts().kinds().count(), 0);
}

#[test]
fn processors_pay_for_pdus_and_for_bytes() {
    let front_end = FrontEnd {
        host_costs: ProcessorCosts::of_both(2_000, 100),
        target_costs: ProcessorCosts::of_both(10_000, 500),
        ..FrontEnd::from(Protocol::Iscsi(Iscsi::default()))
    };
    let round = front_end.exchange(Direction::Read, 65_536).round(0, 0).unwrap();
    assert_eq!((round.to_target.host_ns, round.to_target.target_ns), (2_000, 10_000));
    assert_eq!(round.to_host.host_ns, 8 * 2_000 + 64 * 100);
    assert_eq!(round.to_host.target_ns, 8 * 10_000 + 64 * 500);
}
