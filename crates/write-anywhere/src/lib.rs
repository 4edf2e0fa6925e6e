//! Simulates write-anywhere arrays: the event loops of `strewn-sim`, compiled for [`WriteAnywhere`] as
//! [`CompiledLoop`](strewn_sim::CompiledLoop) says why.

#![forbid(unsafe_code)]

use strewn_array::ArrayConfigError;
use strewn_array::write_anywhere::{WriteAnywhere, WriteAnywhereConfig};

strewn_sim::compile_loop!(Loop for WriteAnywhere<()>);

/// Creates an array, with its files laid out. It is not inlined, so that it is compiled here.
///
/// # Errors
/// If the configuration is invalid.
#[inline(never)]
pub fn array(config: WriteAnywhereConfig) -> Result<WriteAnywhere<()>, ArrayConfigError> {
    WriteAnywhere::new(config)
}
