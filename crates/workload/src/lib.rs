//! Access specifications and the stream of operations drawn from them.
