//! What the data are: bytes on real spindles, nothing at all in a simulation.

/// The data that operations and commands carry.
///
/// The arrays never look inside: they move payloads, cut them and lay one over another, always in whole sectors.
/// The simulator's payload is `()`, for which all of it compiles to nothing.
pub trait Payload: Default {
    /// What an array keeps in memory: sectors by number.
    type Contents: Contents<Self>;

    /// Whether there is anything in it: where not, an array need not find out which block goes where.
    const CARRIES_DATA: bool;

    /// Lays `part` over this payload, from its sector `at_sector` on; grows it where `part` reaches beyond.
    fn splice(&mut self, at_sector: u32, part: &Self);

    /// The `sectors` from `from_sector` on.
    #[must_use]
    fn slice(&self, from_sector: u32, sectors: u32) -> Self;
}

/// Sectors that an array holds in memory, by number.
pub trait Contents<P>: Default {
    /// Keeps `payload` as the `sectors` from `first_sector` on, over whatever is there.
    fn store(&mut self, first_sector: u64, sectors: u32, payload: &P);

    /// The `sectors` from `first_sector` on, which must all be there.
    fn load(&self, first_sector: u64, sectors: u32) -> P;

    /// Drops the `sectors` from `first_sector` on.
    fn forget(&mut self, first_sector: u64, sectors: u32);
}

impl Payload for () {
    type Contents = ();

    const CARRIES_DATA: bool = false;

    #[inline]
    fn splice(&mut self, _at_sector: u32, _part: &Self) {}

    #[inline]
    fn slice(&self, _from_sector: u32, _sectors: u32) -> Self {}
}

impl Contents<()> for () {
    #[inline]
    fn store(&mut self, _first_sector: u64, _sectors: u32, _payload: &()) {}

    #[inline]
    fn load(&self, _first_sector: u64, _sectors: u32) {}

    #[inline]
    fn forget(&mut self, _first_sector: u64, _sectors: u32) {}
}
