//! The known settings that a misspelt one was meant to be.

/// Returns the nearest few of `known` dotted names: those whose last part is near the last part of `path`, best first;
/// or those near it as a whole.
pub(crate) fn near<'k>(path: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<String> {
    let last = |name: &'k str| name.rsplit('.').next().unwrap_or(name);
    let wanted = path.rsplit('.').next().unwrap_or(path);
    let limit = (wanted.chars().count() / 3).max(1);
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (strsim::osa_distance(wanted, last(name)), name))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    found.sort_by_key(|(distance, name)| (*distance, strsim::osa_distance(path, name)));
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}
