//! The drive model: its profiles, its layout, its times against the reference, its cache and the
//! fit of a profile to a drive.
#![allow(clippy::unwrap_used)]

mod agreement;
mod back_to_back;
mod bad_input;
mod cache;
mod data_sheet;
mod first_requests;
mod fit;
mod layout;
mod profiles;
mod properties;
mod reference;
mod reference_page;
mod slip;
mod templates;
mod times;
