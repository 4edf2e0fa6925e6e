//! Values that a scenario need not give: defaults, and those of the controllers that ship.

use std::sync::LazyLock;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A controller whose constants ship, for `controller` of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Fas2050,
    Eva4400,
    Fas3040c,
    PanasasSb1000,
}

/// The words for a controller.
pub(crate) const CONTROLLER_WORDS: [(&str, Controller); 4] = [
    ("fas2050", Controller::Fas2050),
    ("eva4400", Controller::Eva4400),
    ("fas3040c", Controller::Fas3040c),
    ("panasas-sb1000", Controller::PanasasSb1000),
];

type Document = LazyLock<Spanned<DeTable<'static>>>;

static DEFAULTS: Document = LazyLock::new(|| read(include_str!("../presets/defaults.toml")));
static FAS2050: Document = LazyLock::new(|| read(include_str!("../presets/fas2050.toml")));
static EVA4400: Document = LazyLock::new(|| read(include_str!("../presets/eva4400.toml")));
static FAS3040C: Document = LazyLock::new(|| read(include_str!("../presets/fas3040c.toml")));
static PANASAS_SB1000: Document =
    LazyLock::new(|| read(include_str!("../presets/panasas-sb1000.toml")));

/// A table without keys: that of a text which leaves it to its defaults.
pub(crate) static NOTHING: LazyLock<DeTable<'static>> = LazyLock::new(DeTable::new);

/// Reads a file of this crate; a test reads each.
fn read(text: &'static str) -> Spanned<DeTable<'static>> {
    DeTable::parse_recoverable(text).0
}

/// Returns the constants of the controller of this name.
pub(crate) fn named(controller: &str) -> Option<&'static DeTable<'static>> {
    let known = CONTROLLER_WORDS.iter().find(|(word, _)| *word == controller);
    known.and_then(|(_, controller)| of_array(Some(*controller)))
}

/// Returns the constants of a controller, or the defaults of any array.
pub(crate) fn of_array(controller: Option<Controller>) -> Option<&'static DeTable<'static>> {
    match controller {
        Some(Controller::Fas2050) => Some(FAS2050.get_ref()),
        Some(Controller::Eva4400) => Some(EVA4400.get_ref()),
        Some(Controller::Fas3040c) => Some(FAS3040C.get_ref()),
        Some(Controller::PanasasSb1000) => Some(PANASAS_SB1000.get_ref()),
        None => table("array"),
    }
}

/// Returns the defaults of a table: of `array`, or of one of its layouts.
pub(crate) fn table(name: &str) -> Option<&'static DeTable<'static>> {
    DEFAULTS.get_ref().get(name).map(Spanned::get_ref).and_then(DeValue::as_table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_toml_with_a_table() {
        for text in [
            include_str!("../presets/defaults.toml"),
            include_str!("../presets/fas2050.toml"),
            include_str!("../presets/eva4400.toml"),
            include_str!("../presets/fas3040c.toml"),
            include_str!("../presets/panasas-sb1000.toml"),
        ] {
            DeTable::parse(text).unwrap();
        }
        assert!(["array", "write_anywhere", "in_place"].iter().all(|name| table(name).is_some()));
    }
}
