//! Strewn.
