//! Work on a thread of its own, while Python looks after signals.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::failed;

/// How long Ctrl-C waits at most until it is seen.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long work that was asked to stop may take before it is left to stop by itself.
const STOPS_WITHIN: Duration = Duration::from_millis(500);

/// Does `work` on a thread of its own, without the interpreter's lock, and returns its result. Meanwhile the calling
/// thread lets Python handle signals, and calls `look`. If a handler or `look` raises, `stop` is set and the exception
/// is returned.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let thread = thread::Builder::new().name("strewn".to_owned()).spawn(move || {
        // Nobody receives once the work is left alone.
        let _ = sender.send(work());
    });
    let thread = thread.map_err(|error| failed(format!("no thread can be started: {error}")))?;
    let wait = |most| {
        py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(most))
    };
    loop {
        match wait(LOOK_EVERY) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let panicked = thread.join().err();
                return Err(failed(in_words(panicked.as_deref())));
            }
        }
        if let Err(raised) = py.check_signals().and_then(|()| look(py)) {
            stop.store(true, Ordering::Relaxed);
            let _ = wait(STOPS_WITHIN);
            return Err(raised);
        }
    }
}

fn in_words(panicked: Option<&(dyn std::any::Any + Send)>) -> String {
    let words = panicked.and_then(|panicked| {
        let text = panicked.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panicked.downcast_ref::<&str>().copied())
    });
    let words = words.unwrap_or("no reason was given");
    format!("this is a defect of Strewn, which the scenario and its seed reproduce: {words}")
}
