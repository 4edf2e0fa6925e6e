//! One disk drive: its profile, its mechanics, its command queue.
