//! Accesses as a user of the crate draws them.

#![allow(clippy::unwrap_used)]

mod access_stream;
