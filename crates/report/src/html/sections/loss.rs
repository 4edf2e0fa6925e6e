//! The causes of each array's loss of IOPS.

use crate::html::block::Block;
use crate::loss_table::{loss_columns, loss_rows};
use strewn_results::{Loss, Results, Unaccounted, losses, unaccounted};

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
        let of = loss.limit.as_str();
        let caption = format!("{}: how the time of the {of} was spent", loss.subject());
        blocks.extend(loss_columns(loss, 1).block_with_total(caption, &loss_rows(loss)));
    }
    blocks.extend(without);
    blocks
}
