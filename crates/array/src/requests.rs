//! What the parts of a controller ask to be done elsewhere, in the order in which it is done.

/// Requests that are still to be carried out.
///
/// Those that one event or request leads to are carried out in the order in which they were pushed, each with all that
/// follows from it before the next: the order is that of nested calls, without their nesting.
#[derive(Debug)]
pub(crate) struct Requests<T> {
    /// Up to `settled` in the reverse of their order, the next one last; then what was pushed since, in order.
    pending: Vec<T>,
    settled: usize,
}

impl<T> Requests<T> {
    pub(crate) const fn new() -> Self {
        Self { pending: Vec::new(), settled: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, request: T) {
        self.pending.push(request);
    }

    /// How many were pushed since the last one was taken out.
    #[inline]
    pub(crate) fn pushed(&self) -> usize {
        self.pending.len() - self.settled
    }

    /// Takes out the next one: the first that was pushed since the last call, if any was.
    pub(crate) fn take_next(&mut self) -> Option<T> {
        self.pending[self.settled..].reverse();
        let next = self.pending.pop();
        self.settled = self.pending.len();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What calls itself for each of these, first one first, in the order of calls.
    fn nested(name: &str, calls: &mut Vec<String>) {
        calls.push(name.to_owned());
        if name.len() < 4 {
            for child in ["a", "b", "c"] {
                nested(&format!("{name}{child}"), calls);
            }
        }
    }

    #[test]
    fn requests_are_taken_in_the_order_of_nested_calls() {
        let (mut requests, mut taken) = (Requests::new(), Vec::new());
        requests.push("x".to_owned());
        requests.push("y".to_owned());
        while let Some(name) = requests.take_next() {
            if name.len() < 4 {
                ["a", "b", "c"].iter().for_each(|child| requests.push(format!("{name}{child}")));
            }
            taken.push(name);
        }
        let mut calls = Vec::new();
        nested("x", &mut calls);
        nested("y", &mut calls);
        assert_eq!(taken, calls);
        assert!(requests.is_empty());
    }
}
