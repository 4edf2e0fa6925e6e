//! The causes of losses, as text.

use crate::columns::Columns;
use strewn_results::words::{fixed, signed};
use strewn_results::{Loss, LossPart, Results, losses, unaccounted};

/// Returns the causes of losses, one array below the other. An array that lost less than one percent, or gained, has a
/// single line, and so has one whose loss cannot be broken down. Empty if there is nothing to say of any array.
#[must_use]
pub fn loss_table(results: &Results) -> String {
    with_unaccounted(results, listed(&losses(results)))
}

/// Returns the causes of losses under `Where the loss came from`, and the arrays that lost nothing under a title of
/// their own; each part may be empty.
pub(crate) fn losses_and_others(results: &Results) -> [String; 2] {
    let (notable, others): (Vec<Loss>, Vec<Loss>) =
        losses(results).into_iter().partition(Loss::is_notable);
    [with_unaccounted(results, listed(&notable)), listed(&others)]
}

fn with_unaccounted(results: &Results, mut text: String) -> String {
    for loss in unaccounted(results) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&loss.sentence());
        text.push('\n');
    }
    text
}

fn listed(losses: &[Loss]) -> String {
    let mut text = String::new();
    for loss in losses {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&loss.sentence());
        text.push('\n');
        if loss.is_notable() {
            let limit = loss.limit;
            let parts: Vec<LossPart> = loss.notable_parts().copied().collect();
            let whole_iops = loss.to_iops - loss.from_iops;
            text.push('\n');
            text.push_str(
                &Columns::<LossPart>::new()
                    .words("cause", move |part| part.cause.words(limit).to_owned())
                    .number("us per op\nat first", |part| {
                        part.in_place_of_first()
                            .map_or_else(|| fixed(part.from_us_per_op, 2), str::to_owned)
                    })
                    .number("\nin the end", |part| fixed(part.to_us_per_op, 2))
                    .number("IOPS", |part| signed(part.iops, 0))
                    .number("% of the\ndifference", move |part| {
                        fixed(100.0 * part.iops / whole_iops, 1)
                    })
                    .render(&parts),
            );
        }
    }
    text
}
