//! The known word that a misspelt one was meant to be.

/// Returns the nearest of `known` by edit distance, if it is near enough to be a slip: within a
/// third of the word's letters, or one letter.
#[must_use]
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
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
