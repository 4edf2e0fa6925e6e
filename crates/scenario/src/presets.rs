//! Constants of the controllers that ship, which a scenario need not give.

use std::sync::LazyLock;

use toml::Spanned;
use toml::de::DeTable;

use crate::fields::{Slot, Words};
use crate::setting_value::SettingValue;

/// A controller whose constants ship, for `controller` of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Fas2050,
    Eva4400,
    Fas3040c,
    PanasasSb1000,
}

impl Words for Controller {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("fas2050", Self::Fas2050),
        ("eva4400", Self::Eva4400),
        ("fas3040c", Self::Fas3040c),
        ("panasas-sb1000", Self::PanasasSb1000),
    ];
}

impl Slot for Option<Controller> {
    fn get(&self) -> Option<SettingValue> {
        self.map(|controller| controller.word().into())
    }

    fn set(&mut self, value: SettingValue) {
        let mut controller = Controller::Fas2050;
        Slot::set(&mut controller, value);
        *self = Some(controller);
    }

    fn clear(&mut self) {
        *self = None;
    }
}

type Document = LazyLock<Spanned<DeTable<'static>>>;

static FAS2050: Document = LazyLock::new(|| read(include_str!("../presets/fas2050.toml")));
static EVA4400: Document = LazyLock::new(|| read(include_str!("../presets/eva4400.toml")));
static FAS3040C: Document = LazyLock::new(|| read(include_str!("../presets/fas3040c.toml")));
static PANASAS_SB1000: Document =
    LazyLock::new(|| read(include_str!("../presets/panasas-sb1000.toml")));

/// Reads a file of this crate; a test reads each.
fn read(text: &'static str) -> Spanned<DeTable<'static>> {
    DeTable::parse_recoverable(text).0
}

/// Returns the constants of the controller of this name.
pub(crate) fn named(controller: &str) -> Option<&'static DeTable<'static>> {
    let known = Controller::WORDS.iter().find(|(word, _)| *word == controller);
    known.map(|(_, controller)| of(*controller))
}

/// Returns the constants of a controller.
pub(crate) fn of(controller: Controller) -> &'static DeTable<'static> {
    match controller {
        Controller::Fas2050 => FAS2050.get_ref(),
        Controller::Eva4400 => EVA4400.get_ref(),
        Controller::Fas3040c => FAS3040C.get_ref(),
        Controller::PanasasSb1000 => PANASAS_SB1000.get_ref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_toml_with_a_table() {
        for text in [
            include_str!("../presets/fas2050.toml"),
            include_str!("../presets/eva4400.toml"),
            include_str!("../presets/fas3040c.toml"),
            include_str!("../presets/panasas-sb1000.toml"),
        ] {
            DeTable::parse(text).unwrap();
        }
    }
}
