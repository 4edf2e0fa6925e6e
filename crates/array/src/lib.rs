//! Array controllers as state machines, without I/O and without a clock.
