//! Rounds of exchanges, each computed once: a workload has few sizes, and as many requests as one likes.

use strewn_array::Direction;
use strewn_transport::{Network, PreparedTrain, Round, SubRequest, SubRequestKind, Toward};

use super::Port;

/// Rounds that are remembered, at most. A power of two, and many times the rounds of a mix of eight sizes, so that hardly
/// any two want the same place.
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 10;

/// All that decides what a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct RoundKey {
    pub(crate) port: u16,
    pub(crate) direction: Direction,
    pub(crate) kind: SubRequestKind,
    /// Which of the sub-request's rounds, from 0.
    pub(crate) round: u32,
    /// Bytes of the sub-request.
    pub(crate) bytes: u64,
}

/// What a round costs the processors at both ends, in nanoseconds: its message, and what comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct RoundCosts {
    pub(crate) host_sends_ns: u64,
    pub(crate) target_receives_ns: u64,
    pub(crate) target_sends_ns: u64,
    pub(crate) host_receives_ns: u64,
    /// Whether the array works in it.
    pub(crate) array_works: bool,
}

/// A round, ready to be sent.
#[derive(Debug)]
pub(crate) struct KnownRound {
    key: RoundKey,
    pub(crate) costs: RoundCosts,
    /// Its trains on the port's connections, by direction; `None` if it has none.
    pub(crate) trains: Option<[PreparedTrain; 2]>,
}

/// The rounds met last: one in each place. They follow from the ports, so they are not saved.
#[derive(Debug)]
pub(crate) struct Rounds {
    places: Vec<Option<Box<KnownRound>>>,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { places: (0..PLACES).map(|_| None).collect() }
    }
}

impl Rounds {
    /// A round of a request that uses a connection of `port`, the one that `key` names.
    ///
    /// # Panics
    /// If the sub-request has no such round.
    #[inline]
    pub(crate) fn of(
        &mut self,
        key: RoundKey,
        port: &Port,
        connection: u32,
        network: &Network,
    ) -> &KnownRound {
        let place = &mut self.places[key.place()];
        if place.as_ref().is_none_or(|known| known.key != key) {
            *place = Some(Box::new(KnownRound::compute(key, port, connection, network)));
        }
        match place {
            Some(known) => known,
            None => unreachable!("{key:?} is known"),
        }
    }
}

impl RoundKey {
    /// The upper bits of a product, in which all bits of the key have a part.
    #[inline]
    fn place(&self) -> usize {
        let Self { port, direction, kind, round, bytes } = *self;
        let others = u64::from(port) << 34 | u64::from(round) << 2 | (kind as u64) << 1;
        let mixed = bytes ^ (others | direction as u64).rotate_left(40);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACE_BITS)) as usize
    }
}

impl KnownRound {
    #[cold]
    fn compute(key: RoundKey, port: &Port, connection: u32, network: &Network) -> Self {
        let sub_request = SubRequest { kind: key.kind, offset_bytes: 0, bytes: key.bytes };
        let round = port.front_end.round(key.direction, &sub_request, key.round);
        let Some(Round { to_target, array_works, to_host }) = round else {
            unreachable!("there is no such round: {key:?}")
        };
        let trains = port.connections.get(connection as usize).map(|connection| {
            [
                network.prepare(connection, Toward::Target, &to_target.train),
                network.prepare(connection, Toward::Host, &to_host.train),
            ]
        });
        let costs = RoundCosts {
            host_sends_ns: to_target.host_ns,
            target_receives_ns: to_target.target_ns,
            target_sends_ns: to_host.target_ns,
            host_receives_ns: to_host.host_ns,
            array_works,
        };
        Self { key, costs, trains }
    }
}
