//! A processor with several cores, and what of its work is serialized.

use strewn_array::ProcessorWork;
use strewn_base::Calendar;
use strewn_base::state::SavedValue;

/// The cores of a controller's processor.
///
/// Work of a *serial domain* is done by one core at a time, though not always by the same one; work in none is done by
/// any core that is free. A filer of the 2000s has one domain for its file system and RAID, and processes the network
/// beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorCores {
    /// How many there are. With one, everything is done in the order of its arrival.
    pub cores: u32,
    /// The serial domains. No kind of work is in two. What write-back and scans cost besides commands is done where
    /// commands are, unless a domain names it.
    pub serial_domains: Vec<Vec<ProcessorWork>>,
}

impl Default for ProcessorCores {
    fn default() -> Self {
        Self::filer(1)
    }
}

impl ProcessorCores {
    /// Cores of a filer: operations and commands are one serial domain, the network is in none.
    #[must_use]
    pub fn filer(cores: u32) -> Self {
        let domain = vec![ProcessorWork::Operation, ProcessorWork::Command];
        Self { cores, serial_domains: vec![domain] }
    }
}

/// A controller's cores over a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, SavedValue)]
pub struct CoresSegment {
    /// Time that cores were busy, in nanoseconds, summed over them.
    pub busy_ns: u64,
    /// Network processing given to them, in nanoseconds.
    pub network_ns: u64,
    /// Time that each serial domain was occupied, in nanoseconds.
    pub serial_domains_ns: Vec<u64>,
}

/// Work that was given at a time, and when it is done.
#[derive(Debug, Clone, Copy, Default, SavedValue)]
struct Given {
    at_ns: u64,
    done_ns: u64,
}

/// What only one core at a time works on.
#[derive(Debug, Clone, Default, SavedValue)]
struct Domain {
    /// When one does.
    calendar: Calendar,
    /// The core that did last.
    core: usize,
    /// When the write-back given so far is done, at its share.
    write_back_free_ns: u64,
}

/// Several cores.
///
/// As with one, it is known when work is done as soon as it is given. Work that has to wait books a core's time ahead;
/// what arrives in between takes the idle time before it.
#[derive(Debug)]
pub(super) struct SeveralCores {
    cores: Vec<Calendar>,
    domains: Vec<Domain>,
    /// The domain of each kind of work.
    domain_of: [Option<u8>; KINDS],
    /// The operation that was given last. Its commands follow it.
    operation: Given,
    network_ns: u64,
    /// What was measured by the beginning of the segment.
    before: CoresSegment,
}

const KINDS: usize = 7;

/// Work that is done where commands are, unless a domain names it.
const BESIDE_COMMANDS: [ProcessorWork; 4] =
    [ProcessorWork::Allocation, ProcessorWork::Frees, ProcessorWork::Parity, ProcessorWork::Scans];

/// Work given to a processor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) kind: ProcessorWork,
    pub(super) now_ns: u64,
    pub(super) cost_ns: u64,
    /// The share of a domain that it has, in percent, if it need not queue behind all that was given before it.
    pub(super) share_percent: Option<u64>,
    pub(super) is_write_back: bool,
}

impl SeveralCores {
    pub(super) fn new(settings: &ProcessorCores) -> Self {
        let mut domain_of = [None; KINDS];
        for (domain, kinds) in (0..).zip(&settings.serial_domains) {
            for kind in kinds {
                let before = domain_of[*kind as usize].replace(domain);
                assert!(before.is_none_or(|before| before == domain), "{kind:?} is in two domains");
            }
        }
        for kind in BESIDE_COMMANDS {
            let of_commands = domain_of[ProcessorWork::Command as usize];
            let own = &mut domain_of[kind as usize];
            *own = own.or(of_commands);
        }
        Self {
            cores: vec![Calendar::default(); settings.cores as usize],
            domains: vec![Domain::default(); settings.serial_domains.len()],
            domain_of,
            operation: Given::default(),
            network_ns: 0,
            before: CoresSegment::default(),
        }
    }

    pub(super) fn cores(&self) -> u64 {
        self.cores.len() as u64
    }

    /// Takes work. Returns when it is done.
    pub(super) fn add(&mut self, work: Work) -> u64 {
        let Work { kind, now_ns, cost_ns, share_percent, is_write_back } = work;
        let ready_ns = match kind {
            // An operation's commands come after what it costs itself.
            ProcessorWork::Command if !is_write_back && self.operation.at_ns == now_ns => {
                self.operation.done_ns.max(now_ns)
            }
            _ => now_ns,
        };
        if kind == ProcessorWork::Network {
            self.network_ns += cost_ns;
        }
        let done_ns = match self.domain_of[kind as usize] {
            None => self.book(now_ns, ready_ns, cost_ns, None).0,
            Some(index) => {
                let index = usize::from(index);
                let domain = &self.domains[index];
                let start_ns = domain.calendar.start_of_work_at(ready_ns);
                let (finish_ns, core) = self.book(now_ns, start_ns, cost_ns, Some(domain.core));
                let domain = &mut self.domains[index];
                // It is occupied for as long as a core has its work, waits for the core included.
                let occupied_ns = finish_ns.saturating_sub(start_ns).max(cost_ns);
                let booking = domain.calendar.book(now_ns, start_ns, occupied_ns);
                domain.core = core;
                match share_percent {
                    None => booking.finish_ns,
                    Some(percent) => {
                        let at_its_share =
                            domain.write_back_free_ns.max(now_ns) + cost_ns * 100 / percent;
                        domain.write_back_free_ns = at_its_share.min(booking.finish_ns);
                        domain.write_back_free_ns
                    }
                }
            }
        };
        if kind == ProcessorWork::Operation {
            self.operation = Given { at_ns: now_ns, done_ns };
        }
        done_ns
    }

    /// Books the core that is free first from `ready_ns` on; among equals `last`. Returns when it is done, and the
    /// core.
    fn book(
        &mut self,
        now_ns: u64,
        ready_ns: u64,
        cost_ns: u64,
        last: Option<usize>,
    ) -> (u64, usize) {
        let first = self
            .cores
            .iter()
            .enumerate()
            .map(|(core, calendar)| (calendar.start_of_work_at(ready_ns), Some(core) != last, core))
            .min();
        let Some((_, _, core)) = first else { unreachable!("a processor has cores") };
        (self.cores[core].book(now_ns, ready_ns, cost_ns).finish_ns, core)
    }

    /// Everything stops at `now_ns`. Returns the work that is lost.
    pub(super) fn halt(&mut self, now_ns: u64) -> u64 {
        for domain in &mut self.domains {
            domain.calendar.cancel_after(now_ns);
            domain.write_back_free_ns = domain.write_back_free_ns.min(now_ns);
        }
        self.operation = Given::default();
        self.cores.iter_mut().map(|core| core.cancel_after(now_ns)).sum()
    }

    /// Work given and not done at `now_ns`.
    pub(super) fn backlog_ns(&self, now_ns: u64) -> u64 {
        self.cores.iter().map(|core| core.booked_after_ns(now_ns)).sum()
    }

    /// Time that cores were busy up to `now_ns`, summed over them.
    pub(super) fn busy_ns(&self, now_ns: u64) -> u64 {
        self.cores.iter().map(|core| core.busy_ns(now_ns)).sum()
    }

    /// Measures the segment that ends at `end_ns`.
    pub(super) fn end_segment(&mut self, end_ns: u64) -> CoresSegment {
        let domains = self.domains.iter().map(|domain| domain.calendar.busy_ns(end_ns));
        let now = CoresSegment {
            busy_ns: self.busy_ns(end_ns),
            network_ns: self.network_ns,
            serial_domains_ns: domains.collect(),
        };
        let before = std::mem::replace(&mut self.before, now.clone());
        let domains_before = before.serial_domains_ns.iter().chain(std::iter::repeat(&0));
        let domains = now.serial_domains_ns.iter().zip(domains_before);
        CoresSegment {
            busy_ns: now.busy_ns - before.busy_ns,
            network_ns: now.network_ns - before.network_ns,
            serial_domains_ns: domains.map(|(now, before)| now - before).collect(),
        }
    }
}

strewn_base::saved_state! {
    impl for SeveralCores {
        parts:;
        values: cores, domains, operation, network_ns, before;
        built: domain_of;
    }
}
