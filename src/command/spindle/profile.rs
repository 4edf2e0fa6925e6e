//! Finding the drive profile named on the command line.

use std::path::Path;

use strewn::spindle::Profile;
use strewn::terminal::Failure;

/// Extension of a profile's file; any other argument is the name of a shipped profile.
const EXTENSION: &str = "toml";

/// Loads the profile of this name or in this file.
pub(crate) fn load(word: &str) -> Result<Profile, Failure> {
    let path = Path::new(word);
    if path.extension().is_some_and(|extension| extension == EXTENSION) {
        return Ok(Profile::from_path(path)?);
    }
    Profile::shipped(word).ok_or_else(|| {
        let is_there = path.exists();
        let shipped: Vec<&str> = Profile::shipped_names().collect();
        let nearest = Profile::nearest_shipped(word);
        let help = format!(
            "{}give the path of a file that ends in .{EXTENSION}, or a profile that ships: {}",
            nearest.map(|name| format!("did you mean {name}? Or ")).unwrap_or_default(),
            shipped.join(", ")
        );
        let message = match is_there {
            true => format!("{word} is not a drive profile"),
            false => format!("there is no drive profile {word}"),
        };
        Failure::bad_input(message, help)
    })
}
