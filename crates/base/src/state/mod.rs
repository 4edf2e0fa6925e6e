//! The state of a simulation as bytes.
//!
//! What a configuration determines is built again from the configuration; everything else is state. A type that mixes
//! both implements [`SavedState`], by [`saved_state!`](crate::saved_state): it writes its state, and puts state that is
//! read back into a value that was just built. What is state alone is a *value*, a [`SavedValue`], which is derived. It
//! is encoded in the format of [postcard](https://postcard.jamesmunns.com/wire-format): integers of more than a byte as
//! varints, signed ones by zigzag; floats as their bytes, the lowest first; a count before what there may be any number
//! of; 0 or 1 before what may be there; the number of its variant before an enum; fields in order. Maps and sets are
//! sorted, so that the same state gives the same bytes.
//!
//! ```
//! use strewn_base::saved_state;
//! use strewn_base::state::{SavedState, StateReader, StateWriter};
//!
//! struct Cache {
//!     capacity: usize,
//!     blocks: Vec<u32>,
//!     hits: u64,
//! }
//!
//! saved_state! {
//!     impl for Cache {
//!         parts: blocks;
//!         values: hits;
//!         built: capacity;
//!     }
//! }
//!
//! let mut bytes = Vec::new();
//! let mut writer = StateWriter::new(&mut bytes);
//! Cache { capacity: 3, blocks: vec![7, 8, 9], hits: 5 }.save(&mut writer)?;
//! writer.finish()?;
//!
//! let mut built = Cache { capacity: 3, blocks: vec![0; 3], hits: 0 };
//! let mut reader = StateReader::new(&bytes);
//! built.restore(&mut reader)?;
//! reader.finish()?;
//! assert_eq!((built.blocks, built.hits, built.capacity), (vec![7, 8, 9], 5, 3));
//! # Ok::<(), strewn_base::state::StateError>(())
//! ```

mod values;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};

pub use strewn_derive::SavedValue;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 16;
/// Numbers are saved by pages. Pages of zeros take no room, and pages that were never written stay so.
const PAGE_BYTES: usize = 4096;

/// A value that is state alone: written, and read back as it was.
pub trait SavedValue: Sized {
    /// Writes the value.
    ///
    /// # Errors
    /// If it cannot be written.
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError>;

    /// Reads a value. It takes no more memory than a small multiple of the bytes that encode it.
    ///
    /// # Errors
    /// If the bytes are no such value.
    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError>;
}

/// State that can be written, and put into a value that was built from the same configuration.
pub trait SavedState {
    /// Writes the state. The same state gives the same bytes.
    ///
    /// # Errors
    /// If it cannot be written, or a part has no saved form.
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError>;

    /// Replaces the state by one that was saved.
    ///
    /// # Errors
    /// If what is read is not the state of a value of this shape. The value is then partly replaced, and of no use.
    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError>;

    /// Writes several, without their number.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    fn save_all(all: &[Self], to: &mut StateWriter<'_>) -> Result<(), StateError>
    where
        Self: Sized,
    {
        all.iter().try_for_each(|one| one.save(to))
    }

    /// Replaces the state of several by as many that were saved.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    fn restore_all(all: &mut [Self], from: &mut StateReader<'_>) -> Result<(), StateError>
    where
        Self: Sized,
    {
        all.iter_mut().enumerate().try_for_each(|(index, one)| {
            one.restore(from).map_err(|error| error.within(&index.to_string()))
        })
    }
}

/// Why state cannot be saved or restored.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The bytes cannot be written.
    #[error("state cannot be written: {0}")]
    Write(#[from] io::Error),
    /// A part has no saved form.
    #[error("{0} cannot be saved")]
    NotSaved(&'static str),
    /// What was read is not the state of the value that was built.
    #[error("{place}: {problem}")]
    Inconsistent {
        /// The part, as the names of fields that lead to it.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl StateError {
    /// What was read is wrong, as `problem` says.
    #[must_use]
    pub fn inconsistent(problem: impl Into<String>) -> Self {
        Self::Inconsistent { place: String::new(), problem: problem.into() }
    }

    /// There is no variant `number` of the enum `name`. For what [`SavedValue`] derives.
    #[must_use]
    pub fn unknown_variant(number: u32, name: &str) -> Self {
        Self::inconsistent(format!("{name} has no variant {number}"))
    }

    /// The same error, with the field that leads to its place.
    #[must_use]
    pub fn within(self, field: &str) -> Self {
        match self {
            Self::Inconsistent { place, problem } => {
                let place = match place.as_str() {
                    "" => field.to_owned(),
                    place => format!("{field}.{place}"),
                };
                Self::Inconsistent { place, problem }
            }
            other => other,
        }
    }
}

/// Fails in a browser, where no state is saved: the page of an array is a seventh smaller without the code that could.
/// For [`saved_state!`](crate::saved_state).
///
/// # Errors
/// In a browser.
#[inline(always)]
pub const fn where_there_are_files() -> Result<(), StateError> {
    match cfg!(target_family = "wasm") {
        true => Err(StateError::NotSaved("what runs in a browser")),
        false => Ok(()),
    }
}

/// Writes state.
pub struct StateWriter<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
}

impl<'w> StateWriter<'w> {
    /// Writes to `out`, in pieces of some 64 KiB.
    pub fn new(out: &'w mut dyn Write) -> Self {
        Self { out, buffer: Vec::with_capacity(2 * BUFFER_BYTES) }
    }

    /// Writes a value.
    ///
    /// # Errors
    /// If it cannot be written.
    #[inline]
    pub fn value<T: SavedValue>(&mut self, value: &T) -> Result<(), StateError> {
        value.write(self)
    }

    /// Writes values with their number.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn values<'v, T: SavedValue + 'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v T, IntoIter: ExactSizeIterator>,
    ) -> Result<(), StateError> {
        let values = values.into_iter();
        self.value(&values.len())?;
        for value in values {
            value.write(self)?;
        }
        Ok(())
    }

    /// Writes a text.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn text(&mut self, text: &str) -> Result<(), StateError> {
        self.value(&text.len())?;
        self.add(text.as_bytes())
    }

    /// Writes numbers as their bytes, with pages of zeros only counted. For [`saved_number!`](crate::saved_number).
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn bytes_of<T: Copy, const N: usize>(
        &mut self,
        numbers: &[T],
        bytes_of: impl Fn(T) -> [u8; N],
    ) -> Result<(), StateError> {
        let is_zero = |page: &&[T]| page.iter().all(|number| bytes_of(*number) == [0; N]);
        let numbers_in = |pages: &mut dyn Iterator<Item = &[T]>| pages.map(<[T]>::len).sum();
        let mut rest = numbers;
        while !rest.is_empty() {
            let zeros: usize = numbers_in(&mut rest.chunks(PAGE_BYTES / N).take_while(is_zero));
            let mut pages = rest[zeros..].chunks(PAGE_BYTES / N);
            let others = numbers_in(&mut pages.by_ref().take_while(|page| !is_zero(page)));
            self.value(&(zeros, others))?;
            let (written, later) = rest[zeros..].split_at(others);
            for page in written.chunks(PAGE_BYTES / N) {
                let start = self.buffer.len();
                self.buffer.resize(start + page.len() * N, 0);
                let (bytes, _) = self.buffer[start..].as_chunks_mut();
                for (bytes, number) in bytes.iter_mut().zip(page) {
                    *bytes = bytes_of(*number);
                }
                self.add(&[])?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), StateError> {
        self.write_out()?;
        Ok(self.out.flush()?)
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Adds `bytes`, and writes them with others once they are many.
    #[inline]
    fn add(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_out()?;
        }
        Ok(())
    }
}

/// Reads state that was saved.
pub struct StateReader<'r> {
    bytes: &'r [u8],
}

impl<'r> StateReader<'r> {
    /// Reads from the beginning of `bytes`.
    #[must_use]
    pub fn new(bytes: &'r [u8]) -> Self {
        Self { bytes }
    }

    /// Reads a value. It takes no more memory than a small multiple of the bytes that encode it.
    ///
    /// # Errors
    /// If the bytes are no such value.
    #[inline]
    pub fn value<T: SavedValue>(&mut self) -> Result<T, StateError> {
        T::read(self)
    }

    /// Reads values with their number.
    ///
    /// # Errors
    /// If the bytes are no such values.
    pub fn collect<T: SavedValue, C: Default + Extend<T>>(&mut self) -> Result<C, StateError> {
        let count: usize = self.value()?;
        let mut values = C::default();
        for _ in 0..count {
            values.extend([self.value()?]);
        }
        Ok(values)
    }

    /// Reads as many values as there are in `values`.
    ///
    /// # Errors
    /// If others were saved.
    pub fn values<T: SavedValue>(&mut self, values: &mut [T]) -> Result<(), StateError> {
        check_count(self, values.len())?;
        values.iter_mut().try_for_each(|value| {
            *value = self.value()?;
            Ok(())
        })
    }

    /// Reads as many numbers as there are in `numbers` from their bytes. For [`saved_number!`](crate::saved_number).
    ///
    /// # Errors
    /// If there are fewer bytes.
    pub fn bytes_of<T: Copy + PartialEq, const N: usize>(
        &mut self,
        numbers: &mut [T],
        number_of: impl Fn([u8; N]) -> T,
    ) -> Result<(), StateError> {
        let mut rest = numbers;
        while !rest.is_empty() {
            let (zeros, others): (usize, usize) = self.value()?;
            let together = zeros.checked_add(others).filter(|together| *together > 0);
            let problem = || StateError::inconsistent(format!("{zeros} and {others} numbers"));
            let (now, later) = together
                .and_then(|together| std::mem::take(&mut rest).split_at_mut_checked(together))
                .ok_or_else(problem)?;
            let (zero, other) = now.split_at_mut(zeros);
            let none = number_of([0; N]);
            for page in zero.chunks_mut(PAGE_BYTES / N) {
                if page.iter().any(|now| *now != none) {
                    page.fill(none);
                }
            }
            let (saved, _) = self.take(others * N)?.as_chunks();
            for (now, saved) in other.iter_mut().zip(saved) {
                *now = number_of(*saved);
            }
            rest = later;
        }
        Ok(())
    }

    /// Checks that everything has been read.
    ///
    /// # Errors
    /// If bytes are left.
    pub fn finish(&self) -> Result<(), StateError> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(StateError::inconsistent(format!("{left} bytes are left over"))),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        let (array, rest) = self.bytes.split_first_chunk().ok_or_else(|| {
            StateError::inconsistent(format!("{N} bytes are needed, {} left", self.bytes.len()))
        })?;
        self.bytes = rest;
        Ok(*array)
    }

    #[inline]
    fn take(&mut self, bytes: usize) -> Result<&'r [u8], StateError> {
        let (taken, rest) = self.bytes.split_at_checked(bytes).ok_or_else(|| {
            StateError::inconsistent(format!("{bytes} bytes are needed, {} left", self.bytes.len()))
        })?;
        self.bytes = rest;
        Ok(taken)
    }
}

/// Implements [`SavedState`] for a type by its fields, each of which has to be named:
///
/// - `parts` are [`SavedState`] themselves, and have the same shape wherever the configuration is the same;
/// - `values` are state alone: [`SavedValue`];
/// - `built` follow from the configuration, or are hints that change no result. They are not saved.
///
/// `fns save, restore { … }` within an `impl` makes only the two functions, under the names given, for a type that has
/// something to do before.
#[macro_export]
macro_rules! saved_state {
    (impl $([$($generics:tt)*])? for $type:ty { $($fields:tt)* }) => {
        impl $(<$($generics)*>)? $crate::state::SavedState for $type {
            $crate::saved_state! { fns save, restore { $($fields)* } }
        }
    };
    (
        fns $save:ident, $restore:ident {
            parts: $($part:ident),*;
            values: $($value:ident),*;
            built: $($built:ident),*;
        }
    ) => {
            fn $save(
                &self,
                to: &mut $crate::state::StateWriter<'_>,
            ) -> Result<(), $crate::state::StateError> {
                $crate::state::where_there_are_files()?;
                let Self { $($part,)* $($value,)* $($built: _,)* } = self;
                $($crate::state::SavedState::save($part, to)?;)*
                $(to.value($value)?;)*
                Ok(())
            }

            fn $restore(
                &mut self,
                from: &mut $crate::state::StateReader<'_>,
            ) -> Result<(), $crate::state::StateError> {
                $crate::state::where_there_are_files()?;
                let Self { $($part,)* $($value,)* $($built: _,)* } = self;
                $($crate::state::SavedState::restore($part, from)
                    .map_err(|error| error.within(stringify!($part)))?;)*
                $(*$value = from.value().map_err(|error| error.within(stringify!($value)))?;)*
                Ok(())
            }
    };
}

/// Implements [`SavedState`] for types that are state alone.
#[macro_export]
macro_rules! saved_value {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::state::SavedState for $type {
            fn save(
                &self,
                to: &mut $crate::state::StateWriter<'_>,
            ) -> Result<(), $crate::state::StateError> {
                $crate::state::where_there_are_files()?;
                to.value(self)
            }

            fn restore(
                &mut self,
                from: &mut $crate::state::StateReader<'_>,
            ) -> Result<(), $crate::state::StateError> {
                $crate::state::where_there_are_files()?;
                *self = from.value()?;
                Ok(())
            }
        }
    )*};
}

/// Checks that as many elements are read as were built.
fn check_count(from: &mut StateReader<'_>, built: usize) -> Result<(), StateError> {
    let saved: u64 = from.value()?;
    if saved == built as u64 {
        return Ok(());
    }
    Err(StateError::inconsistent(format!("{saved} elements were saved, and there are {built}")))
}

impl<T: SavedState> SavedState for Vec<T> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.len())?;
        T::save_all(self, to)
    }

    /// Restores as many elements as were saved.
    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        check_count(from, self.len())?;
        T::restore_all(self, from)
    }
}

impl<T: SavedState, const N: usize> SavedState for [T; N] {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        T::save_all(self, to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        T::restore_all(self, from)
    }
}

impl<T: SavedState> SavedState for Option<T> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.is_some())?;
        self.iter().try_for_each(|one| one.save(to))
    }

    /// Restores one if there is one.
    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        if from.value::<bool>()? != self.is_some() {
            return Err(StateError::inconsistent("it is there in one of the two only"));
        }
        self.iter_mut().try_for_each(|one| one.restore(from))
    }
}

impl<K, V, S> SavedState for HashMap<K, V, S>
where
    K: SavedValue + Ord + Hash,
    V: SavedValue,
    S: BuildHasher + Default,
{
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(self)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        *self = from.value()?;
        Ok(())
    }
}

impl<T: SavedState + ?Sized> SavedState for Box<T> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.deref().save(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.deref_mut().restore(from)
    }
}

/// Implements [`SavedState`] for numbers and for types that contain one, so that a vector of them is saved as their
/// bytes, the lowest first.
#[macro_export]
macro_rules! saved_number {
    ($type:ty, $number:ty, $to:expr, $from:expr) => {
        impl $crate::state::SavedState for $type {
            fn save(
                &self,
                to: &mut $crate::state::StateWriter<'_>,
            ) -> Result<(), $crate::state::StateError> {
                to.value::<$number>(&($to)(*self))
            }

            fn restore(
                &mut self,
                from: &mut $crate::state::StateReader<'_>,
            ) -> Result<(), $crate::state::StateError> {
                *self = ($from)(from.value::<$number>()?);
                Ok(())
            }

            fn save_all(
                all: &[Self],
                to: &mut $crate::state::StateWriter<'_>,
            ) -> Result<(), $crate::state::StateError> {
                to.bytes_of(all, |one| <$number>::to_le_bytes(($to)(one)))
            }

            fn restore_all(
                all: &mut [Self],
                from: &mut $crate::state::StateReader<'_>,
            ) -> Result<(), $crate::state::StateError> {
                from.bytes_of(all, |bytes| ($from)(<$number>::from_le_bytes(bytes)))
            }
        }
    };
}

saved_number!(u8, u8, |number| number, |number| number);
saved_number!(u16, u16, |number| number, |number| number);
saved_number!(u32, u32, |number| number, |number| number);
saved_number!(u64, u64, |number| number, |number| number);

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(state: &impl SavedState) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = StateWriter::new(&mut bytes);
        state.save(&mut writer).and_then(|()| writer.finish()).unwrap();
        bytes
    }

    fn restored<S: SavedState>(mut into: S, bytes: &[u8]) -> Result<S, String> {
        let mut reader = StateReader::new(bytes);
        let restored = into.restore(&mut reader).and_then(|()| reader.finish());
        restored.map(|()| into).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_come_back_and_pages_of_zeros_take_no_room() {
        for length in [0, 1, 511, 512, 513, 1024, 5_000] {
            for (from, to) in [(0, 0), (0, length), (600, 700), (length / 2, length)] {
                let mut numbers = vec![0_u64; length];
                for (index, number) in numbers.iter_mut().enumerate().take(to).skip(from) {
                    *number = u64::MAX - index as u64;
                }
                let bytes = saved(&numbers);
                assert_eq!(restored(vec![7; length], &bytes).as_ref(), Ok(&numbers));
                let pages = to.min(length).saturating_sub(from) * 8 / PAGE_BYTES + 2;
                assert!(bytes.len() <= pages * PAGE_BYTES + 40, "{} bytes", bytes.len());
            }
        }
        assert!(saved(&vec![0_u16; 1 << 20]).len() < 10);
    }

    #[test]
    fn another_shape_is_refused_at_its_place() {
        let bytes = saved(&vec![vec![1_u32, 2], vec![3]]);
        assert_eq!(
            restored(vec![vec![0_u32; 2], vec![0; 1]], &bytes),
            Ok(vec![vec![1, 2], vec![3]])
        );
        let other = restored(vec![vec![0_u32; 2], vec![0; 2]], &bytes);
        assert_eq!(other.unwrap_err(), "1: 1 elements were saved, and there are 2");
        let shorter = restored(vec![vec![0_u32; 2], vec![0; 1]], &bytes[..bytes.len() - 1]);
        assert_eq!(shorter.unwrap_err(), "1: 4 bytes are needed, 3 left");
        let longer = restored(vec![vec![0_u32; 2]], &saved(&vec![vec![1_u32, 2]]).repeat(2));
        assert!(longer.unwrap_err().contains("left over"));
        assert!(restored(Some(1_u8), &saved(&None::<u8>)).is_err());
    }

    #[test]
    fn maps_have_the_same_bytes_whatever_their_order() {
        let ascending: HashMap<u32, u32> = (0..1000).map(|key| (key, key + 1)).collect();
        let descending: HashMap<u32, u32> = (0..1000).rev().map(|key| (key, key + 1)).collect();
        assert_eq!(saved(&ascending), saved(&descending));
        assert_eq!(restored(HashMap::new(), &saved(&ascending)), Ok(ascending));
    }
}
