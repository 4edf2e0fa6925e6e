//! Which known word a misspelt one was meant to be.

/// The nearest of `known` by edit distance, if it is near enough to be a slip: a third of the
/// word's letters, and one at least.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A word that is longer than any name is none of them, and would take time to compare.
    if word.len() > 200 {
        return None;
    }
    let letters = word.chars().count();
    let limit = (letters / 3).max(1);
    known
        .into_iter()
        // Each letter more or less is an edit, so that most names need not be compared.
        .filter(|candidate| candidate.chars().count().abs_diff(letters) <= limit)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean` the nearest of `known`, if there is one that near, else `otherwise`.
pub(crate) fn did_you_mean<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
    otherwise: &str,
) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.to_owned(),
    }
}

/// Letters to insert, delete, change, or swap with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        let cases = [
            ("", "", 0),
            ("lun", "", 3),
            ("lun", "lun", 0),
            ("outstandng", "outstanding", 1),
            ("chunk", "chnuk", 1),
            ("kitten", "sitting", 3),
        ];
        for (a, b, expected) in cases {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["lun", "outstanding", "spindle", "scheduler"];
        assert_eq!(nearest("outstandig", known), Some("outstanding"));
        assert_eq!(nearest("spindles", known), Some("spindle"));
        assert_eq!(nearest("colour", known), None);
    }
}
