//! Lists of weights: `bssplit` and `random_distribution`.

use crate::text::{ErrorKind, FileFormatError, Line, did_you_mean, quoted};

use super::size::{KbBase, percent};
use super::{BlockSizes, Distribution, SizeShare, Zone, ZoneShare};

/// fio accepts no more of each.
const MOST_SIZES: usize = 64;
const MOST_ZONES: usize = 256;

/// Reads `4k/60:8k/40`. Sizes without a percentage share the rest.
pub(super) fn block_sizes(
    line: &Line<'_>,
    text: &str,
    base: KbBase,
) -> Result<BlockSizes, FileFormatError> {
    let mut shares = Vec::new();
    let mut open = Vec::new();
    for part in text.split(':') {
        if shares.len() == MOST_SIZES {
            let message = format!("bssplit: there are more than {MOST_SIZES} sizes");
            return Err(line.error_of(part, ErrorKind::Limit, message, "leave some out"));
        }
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let bytes = base.number_within(line, size, "bssplit", 1, u32::MAX.into())?;
        if share.is_empty() {
            open.push(shares.len());
        }
        let percent = if share.is_empty() { 0 } else { percent(line, share, "bssplit")? };
        shares.push(SizeShare { bytes, percent });
    }
    let taken: u32 = shares.iter().map(|share| u32::from(share.percent)).sum();
    let left = 100_u32.checked_sub(taken).filter(|left| *left == 0 || !open.is_empty());
    let Some(left) = left else {
        return Err(line.error_of(
            text,
            ErrorKind::Value,
            format!("bssplit: the percentages add up to {taken}"),
            "make them 100, or leave one empty for what is left",
        ));
    };
    for (at, percent) in shared_out(left, &open) {
        shares[at].percent = percent;
    }
    Ok(BlockSizes::Split(shares))
}

/// Shares out the rest in percent, evenly; the remainder of the division goes to the first ones.
fn shared_out(left: u32, among: &[usize]) -> impl Iterator<Item = (usize, u8)> {
    let count = among.len().max(1) as u32;
    among.iter().enumerate().map(move |(position, at)| {
        let extra = u32::from((position as u32) < left % count);
        (*at, (left / count + extra) as u8)
    })
}

const DISTRIBUTIONS: [&str; 6] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];

/// Splits into the name before the first colon, and what follows it.
pub(super) fn distribution_name(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    }
}

/// Reads `random`, `zipf:theta[:centre]`, `pareto:power[:centre]` or `normal:deviation[:centre]`.
pub(super) fn distribution(line: &Line<'_>, text: &str) -> Result<Distribution, FileFormatError> {
    let (name, rest) = distribution_name(text);
    let mut numbers = rest.into_iter().flat_map(|rest| rest.split(':'));
    let parameter = numbers.next();
    let centre = match numbers.next() {
        Some(centre) => Some(within(line, centre, "the centre", 0.0..=1.0)?),
        None => None,
    };
    if let Some(more) = numbers.next() {
        let message = format!("random_distribution: {} follows the centre", quoted(more));
        return Err(line.error_of(more, ErrorKind::Syntax, message, "leave it out"));
    }
    let given = |what: &str, example: &str| {
        parameter.ok_or_else(|| {
            let message = format!("random_distribution: {name} is without its {what}");
            line.error_of(
                text,
                ErrorKind::Missing,
                message,
                format!("write one, such as {example}"),
            )
        })
    };
    match name {
        "random" => match parameter {
            None => Ok(Distribution::Uniform),
            Some(more) => {
                let message = "random_distribution: random takes no number";
                Err(line.error_of(more, ErrorKind::Syntax, message, "write random alone"))
            }
        },
        "zipf" => {
            let text = given("theta", "zipf:1.2")?;
            let theta = within(line, text, "zipf's theta", f64::MIN_POSITIVE..=1e6)?;
            if theta == 1.0 {
                let message = "random_distribution: fio has no zipf with a theta of 1";
                return Err(line.error_of(text, ErrorKind::Value, message, "write 0.99 or 1.01"));
            }
            Ok(Distribution::Zipf { theta, centre })
        }
        "pareto" => {
            let text = given("power", "pareto:0.2")?;
            let below_one = f64::MIN_POSITIVE..=1.0 - f64::EPSILON;
            let power = within(line, text, "pareto's power", below_one)?;
            Ok(Distribution::Pareto { power, centre })
        }
        "normal" => {
            let text = given("deviation", "normal:20")?;
            let deviation_percent = within(line, text, "the deviation", 0.0..=100.0)?;
            Ok(Distribution::Normal { deviation_percent, centre })
        }
        _ => {
            let message = format!("random_distribution: {} is not one of fio's", quoted(name));
            let otherwise = format!("there are {}", DISTRIBUTIONS.join(", "));
            let help = did_you_mean(name, DISTRIBUTIONS, &otherwise);
            Err(line.error_of(name, ErrorKind::UnknownName, message, help))
        }
    }
}

fn within(
    line: &Line<'_>,
    text: &str,
    what: &str,
    range: std::ops::RangeInclusive<f64>,
) -> Result<f64, FileFormatError> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let message = format!("random_distribution: {} is not {what}", quoted(text));
        let (least, most) = (range.start(), range.end());
        let help = if *least == f64::MIN_POSITIVE {
            format!("write a number above 0 and up to {most:.0}")
        } else {
            format!("write a number from {least} to {most}")
        };
        line.error_of(text, ErrorKind::Value, message, help)
    })
}

/// Reads `60/10:40/90`: percentages of the accesses, and of the region, or bytes of it if
/// `absolute`. Zones without a percentage share the rest.
pub(super) fn zones(
    line: &Line<'_>,
    text: &str,
    absolute: bool,
    base: KbBase,
) -> Result<Distribution, FileFormatError> {
    const OPTION: &str = "random_distribution";
    let mut zones = Vec::new();
    let mut open = Vec::new();
    let (mut accesses, mut region) = (0, 0);
    for part in text.split(':') {
        if zones.len() == MOST_ZONES {
            let message = format!("{OPTION}: there are more than {MOST_ZONES} zones");
            return Err(line.error_of(part, ErrorKind::Limit, message, "leave some out"));
        }
        let Some((share, size)) = part.split_once('/') else {
            let message = format!("{OPTION}: {} is not accesses/size", quoted(part));
            let help = "write a share of accesses and a size for each zone, such as 60/10:40/90";
            return Err(line.error_of(part, ErrorKind::Syntax, message, help));
        };
        let access_percent = percent(line, share, OPTION)?;
        accesses += u32::from(access_percent);
        let zone = if absolute {
            Zone::Bytes(base.number_within(line, size, OPTION, 1, u64::MAX)?)
        } else if size.is_empty() {
            open.push(zones.len());
            Zone::Percent(0)
        } else {
            let size = percent(line, size, OPTION)?;
            region += u32::from(size);
            Zone::Percent(size)
        };
        zones.push(ZoneShare { access_percent, zone });
    }
    if !open.is_empty() && region <= 100 {
        for (at, size) in shared_out(100 - region, &open) {
            zones[at].zone = Zone::Percent(size);
        }
        region = 100;
    }
    for (what, sum) in [("accesses", accesses), ("the region", region)] {
        if sum != 100 && !(absolute && what == "the region") {
            let message = format!("{OPTION}: the zones add up to {sum} % of {what}");
            return Err(line.error_of(text, ErrorKind::Value, message, "make them 100"));
        }
    }
    Ok(Distribution::Zoned(zones))
}
