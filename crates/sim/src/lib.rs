//! Arrays and simulated spindles in virtual time, measured segment by segment.
