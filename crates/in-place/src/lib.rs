//! Simulates in-place arrays: the event loops of `strewn-sim`, compiled for [`InPlace`] as
//! [`CompiledLoop`](strewn_sim::CompiledLoop) says why.

#![forbid(unsafe_code)]

use strewn_array::ArrayConfigError;
use strewn_array::in_place::{InPlace, InPlaceConfig};

strewn_sim::compile_loop!(Loop for InPlace<()>);

/// Creates an array, with its files laid out. It is not inlined, so that it is compiled here.
///
/// # Errors
/// If the configuration is invalid.
#[inline(never)]
pub fn array(config: InPlaceConfig) -> Result<InPlace<()>, ArrayConfigError> {
    InPlace::new(config)
}
