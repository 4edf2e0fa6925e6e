//! Iometer's files: configurations and results.
