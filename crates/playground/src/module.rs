//! The WebAssembly module as a file: whether it is Strewn's.

/// What each module begins with: its kind, and version 1 of it.
const BEGINNING: &[u8] = b"\0asm\x01\0\0\0";
/// What the page calls.
const EXPORTS: [&[u8]; 3] = [b"memory", b"reserve", b"call"];
/// The number of the section that lists what a module exports.
const EXPORT_SECTION: u8 = 7;

/// Why bytes are not the module of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// They are something else, or cut short.
    #[error("is not WebAssembly, or not all of it")]
    NotWebAssembly,
    /// They are a module that lacks what the page calls.
    #[error("is WebAssembly, and not Strewn's")]
    NotStrewns,
}

/// Checks that bytes are a WebAssembly module, whole, with what the page calls.
///
/// # Errors
/// If they are not.
pub fn check_module(bytes: &[u8]) -> Result<(), ModuleError> {
    let exports = exports(bytes).ok_or(ModuleError::NotWebAssembly)?;
    let has_all = EXPORTS.iter().all(|name| exports.contains(name));
    if has_all { Ok(()) } else { Err(ModuleError::NotStrewns) }
}

/// Returns the names that a WebAssembly module exports; none if its sections are not whole.
fn exports(module: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = module.strip_prefix(BEGINNING)?;
    let mut names = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        let (length, after) = number(after)?;
        let (section, after) = after.split_at_checked(length)?;
        rest = after;
        if *kind == EXPORT_SECTION {
            let (count, mut entries) = number(section)?;
            for _ in 0..count {
                let (length, after) = number(entries)?;
                let (name, after) = after.split_at_checked(length)?;
                // Its kind, and its number.
                entries = number(after.get(1..)?)?.1;
                names.push(name);
            }
        }
    }
    Some(names)
}

/// Reads a number in LEB128. Returns it, and what follows it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}
