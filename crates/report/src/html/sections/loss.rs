//! The causes of each array's loss of IOPS.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::words::{fixed, signed};
use strewn_results::{Loss, LossPart, Results, Unaccounted, losses, unaccounted};

/// Returns the account: an explanation, and one table per array, or why there is none. Empty if no array lost IOPS.
pub(super) fn account(results: &Results) -> Vec<Block> {
    let losses: Vec<Loss> = losses(results).into_iter().filter(Loss::is_notable).collect();
    let in_words = |loss: Unaccounted| loss.sentence().replace("(-", "(\u{2212}");
    let without = unaccounted(results).into_iter().map(|loss| Block::paragraph(in_words(loss)));
    if losses.is_empty() {
        return without.collect();
    }
    let mut blocks = vec![Block::paragraph(
        "One operation completes every 1 / IOPS seconds. The component that limits the array spends that time on work that is \
         counted, or waits. The table compares the first and the last segment that are alike, cause by cause; the causes add up to the whole \
         difference by construction. This is accounting, not an experiment: removing one cause would also change the others.",
    )];
    for loss in &losses {
        let difference = loss.to_iops - loss.from_iops;
        let part = |part: &LossPart| {
            vec![
                Cell::words(part.cause.words(loss.limit)),
                match part.in_place_of_first() {
                    Some(words) => Cell::number(words),
                    None => Cell::number(fixed(part.from_us_per_op, 2)),
                },
                Cell::number(fixed(part.to_us_per_op, 2)),
                Cell::number(if part.iops.abs() < 0.05 {
                    "0.0".to_owned()
                } else {
                    signed(part.iops, 1)
                }),
                Cell::number(fixed(100.0 * part.iops / difference, 1)),
            ]
        };
        let mut rows: Vec<Vec<Cell>> = loss.parts.iter().map(part).collect();
        let sum = |figure: fn(&LossPart) -> f64| loss.parts.iter().map(figure).sum::<f64>();
        rows.push(vec![
            Cell::words("sum"),
            Cell::number(fixed(sum(|part| part.from_us_per_op), 2)),
            Cell::number(fixed(sum(|part| part.to_us_per_op), 2)),
            Cell::number(signed(sum(|part| part.iops), 1)),
            Cell::number(fixed(100.0 * sum(|part| part.iops) / difference, 1)),
        ]);
        let of = loss.limit.as_str();
        let table = Table {
            caption: &format!("{}: how the time of the {of} was spent", loss.subject()),
            headers: &[
                "cause",
                &format!("µs per operation, segment {}", loss.from_segment),
                &format!("µs per operation, segment {}", loss.to_segment),
                "IOPS",
                "% of the difference",
            ],
            rows,
            has_total: true,
        };
        blocks.push(table.block());
    }
    blocks.extend(without);
    blocks
}
