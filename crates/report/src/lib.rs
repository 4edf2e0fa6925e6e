//! Results as data, tables and charts, beside published figures.
