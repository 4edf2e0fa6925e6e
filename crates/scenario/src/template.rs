//! Commented scenarios to begin with.

const HEAD: &str = include_str!("../presets/new/head.toml");
const FAS2050: &str = include_str!("../presets/new/fas2050.toml");
const EVA4400: &str = include_str!("../presets/new/eva4400.toml");

/// A commented scenario to begin with, as `strewn new` writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// A write-anywhere array beside one that updates in place.
    Both,
    /// A write-anywhere array: NetApp's FAS2050.
    Fas2050,
    /// An array that updates in place: HP's EVA4400.
    Eva4400,
}

impl Template {
    /// Returns the text of a scenario called `name`, which must not contain quotes, backslashes or control characters.
    #[must_use]
    pub fn scenario(self, name: &str) -> String {
        let (what, arrays) = match self {
            Self::Both => {
                ("A write-anywhere array beside one that updates in place", &[FAS2050, EVA4400][..])
            }
            Self::Fas2050 => ("A write-anywhere array", &[FAS2050][..]),
            Self::Eva4400 => ("An array that updates in place", &[EVA4400][..]),
        };
        let head = HEAD.replace("{what}", what).replace("{name}", name);
        [&[head.as_str()], arrays].concat().concat()
    }
}
