//! Arrays of real files, made, damaged in every way that their labels can show, and found again.

mod changes;
mod common;
mod creating;
mod groups;
mod opening;
