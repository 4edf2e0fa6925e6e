//! Storage networks without I/O and clock: links, switches and routers that trains of PDUs cross, and protocols that turn
//! a host's operation into such trains.
//!
//! Still to come: tests, a benchmark and a guide. The interface is meant to stay as it is.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod calendar;
mod connection;
mod error;
mod exchange;
mod frames;
pub mod front_end;
mod lanes;
mod link;
mod network;
mod outages;
mod path;
mod pdu;
mod profile;
mod switch;
mod tcp;
mod toward;
mod train;
mod wire_counts;

pub use connection::{Arrival, Connection, FibreChannelSettings, Lost, Transport};
pub use error::NetworkError;
pub use exchange::{Exchange, Leg, ProcessorCosts, Round, Rounds, SubRequest, SubRequestKind};
pub use front_end::{FrontEnd, Protocol};
pub use lanes::{LaneRule, flow_hash};
pub use link::Link;
pub use network::{LanesId, LinkId, Network, PathId, RouterId};
pub use path::Hop;
pub use pdu::PduKind;
pub use profile::{Framing, LinkProfile};
pub use strewn_base::Direction;
pub use switch::{Forwarding, RouterSettings, Switch};
pub use tcp::{IdleRestart, InitialWindow, SlowStart, TcpSettings};
pub use toward::Toward;
pub use train::{Train, TrainPart};
pub use wire_counts::{PduCount, WireCounts};
