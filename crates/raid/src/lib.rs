//! Where a block lies, what a stripe update must read and write, and parity over bytes.
//!
//! The crate describes two families of arrays. A write-anywhere array keeps its blocks in a [`ParityGroup`]: data
//! spindles, and one or two spindles that hold only parity, or none ([`Parity::None`]). An array that updates in place
//! spreads a LUN over the spindles of its redundancy sets, in groups of four data segments and one of parity: a
//! [`VraidLayout`].
//!
//! Two questions are on the hot path of a simulation, and are answered without bytes: *which
//! spindle holds a block, and where*; and *which spindles must be read and written when these
//! blocks of a stripe change, are wanted, or are lost*. The crate also applies the answers to
//! bytes: it computes parity and reconstructs blocks.
//!
//! # A parity group
//!
//! ```
//! use strewn_raid::{Dbn, Parity, ParityGroup, SpindleIndex, SpindleSet, UpdateMethod};
//!
//! // 18 data spindles and two of parity, of 136,000 MiB each.
//! let group = ParityGroup::new(Parity::RaidDp, 18, 136_000 * 256)?;
//!
//! // VBNs run along a spindle first: consecutive VBNs are consecutive blocks on a spindle.
//! let vbn = group.vbn(SpindleIndex(2), Dbn(7));
//! assert_eq!(group.locate(vbn).spindle, SpindleIndex(2));
//! assert_eq!(group.locate(vbn).dbn, Dbn(7));
//!
//! // Changing one block reads and writes that block and both parities.
//! let small = group.plan_stripe(SpindleSet::single(SpindleIndex(2)));
//! assert_eq!(small.method, UpdateMethod::Subtraction);
//! assert_eq!(small.commands(), 6);
//!
//! // A full stripe reads nothing: this is the aim of write-anywhere allocation.
//! let full = group.plan_stripe(group.data_spindle_set());
//! assert_eq!(full.method, UpdateMethod::FullStripe);
//! assert!(full.read.is_empty());
//! assert_eq!(full.commands(), 20);
//! # Ok::<(), strewn_raid::LayoutError>(())
//! ```
//!
//! # A VRAID-5 layout
//!
//! ```
//! use strewn_raid::{StripeMember, VraidConfig, VraidLayout};
//!
//! // 20 spindles of 146.8 GB in two redundancy sets of 10.
//! let layout = VraidLayout::new(VraidConfig::new(vec![10, 10]), 286_749_488 * 512)?;
//!
//! let place = layout.locate(1_000_000);
//! assert_ne!(place.spindle, place.parity_spindle);
//!
//! // And back: from a place on a spindle to the sector of the LUN.
//! assert_eq!(
//!     layout.lun_sector_of(place.spindle, place.sector_on_spindle),
//!     Some(StripeMember::Data { lun_sector: 1_000_000 })
//! );
//! # Ok::<(), strewn_raid::LayoutError>(())
//! ```
//!
//! # Any layout, with spindles lost
//!
//! [`StripedLayout`] describes RAID-4, RAID-DP, RAID-5 ([`Raid5Group`]), VRAID-5 and RAID-0 ([`Raid0Group`]) alike. A
//! [`StripeShape`] states the members of a stripe and plans reads, updates and rebuilds for them, whichever spindles
//! are lost. A [`StripePlan`] needs no bytes; [`StripeBytes`] carries it out on bytes.
//!
//! ```
//! use strewn_raid::{
//!     Member, MemberSet, Parity, ParityGroup, StripeBytes, StripedLayout,
//! };
//!
//! let group = ParityGroup::new(Parity::RaidDp, 18, 136_000 * 256)?;
//! let stripe = group.stripe(1_000_000);
//! let shape = stripe.shape();
//!
//! // Spindles 3 and 9 have failed, and the block on spindle 3 is wanted.
//! let lost = stripe.members_on(|spindle| [3, 9].contains(&spindle.0));
//! let plan = shape.plan_read(MemberSet::single(Member(3)), lost)?;
//! assert_eq!(plan.read.len(), 18);
//!
//! // With bytes: read the blocks that the plan reads, then take the wanted one.
//! let mut bytes = StripeBytes::new(shape, 4096)?;
//! for member in plan.read.iter() {
//!     let unit = stripe.unit(member);
//!     assert_eq!(unit.sector, 8_000_000);
//!     bytes.old_contents(member).fill(0); // from spindle unit.spindle
//! }
//! bytes.carry_out(&plan)?;
//! assert_eq!(bytes.block(Member(3)), Some(&[0; 4096][..]));
//!
//! // After a third failure the error names the data that is gone.
//! let lost = lost.with(Member(0));
//! let loss = shape.plan_read(MemberSet::single(Member(3)), lost).unwrap_err();
//! assert_eq!(loss.gone.to_string(), "{0, 3, 9}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Underneath, [`StripeCodec`] computes parity over any blocks, and [`RowDiagonal`] defines how
//! blocks are cut for diagonal parity. The `guide` of this crate gives the format on spindles and
//! the speed.
//!
//! # What the store above must do
//!
//! The crate plans and computes. It does no I/O, so the guarantees after a crash are up to its
//! caller:
//!
//! - **The write hole.** A plan writes several spindles, and a crash can come between any two of
//!   those writes. Data and parity of the stripe then disagree, and a later reconstruction
//!   returns wrong bytes, also for blocks that the update did not touch. Either never update a
//!   stripe that holds blocks in use (write full stripes into free space), or log the update
//!   before it starts and replay the log after a crash, as `strewn-live` does. A scrub
//!   ([`StripeCodec::scrub`]) finds such a stripe, but without checksums cannot always tell which
//!   block is stale.
//! - **The order of writes.** Make data and parity durable first, then the metadata that points
//!   to them, then the superblock or root that makes the metadata current. Only then reuse the
//!   blocks that the previous root still needed.
//! - **Lost spindles.** Record on the remaining spindles that a spindle is lost before writing
//!   anything that relies on it. Otherwise the spindle may return after a restart with stale
//!   blocks.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod codec;
mod codec_error;
mod group;
mod layout_error;
mod member;
mod object_layout;
mod object_plan;
mod parity;
mod planner;
mod protection;
mod raid0;
mod raid5;
mod reciprocal;
mod row_diagonal;
mod scrub;
mod shape;
mod small_set;
mod spindle_set;
mod stripe;
mod stripe_bytes;
mod stripe_code;
mod stripe_plan;
mod stripe_update;
mod update_method;
mod vraid;
mod vraid_config;
mod vraid_spares;
mod xor;

pub use address::{Dbn, SpindleIndex, Vbn};
pub use codec::{BlockChange, StripeCodec};
pub use codec_error::CodecError;
pub use group::{BlockLocation, ParityGroup};
pub use layout_error::LayoutError;
pub use member::{Member, MemberSet, Members};
pub use object_layout::{ObjectLayout, ObjectLayoutConfig, ObjectUnit};
pub use object_plan::{ObjectRequest, StripeColumn};
pub use parity::Parity;
pub use protection::ProtectionLevel;
pub use raid0::Raid0Group;
pub use raid5::Raid5Group;
pub use row_diagonal::RowDiagonal;
pub use scrub::{ParityCheck, ScrubFinding};
pub use shape::StripeShape;
pub use spindle_set::{SpindleSet, Spindles};
pub use strewn_base::memory::OutOfMemory;
pub use strewn_base::{BLOCK_BYTES, BLOCK_SECTORS, ROW_STRIPES, SECTOR_BYTES};
pub use stripe::{Stripe, StripeUnit, StripedLayout};
pub use stripe_bytes::{CarryOutError, StripeBytes};
pub use stripe_code::StripeCode;
pub use stripe_plan::{DataLoss, PlanStep, StripePlan};
pub use stripe_update::{PlanError, StripeUpdate};
pub use update_method::UpdateMethod;
pub use vraid::{ChunkLocation, StripeMember, VraidLayout};
pub use vraid_config::VraidConfig;
pub use vraid_spares::SpareSegments;

/// The format of stripes, plans and their cost, how it is tested, and how fast it is. This is a page of the
/// repository; its links to other pages lead there.
#[cfg(all(doc, not(doctest)))]
pub mod guide {
    #![doc = include_str!("../guide.txt")]
}

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
