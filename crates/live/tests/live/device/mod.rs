//! The devices: simulated ones keep their word and break it as told; real ones do what they are asked.

mod crashes;
mod faults;
mod files;
mod probe;
mod support;
