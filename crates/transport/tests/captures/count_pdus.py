#!/usr/bin/env python3
"""Counts the PDUs of one captured operation and prints them as a `[[case]]` of counts.toml.

The sizes come from tshark's dissection (`datasegmentlength`, RPC fragment length, NetBIOS length). Three checks need
nothing of that: every byte of every TCP stream, taken from `tcp.seq` and `tcp.len`, belongs to exactly one PDU; the
payload of the operation's PDUs adds up to the bytes asked for; and no byte of a stream is missing.
Any difference ends the program with status 1.
"""

import argparse
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field

TO_TARGET = "host_to_target"
TO_HOST = "target_to_host"

TCP_FIELDS = [
    "frame.number", "tcp.stream", "tcp.srcport", "tcp.seq", "tcp.len", "tcp.hdr_len", "ip.hdr_len",
    "tcp.flags.syn", "tcp.flags.fin", "tcp.flags.reset",
]


class Mismatch(Exception):
    """The capture contradicts itself or the operation."""


@dataclass
class Pdu:
    direction: str
    kind: str
    total_bytes: int
    payload_bytes: int = 0
    in_operation: bool = False

    @property
    def header_bytes(self):
        return self.total_bytes - self.payload_bytes


@dataclass
class Frame:
    """A captured frame: its TCP fields, and the protocol's fields as lists with an entry for each occurrence."""

    number: int
    stream: int
    direction: str
    start: int
    length: int
    header_bytes: int
    syn: bool
    end_of_stream: bool
    fields: dict

    def numbers(self, name):
        return [int(value, 0) for value in self.fields[name]]

    def flags(self, name):
        return [value in ("1", "True") for value in self.fields[name]]


@dataclass
class Dissection:
    """What a protocol's dissector returns: PDUs by (stream, direction) in wire order, and the session's parameters."""

    pdus: dict = field(default_factory=lambda: defaultdict(list))
    negotiated: dict = field(default_factory=dict)
    deviations: list = field(default_factory=list)  # from the standard, each a sentence

    def add(self, frame, pdu):
        self.pdus[frame.stream, frame.direction].append(pdu)


def read_frames(capture, server_ports, protocol_fields):
    names = TCP_FIELDS + protocol_fields
    command = ["tshark", "-n", "-r", capture, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=;"]
    # libnfs calls from any reserved port, such as 862, which tshark would take for the port of TWAMP.
    command += ["-o", "tcp.try_heuristic_first:TRUE"]
    for name in names:
        command += ["-e", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tshark:
        for line in tshark.stdout:
            values = dict(zip(names, line.rstrip("\n").split("\t")))
            if not values["tcp.stream"]:
                continue
            from_server = int(values["tcp.srcport"]) in server_ports
            yield Frame(
                number=int(values["frame.number"]),
                stream=int(values["tcp.stream"]),
                direction=TO_HOST if from_server else TO_TARGET,
                start=int(values["tcp.seq"]),
                length=int(values["tcp.len"]),
                header_bytes=int(values["tcp.hdr_len"]) + int(values["ip.hdr_len"]),
                syn=values["tcp.flags.syn"] in ("1", "True"),
                end_of_stream="1" in (values["tcp.flags.fin"], values["tcp.flags.reset"])
                or "True" in (values["tcp.flags.fin"], values["tcp.flags.reset"]),
                fields={name: values[name].split(";") if values[name] else [] for name in protocol_fields},
            )
    if tshark.returncode != 0:
        raise Mismatch(f"tshark ended with status {tshark.returncode}")


def require(condition, frame, what):
    if not condition:
        raise Mismatch(f"frame {frame.number}: {what}: {frame.fields}")


# ---------------------------------------------------------------------------------------------------------------- iSCSI

ISCSI_FIELDS = [
    "iscsi.opcode", "iscsi.totalahslength", "iscsi.datasegmentlength", "iscsi.initiatortasktag",
    "iscsi.targettransfertag", "iscsi.headerdigest32", "iscsi.datadigest32", "iscsi.keyvalue", "scsi_sbc.opcode",
]
ISCSI_BHS_BYTES = 48  # RFC 7143, 11.2.1
ISCSI_DIGEST_BYTES = 4
ISCSI_DEFAULT_RECEIVE_BYTES = 8192  # RFC 7143, 13.12: in force when a side declares nothing
ISCSI_KINDS = {
    0x00: "nop-out", 0x01: "command", 0x03: "login-request", 0x04: "text-request", 0x05: "data-out",
    0x06: "logout-request", 0x20: "nop-in", 0x21: "response", 0x23: "login-response", 0x24: "text-response",
    0x25: "data-in", 0x26: "logout-response", 0x31: "r2t", 0x3F: "reject",
}
ISCSI_DATA_KINDS = ("command", "data-out", "unsolicited-data-out", "data-in")
ISCSI_NO_TRANSFER_TAG = 0xFFFFFFFF  # RFC 7143, 11.7.4: marks unsolicited data
SCSI_READ_OR_WRITE_10 = (0x28, 0x2A)


def dissect_iscsi(frames):
    result = Dissection()
    declared = {TO_TARGET: {}, TO_HOST: {}}
    operation_tags = set()
    longest_data_in = 0
    for frame in frames:
        for text in frame.fields["iscsi.keyvalue"]:
            # A key that libiscsi repeats after the answer does not change the declaration.
            key, value = text.split("=", 1)
            declared[frame.direction].setdefault(key, value)
        opcodes = [opcode & 0x3F for opcode in frame.numbers("iscsi.opcode")]
        tags = frame.fields["iscsi.initiatortasktag"]
        ahs_words = frame.numbers("iscsi.totalahslength")
        segments = frame.numbers("iscsi.datasegmentlength")
        transfer_tags = frame.numbers("iscsi.targettransfertag")
        header_digests = len(frame.fields["iscsi.headerdigest32"])
        data_digests = len(frame.fields["iscsi.datadigest32"])
        require(len(opcodes) == len(tags) == len(ahs_words) == len(segments), frame, "PDUs with fields missing")
        require(header_digests in (0, len(opcodes)), frame, "a header digest on some PDUs only")
        require(data_digests == 0, frame, "data digests are not counted by this program")
        commands = [tag for opcode, tag in zip(opcodes, tags) if opcode == 0x01]
        if any(opcode in SCSI_READ_OR_WRITE_10 for opcode in frame.numbers("scsi_sbc.opcode")):
            operation_tags.update(commands)
        for opcode, tag, ahs, segment in zip(opcodes, tags, ahs_words, segments):
            kind = ISCSI_KINDS[opcode]
            if kind == "data-out" and transfer_tags.pop(0) == ISCSI_NO_TRANSFER_TAG:
                kind = "unsolicited-data-out"
            in_operation = tag in operation_tags
            if kind == "data-in":
                longest_data_in = max(longest_data_in, segment)
            digest = ISCSI_DIGEST_BYTES if header_digests else 0
            padding = -segment % 4
            result.add(frame, Pdu(
                frame.direction, f"iscsi-{kind}",
                total_bytes=ISCSI_BHS_BYTES + 4 * ahs + digest + segment + padding,
                payload_bytes=segment if in_operation and kind in ISCSI_DATA_KINDS else 0,
                in_operation=in_operation,
            ))
    host, target = declared[TO_TARGET], declared[TO_HOST]
    receive = "MaxRecvDataSegmentLength"
    # The results of negotiation: RFC 7143, 13.10 to 13.14.
    result.negotiated = {
        "host_max_recv_data_segment_bytes": int(host.get(receive, ISCSI_DEFAULT_RECEIVE_BYTES)),
        "target_max_recv_data_segment_bytes": int(target.get(receive, ISCSI_DEFAULT_RECEIVE_BYTES)),
        "target_declares_max_recv_data_segment": receive in target,
        "first_burst_bytes": min(int(host["FirstBurstLength"]), int(target["FirstBurstLength"])),
        "max_burst_bytes": min(int(host["MaxBurstLength"]), int(target["MaxBurstLength"])),
        "max_outstanding_r2t": min(int(host["MaxOutstandingR2T"]), int(target["MaxOutstandingR2T"])),
        "initial_r2t": "Yes" in (host["InitialR2T"], target["InitialR2T"]),
        "immediate_data": host["ImmediateData"] == target["ImmediateData"] == "Yes",
        "header_digest": target["HeaderDigest"],
        "data_digest": target["DataDigest"],
    }
    if longest_data_in > result.negotiated["max_burst_bytes"]:
        # RFC 7143, 13.13: a sequence of Data-In PDUs may not exceed MaxBurstLength either.
        result.deviations.append("the target's Data-In PDUs are longer than MaxBurstLength allows")
    return result


# ---------------------------------------------------------------------------------------------------------------- NFSv3

NFS_FIELDS = [
    "rpc.fraglen", "rpc.lastfrag", "rpc.msgtyp", "rpc.program", "rpc.procedure", "nfs.count3", "nfs.status3",
    "nfs.write.stable", "nfs.write.committed", "nfs.fh.length", "nfs.fsinfo.rtmax", "nfs.fsinfo.wtmax",
    "nfs.attributes_follow", "rpc.auth.flavor", "rpc.auth.length", "rpc.auth.machinename",
]
RPC_RECORD_MARK_BYTES = 4  # RFC 5531, 11
RPC_CALL = 0
RPC_PROGRAMS = {100000: "portmap", 100003: "nfs", 100005: "mount"}
SESSION_PROCEDURES = {
    ("portmap", 0): "null", ("portmap", 3): "getport",
    ("mount", 0): "null", ("mount", 1): "mnt", ("mount", 5): "export",
}
NFS_PROCEDURES = {
    0: "null", 1: "getattr", 2: "setattr", 3: "lookup", 4: "access", 5: "readlink", 6: "read", 7: "write", 8: "create",
    16: "readdir", 17: "readdirplus", 18: "fsstat", 19: "fsinfo", 20: "pathconf", 21: "commit",
}
NFS_OPERATION = ("read", "write", "commit")
NFS_STABILITY = {0: "UNSTABLE", 1: "DATA_SYNC", 2: "FILE_SYNC"}
AUTH_FLAVORS = {0: "AUTH_NONE", 1: "AUTH_SYS"}


def dissect_nfs(frames):
    result = Dissection()
    seen = defaultdict(set)
    for frame in frames:
        fragments = frame.numbers("rpc.fraglen")
        calls = [kind == RPC_CALL for kind in frame.numbers("rpc.msgtyp")]
        programs = frame.numbers("rpc.program")
        procedures = frame.numbers("rpc.procedure")
        require(all(frame.flags("rpc.lastfrag")), frame, "a record of several fragments")
        require(len(fragments) == len(calls) == len(programs) == len(procedures), frame, "PDUs with fields missing")
        require(not any(frame.numbers("nfs.status3")), frame, "an NFS error")
        counts = frame.numbers("nfs.count3")
        attributes_follow = frame.flags("nfs.attributes_follow")
        for fragment, is_call, program, procedure in zip(fragments, calls, programs, procedures):
            service, payload, in_operation = RPC_PROGRAMS[program], 0, False
            if service != "nfs":
                name = SESSION_PROCEDURES[service, procedure]
            else:
                name = NFS_PROCEDURES[procedure]
                in_operation = name in NFS_OPERATION
                has_count = name in ("read", "write") or (name == "commit" and is_call)
                count = counts.pop(0) if has_count else 0
                if (name, is_call) in (("read", False), ("write", True)):
                    payload = count
                if in_operation and not is_call:
                    # Attributes make a reply longer: 24 bytes before the operation, 84 bytes after it (RFC 1813, 2.6).
                    if name != "read":
                        seen["pre_op_attributes"].add(attributes_follow.pop(0))
                    seen["post_op_attributes"].add(attributes_follow.pop(0))
                if name in ("read", "write") and is_call:
                    seen[f"largest_{name}"].add(count)
                    seen["auth_flavor"].add(AUTH_FLAVORS[frame.numbers("rpc.auth.flavor")[0]])
                    seen["credential_bytes"].add(frame.numbers("rpc.auth.length")[0])
                    seen["machine_name_bytes"].add(len(frame.fields["rpc.auth.machinename"][0]))
                    seen["file_handle_bytes"].update(frame.numbers("nfs.fh.length"))
            result.add(frame, Pdu(
                frame.direction, f"{service}-{name}-{'call' if is_call else 'reply'}",
                total_bytes=RPC_RECORD_MARK_BYTES + fragment, payload_bytes=payload, in_operation=in_operation,
            ))
        require(not counts, frame, "a count that belongs to no PDU")
        for name in ("nfs.fsinfo.rtmax", "nfs.fsinfo.wtmax", "nfs.write.stable", "nfs.write.committed"):
            seen[name].update(frame.numbers(name))

    def the_only(name):
        if len(seen[name]) != 1:
            raise Mismatch(f"expected one value of {name}, found {sorted(seen[name])}")
        return next(iter(seen[name]))

    result.negotiated = {
        "server_rtmax_bytes": the_only("nfs.fsinfo.rtmax"),
        "server_wtmax_bytes": the_only("nfs.fsinfo.wtmax"),
    }
    if seen["largest_read"]:
        result.negotiated["rsize_bytes"] = max(seen["largest_read"])
    if seen["largest_write"]:
        result.negotiated["wsize_bytes"] = max(seen["largest_write"])
        result.negotiated["stability_asked"] = NFS_STABILITY[the_only("nfs.write.stable")]
        result.negotiated["stability_given"] = NFS_STABILITY[the_only("nfs.write.committed")]
        result.negotiated["pre_op_attributes"] = the_only("pre_op_attributes")
    for name in ("post_op_attributes", "auth_flavor", "credential_bytes", "machine_name_bytes", "file_handle_bytes"):
        result.negotiated[name] = the_only(name)
    return result


# ----------------------------------------------------------------------------------------------------------------- SMB

SMB_FIELDS = [
    "nbss.length", "smb.cmd", "smb.flags.response", "smb.data_len_low", "smb.data_len_high", "smb.max_bufsize",
    "smb.max_mpx_count", "smb.sm.sig_required", "smb2.cmd", "smb2.flags.response", "smb2.flags.signature",
    "smb2.dialect", "smb2.max_read_size", "smb2.max_write_size", "smb2.sec_mode.sign_required",
    "smb2.nt_status", "smb2.credit.charge",
    "data.len",  # the file data of an SMB2 READ response or WRITE request
]
NETBIOS_HEADER_BYTES = 4  # RFC 1002, 4.3.1
SMB1_NO_FURTHER_COMMAND = 0xFF
SMB1_KINDS = {
    0x04: "close", 0x05: "flush", 0x2E: "read", 0x2F: "write", 0x32: "transaction2", 0x71: "tree-disconnect",
    0x72: "negotiate", 0x73: "session-setup", 0x74: "logoff", 0x75: "tree-connect", 0xA0: "nt-transact",
    0xA2: "nt-create",
}
SMB2_KINDS = {
    0: "negotiate", 1: "session-setup", 2: "logoff", 3: "tree-connect", 4: "tree-disconnect", 5: "create", 6: "close",
    7: "flush", 8: "read", 9: "write", 11: "ioctl", 14: "query-directory", 16: "query-info", 17: "set-info",
}
SMB_OPERATION = ("read", "write", "flush")
SMB2_STATUS_PENDING = 0x103  # an interim response: the real one follows


def dissect_smb(frames):
    result = Dissection()
    seen = defaultdict(set)
    dialect = None
    for frame in frames:
        lengths = frame.numbers("nbss.length")
        smb1 = [command for command in frame.numbers("smb.cmd") if command != SMB1_NO_FURTHER_COMMAND]
        smb2 = frame.numbers("smb2.cmd")
        require(len(lengths) == len(smb1) + len(smb2), frame, "an NBSS message that is not one command")
        require(not (smb1 and smb2), frame, "SMB1 and SMB2 in one frame")
        responses = frame.flags("smb2.flags.response") if smb2 else frame.flags("smb.flags.response")
        require(len(responses) == len(lengths), frame, "PDUs with fields missing")
        smb1_data = [low + (high << 16) for low, high in
                     zip(frame.numbers("smb.data_len_low"), frame.numbers("smb.data_len_high"))]
        smb2_statuses = frame.numbers("smb2.nt_status")
        smb2_data = frame.numbers("data.len") if smb2 else []
        for length, command, is_response in zip(lengths, smb1 or smb2, responses):
            payload = 0
            form = "response" if is_response else "request"
            if smb1:
                name = SMB1_KINDS[command]
                in_operation = name in SMB_OPERATION
                if (name, is_response) in (("read", True), ("write", False)):
                    payload = smb1_data.pop(0)
            else:
                name = SMB2_KINDS[command]
                in_operation = name in SMB_OPERATION
                if is_response and smb2_statuses.pop(0) == SMB2_STATUS_PENDING:
                    form = "interim-response"
                if (name, form) in (("read", "response"), ("write", "request")):
                    payload = smb2_data.pop(0)
            if payload:
                seen["operation_bytes"].add(payload)
            result.add(frame, Pdu(
                frame.direction, f"smb{1 if smb1 else 2}-{name}-{form}",
                total_bytes=NETBIOS_HEADER_BYTES + length, payload_bytes=payload, in_operation=in_operation,
            ))
        require(not (smb1_data or smb2_data), frame, "a length that belongs to no PDU")
        if any(responses) and frame.fields["smb2.dialect"]:
            dialect = frame.numbers("smb2.dialect")[-1]
        for name in ("smb.max_bufsize", "smb.max_mpx_count", "smb2.max_read_size", "smb2.max_write_size"):
            if frame.direction == TO_HOST and frame.fields[name]:
                seen[name] = {frame.numbers(name)[-1]}
        seen["credit_charge"].update(frame.numbers("smb2.credit.charge"))
        seen["signed"].update(frame.flags("smb2.flags.signature"))
        if frame.direction == TO_HOST:
            seen["signing_required"].update(frame.flags("smb2.sec_mode.sign_required"))
            seen["signing_required"].update(frame.flags("smb.sm.sig_required"))

    def last(name):
        return next(iter(seen[name]))

    if dialect is None:
        result.negotiated = {
            "dialect": "NT LM 0.12",
            "server_max_buffer_bytes": last("smb.max_bufsize"),
            "server_max_mpx_count": last("smb.max_mpx_count"),
        }
    else:
        result.negotiated = {
            "dialect": f"{dialect >> 8}.{dialect >> 4 & 15}.{dialect & 15}",
            "server_max_read_bytes": last("smb2.max_read_size"),
            "server_max_write_bytes": last("smb2.max_write_size"),
            "largest_credit_charge": max(seen["credit_charge"]),
        }
    result.negotiated |= {
        "largest_payload_bytes": max(seen["operation_bytes"]),
        "signing_required": True in seen["signing_required"],
        "signed": True in seen["signed"],
        "encrypted": False,  # tshark could not have dissected it otherwise
    }
    return result


PROTOCOLS = {
    "iscsi": (dissect_iscsi, ISCSI_FIELDS, {3260}),
    "nfs3": (dissect_nfs, NFS_FIELDS, {111, 2049, 20048}),
    "smb": (dissect_smb, SMB_FIELDS, {445}),
}


# -------------------------------------------------------------------------------------------------------- TCP and sums


@dataclass
class Stream:
    """One direction of a TCP connection: the bytes seen, and the frames that carried them."""

    frames: list = field(default_factory=list)
    end: int = 1  # relative sequence number after the last byte; the SYN is number 0
    opened: bool = False
    retransmitted_segments: int = 0


def follow_streams(frames, streams):
    """Passes the frames on, and notes each stream's bytes. Fails when a byte is missing or out of order."""
    closed = set()
    for frame in frames:
        stream = streams[frame.stream, frame.direction]
        stream.opened |= frame.syn
        if frame.length and frame.start + frame.length <= stream.end:
            stream.retransmitted_segments += 1
        else:
            if frame.length and frame.start != stream.end:
                raise Mismatch(f"frame {frame.number}: TCP byte {frame.start} follows byte {stream.end - 1}: "
                               "a segment was not captured, or overtook another")
            stream.end += frame.length
            stream.frames.append((frame.start, frame.length, frame.header_bytes))
        if frame.end_of_stream:
            closed.add(frame.stream)
        yield frame
    for number, direction in streams:
        if not streams[number, direction].opened or number not in closed:
            raise Mismatch(f"TCP stream {number}: its start or its end was not captured")


def check_streams(streams, pdus):
    for key in sorted(set(streams) | set(pdus)):
        tcp_bytes = streams[key].end - 1
        pdu_bytes = sum(pdu.total_bytes for pdu in pdus[key])
        if tcp_bytes != pdu_bytes:
            raise Mismatch(f"TCP stream {key[0]}, {key[1]}: TCP carried {tcp_bytes} bytes, "
                           f"its PDUs have {pdu_bytes} bytes")


def count_tcp(streams, pdus):
    """For each direction: segments that carry a byte of the operation, and their TCP and IP header bytes."""
    counts = {direction: {"segments": 0, "stream_bytes": 0, "tcp_ip_header_bytes": 0, "pure_acks": 0,
                          "retransmitted_segments": 0}
              for direction in (TO_TARGET, TO_HOST)}
    operation_streams = {stream for (stream, _), list_ in pdus.items() if any(pdu.in_operation for pdu in list_)}
    for (number, direction), stream in streams.items():
        if number not in operation_streams:
            continue
        ranges, offset = [], 1
        for pdu in pdus[number, direction]:
            if pdu.in_operation:
                if ranges and ranges[-1][1] == offset:
                    ranges[-1] = (ranges[-1][0], offset + pdu.total_bytes)
                else:
                    ranges.append((offset, offset + pdu.total_bytes))
            offset += pdu.total_bytes
        count = counts[direction]
        count["retransmitted_segments"] += stream.retransmitted_segments
        for start, length, header_bytes in stream.frames:
            # A frame without data between the first and the last byte of the operation acknowledges the other side.
            if length == 0 and ranges and ranges[0][0] <= start <= ranges[-1][1]:
                count["pure_acks"] += 1
            shared = sum(max(0, min(start + length, range_end) - max(start, range_start))
                         for range_start, range_end in ranges)
            if shared:
                count["stream_bytes"] += shared
                count["segments"] += 1
                count["tcp_ip_header_bytes"] += header_bytes
    return counts


def tally(pdus, in_operation):
    """[(direction, kind, pdus, header bytes, payload bytes)], in the order of first appearance in each direction."""
    rows = {}
    for direction in (TO_TARGET, TO_HOST):
        for (_, stream_direction), list_ in sorted(pdus.items()):
            if stream_direction != direction:
                continue
            for pdu in list_:
                if pdu.in_operation == in_operation:
                    row = rows.setdefault((direction, pdu.kind), [0, 0, 0])
                    row[0] += 1
                    row[1] += pdu.header_bytes
                    row[2] += pdu.payload_bytes
    return [(*key, *row) for key, row in rows.items()]


def toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f'"{value}"'


def print_rows(name, rows):
    print(f"{name} = [")
    for direction, kind, pdus, header_bytes, payload_bytes in rows:
        print(f'  {{ direction = "{direction}", kind = "{kind}", pdus = {pdus}, '
              f"header_bytes = {header_bytes}, payload_bytes = {payload_bytes} }},")
    print("]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capture", required=True, help="the pcapng file")
    parser.add_argument("--protocol", required=True, choices=PROTOCOLS)
    parser.add_argument("--setting", required=True, help="the name of the server's and the client's settings")
    parser.add_argument("--operation", required=True, choices=("read", "write"))
    parser.add_argument("--bytes", required=True, type=int, help="file or LUN bytes that the operation moves")
    parser.add_argument("--client", required=True, help="the command that ran, in words")
    arguments = parser.parse_args()

    dissect, fields, ports = PROTOCOLS[arguments.protocol]
    streams = defaultdict(Stream)
    try:
        result = dissect(follow_streams(read_frames(arguments.capture, ports, fields), streams))
        check_streams(streams, result.pdus)
        operation = tally(result.pdus, True)
        data_direction = TO_TARGET if arguments.operation == "write" else TO_HOST
        payload = {direction: sum(row[4] for row in operation if row[0] == direction)
                   for direction in (TO_TARGET, TO_HOST)}
        if payload != {TO_TARGET: 0, TO_HOST: 0} | {data_direction: arguments.bytes}:
            raise Mismatch(f"the operation moves {arguments.bytes} bytes, its PDUs {payload}")
        tcp = count_tcp(streams, result.pdus)
        for direction in (TO_TARGET, TO_HOST):
            header_and_payload = sum(row[3] + row[4] for row in operation if row[0] == direction)
            if tcp[direction]["stream_bytes"] != header_and_payload:
                raise Mismatch(f"{direction}: {tcp[direction]['stream_bytes']} bytes on TCP, "
                               f"{header_and_payload} bytes in PDUs")
    except Mismatch as mismatch:
        sys.exit(f"count_pdus.py: {arguments.capture}: {mismatch}")
    except LookupError as missing:
        sys.exit(f"count_pdus.py: {arguments.capture}: a PDU of unknown kind or without its length: {missing!r}")

    print("[[case]]")
    print(f'name = "{arguments.protocol}/{arguments.setting}/{arguments.operation}-{arguments.bytes}"')
    for name in ("protocol", "setting", "operation", "bytes", "client"):
        print(f"{name} = {toml_value(getattr(arguments, name))}")
    for name, value in result.negotiated.items():
        print(f"negotiated.{name} = {toml_value(value)}")
    if result.deviations:
        print(f"deviations = [{', '.join(map(toml_value, result.deviations))}]")
    print_rows("operation_pdus", operation)
    print_rows("session_pdus", tally(result.pdus, False))
    for direction in (TO_TARGET, TO_HOST):
        values = ", ".join(f"{name} = {value}" for name, value in tcp[direction].items())
        print(f"tcp.{direction} = {{ {values} }}")
    print()


if __name__ == "__main__":
    main()
