//! Identities that nobody else has.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::format::Identity;

use super::AssemblyError;

/// A new identity, from the system's own random numbers.
pub(super) fn identity() -> Result<Identity, AssemblyError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(AssemblyError::io(source, "cannot draw an identity"))?;
    Ok(Identity::from_random(bytes))
}
