//! Experiments as TOML files, checked on load.
