//! Storage networks without I/O and clock: what a host's operation costs on its way to an array and back.
//!
//! A [`FrontEnd`] turns an operation into an [`Exchange`]: requests to the array, each a number of rounds of PDUs. A
//! round sends a [`Train`] of PDUs each way. A [`Network`] carries trains over links, switches and routers, and knows
//! on sending when they will arrive, so a simulation needs no event on the way.
//!
//! ```
//! use strewn_transport::front_end::Iscsi;
//! use strewn_transport::{
//!     Direction, Forwarding, FrontEnd, Hop, LinkProfile, Network, Protocol, Switch, TcpOptions,
//!     Toward, Transport,
//! };
//!
//! // Gigabit Ethernet from host to switch, and from switch to array.
//! let gigabit = LinkProfile::shipped("ethernet-1g").ok_or("not shipped")?;
//! let mut network = Network::new();
//! let host = network.add_link(gigabit.clone())?;
//! let array = network.add_link(gigabit)?;
//! let switch = Switch { latency_ns: 3_000, forwarding: Forwarding::StoreAndForward };
//! let path = network.add_path(&[Hop::Link(host), Hop::Switch(switch), Hop::Link(array)])?;
//! let mut connection = network.connect(path, 1, Transport::Tcp(TcpOptions::default()))?;
//!
//! // A read of 64 KiB by iSCSI, from an array that answers in 5 ms.
//! let front_end = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
//! let read = front_end.exchange(Direction::Read, 65_536);
//! let mut now_ns = 0;
//! for index in 0..read.sub_requests() {
//!     for round in read.rounds(index) {
//!         let out = &round.to_target.train;
//!         now_ns = network.send(now_ns, &mut connection, Toward::Target, out)?.last_ns;
//!         if round.array_works {
//!             now_ns += 5_000_000;
//!         }
//!         let back = &round.to_host.train;
//!         now_ns = network.send(now_ns, &mut connection, Toward::Host, back)?.last_ns;
//!     }
//! }
//! // The wire adds 0.58 ms: 46 frames of data, the first of which crosses both links before the second one does.
//! assert_eq!(now_ns, 5_581_192);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Links
//!
//! [`LinkProfile::shipped`] knows these. A link is full duplex; each direction serves in order. Rates are payload of
//! full frames, with 40 bytes of TCP and IP except on Fibre Channel.
//!
//! | name | bits per second | frame payload | overhead | MB/s | source |
//! |---|---|---|---|---|---|
//! | `fc-1g` | 850 M | 2,048 | 60 | 103.2 | FC-PI, FC-FS: 1.0625 GBd and its multiples, 8b/10b; SOF, header, CRC, EOF 36, six fill words 24 |
//! | `fc-2g` | 1,700 M | 2,048 | 60 | 206.5 | |
//! | `fc-4g` | 3,400 M | 2,048 | 60 | 412.9 | |
//! | `fc-8g` | 6,800 M | 2,048 | 60 | 825.8 | |
//! | `ethernet-100m`, `-jumbo` | 100 M | 1,500, 9,000 | 38 | 11.9, 12.4 | IEEE 802.3: preamble 8, header 14, FCS 4, gap 12 |
//! | `ethernet-1g`, `-jumbo` | 1 G | 1,500, 9,000 | 38 | 118.7, 123.9 | |
//! | `ethernet-10g`, `-jumbo` | 10 G | 1,500, 9,000 | 38 | 1,186.6, 1,239.2 | |
//! | `infiniband-ddr` | 16 G | 2,044 | 38 | 1,925.1 | InfiniBand 1.2: four lanes of 5 GBd, 8b/10b; IP in datagram mode, RFC 4391 |
//!
//! A frame occupies a link for its bytes on the wire. Links that a switch joins pipeline frames: while the second link
//! sends one frame, the first one sends the next. With store-and-forward, a frame leaves the switch when all of it has
//! arrived; with cut-through, when its header has. A router ([`Hop::Router`]) stores whole PDUs, or frames, and cuts
//! them for the next link.
//! All of this is a closed form per train and link; the tests compare it with a model that moves each frame by itself.
//!
//! Several links can serve as one, by a [`LaneRule`]: the number of the flow as with LACP, round robin, or
//! the least queue.
//!
//! # Where TCP and Fibre Channel cost time
//!
//! - **Headers.** TCP is a byte stream, so PDUs share segments, and each segment has 40 bytes of headers, or 52 with
//!   timestamps. On Fibre Channel, each part of a train is a sequence of frames of its own.
//! - **Windows.** A window smaller than what the slowest link carries in a round trip limits the rate to a window in
//!   each round trip. Windows at least as large cost nothing. Slow start, and its return after an idle time, are
//!   options.
//! - **Credits.** A Fibre Channel link with too few buffer credits for its length waits for them.
//! - **Failures.** What is on a link when it [fails](Network::fail) is lost. TCP sends it again by its timers: 0.2, 0.6
//!   and 1.4 s later. Fibre Channel leaves it to the initiator, which starts the operation again ([`Lost::retry_ns`]).
//!   Flows of a failed lane move to the others.
//!
//! # What is not modelled
//!
//! - Buffers of switches are endless: nothing is dropped but by a failed link, so there is no incast collapse.
//! - Acknowledgements, R_RDYs and pause frames take no time on the wire. Ethernet's smallest frame is not enforced: the
//!   shortest PDU with its headers exceeds it.
//! - A window is compared with the round trip on idle links, so queues on the way do not make it bind earlier.
//! - TCP sends a train that lost a frame again as a whole. There is no fast retransmission, because a failed link loses
//!   everything that follows too.
//! - Where links of different hosts lead to a faster one, a train's frames are booked there one after another from the
//!   first on, although they arrive with gaps. For nine hosts with gigabit links and an array with 10 GbE, arrivals
//!   differ from those of a frame-by-frame model by 0.9 µs in the mean, by 9 µs in one of a hundred cases, and by
//!   0.3 ms at most. The same holds, to a larger degree, of a train that a window stretches over many round trips.
//! - Trains are sent in the order of time, and failures are set before anything is sent that they would hit.
//!
//! # Protocols
//!
//! [`front_end`] has a module for each: FCP, iSCSI, NFS version 3, SMB 1, SMB 2. Each field states its default and
//! where that comes from. A block router, which hosts reach by iSCSI and which reaches disks by Fibre Channel, is iSCSI
//! over a path with a [`Hop::Router`]. [`Exchange::wire_counts`] counts PDUs and bytes by [`PduKind`], and
//! [`FrontEnd::copy_counts`] those of a whole file.
//!
//! These counts are compared with captures of real clients and servers (`tests/captures`): tgt and libiscsi,
//! NFS-Ganesha and libnfs, Samba. With the settings that they negotiated, 58 of 60 captured copies have the same PDUs,
//! header bytes and payload bytes, kind by kind. In the other two, the server departs from its standard. There is no
//! capture of Fibre Channel. The calls that open and close a file differ between clients, so their sizes are estimates.
//! Logins, attributes that are read again, and keep-alives are not counted.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod connection;
mod error;
mod exchange;
mod frames;
pub mod front_end;
mod hop;
mod ids;
mod lanes;
mod link;
mod network;
mod outages;
mod parts;
mod path;
mod pdu;
mod plain_path;
mod prepared_train;
mod profile;
mod round;
mod switch;
mod tcp;
mod toward;
mod train;
mod wire_counts;
mod wire_time;

pub use connection::{Arrival, Connection, FibreChannelOptions, Lost, Transport};
pub use error::NetworkError;
pub use exchange::{Exchange, Rounds};
pub use front_end::{FrontEnd, Protocol};
pub use hop::Hop;
pub use ids::{LanesId, LinkId, PathId, RouterId};
pub use lanes::LaneRule;
pub use link::Link;
pub use network::Network;
pub use pdu::PduKind;
pub use prepared_train::PreparedTrain;
pub use profile::{Framing, LinkProfile};
pub use round::{Leg, ProcessorCosts, Round, SubRequest, SubRequestKind};
pub use strewn_base::Direction;
pub use switch::{Forwarding, RouterOptions, RouterStorage, Switch};
pub use tcp::{IdleRestart, InitialWindow, SlowStart, TcpOptions};
pub use toward::Toward;
pub use train::{Train, TrainPart};
pub use wire_counts::{PduCount, WireCounts};

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
