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
            text.push('\n');
            text.push_str(&loss_columns(loss, 0).render(&rows_that_add_up(loss)));
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
    percent: f64,
}

/// Returns the causes that matter, what the others come to, and the sum, in figures that add up as they are shown.
fn rows_that_add_up(loss: &Loss) -> Vec<LossRow> {
    let mut rows: Vec<LossRow> = loss.notable_parts().map(|part| loss_row(loss, part)).collect();
    let Some(sum) = loss_rows(loss).pop() else { return rows };
    if rows.len() < loss.parts.len() {
        let left = |of: fn(&LossRow) -> f64| of(&sum) - rows.iter().map(of).sum::<f64>();
        rows.push(LossRow {
            cause: "all else",
            from_us_per_op: Some(left(|row| row.from_us_per_op.unwrap_or(0.0))),
            to_us_per_op: left(|row| row.to_us_per_op),
            iops: left(|row| row.iops),
            percent: left(|row| row.percent),
        });
    }
    rows.push(sum);
    add_up(&mut rows, 2, |row| row.from_us_per_op.as_mut());
    add_up(&mut rows, 2, |row| Some(&mut row.to_us_per_op));
    add_up(&mut rows, 0, |row| Some(&mut row.iops));
    add_up(&mut rows, 1, |row| Some(&mut row.percent));
    rows
}

/// Rounds figures to so many decimals, so that all but the last add up to the last: those are rounded the other way
/// that are nearest to it.
fn add_up(rows: &mut [LossRow], decimals: i32, figure: fn(&mut LossRow) -> Option<&mut f64>) {
    let unit = 10_f64.powi(-decimals);
    let mut parts: Vec<&mut f64> = rows.iter_mut().filter_map(figure).collect();
    let Some(sum) = parts.pop() else { return };
    *sum = (*sum / unit).round();
    let exact: Vec<f64> = parts.iter().map(|part| **part / unit).collect();
    parts.iter_mut().zip(&exact).for_each(|(part, exact)| **part = exact.round());
    let off = *sum - parts.iter().map(|part| **part).sum::<f64>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // How much farther a figure is from itself when it gives way.
    let cost = |at: &usize| (exact[*at] - exact[*at].round() - off.signum()).abs();
    order.sort_by(|one, other| cost(one).total_cmp(&cost(other)));
    for at in order.into_iter().take(off.abs() as usize) {
        *parts[at] += off.signum();
    }
    parts.into_iter().for_each(|part| *part *= unit);
    *sum *= unit;
}

/// Returns all causes of a loss, and their sum.
pub(crate) fn loss_rows(loss: &Loss) -> Vec<LossRow> {
    let sum = |figure: fn(&LossPart) -> f64| loss.parts.iter().map(figure).sum::<f64>();
    let sum = LossRow {
        cause: "sum",
        from_us_per_op: Some(sum(|part| part.from_us_per_op)),
        to_us_per_op: sum(|part| part.to_us_per_op),
        iops: sum(|part| part.iops),
        percent: 100.0 * sum(|part| part.iops) / (loss.to_iops - loss.from_iops),
    };
    loss.parts.iter().map(|part| loss_row(loss, part)).chain([sum]).collect()
}

fn loss_row(loss: &Loss, part: &LossPart) -> LossRow {
    LossRow {
        cause: part.cause.words(loss.limit),
        from_us_per_op: part.has_time_at_first().then_some(part.from_us_per_op),
        to_us_per_op: part.to_us_per_op,
        iops: part.iops,
        percent: 100.0 * part.iops / (loss.to_iops - loss.from_iops),
    }
}

/// Returns the columns of causes, with IOPS of these decimals.
pub(crate) fn loss_columns<'a>(loss: &Loss, iops_decimals: usize) -> Columns<'a, LossRow> {
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
        .number("% of the\ndifference", |row| Figure::new(row.percent, 1))
}
