//! Independent simulations on several threads, or one after another without the feature `threads`.

/// Threads cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("threads cannot be started: {0}")]
pub struct ThreadsError(String);

/// More threads than this are never started: a simulation waits for nothing but its core.
#[cfg(feature = "threads")]
const MOST_THREADS: usize = 1024;

/// Calls `work` for every item, on `jobs` threads or one for each core if 0, and returns what it made of them, in the
/// order of the items. Earlier items begin first. No more threads are started than there are items, or than 1,024.
///
/// # Errors
/// If threads cannot be started, and the first error of `work`, which ends the work with the calls that are under way.
#[cfg(feature = "threads")]
pub fn over_threads<I, T, E>(
    jobs: usize,
    items: Vec<I>,
    work: impl Fn(I) -> Result<T, E> + Send + Sync,
) -> Result<Vec<T>, E>
where
    I: Send,
    T: Send,
    E: Send + From<ThreadsError>,
{
    use rayon::prelude::*;
    let most = items.len().clamp(1, MOST_THREADS);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(jobs).min(most)).build();
    let pool = pool.map_err(|error| ThreadsError(error.to_string()))?;
    // A list that is split in halves would begin in the middle.
    let numbered = items.into_iter().enumerate().par_bridge();
    let work = |(number, item)| work(item).map(|made| (number, made));
    let done: Result<Vec<(usize, T)>, E> = pool.install(|| numbered.map(work).collect());
    let mut done = done?;
    done.sort_unstable_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, made)| made).collect())
}

/// Calls `work` for every item, one after another, and returns what it made of them.
///
/// # Errors
/// The first error of `work`, which ends the work.
#[cfg(not(feature = "threads"))]
pub fn over_threads<I, T, E: From<ThreadsError>>(
    _jobs: usize,
    items: Vec<I>,
    work: impl Fn(I) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    items.into_iter().map(work).collect()
}

/// Returns how many calls are under way at once.
#[must_use]
pub fn threads(jobs: usize) -> usize {
    match (cfg!(feature = "threads"), jobs) {
        (false, _) => 1,
        (true, 0) => std::thread::available_parallelism().map_or(1, usize::from),
        (true, jobs) => jobs,
    }
}
