//! The causes of losses.

use crate::columns::{Cell, Columns, Figure};
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
            let parts: Vec<LossRow> =
                loss.notable_parts().map(|part| loss_row(loss, part)).collect();
            text.push('\n');
            text.push_str(&loss_columns(loss, 0).render(&parts));
        }
    }
    text
}

/// A cause of a loss, or their sum.
pub(crate) struct LossRow {
    cause: &'static str,
    /// None for a cause that has no time of its own in the first segment.
    from_us_per_op: Option<f64>,
    to_us_per_op: f64,
    iops: f64,
}

/// Returns all causes of a loss, and their sum.
pub(crate) fn loss_rows(loss: &Loss) -> Vec<LossRow> {
    let sum = |figure: fn(&LossPart) -> f64| loss.parts.iter().map(figure).sum::<f64>();
    let sum = LossRow {
        cause: "sum",
        from_us_per_op: Some(sum(|part| part.from_us_per_op)),
        to_us_per_op: sum(|part| part.to_us_per_op),
        iops: sum(|part| part.iops),
    };
    loss.parts.iter().map(|part| loss_row(loss, part)).chain([sum]).collect()
}

fn loss_row(loss: &Loss, part: &LossPart) -> LossRow {
    LossRow {
        cause: part.cause.words(loss.limit),
        from_us_per_op: part.has_time_at_first().then_some(part.from_us_per_op),
        to_us_per_op: part.to_us_per_op,
        iops: part.iops,
    }
}

/// Returns the columns of causes, with IOPS of these decimals.
pub(crate) fn loss_columns<'a>(loss: &Loss, iops_decimals: usize) -> Columns<'a, LossRow> {
    let difference = loss.to_iops - loss.from_iops;
    let time_in = |segment: u32| format!("\u{b5}s per operation, segment {segment}");
    let headings = [
        ("us per op\nat first".to_owned(), time_in(loss.from_segment)),
        ("\nin the end".to_owned(), time_in(loss.to_segment)),
    ];
    let [from, to] = headings;
    Columns::new()
        .words("cause", |row: &LossRow| row.cause)
        .number(from, |row| match row.from_us_per_op {
            Some(us) => Cell::from(Figure::new(us, 2)),
            None => Cell::from("-"),
        })
        .number(to, |row| Figure::new(row.to_us_per_op, 2))
        .number("IOPS", move |row| {
            // What rounds to nothing has no sign.
            let is_none = row.iops.abs() < 0.5 * 0.1_f64.powi(iops_decimals as i32);
            Figure::change(if is_none { 0.0 } else { row.iops }, iops_decimals)
        })
        .number("% of the\ndifference", move |row| Figure::new(100.0 * row.iops / difference, 1))
}
