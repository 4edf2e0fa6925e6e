//! Rounds of exchanges, each computed once: a workload has few sizes, and as many requests as one likes.

use strewn_array::Direction;
use strewn_base::state::SavedValue;
use strewn_transport::{Network, PreparedTrain, Round, SubRequest, SubRequestKind, Toward};

use super::Port;

/// Rounds that are remembered, at most. A power of two, and many times the rounds of a mix of eight sizes, so that
/// hardly any two want the same place.
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 10;

/// All that decides what a round is, in two words: they are compared and mixed at every step of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(crate) struct RoundKey {
    /// Bytes of the sub-request.
    bytes: u64,
    /// The port, in 16 bits, which of the sub-request's rounds, in 32 bits, and what it asks for, in the last two.
    others: u64,
}

impl RoundKey {
    const WRITES: u64 = 1;
    const COMMITS: u64 = 2;
    const ONE_ROUND: u64 = 4;
    const ROUNDS: u64 = u32::MAX as u64 * Self::ONE_ROUND;

    /// The first round of a sub-request.
    #[inline]
    pub(crate) fn first(port: u16, direction: Direction, kind: SubRequestKind, bytes: u64) -> Self {
        let direction = if direction == Direction::Write { Self::WRITES } else { 0 };
        let kind = if kind == SubRequestKind::Commit { Self::COMMITS } else { 0 };
        Self { bytes, others: u64::from(port) << 48 | kind | direction }
    }

    #[inline]
    pub(crate) fn port(self) -> usize {
        (self.others >> 48) as usize
    }

    #[inline]
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    fn round(self) -> u32 {
        ((self.others & Self::ROUNDS) / Self::ONE_ROUND) as u32
    }

    fn direction(self) -> Direction {
        if self.others & Self::WRITES == 0 { Direction::Read } else { Direction::Write }
    }

    #[inline]
    pub(crate) fn kind(self) -> SubRequestKind {
        match self.others & Self::COMMITS {
            0 => SubRequestKind::Transfer,
            _ => SubRequestKind::Commit,
        }
    }

    /// The next round of the same sub-request.
    #[inline]
    pub(crate) fn next(self) -> Self {
        Self { others: self.others + Self::ONE_ROUND, ..self }
    }

    /// The first round of the same sub-request.
    pub(crate) fn again(self) -> Self {
        Self { others: self.others & !Self::ROUNDS, ..self }
    }

    /// Where [`Rounds`] keeps it: the upper bits of a product, in which all bits have a part.
    #[inline]
    fn place(self) -> usize {
        let mixed = self.bytes ^ self.others.rotate_left(40);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACE_BITS)) as usize
    }
}

/// What a round costs the processors at both ends, in nanoseconds: its message, and what comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
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

impl KnownRound {
    #[cold]
    fn compute(key: RoundKey, port: &Port, connection: u32, network: &Network) -> Self {
        let sub_request = SubRequest { kind: key.kind(), offset_bytes: 0, bytes: key.bytes };
        let round = port.front_end.round(key.direction(), &sub_request, key.round());
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
