//! NFS version 3 over TCP (RFC 1813, RFC 5531).

use strewn_base::state::SavedValue;

use super::{ToPdus, Turn};
use crate::{Direction, PduKind, Train, TrainPart, WireCounts};

/// The record mark before a message on a stream (RFC 5531, 11).
const RECORD_MARK: u32 = 4;
/// A call without credentials: xid, message type, RPC version, program, version, procedure (RFC 5531, 9), and a
/// verifier AUTH_NONE.
const CALL: u32 = 6 * 4 + 8;
/// An accepted reply: xid, message type, reply status, verifier AUTH_NONE, accept status; and NFS's status.
const REPLY: u32 = 4 + 4 + 4 + 8 + 4 + 4;
/// AUTH_SYS without machine name and groups: flavour, length, stamp, length of the name, uid, gid, number of groups
/// (RFC 5531, appendix A).
const AUTH_SYS: u32 = 8 + 5 * 4;
/// The flag that says whether attributes follow, and `fattr3` (RFC 1813, 2.6).
const POST_OP_ATTRIBUTES: (u32, u32) = (4, 84);
/// The flag that says whether attributes follow, and `wcc_attr`.
const PRE_OP_ATTRIBUTES: (u32, u32) = (4, 24);

/// When the data of a write is on stable storage (RFC 1813, 3.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum WriteStability {
    /// The file's close commits: `UNSTABLE` writes, and one COMMIT behind all of them.
    CommitOnClose,
    /// Each operation commits: `UNSTABLE` writes, and a COMMIT behind those of an operation.
    Commit,
    /// Before each reply: `FILE_SYNC`, as with O_DIRECT and O_SYNC. No COMMIT.
    FileSync,
}

/// NFS version 3 over TCP, with AUTH_SYS credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Nfs {
    /// The mount option `rsize`: the largest READ, in bytes. 32 KiB is chosen: servers of
    /// 2005 offered 32 or 64 KiB.
    pub read_bytes: u32,
    /// The mount option `wsize`: the largest WRITE, in bytes.
    pub write_bytes: u32,
    /// Calls that may be in progress. 16: Linux before 3.1 (`sunrpc.tcp_slot_table_entries`).
    pub slots: u32,
    /// When data is stable.
    pub stability: WriteStability,
    /// Whether replies to writes carry the attributes from before (RFC 1813, 2.6). True by default; servers may leave
    /// them out, and NFS-Ganesha does.
    pub pre_op_attributes: bool,
    /// Whether replies carry the attributes from after the operation, likewise.
    pub post_op_attributes: bool,
    /// Length of a file handle, in bytes: at most 64 (RFC 1813, 2.4). ONTAP's and Linux's are 28 to 44; 32 is chosen.
    pub file_handle_bytes: u32,
    /// Length of the client's name in its credentials, in bytes. 8 is chosen.
    pub machine_name_bytes: u32,
    /// Groups in the credentials: at most 16 (RFC 5531, appendix A). 1 is chosen.
    pub groups: u32,
    /// Length of a file's name, in bytes. 8 is chosen.
    pub file_name_bytes: u32,
}

impl Default for Nfs {
    fn default() -> Self {
        Self {
            read_bytes: 32 << 10,
            write_bytes: 32 << 10,
            slots: 16,
            stability: WriteStability::CommitOnClose,
            pre_op_attributes: true,
            post_op_attributes: true,
            file_handle_bytes: 32,
            machine_name_bytes: 8,
            groups: 1,
            file_name_bytes: 8,
        }
    }
}

impl ToPdus for Nfs {
    #[inline]
    fn largest_bytes(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.read_bytes.into(),
            Direction::Write => self.write_bytes.into(),
        }
    }

    fn in_flight(&self, _bytes: u64) -> u32 {
        self.slots
    }

    fn turn(&self, direction: Direction, bytes: u64, round: u32) -> Option<Turn> {
        (round == 0).then(|| match direction {
            // READ3args: handle, offset, count. READ3resok: attributes, count, eof, length of the data.
            Direction::Read => Turn::only(
                self.call(PduKind::NfsReadCall, 8 + 4, 0),
                reply(PduKind::NfsReadReply, self.post_op_bytes() + 4 + 4 + 4, bytes),
            ),
            // WRITE3args: handle, offset, count, stable, length of the data. WRITE3resok: wcc, count, committed,
            // verifier.
            Direction::Write => Turn::only(
                self.call(PduKind::NfsWriteCall, 8 + 4 + 4 + 4, bytes),
                reply(PduKind::NfsWriteReply, self.wcc_bytes() + 4 + 4 + 8, 0),
            ),
        })
    }

    #[inline]
    fn commits(&self) -> bool {
        self.stability == WriteStability::Commit
    }

    fn commit(&self) -> Option<Turn> {
        Some(self.commit_call())
    }

    /// LOOKUP and ACCESS before a file is read. Before it is written: a LOOKUP that finds nothing, and an unchecked
    /// CREATE with a mode and a size; behind it a COMMIT, if writes are unstable and nothing else commits them.
    fn add_file_calls(&self, direction: Direction, counts: &mut WireCounts) {
        let handle_bytes = 4 + self.file_handle_bytes.next_multiple_of(4);
        let name_bytes = 4 + self.file_name_bytes.next_multiple_of(4);
        let mut add = |call_bytes, reply_bytes| {
            counts.add_train(&self.call(PduKind::FileCall, call_bytes, 0));
            counts.add_train(&reply(PduKind::FileReply, reply_bytes, 0));
        };
        match direction {
            Direction::Read => {
                add(name_bytes, handle_bytes + 2 * self.post_op_bytes());
                add(4, self.post_op_bytes() + 4);
            }
            Direction::Write => {
                add(name_bytes, self.post_op_bytes());
                // How, sattr3 (mode 8, uid 4, gid 4, size 12, two times 8); handle, attributes, wcc.
                add(
                    name_bytes + 4 + 8 + 4 + 4 + 12 + 8,
                    4 + handle_bytes + self.post_op_bytes() + self.wcc_bytes(),
                );
                if self.stability == WriteStability::CommitOnClose {
                    let commit = self.commit_call();
                    counts.add_train(&commit.to_target);
                    counts.add_train(&commit.to_host);
                }
            }
        }
    }
}

impl Nfs {
    /// COMMIT3args: handle, offset, count. COMMIT3resok: wcc, verifier.
    fn commit_call(&self) -> Turn {
        Turn::only(
            self.call(PduKind::NfsCommitCall, 8 + 4, 0),
            reply(PduKind::NfsCommitReply, self.wcc_bytes() + 8, 0),
        )
    }

    /// Bytes of `post_op_attr`.
    fn post_op_bytes(&self) -> u32 {
        let (flag, attributes) = POST_OP_ATTRIBUTES;
        flag + if self.post_op_attributes { attributes } else { 0 }
    }

    /// Bytes of `wcc_data`.
    fn wcc_bytes(&self) -> u32 {
        let (flag, attributes) = PRE_OP_ATTRIBUTES;
        flag + if self.pre_op_attributes { attributes } else { 0 } + self.post_op_bytes()
    }

    /// A call with a file handle, `argument_bytes` of further arguments, and data.
    fn call(&self, kind: PduKind, argument_bytes: u32, data_bytes: u64) -> Train {
        let credentials = AUTH_SYS + self.machine_name_bytes.next_multiple_of(4) + 4 * self.groups;
        let handle = 4 + self.file_handle_bytes.next_multiple_of(4);
        message(kind, CALL + credentials + handle + argument_bytes, data_bytes)
    }
}

/// A reply with `result_bytes` of results, and data.
fn reply(kind: PduKind, result_bytes: u32, data_bytes: u64) -> Train {
    message(kind, REPLY + result_bytes, data_bytes)
}

/// A message of one record, whose data XDR pads to 4 bytes (RFC 4506, 4.10).
fn message(kind: PduKind, header_bytes: u32, data_bytes: u64) -> Train {
    let padding = (data_bytes.next_multiple_of(4) - data_bytes) as u32;
    Train::of(TrainPart::new(kind, 1, RECORD_MARK + header_bytes + padding, data_bytes))
}
