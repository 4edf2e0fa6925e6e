//! What a chart says about a figure under the pointer.
//!
//! A mark is an invisible circle over the figure, with a title. Browsers show the title on their own, and a page can
//! step through the marks.

use crate::canvas::PIXEL;
use crate::canvas::Point;
use crate::shown::is_harmful;
use std::fmt::Write;

/// A place with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueMark {
    pub(crate) place: Point,
    /// "FAS2050, segment 3: 4,245 IOPS".
    pub(crate) words: String,
}

/// Radius of the area that responds to the pointer.
const RADIUS_PX: i32 = 9;

/// A chart with more marks says nothing of each: they would cover each other, and the file would grow for nobody.
const MOST_MARKS: usize = 500;

/// Returns the marks as a group of an SVG.
pub(crate) fn group(marks: &[ValueMark]) -> String {
    if !(1..=MOST_MARKS).contains(&marks.len()) {
        return String::new();
    }
    let mut svg = "<g class=\"values\" fill=\"none\" pointer-events=\"all\">\n".to_owned();
    for ValueMark { place: (x, y), words } in marks {
        let radius = RADIUS_PX * PIXEL;
        let words = escaped(words);
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"><title>{words}</title></circle>"
        );
    }
    svg + "</g>\n"
}

/// Returns text that is safe between tags and within quotes, in SVG and HTML alike. Control characters, which XML
/// cannot represent, and letters that change the direction of a text become spaces.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(letter),
            letter if is_harmful(letter) => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        assert_eq!(escaped("a<b>&\"c'\u{1b}\u{202e}\n"), "a&lt;b&gt;&amp;&quot;c&#39;  \n");
    }
}
