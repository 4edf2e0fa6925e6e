//! `strewn spindle --list` and `strewn spindle --print NAME`.

use std::collections::BTreeMap;

use strewn::report::shipped_drives_table;
use strewn::results::{ShippedDrive, figures_json};
use strewn::spindle::Profile;
use strewn::terminal::{self, Ending, Failure};

use crate::command::arguments::FormatArguments;

/// Prints the profiles that ship, as a table or as JSON.
pub(crate) fn list(format: &FormatArguments) -> Result<Ending, Failure> {
    let shipped = Profile::shipped_names().filter_map(Profile::shipped);
    let drives: Vec<ShippedDrive> = shipped.map(|profile| summary(&profile)).collect();
    terminal::print(
        &format.tables_or(|| figures_json(&drives), || shipped_drives_table(&drives))?,
    )?;
    Ok(Ending::Complete)
}

fn summary(profile: &Profile) -> ShippedDrive {
    let mut sources = BTreeMap::new();
    for source in profile.numbers().filter_map(|number| profile.source(number)) {
        *sources.entry(source.kind().to_owned()).or_default() += 1;
    }
    ShippedDrive {
        profile: profile.name.clone(),
        capacity_bytes: profile.capacity_sectors * u64::from(profile.sector_bytes),
        rpm: profile.rpm,
        interface_mb_per_s: profile.bus_mb_per_s,
        credit: profile.credit.clone(),
        sources,
    }
}

/// Prints the profile of this name, byte for byte as it ships.
pub(crate) fn print(name: &str) -> Result<Ending, Failure> {
    let Some(text) = Profile::shipped_text(name) else {
        let help = match Profile::nearest_shipped(name) {
            Some(nearest) => {
                format!("did you mean {nearest}? strewn spindle --list has all of them")
            }
            None => "strewn spindle --list has the names".to_owned(),
        };
        return Err(Failure::bad_input(format!("no profile that ships is called {name}"), help));
    };
    terminal::print(text)?;
    Ok(Ending::Complete)
}
