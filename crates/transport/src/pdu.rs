//! The kinds of PDU that the front ends send.

use std::fmt;

use strewn_base::state::SavedValue;

use crate::Toward;

macro_rules! pdu_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $toward:ident;)*) => {
        /// What a PDU is, in the words of its protocol. Each kind is sent in one direction only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
        #[repr(u8)]
        pub enum PduKind {
            $($(#[$doc])* $kind,)*
        }

        impl PduKind {
            /// Every kind, in the order of their discriminants.
            pub const ALL: [Self; [$(Self::$kind),*].len()] = [$(Self::$kind),*];

            /// The name that captures and tables use, such as `iscsi-data-in`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Which end receives it.
            #[must_use]
            pub const fn toward(self) -> Toward {
                match self { $(Self::$kind => Toward::$toward,)* }
            }
        }
    };
}

pdu_kinds! {
    /// iSCSI SCSI Command, perhaps with immediate data (RFC 7143, 11.3).
    IscsiCommand, "iscsi-command", Target;
    /// iSCSI Data-Out that no R2T asked for (RFC 7143, 11.7).
    IscsiUnsolicitedDataOut, "iscsi-unsolicited-data-out", Target;
    /// iSCSI Data-Out that an R2T asked for (RFC 7143, 11.7).
    IscsiDataOut, "iscsi-data-out", Target;
    /// iSCSI Ready To Transfer (RFC 7143, 11.8).
    IscsiR2t, "iscsi-r2t", Host;
    /// iSCSI Data-In (RFC 7143, 11.7).
    IscsiDataIn, "iscsi-data-in", Host;
    /// iSCSI SCSI Response (RFC 7143, 11.4).
    IscsiResponse, "iscsi-response", Host;
    /// FCP_CMND IU.
    FcpCommand, "fcp-cmnd", Target;
    /// FCP_DATA IU of a write.
    FcpDataOut, "fcp-data-out", Target;
    /// FCP_XFER_RDY IU.
    FcpTransferReady, "fcp-xfer-rdy", Host;
    /// FCP_DATA IU of a read.
    FcpDataIn, "fcp-data-in", Host;
    /// FCP_RSP IU.
    FcpResponse, "fcp-rsp", Host;
    /// NFS READ3 call (RFC 1813, 3.3.6).
    NfsReadCall, "nfs-read-call", Target;
    /// NFS READ3 reply.
    NfsReadReply, "nfs-read-reply", Host;
    /// NFS WRITE3 call (RFC 1813, 3.3.7).
    NfsWriteCall, "nfs-write-call", Target;
    /// NFS WRITE3 reply.
    NfsWriteReply, "nfs-write-reply", Host;
    /// NFS COMMIT3 call (RFC 1813, 3.3.21).
    NfsCommitCall, "nfs-commit-call", Target;
    /// NFS COMMIT3 reply.
    NfsCommitReply, "nfs-commit-reply", Host;
    /// SMB_COM_READ_ANDX request (\[MS-CIFS\] 2.2.4.42.1).
    Smb1ReadRequest, "smb1-read-request", Target;
    /// SMB_COM_READ_ANDX response (\[MS-CIFS\] 2.2.4.42.2).
    Smb1ReadResponse, "smb1-read-response", Host;
    /// SMB_COM_WRITE_ANDX request (\[MS-CIFS\] 2.2.4.43.1).
    Smb1WriteRequest, "smb1-write-request", Target;
    /// SMB_COM_WRITE_ANDX response (\[MS-CIFS\] 2.2.4.43.2).
    Smb1WriteResponse, "smb1-write-response", Host;
    /// SMB2 READ request (\[MS-SMB2\] 2.2.19).
    Smb2ReadRequest, "smb2-read-request", Target;
    /// SMB2 READ response (\[MS-SMB2\] 2.2.20).
    Smb2ReadResponse, "smb2-read-response", Host;
    /// SMB2 WRITE request (\[MS-SMB2\] 2.2.21).
    Smb2WriteRequest, "smb2-write-request", Target;
    /// SMB2 WRITE response (\[MS-SMB2\] 2.2.22).
    Smb2WriteResponse, "smb2-write-response", Host;
    /// A call that opens or closes a file: NFS LOOKUP, ACCESS or CREATE; SMB create and close.
    FileCall, "file-call", Target;
    /// The reply to a [`FileCall`](Self::FileCall).
    FileReply, "file-reply", Host;
    /// None of these: a caller's own protocol.
    Other, "other", Target;
}

impl fmt::Display for PduKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
