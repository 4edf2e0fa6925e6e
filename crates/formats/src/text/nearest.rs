//! The known word that a misspelt one was meant to be.

/// Returns the nearest of `known` by edit distance, if it is near enough to be a slip: within a
/// third of the word's letters, or one letter.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A word longer than any name is none of them, and would take time to compare.
    if word.len() > 200 {
        return None;
    }
    let letters = word.chars().count();
    let limit = (letters / 3).max(1);
    known
        .into_iter()
        // Each letter more or less is an edit, so most names need not be compared.
        .filter(|candidate| candidate.chars().count().abs_diff(letters) <= limit)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns `did you mean` and the nearest of `known` if one is near enough, otherwise `otherwise`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["lun", "outstanding", "spindle", "scheduler"];
        assert_eq!(nearest("outstandig", known), Some("outstanding"));
        assert_eq!(nearest("spindles", known), Some("spindle"));
        assert_eq!(nearest("colour", known), None);
    }
}
