//! The one timer of an array: for the next consistency point, and for what it does in the background.

use crate::driver::Driver;
use crate::payload::Payload;

use super::WriteAnywhere;

impl<P: Payload> WriteAnywhere<P> {
    /// Sets the timer to whatever is due next.
    pub(super) fn set_timer(&self, now_ns: u64, driver: &mut impl Driver<P>) {
        let in_background = self.scan_due_ns().into_iter().chain(self.reallocation_due_ns()).min();
        let at_ns = match in_background.map(|at_ns| at_ns.max(now_ns)) {
            None => self.consistency_point_due_ns,
            // The end of the consistency point in progress sees that the next is due.
            Some(at_ns) if self.consistency_point_due_ns <= now_ns => at_ns,
            Some(at_ns) => self.consistency_point_due_ns.min(at_ns),
        };
        driver.set_timer(at_ns);
    }

    /// The timer of an array that does something in the background has expired: for that, for a consistency point, or
    /// both.
    pub(super) fn timers_fired(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.scan_maps(now_ns, driver);
        self.go_on_with_reallocation(now_ns, driver);
        if self.consistency_point.is_none() && now_ns >= self.consistency_point_due_ns {
            self.begin_consistency_point(now_ns, driver);
        }
        let in_background = self.scan_due_ns().is_some() || self.reallocation_due_ns().is_some();
        if in_background || self.consistency_point_due_ns > now_ns {
            self.set_timer(now_ns, driver);
        }
    }
}
