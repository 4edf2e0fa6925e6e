//! The devices: simulated ones keep their word and break it as told; real ones do what they are asked.

#![allow(clippy::unwrap_used)]

mod crashes;
mod faults;
mod files;
mod support;
