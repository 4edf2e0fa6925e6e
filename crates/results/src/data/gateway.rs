//! What lay between a gateway and its client in a segment. The results of other arrays have none of this.

use serde::{Deserialize, Serialize};

/// What lay between a gateway and its client in a segment. The times are parts of the response time, and add up to its
/// mean; those of operations that are divided are in proportion to their requests'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GatewayFigures {
    /// Waiting for the client's cores, and on them, milliseconds.
    pub client_ms: f64,
    /// On the links between client and gateway, and in their switches, milliseconds.
    pub wire_ms: f64,
    /// The gateway's network processing, milliseconds.
    pub gateway_ms: f64,
    /// The gateway's page cache, and what is behind it, milliseconds.
    pub storage_ms: f64,
    /// Cores of the client that the protocol kept busy.
    pub client_cores: f64,
    /// Cores of the gateway, likewise.
    pub gateway_cores: f64,
    /// Requests and answers that were lost between the two, except those that TCP sent again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
