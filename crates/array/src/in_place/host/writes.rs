//! Host writes: into the cache, once it and the log have room.

use crate::driver::{Acknowledge, Driver, HostOperation};
use crate::log::{LogRecord, Logged};
use crate::payload::{Contents, Payload};

use super::super::context::{Context, Next};
use super::{Host, range_of};

/// Why a write is not taken into the cache.
enum NotWritten {
    /// The cache or the log has no room.
    NoRoom,
    /// The half of the log in use is full. Once a log drain has begun, the other one is in use.
    HalfFull,
}

impl<P: Payload> Host<P> {
    /// Takes a write into the cache, or has it wait for room.
    #[inline(always)]
    pub(crate) fn write_or_wait(
        &mut self,
        host: HostOperation<P>,
        when: Acknowledge,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        // Writes that wait are served in order: a later one does not slip in before them.
        let written = if cx.memory.waiting_for_room.is_empty() {
            self.write(&host, when, cx)
        } else {
            Err(NotWritten::NoRoom)
        };
        match written {
            Ok(()) => {}
            Err(NotWritten::NoRoom) => {
                cx.counters.stalled_writes += 1;
                cx.memory.waiting_for_room.push_back(host);
            }
            Err(NotWritten::HalfFull) => {
                cx.then(Next::OpenLogDrain);
                cx.then(Next::Write(host, when));
            }
        }
    }

    /// Takes the writes that wait for room into the cache, as far as there is some.
    #[inline(always)]
    pub(crate) fn admit_waiting(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        while let Some(host) = cx.memory.waiting_for_room.pop_front() {
            let asked = cx.next.pushed();
            match self.write(&host, Acknowledge::Now, cx) {
                Ok(()) => {}
                Err(not_written) => {
                    cx.memory.waiting_for_room.push_front(host);
                    match not_written {
                        NotWritten::NoRoom => return,
                        NotWritten::HalfFull => cx.then(Next::OpenLogDrain),
                    }
                }
            }
            if cx.next.pushed() > asked {
                return cx.then(Next::AdmitWaiting);
            }
        }
    }

    /// Takes a write into the cache and acknowledges it.
    #[inline(always)]
    fn write(
        &mut self,
        host: &HostOperation<P>,
        when: Acknowledge,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Result<(), NotWritten> {
        let group = cx.space.lun(host.lun).group;
        let coalesced = cx.memory.room_for(group, range_of(host)).ok_or(NotWritten::NoRoom)?;
        if cx.space.config.log.is_some() {
            log(host, &mut cx.reborrow())?;
        }
        cx.counters.coalesced_sectors += coalesced;
        let memory = &mut cx.memory.groups[group];
        memory.cache.write(range_of(host));
        memory.contents.store(host.first_sector, host.sectors, &host.payload);
        self.drop_old_reads(group, &range_of(host), cx);
        cx.driver.acknowledge(host.id, when, P::default());
        if cx.space.config.format.is_durable() {
            self.on_blocks_free(group, &range_of(host), &mut cx.reborrow());
        }
        Ok(())
    }
}

/// Logs a write.
#[inline(never)]
fn log<P: Payload>(
    host: &HostOperation<P>,
    cx: &mut Context<'_, P, impl Driver<P>>,
) -> Result<(), NotWritten> {
    let (lun, sectors) = (host.lun, host.sectors);
    let first_sector = host.first_sector - cx.space.lun(lun).sectors.start;
    let record = LogRecord::Write { lun, first_sector, sectors };
    match cx.driver.log(host.id, record, &host.payload) {
        Logged::Done => {
            cx.memory.log_has_records = true;
            Ok(())
        }
        Logged::BothFull => Err(NotWritten::NoRoom),
        Logged::HalfFull => Err(NotWritten::HalfFull),
    }
}
