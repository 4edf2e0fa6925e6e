//! `playground.html`: the experiment in a browser, in one file that needs no network.
//!
//! The page has the module and the scenarios inside. `module.js` says how the two talk.

use crate::html::page::{ReportError, environment, style, within_script};
use minijinja::context;

const TEMPLATE: &str = include_str!("playground.html");
const STYLE: &str = include_str!("playground.css");
const WORKER: &str = concat!(include_str!("module.js"), include_str!("worker.js"));
const SCRIPT: &str = concat!(
    include_str!("../tips.js"),
    include_str!("../map.js"),
    include_str!("dom.js"),
    include_str!("module.js"),
    include_str!("link.js"),
    include_str!("lzma.js"),
    include_str!("editor.js"),
    include_str!("settings.js"),
    include_str!("sections.js"),
    include_str!("runs.js"),
    include_str!("playground.js"),
);

/// The sources of the page.
#[derive(Clone, Copy, Debug)]
pub struct Playground<'a> {
    /// The version of Strewn.
    pub version: &'a str,
    /// Scenarios and studies to choose from, as JSON.
    pub catalog: &'a str,
    /// The WebAssembly module, as a file in the `.lzma` format that says its length.
    pub module: &'a [u8],
}

impl Playground<'_> {
    /// Returns the text of `playground.html`.
    ///
    /// # Errors
    ///
    /// If the template cannot be filled in.
    pub fn to_html(&self) -> Result<String, ReportError> {
        let environment = environment();
        let page = environment.template_from_named_str("playground.html", TEMPLATE)?;
        Ok(page.render(context! {
            version => self.version,
            style => style() + STYLE,
            catalog => within_script(self.catalog),
            module => base64(self.module),
            worker => WORKER,
            script => SCRIPT,
        })?)
    }
}

/// Encodes bytes by RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, at| word << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        for letter in 0..4 {
            let six_bits = (word >> (18 - 6 * letter)) & 63;
            text.push(if letter > chunk.len() { '=' } else { LETTERS[six_bits as usize].into() });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, text) in vectors.into_iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), text);
        }
    }

    #[test]
    fn the_page_is_small_asks_nothing_of_a_network_and_cannot_be_ended_from_within() {
        let catalog = r#"{"scenarios":[{"title":"</script><script>alert(1)</script>"}]}"#;
        let html = Playground { version: "1.2.3", catalog, module: b"\0asm" }.to_html().unwrap();
        assert!(html.len() < 90_000, "{} bytes", html.len());
        for outside in ["http:", "https:", " src=", "@import", "url(", "<link"] {
            assert!(!html.contains(outside), "{outside} in the page");
        }
        assert!(html.contains(">AGFzbQ==</script>") && html.contains("strewn 1.2.3"));
        assert_eq!(html.matches("</script").count(), html.matches("<script").count());
        assert_eq!(html.matches("<script").count(), 4);
    }
}
