//! iSCSI in front, Fibre Channel behind.

use super::Iscsi;
use crate::RouterSettings;

/// A router such as the Cisco SN 5420: hosts reach it by iSCSI, and it reaches disks or an array by Fibre Channel.
///
/// Its exchanges are iSCSI's, over a path with a [`Hop::Router`](crate::Hop::Router): the router stores each PDU, spends
/// processor time on it, and passes it on in Fibre Channel's frames, or takes it from them. It asks for a write's data with
/// an R2T when the array asks for it with FCP_XFER_RDY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockRouter {
    /// The protocol in front.
    pub iscsi: Iscsi,
    /// What a PDU costs in the router: for [`Network::add_router`](crate::Network::add_router).
    pub router: RouterSettings,
}
