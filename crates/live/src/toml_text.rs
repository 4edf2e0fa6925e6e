//! Reads TOML.

use serde::de::DeserializeOwned;
use toml::Table;

/// Reads a text. It is parsed to a table first, by code that was compiled with the parser: what is derived for each
/// type then reads only tables, and is a fraction of what it would be for the parser.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let table = text.parse::<Table>();
    table.and_then(Table::try_into).map_err(|error| error.message().to_owned())
}
