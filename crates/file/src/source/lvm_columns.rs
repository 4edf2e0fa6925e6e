//! Fields of LVM's reports.

use serde_json::Value;

/// Extents of a device, or of another volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) name: String,
    /// The first extent.
    pub(super) first: u64,
}

/// Reads a field that is a text.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim)
}

/// Reads a number: a text in most versions, and a number with `--reportformat json_std`.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| text(value)?.parse().ok())
}

/// Reads a size in bytes, or with a unit; those that LVM has rounded have a mark before them. Large letters are units
/// of 1000.
pub(super) fn exact_size(value: &Value) -> Option<u64> {
    if let Some(bytes) = value.as_u64() {
        return Some(bytes);
    }
    let text = text(value)?;
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text[number.len()..].chars().next().unwrap_or('b');
    let base: u64 = if unit.is_ascii_uppercase() { 1000 } else { 1024 };
    let power = match unit.to_ascii_lowercase() {
        'b' => 0,
        's' => return number.trim().parse::<u64>().ok()?.checked_mul(512),
        unit => "kmgtpe".find(unit)? as u32 + 1,
    };
    // A comma is the point of some locales.
    let number: f64 = number.trim().replace(',', ".").parse().ok()?;
    let bytes = number * base.pow(power) as f64;
    (bytes == 0.0 || (1.0..9.0e18).contains(&bytes)).then_some(bytes as u64)
}

/// Reads `DEVICE:FIRST-LAST`, several with spaces between. A device that is missing is called `[unknown]`, and in old
/// versions `unknown device`.
pub(super) fn areas(ranges: &str) -> Option<Vec<Area>> {
    let (mut areas, mut name) = (Vec::new(), String::new());
    for word in ranges.split_whitespace() {
        if !name.is_empty() {
            name.push(' ');
        }
        let range = word.rsplit_once(':').and_then(|(last, range)| {
            let (first, end) = range.split_once('-')?;
            let (first, end) = (first.parse::<u64>().ok()?, end.parse::<u64>().ok()?);
            (first <= end).then_some((last, first))
        });
        match range {
            Some((last, first)) => {
                name.push_str(last);
                areas.push(Area { name: std::mem::take(&mut name), first });
            }
            None => name.push_str(word),
        }
    }
    name.is_empty().then_some(areas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_several_versions_print_them() {
        let size = |text: &str| exact_size(&Value::from(text));
        let mib = Some(4 << 20);
        for text in ["4194304", "4.00m", "4,00m", "4194304B", "4194304 ", "8192s", "4096k"] {
            assert_eq!(size(text), mib, "{text}");
        }
        assert_eq!(
            (size("4M"), size("0 "), size("<4.00m"), size("m")),
            (Some(4_000_000), Some(0), None, None)
        );
        assert_eq!(exact_size(&Value::from(4_194_304)), mib);
        let area = |name: &str, first| Area { name: name.to_owned(), first };
        let two = areas("/dev/disk/by-path/pci-0000:00:1f:7-9 unknown device:0-3").unwrap();
        assert_eq!(two, [area("/dev/disk/by-path/pci-0000:00:1f", 7), area("unknown device", 0)]);
        assert_eq!(areas(""), Some(Vec::new()));
        assert_eq!(
            (areas("/dev/sda"), areas("/dev/sda:9-3"), areas("a:0-1 b")),
            (None, None, None)
        );
    }
}
