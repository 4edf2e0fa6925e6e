//! The NVRAM log, which protects a write until it is on a spindle.

/// The outcome of an attempt to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Append {
    /// Logged: the operation can be acknowledged.
    Logged,
    /// The half in use is full and the other is free: a consistency point must begin.
    HalfFull,
    /// Both halves are full: the operation waits for the consistency point in progress.
    BothFull,
}

/// A log of two halves: one takes operations while a consistency point writes what the other protects.
#[derive(Debug)]
pub(crate) struct NvramLog {
    half_bytes: u64,
    filled_bytes: u64,
    other_in_use: bool,
}

impl NvramLog {
    pub(crate) fn new(half_bytes: u64) -> Self {
        Self { half_bytes, filled_bytes: 0, other_in_use: false }
    }

    /// Logs a record of `bytes`. An empty half takes a record larger than itself, which could otherwise never be
    /// logged.
    pub(crate) fn append(&mut self, bytes: u64) -> Append {
        if self.filled_bytes == 0 || self.filled_bytes + bytes <= self.half_bytes {
            self.filled_bytes += bytes;
            Append::Logged
        } else if self.other_in_use {
            Append::BothFull
        } else {
            Append::HalfFull
        }
    }

    /// Whether both halves are empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.filled_bytes == 0 && !self.other_in_use
    }

    /// Whether no half belongs to a consistency point in progress.
    pub(crate) fn protects_nothing(&self) -> bool {
        !self.other_in_use
    }

    /// A consistency point begins: it writes what this half protects, and the other half takes over.
    pub(crate) fn switch(&mut self) {
        assert!(
            !self.other_in_use,
            "a consistency point begins while another protects its half of the log"
        );
        self.other_in_use = true;
        self.filled_bytes = 0;
    }

    /// The consistency point is committed: its half is free.
    pub(crate) fn release(&mut self) {
        assert!(self.other_in_use, "a half of the log is freed that protects nothing");
        self.other_in_use = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_full_half_waits_for_the_first() {
        let mut log = NvramLog::new(100);
        assert_eq!(log.append(60), Append::Logged);
        assert_eq!(log.append(41), Append::HalfFull);
        log.switch();
        assert_eq!(log.append(100), Append::Logged);
        assert_eq!(log.append(1), Append::BothFull);
        log.release();
        assert_eq!(log.append(1), Append::HalfFull);
    }

    #[test]
    #[should_panic(expected = "a half of the log is freed that protects nothing")]
    fn a_half_is_freed_once() {
        let mut log = NvramLog::new(100);
        log.switch();
        log.release();
        log.release();
    }

    #[test]
    fn a_record_larger_than_a_half_is_logged_alone() {
        let mut log = NvramLog::new(100);
        assert_eq!(log.append(500), Append::Logged);
        assert_eq!(log.append(1), Append::HalfFull);
    }
}
