//! All links, switches and paths of a machine.

use strewn_base::state::SavedValue;

use crate::connection::{Arrival, Connection, Lost, Transport};
use crate::error::NetworkError;
use crate::frames::{FrameShape, Frames};
use crate::hop::{Hop, LostOnTheWay};
use crate::ids::{LanesId, LinkId, PathId, RouterId};
use crate::lanes::{LaneRule, Lanes};
use crate::link::Link;
use crate::parts::Parts;
use crate::path::{Crossing, Path};
use crate::plain_path::PlainPath;
use crate::profile::{Framing, LinkProfile};
use crate::switch::{Router, RouterOptions};
use crate::tcp::{Released, Route, Sender};
use crate::{PreparedTrain, Toward, Train};

/// All links of a machine, and the paths over them. It owns the state; ids are valid in the network that gave them out.
#[derive(Clone, Debug, Default, PartialEq, Eq, SavedValue)]
pub struct Network {
    parts: Parts,
    paths: Vec<Path>,
}

impl Network {
    /// No links.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a link.
    ///
    /// # Errors
    /// If its rate or its frames' payload is 0.
    pub fn add_link(&mut self, profile: LinkProfile) -> Result<LinkId, NetworkError> {
        if profile.bits_per_second == 0 || profile.frame_payload_bytes == 0 {
            return Err(NetworkError::CarriesNothing { name: profile.name });
        }
        self.parts.links.push(Link::new(profile));
        Ok(LinkId::of(self.parts.links.len() - 1))
    }

    /// Makes several links between the same two ports serve as one. A failed lane is used for another `detection_ns`.
    ///
    /// # Errors
    /// If there are no links, a link is not of this network, or their frames differ.
    pub fn add_lanes(
        &mut self,
        links: &[LinkId],
        rule: LaneRule,
        detection_ns: u64,
    ) -> Result<LanesId, NetworkError> {
        let mut frames = None;
        for (hop, &link) in links.iter().enumerate() {
            let link = self.parts.links.get(link.index()).ok_or(NetworkError::Unknown { hop })?;
            let differs = frames.replace(frame_shape(link)).is_some_and(|f| f != frame_shape(link));
            if differs {
                return Err(NetworkError::FramesDiffer { hop });
            }
        }
        if links.is_empty() {
            return Err(NetworkError::NoLinks);
        }
        let lanes = Lanes { links: links.to_vec(), rule, detection_ns, trains: [0; 2] };
        self.parts.lanes.push(lanes);
        Ok(LanesId::of(self.parts.lanes.len() - 1))
    }

    /// Adds a router.
    pub fn add_router(&mut self, settings: RouterOptions) -> RouterId {
        self.parts.routers.push(Router { settings, processor: Default::default() });
        RouterId::of(self.parts.routers.len() - 1)
    }

    /// Adds a path: hops in order from the host to the array, links and switches or routers in turn.
    ///
    /// # Errors
    /// If hops are unknown or do not alternate, or if two links' frames differ without a router between them.
    pub fn add_path(&mut self, hops: &[Hop]) -> Result<PathId, NetworkError> {
        if hops.is_empty() {
            return Err(NetworkError::NoLinks);
        }
        let mut frames = None;
        for (hop, &this) in hops.iter().enumerate() {
            let is_link = matches!(this, Hop::Link(_) | Hop::Lanes(_));
            if is_link != (hop % 2 == 0) || (!is_link && hop + 1 == hops.len()) {
                return Err(NetworkError::NotAlternating { hop });
            }
            match this {
                Hop::Switch(_) => {}
                Hop::Router(router) => {
                    frames = None;
                    self.parts.routers.get(router.index()).ok_or(NetworkError::Unknown { hop })?;
                }
                Hop::Link(_) | Hop::Lanes(_) => {
                    let link = self.first_link(this).ok_or(NetworkError::Unknown { hop })?;
                    let shape = frame_shape(link);
                    if frames.replace(shape).is_some_and(|before| before != shape) {
                        return Err(NetworkError::FramesDiffer { hop });
                    }
                }
            }
        }
        let plain = PlainPath::new(hops, &self.parts.links);
        self.paths.push(Path { hops: hops.to_vec(), plain });
        Ok(PathId::of(self.paths.len() - 1))
    }

    /// Opens a connection over `path`. `flow` is what [`LaneRule::FlowHash`] goes by.
    ///
    /// # Errors
    /// If the path is unknown or its first link cannot carry the transport, or if TCP has no window or no room in a
    /// frame.
    pub fn connect(
        &self,
        path: PathId,
        flow: u64,
        transport: Transport,
    ) -> Result<Connection, NetworkError> {
        let hops = &self.paths.get(path.index()).ok_or(NetworkError::Unknown { hop: 0 })?.hops;
        let first = self.first_link(hops[0]).ok_or(NetworkError::Unknown { hop: 0 })?.profile();
        let (framing, name) = match transport {
            Transport::Tcp(_) => (Framing::Segments, "TCP"),
            Transport::FibreChannel(_) => (Framing::Sequences, "Fibre Channel"),
        };
        if first.framing != framing {
            let link = first.name.clone();
            return Err(NetworkError::WrongTransport { transport: name, link });
        }
        let header_bytes = transport.header_bytes();
        let segment_bytes = first.frame_payload_bytes.saturating_sub(header_bytes).into();
        let (route, sender) = match transport {
            Transport::Tcp(settings) => {
                let window_bytes = settings.receive_window_bytes();
                if window_bytes == 0 || segment_bytes == 0 {
                    return Err(NetworkError::NoRoom { window_bytes, segment_bytes });
                }
                let route = self.route(hops, header_bytes, segment_bytes);
                (route, Sender::new(&settings, &route))
            }
            Transport::FibreChannel(_) => {
                (self.route(hops, header_bytes, segment_bytes), Sender::default())
            }
        };
        Ok(Connection {
            path,
            flow,
            transport,
            route,
            senders: [sender; 2],
            ready_ns: [0; 2],
            arrived_ns: [0; 2],
            retransmissions: 0,
        })
    }

    /// Prepares `train` for [`send_prepared`](Self::send_prepared) over `connection`.
    #[must_use]
    pub fn prepare(&self, connection: &Connection, toward: Toward, train: &Train) -> PreparedTrain {
        let hops = &self.paths[connection.path.index()].hops;
        let first = match toward {
            Toward::Target => hops.first(),
            Toward::Host => hops.last(),
        };
        let first = first.and_then(|hop| self.first_link(*hop)).filter(|_| !train.is_empty());
        let header_bytes = connection.transport.header_bytes();
        let frames = first.map(|link| {
            Frames::cut(train, FrameShape::of(link.profile(), header_bytes), link.byte_time())
        });
        PreparedTrain { train: *train, bytes: train.bytes(), path: connection.path, frames }
    }

    /// Sends `train` at `now_ns`, and says when it arrives. An empty train arrives at once.
    ///
    /// Trains are sent in the order of `now_ns`. After a loss, TCP sends the whole train again by its timers, and this
    /// function returns the arrival of what gets through; what is sent meanwhile waits behind it.
    ///
    /// # Errors
    /// If the train is lost: over Fibre Channel at the first loss, over TCP when it has been sent as often as settings
    /// allow.
    pub fn send(
        &mut self,
        now_ns: u64,
        connection: &mut Connection,
        toward: Toward,
        train: &Train,
    ) -> Result<Arrival, Lost> {
        let prepared = self.prepare(connection, toward, train);
        self.send_prepared(now_ns, connection, toward, &prepared)
    }

    /// Sends a train as [`send`](Self::send) does. It may have been prepared for another connection of this network: it
    /// is prepared again if that one's links are different.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[inline(always)]
    pub fn send_prepared(
        &mut self,
        now_ns: u64,
        connection: &mut Connection,
        toward: Toward,
        train: &PreparedTrain,
    ) -> Result<Arrival, Lost> {
        let Some(frames) = &train.frames else {
            return Ok(Arrival { first_ns: now_ns, last_ns: now_ns });
        };
        let direction = toward as usize;
        let sent = match &connection.transport {
            Transport::Tcp(settings) => {
                let start_ns = now_ns.max(connection.ready_ns[direction]);
                let sender = &mut connection.senders[direction];
                let released = sender.release(start_ns, train.bytes, settings, &connection.route);
                match self.cross(now_ns, connection, toward, released, train, frames) {
                    Ok(arrival) => Ok(arrival),
                    Err(lost) => self.send_again(now_ns, connection, toward, train, frames, lost),
                }
            }
            Transport::FibreChannel(settings) => {
                let retry_timeout_ns = settings.retry_timeout_ns;
                let released = Released { first_ns: now_ns, last_ns: now_ns };
                self.cross(now_ns, connection, toward, released, train, frames).map_err(|lost| {
                    let retry_ns = Some(lost.sent_ns + retry_timeout_ns);
                    Lost { lost_ns: lost.lost_ns, retry_ns }
                })
            }
        };
        let mut arrival = sent?;
        // A byte stream is delivered in order.
        arrival.first_ns = arrival.first_ns.max(connection.arrived_ns[direction]);
        arrival.last_ns = arrival.last_ns.max(connection.arrived_ns[direction]);
        connection.arrived_ns[direction] = arrival.last_ns;
        Ok(arrival)
    }

    /// Moves a train that may leave as `released` says over the connection's path.
    #[inline(always)]
    fn cross(
        &mut self,
        now_ns: u64,
        connection: &Connection,
        toward: Toward,
        released: Released,
        train: &PreparedTrain,
        frames: &Frames,
    ) -> Result<Arrival, LostOnTheWay> {
        let path = &self.paths[connection.path.index()];
        let header_bytes = connection.transport.header_bytes();
        let is_for_path =
            train.path == connection.path && frames.shape.header_bytes == header_bytes;
        match &path.plain {
            Some(plain) if is_for_path => {
                plain.carry(&mut self.parts.links, now_ns, toward, released, frames)
            }
            _ => {
                let Released { first_ns, last_ns } = released;
                let (flow, train) = (connection.flow, &train.train);
                Crossing { now_ns, toward, flow, header_bytes, first_ns, last_ns, train, frames }
                    .over(&path.hops, &mut self.parts)
            }
        }
    }

    /// TCP sends a lost train again by its timers.
    #[cold]
    fn send_again(
        &mut self,
        now_ns: u64,
        connection: &mut Connection,
        toward: Toward,
        train: &PreparedTrain,
        frames: &Frames,
        mut lost: LostOnTheWay,
    ) -> Result<Arrival, Lost> {
        let direction = toward as usize;
        let Transport::Tcp(settings) = connection.transport else {
            unreachable!("only TCP sends again")
        };
        let mut timeout_ns = 0;
        for retransmission in 0..settings.retransmissions {
            // RFC 6298, 5.4 to 5.6: the timer that began with the lost segment runs out, and doubles.
            timeout_ns = match retransmission {
                0 => settings.timeout_ns(&connection.route),
                _ => (2 * timeout_ns).min(settings.maximum_timeout_ns),
            };
            let (sender, route) = (&mut connection.senders[direction], &connection.route);
            sender.on_timeout(route);
            let start_ns = lost.sent_ns + timeout_ns;
            let released = sender.release(start_ns, train.bytes, &settings, route);
            connection.retransmissions += 1;
            connection.ready_ns[direction] = start_ns;
            lost = match self.cross(now_ns, connection, toward, released, train, frames) {
                Ok(arrival) => return Ok(arrival),
                Err(lost) => lost,
            };
        }
        Err(Lost { lost_ns: lost.lost_ns, retry_ns: None })
    }

    /// Lets `link` fail at `at_ns`: what is on it then is lost, and so is what is sent over it later. Known in advance:
    /// call it before anything is sent that would still be on the way at `at_ns`.
    ///
    /// # Panics
    /// If the link is not of this network.
    pub fn fail(&mut self, link: LinkId, at_ns: u64) {
        self.parts.links[link.index()].outages.fail(at_ns);
    }

    /// Lets a failed `link` work again from `at_ns` on. Nothing changes if it is up then.
    ///
    /// # Panics
    /// If the link is not of this network.
    pub fn restore(&mut self, link: LinkId, at_ns: u64) {
        self.parts.links[link.index()].outages.restore(at_ns);
    }

    /// The state of `link`.
    ///
    /// # Panics
    /// If the link is not of this network.
    #[must_use]
    pub fn link(&self, link: LinkId) -> &Link {
        &self.parts.links[link.index()]
    }

    /// The links, in the order of their ids.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &Link)> {
        self.parts.links.iter().enumerate().map(|(index, link)| (LinkId::of(index), link))
    }

    /// The routers, in the order of their ids.
    pub fn routers(&self) -> impl Iterator<Item = RouterId> + use<> {
        (0..self.parts.routers.len()).map(RouterId::of)
    }

    /// Nanoseconds before `until_ns` in which the processor of `router` was busy.
    ///
    /// # Panics
    /// If the router is not of this network.
    #[must_use]
    pub fn router_busy_ns(&self, router: RouterId, until_ns: u64) -> u64 {
        self.parts.routers[router.index()].processor.busy_ns(until_ns)
    }

    /// The link of a hop, the first one of lanes.
    fn first_link(&self, hop: Hop) -> Option<&Link> {
        let link = match hop {
            Hop::Link(link) => link,
            Hop::Lanes(lanes) => *self.parts.lanes.get(lanes.index())?.links.first()?,
            Hop::Switch(_) | Hop::Router(_) => return None,
        };
        self.parts.links.get(link.index())
    }

    /// What TCP needs to know of `hops`: up to the first router, which ends a connection.
    fn route(&self, hops: &[Hop], header_bytes: u32, segment_bytes: u64) -> Route {
        let mut round_trip_ns = 0;
        let mut bytes_per_second = u64::MAX;
        for &hop in hops {
            match hop {
                Hop::Router(_) => break,
                Hop::Switch(switch) => round_trip_ns += 2 * switch.latency_ns,
                Hop::Link(_) | Hop::Lanes(_) => {
                    let Some(link) = self.first_link(hop) else { continue };
                    let profile = link.profile();
                    let acknowledgement =
                        u64::from(header_bytes) + u64::from(profile.frame_overhead_bytes);
                    round_trip_ns += link.full_frame_ns()
                        + link.serialization_ns(acknowledgement)
                        + 2 * profile.propagation_ns;
                    let rate = profile.payload_bytes_per_second(header_bytes);
                    bytes_per_second = bytes_per_second.min(rate * self.shared_lanes(hop));
                }
            }
        }
        Route::new(round_trip_ns, bytes_per_second, segment_bytes)
    }

    /// Lanes that one flow can use at once.
    fn shared_lanes(&self, hop: Hop) -> u64 {
        match hop {
            Hop::Lanes(lanes) => match &self.parts.lanes[lanes.index()] {
                Lanes { rule: LaneRule::FlowHash, .. } => 1,
                Lanes { links, .. } => links.len() as u64,
            },
            _ => 1,
        }
    }
}

impl Transport {
    /// Bytes of TCP's and IP's headers in a segment; 0 on Fibre Channel.
    #[inline]
    fn header_bytes(&self) -> u32 {
        match self {
            Self::Tcp(settings) => settings.header_bytes(),
            Self::FibreChannel(_) => 0,
        }
    }
}

/// What two links must have in common for a switch to pass frames between them.
fn frame_shape(link: &Link) -> (Framing, u32, u32) {
    let profile = link.profile();
    (profile.framing, profile.frame_payload_bytes, profile.frame_overhead_bytes)
}
