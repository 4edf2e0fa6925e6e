//! When a link is down.

use strewn_base::state::SavedValue;

/// A span in which a link carries nothing, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
struct Outage {
    from_ns: u64,
    until_ns: u64,
}

/// When a link is down, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, SavedValue)]
pub(crate) struct Outages(Vec<Outage>);

impl Outages {
    /// The link fails at `at_ns`, for good until it is restored. Nothing changes if it is down then.
    pub(crate) fn fail(&mut self, at_ns: u64) {
        if !self.is_down(at_ns) {
            let position = self.0.partition_point(|outage| outage.from_ns < at_ns);
            let until_ns = self.0.get(position).map_or(u64::MAX, |next| next.from_ns);
            self.0.insert(position, Outage { from_ns: at_ns, until_ns });
        }
    }

    /// The link works again from `at_ns` on. Nothing changes if it is up then.
    pub(crate) fn restore(&mut self, at_ns: u64) {
        if let Some(outage) = self.0.iter_mut().find(|outage| outage.contains(at_ns)) {
            outage.until_ns = at_ns;
        }
    }

    #[inline]
    pub(crate) fn is_down(&self, at_ns: u64) -> bool {
        self.down_since(at_ns).is_some()
    }

    /// When the outage in progress at `at_ns` began; `None` if the link is up.
    #[inline]
    pub(crate) fn down_since(&self, at_ns: u64) -> Option<u64> {
        self.0.iter().find(|outage| outage.contains(at_ns)).map(|outage| outage.from_ns)
    }

    /// The beginning of the first outage that cuts off what is on the link from `from_ns` to `until_ns`.
    #[inline]
    pub(crate) fn first_between(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        if self.0.is_empty() { None } else { self.first_of_some_between(from_ns, until_ns) }
    }

    #[cold]
    fn first_of_some_between(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        self.0
            .iter()
            .find(|outage| from_ns < outage.until_ns && until_ns > outage.from_ns)
            .map(|outage| outage.from_ns.max(from_ns))
    }
}

impl Outage {
    fn contains(self, at_ns: u64) -> bool {
        self.from_ns <= at_ns && at_ns < self.until_ns
    }
}
