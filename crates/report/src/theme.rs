//! Colours of charts: drawn in one set, and replaced by another when the drawing is done.
//!
//! One table here has every colour that a chart is drawn in, so a drawing is recoloured through its text alone: for a
//! dark page, or with names of CSS variables where a page decides.

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

/// The surface on which a chart is viewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white: paper, and most screens.
    #[default]
    Light,
    /// Light on near black.
    Dark,
    /// Colours are CSS variables (`--chart-paper`, `--chart-ink`, `--chart-grid`, `--chart-band`, `--chart-1` to
    /// `--chart-7`, `--map-0` to `--map-12`, `--diverge-0` to `--diverge-10`) of the page that contains the SVG.
    Page,
}

/// Paper; words and axes; lines behind the figures.
pub(crate) const PAPER: Colour = Colour(255, 255, 255);
pub(crate) const INK: Colour = Colour(40, 40, 40);
pub(crate) const GRID: Colour = Colour(225, 225, 225);
/// Behind the figures of every second phase.
pub(crate) const BAND: Colour = Colour(240, 243, 247);

/// Okabe and Ito, "Color Universal Design" (2008): distinct for all kinds of colour vision. The order alternates dark
/// and light. Yellow is left out: it is too faint for lines on white.
pub(crate) const COLOURS: [Colour; 7] = [
    Colour(0, 114, 178),
    Colour(213, 94, 0),
    Colour(0, 158, 115),
    Colour(204, 121, 167),
    Colour(0, 0, 0),
    Colour(86, 180, 233),
    Colour(230, 159, 0),
];

/// From blocks right behind their predecessors to distant blocks, ever darker, so that grey and any kind of colour
/// vision show the same order. Stops #A9CCEA, #6E93CC, #8560A8, #8E2A5E, #3A0A14, interpolated linearly in Oklab.
pub(crate) const MAP_COLOURS: [Colour; 13] = [
    Colour(169, 204, 234),
    Colour(149, 185, 224),
    Colour(129, 166, 214),
    Colour(110, 147, 204),
    Colour(121, 130, 192),
    Colour(128, 113, 180),
    Colour(133, 96, 168),
    Colour(138, 80, 143),
    Colour(141, 63, 118),
    Colour(142, 42, 94),
    Colour(113, 31, 68),
    Colour(85, 20, 43),
    Colour(58, 10, 20),
];

/// The same for a dark page, ever lighter. Stops #1F4E7A, #3C6FB5, #A56BB8, #F08C78, #FFF0B8.
pub(crate) const DARK_MAP_COLOURS: [Colour; 13] = [
    Colour(31, 78, 122),
    Colour(41, 89, 141),
    Colour(50, 100, 161),
    Colour(60, 111, 181),
    Colour(102, 111, 182),
    Colour(135, 110, 183),
    Colour(165, 107, 184),
    Colour(189, 120, 166),
    Colour(214, 131, 145),
    Colour(240, 140, 120),
    Colour(247, 174, 141),
    Colour(252, 207, 162),
    Colour(255, 240, 184),
];

/// From far below a middle to far above it: orange, white, violet. ColorBrewer's PuOr of 11 classes (C. Brewer, 2002),
/// which all kinds of colour vision can tell apart.
pub(crate) const DIVERGING_COLOURS: [Colour; 11] = [
    Colour(127, 59, 8),
    Colour(179, 88, 6),
    Colour(224, 130, 20),
    Colour(253, 184, 99),
    Colour(254, 224, 182),
    Colour(247, 247, 247),
    Colour(216, 218, 235),
    Colour(178, 171, 210),
    Colour(128, 115, 172),
    Colour(84, 39, 136),
    Colour(45, 0, 75),
];

/// The same hues for a dark page, with a dark middle.
pub(crate) const DARK_DIVERGING_COLOURS: [Colour; 11] = [
    Colour(255, 207, 150),
    Colour(217, 148, 74),
    Colour(143, 90, 34),
    Colour(107, 71, 36),
    Colour(74, 58, 42),
    Colour(43, 48, 54),
    Colour(60, 58, 92),
    Colour(95, 85, 150),
    Colour(154, 140, 214),
    Colour(189, 178, 240),
    Colour(221, 211, 255),
];

/// A colour as drawn, on a dark page, and as a variable. The dark ones are the same hues, lighter.
const TABLE: [(Colour, &str, &str); 11] = [
    (PAPER, "#16191D", "var(--chart-paper)"),
    (INK, "#E4E6E8", "var(--chart-ink)"),
    (GRID, "#3A3F45", "var(--chart-grid)"),
    (BAND, "#21262D", "var(--chart-band)"),
    (COLOURS[0], "#56A8E8", "var(--chart-1)"),
    (COLOURS[1], "#FF8B3D", "var(--chart-2)"),
    (COLOURS[2], "#2CC79A", "var(--chart-3)"),
    (COLOURS[3], "#E59CC8", "var(--chart-4)"),
    (COLOURS[4], "#C8CCD0", "var(--chart-5)"),
    (COLOURS[5], "#9AD6F8", "var(--chart-6)"),
    (COLOURS[6], "#F3B82E", "var(--chart-7)"),
];

/// Returns a colour as the SVG backend writes it.
pub(crate) fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

impl Theme {
    /// Returns the drawing in the theme's colours. Only attributes that are a colour and nothing else change.
    pub(crate) fn recolour(self, svg: String) -> String {
        if self == Self::Light {
            return svg;
        }
        let mut table: Vec<(String, String)> = TABLE
            .iter()
            .map(|(drawn, dark, variable)| {
                (*drawn, if self == Self::Dark { dark } else { variable })
            })
            .map(|(drawn, theirs)| (hex(drawn), (*theirs).to_owned()))
            .collect();
        for (number, (drawn, dark)) in MAP_COLOURS.into_iter().zip(DARK_MAP_COLOURS).enumerate() {
            let variable = || format!("var(--map-{number})");
            table.push((hex(drawn), if self == Self::Dark { hex(dark) } else { variable() }));
        }
        let diverging = DIVERGING_COLOURS.into_iter().zip(DARK_DIVERGING_COLOURS).enumerate();
        for (number, (drawn, dark)) in diverging {
            let variable = || format!("var(--diverge-{number})");
            table.push((hex(drawn), if self == Self::Dark { hex(dark) } else { variable() }));
        }
        let mut recoloured = String::with_capacity(svg.len() * 11 / 10);
        let mut rest = svg.as_str();
        // A colour is a whole attribute: ="#RRGGBB".
        while let Some(at) = rest.find("=\"#") {
            let (before, from) = rest.split_at(at + 2);
            recoloured.push_str(before);
            let colour = from.get(..7).filter(|_| from.as_bytes().get(7) == Some(&b'"'));
            let found = colour.and_then(|colour| table.iter().find(|(drawn, _)| drawn == colour));
            if let Some((drawn, theirs)) = found {
                recoloured.push_str(theirs);
                rest = &from[drawn.len()..];
            } else {
                rest = from;
            }
        }
        recoloured + rest
    }
}

/// Returns the variables that [`Theme::Page`] names, with the colours of `theme`, as CSS declarations.
pub(crate) fn page_variables(theme: Theme) -> String {
    let is_dark = theme == Theme::Dark;
    let mut css = String::new();
    for (drawn, dark, variable) in TABLE {
        let name = variable.trim_start_matches("var(").trim_end_matches(')');
        let colour = if is_dark { dark.to_owned() } else { hex(drawn) };
        css.push_str(&format!("{name}: {colour}; "));
    }
    let ramp = if is_dark { DARK_MAP_COLOURS } else { MAP_COLOURS };
    for (number, colour) in ramp.into_iter().enumerate() {
        css.push_str(&format!("--map-{number}: {}; ", hex(colour)));
    }
    let ramp = if is_dark { DARK_DIVERGING_COLOURS } else { DIVERGING_COLOURS };
    for (number, colour) in ramp.into_iter().enumerate() {
        css.push_str(&format!("--diverge-{number}: {}; ", hex(colour)));
    }
    css.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_and_words_do_not() {
        let svg = "<rect fill=\"#FFFFFF\"/><text fill=\"#282828\">#FFFFFF =\"#12</text>";
        assert_eq!(Theme::Light.recolour(svg.to_owned()), svg);
        assert_eq!(
            Theme::Dark.recolour(svg.to_owned()),
            "<rect fill=\"#16191D\"/><text fill=\"#E4E6E8\">#FFFFFF =\"#12</text>"
        );
        assert!(Theme::Page.recolour(svg.to_owned()).contains("fill=\"var(--chart-ink)\""));
    }

    #[test]
    fn every_colour_is_told_from_the_paper_that_it_is_on() {
        let luminance = |colour: &str| {
            let part = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap());
            let linear = |value: f64| (value / 255.0).powf(2.2);
            0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5))
        };
        let contrast = |one: &str, other: &str| {
            let (one, other) = (luminance(one), luminance(other));
            (one.max(other) + 0.05) / (one.min(other) + 0.05)
        };
        for (drawn, dark, _) in &TABLE[4..] {
            // WCAG 2.2 criterion 1.4.11 covers graphical objects; these also have markers and dashes.
            assert!(contrast(&hex(*drawn), "#FFFFFF") > 2.1, "{}", hex(*drawn));
            assert!(contrast(dark, TABLE[0].1) > 4.5, "{dark}");
        }
    }
}
