//! `playground.html`: the experiment in a browser, in one file that needs no network.
//!
//! The page has the module and the scenarios inside. `module.js` says how the two talk.

use std::io::Write;

use lzma_rust2::{LzmaOptions, LzmaWriter};
use serde_json::json;
use strewn_report::{MAP_SCRIPT, ReportError, TIPS_SCRIPT, page_style, render_page, within_script};

use crate::catalog::{Shipped, catalog};
use crate::page_error::PageError;

/// More than a module has, so that all of it is looked back to.
const DICTIONARY_BYTES: u32 = 8 << 20;

const TEMPLATE: &str = include_str!("../page/playground.html");
const STYLE: &str = include_str!("../page/playground.css");
const WORKER: &str = concat!(include_str!("../page/module.js"), include_str!("../page/worker.js"));
const SCRIPT: &str = concat!(
    include_str!("../page/dom.js"),
    include_str!("../page/module.js"),
    include_str!("../page/link.js"),
    include_str!("../page/lzma.js"),
    include_str!("../page/editor.js"),
    include_str!("../page/settings.js"),
    include_str!("../page/sections.js"),
    include_str!("../page/runs.js"),
    include_str!("../page/playground.js"),
);

/// Returns the text of `playground.html`, with this WebAssembly module and these scenarios and studies inside.
///
/// # Errors
/// If a scenario or a study is not valid.
pub fn page(module: &[u8], shipped: &Shipped<'_>) -> Result<String, PageError> {
    Ok(filled(env!("CARGO_PKG_VERSION"), &catalog(shipped)?.to_string(), &compressed(module)?)?)
}

/// Returns the module as an `.lzma` file, which `lzma.js` unpacks.
fn compressed(module: &[u8]) -> std::io::Result<Vec<u8>> {
    // A few seconds for a page that is loaded many times.
    let most = LzmaOptions {
        nice_len: LzmaOptions::NICE_LEN_MAX,
        dict_size: DICTIONARY_BYTES,
        ..LzmaOptions::with_preset(9)
    };
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &most, Some(module.len() as u64))?;
    writer.write_all(module)?;
    writer.finish()
}

/// Fills in the template.
fn filled(version: &str, catalog: &str, module_lzma: &[u8]) -> Result<String, ReportError> {
    let values = json!({
        "version": version,
        "style": page_style() + STYLE,
        "catalog": within_script(catalog),
        "module": base64(module_lzma),
        "worker": WORKER,
        "script": TIPS_SCRIPT.to_owned() + MAP_SCRIPT + SCRIPT,
    });
    render_page("playground.html", TEMPLATE, values)
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
        let html = filled("1.2.3", catalog, b"\0asm").unwrap();
        assert!(html.len() < 90_000, "{} bytes", html.len());
        for outside in ["http:", "https:", " src=", "@import", "url(", "<link"] {
            assert!(!html.contains(outside), "{outside} in the page");
        }
        assert!(html.contains(">AGFzbQ==</script>") && html.contains("strewn 1.2.3"));
        assert_eq!(html.matches("</script").count(), html.matches("<script").count());
        assert_eq!(html.matches("<script").count(), 4);
    }
}
