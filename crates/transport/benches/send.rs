//! What it costs to send a train.
fn main() {}
