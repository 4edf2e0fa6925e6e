//! Who asked a question, and is told how far the answer is.

/// Whoever asked, who is told how far the answer is.
pub trait Teller: Sync {
    /// Takes a packet, whose JSON says of what kind it is: `progress`, or `so_far` with an attachment.
    fn tell(&self, packet: &[u8]);
}
