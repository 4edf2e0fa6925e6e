//! The page of `strewn playground`, with everything that ships.

use strewn_playground::{PageError, Shipped};

use crate::shipped::{PUBLISHED, SCENARIOS, SENSITIVITIES};
use crate::studies;

/// Returns the page of `strewn playground`, with this WebAssembly module and everything that ships.
///
/// # Errors
/// None, of studies that ship: a test reads each.
pub fn page(module: &[u8]) -> Result<String, PageError> {
    let studies = studies::names().filter_map(studies::study).collect::<Result<Vec<_>, _>>()?;
    let shipped = Shipped {
        scenarios: SCENARIOS,
        published: PUBLISHED,
        sensitivities: SENSITIVITIES,
        studies: &studies,
    };
    strewn_playground::page(module, &shipped)
}
