//! The front ends' counts against captures of real clients and servers (`tests/captures`).

use strewn_transport::front_end::{Iscsi, Nfs, Smb1, Smb2, Smb2Dialect, WriteStability};
use strewn_transport::{Direction, FrontEnd, PduKind, Protocol, Toward, WireCounts};
use toml::{Table, Value};

fn integer(table: &Table, key: &str) -> u64 {
    table[key].as_integer().unwrap_or_else(|| panic!("{key} is not an integer")) as u64
}

fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    table[key].as_str().unwrap_or_else(|| panic!("{key} is not a string"))
}

fn flag(table: &Table, key: &str) -> bool {
    table.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The protocol as a capture's client and server negotiated it.
fn protocol(case: &Table) -> Protocol {
    let negotiated = case["negotiated"].as_table().unwrap();
    let bytes = |key| integer(negotiated, key) as u32;
    match text(case, "protocol") {
        "iscsi" => Protocol::Iscsi(Iscsi {
            header_digest: text(negotiated, "header_digest") != "None",
            data_digest: text(negotiated, "data_digest") != "None",
            host_data_segment_bytes: bytes("host_max_recv_data_segment_bytes"),
            target_data_segment_bytes: bytes("target_max_recv_data_segment_bytes"),
            max_burst_bytes: integer(negotiated, "max_burst_bytes"),
            first_burst_bytes: integer(negotiated, "first_burst_bytes"),
            immediate_data: flag(negotiated, "immediate_data"),
            initial_r2t: flag(negotiated, "initial_r2t"),
            max_outstanding_r2t: bytes("max_outstanding_r2t"),
            status_in_data: true,
            // The client's largest command; the operation of 256,000 bytes is one command.
            largest_command_bytes: 262_144,
            ..Iscsi::default()
        }),
        "nfs3" => {
            let size = |key| negotiated.get(key).and_then(Value::as_integer).unwrap_or(1) as u32;
            let machine_name_bytes = bytes("machine_name_bytes");
            assert_eq!(text(negotiated, "auth_flavor"), "AUTH_SYS");
            Protocol::Nfs(Nfs {
                read_bytes: size("rsize_bytes"),
                write_bytes: size("wsize_bytes"),
                stability: WriteStability::CommitOnClose,
                pre_op_attributes: flag(negotiated, "pre_op_attributes"),
                post_op_attributes: flag(negotiated, "post_op_attributes"),
                file_handle_bytes: bytes("file_handle_bytes"),
                machine_name_bytes,
                groups: (bytes("credential_bytes") - 20 - machine_name_bytes.next_multiple_of(4))
                    / 4,
                ..Nfs::default()
            })
        }
        "smb" => {
            let read_bytes = bytes("largest_payload_bytes");
            let write_bytes = read_bytes;
            match text(negotiated, "dialect") {
                "NT LM 0.12" => Protocol::Smb1(Smb1 { read_bytes, write_bytes, ..Smb1::default() }),
                "2.0.2" => Protocol::Smb2(Smb2 {
                    dialect: Smb2Dialect::Smb202,
                    // More than the dialect allows, which limits it.
                    read_bytes: 1 << 20,
                    write_bytes: 1 << 20,
                    ..Smb2::default()
                }),
                _ => Protocol::Smb2(Smb2 { read_bytes, write_bytes, ..Smb2::default() }),
            }
        }
        other => panic!("no front end for {other}"),
    }
}

/// Kind, direction, PDUs, header bytes and payload bytes, in the order of the kinds' names.
type Row = (String, Toward, u64, u64, u64);

fn captured(case: &Table) -> Vec<Row> {
    let mut rows: Vec<Row> = case["operation_pdus"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.as_table().unwrap())
        .map(|row| {
            let toward = match text(row, "direction") {
                "host_to_target" => Toward::Target,
                _ => Toward::Host,
            };
            let [pdus, headers, payload] =
                ["pdus", "header_bytes", "payload_bytes"].map(|key| integer(row, key));
            (text(row, "kind").to_owned(), toward, pdus, headers, payload)
        })
        .collect();
    rows.sort();
    rows
}

fn modelled(counts: &WireCounts) -> Vec<Row> {
    let mut rows: Vec<Row> = counts
        .kinds()
        .filter(|(kind, _)| !matches!(kind, PduKind::FileCall | PduKind::FileReply))
        .map(|(kind, count)| {
            let name = kind.name().to_owned();
            (name, kind.toward(), count.pdus, count.header_bytes, count.payload_bytes)
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn every_captured_copy_has_the_pdus_and_bytes_of_the_model() {
    let counts: Table = include_str!("../captures/counts.toml").parse().unwrap();
    let cases = counts["case"].as_array().unwrap();
    let mut compared = 0;
    for case in cases.iter().map(|case| case.as_table().unwrap()) {
        // Where an implementation departs from its standard, the capture says so.
        if case.contains_key("deviations") {
            continue;
        }
        let direction = match text(case, "operation") {
            "read" => Direction::Read,
            _ => Direction::Write,
        };
        let front_end = FrontEnd::from(protocol(case));
        let copy = front_end.copy_counts(direction, integer(case, "bytes"), 0);
        assert_eq!(modelled(&copy), captured(case), "{}", text(case, "name"));
        compared += 1;
    }
    assert!(compared >= 50 && cases.len() - compared <= 4, "{compared} of {}", cases.len());
}
