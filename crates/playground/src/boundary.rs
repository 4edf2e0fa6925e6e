//! The boundary to JavaScript: what the module exports, and what it imports.
//!
//! The only unsafe code of this crate. Memory that JavaScript writes into is reserved here and belongs to the module.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::sync::Once;

use serde_json::json;

use crate::answers::answer;
use crate::packet::packet;
use crate::teller::Teller;

#[link(wasm_import_module = "strewn")]
unsafe extern "C" {
    /// Hands a packet to the page, which copies it before it returns.
    fn tell(pointer: *const u8, length: usize);
}

/// The page, or the worker that runs an array.
struct Page;

impl Teller for Page {
    fn tell(&self, packet: &[u8]) {
        // SAFETY: the page reads this many bytes at this place of the module's memory, and keeps neither.
        unsafe { tell(packet.as_ptr(), packet.len()) }
    }
}

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a question of `length` bytes, and returns where to write it.
#[unsafe(no_mangle)]
extern "C" fn reserve(length: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(length, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question that was written there. Returns where the answer is: its length, and then the answer.
#[unsafe(no_mangle)]
extern "C" fn call() -> *const u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // After a panic the module is of no use any more; somebody should learn why.
        std::panic::set_hook(Box::new(|panic| {
            Page.tell(&packet(&json!({ "kind": "panic", "text": panic.to_string() }), &[]));
        }));
    });
    let question = QUESTION.take();
    let answered = answer(&question, &Page);
    drop(question);
    ANSWER.with_borrow_mut(|answer| {
        answer.clear();
        // A module has less than 4 GiB of memory.
        answer.extend_from_slice(&(answered.len() as u32).to_le_bytes());
        answer.extend_from_slice(&answered);
        answer.as_ptr()
    })
}
