//! What a transaction group changes, in the order in which it is synced.
//!
//! `txg.c` of OpenZFS: `txg_list_add`, `txg_list_remove`. The last that is added comes first.

use strewn_base::state::SavedValue;

/// Numbers that were changed, each once.
#[derive(Debug, Clone, Default, SavedValue)]
pub struct Changed {
    stack: Vec<u32>,
    is_in: Vec<bool>,
}

impl Changed {
    /// Adds a number, if it is not there.
    pub fn add(&mut self, number: u32) {
        let at = number as usize;
        if at >= self.is_in.len() {
            self.is_in.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.is_in[at], true) {
            self.stack.push(number);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Removes the one that was added last.
    pub fn pop(&mut self) -> Option<u32> {
        let number = self.stack.pop()?;
        self.is_in[number as usize] = false;
        Some(number)
    }
}
