//! How the values of the language and its standard library are encoded.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::{SavedValue, StateError, StateReader, StateWriter};

impl SavedValue for u8 {
    #[inline]
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.add(&[*self])
    }

    #[inline]
    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let [byte] = from.array()?;
        Ok(byte)
    }
}

/// Implements [`SavedValue`] for unsigned numbers: seven bits a byte, the lowest first; the eighth says that more
/// follow.
macro_rules! varints {
    ($($number:ty),*) => {$(
        impl SavedValue for $number {
            #[inline]
            fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
                let mut rest = *self;
                while rest >= 0x80 {
                    to.buffer.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                to.add(&[rest as u8])
            }

            #[inline]
            fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
                let mut number = 0;
                for shift in (0..Self::BITS).step_by(7) {
                    let byte: u8 = from.value()?;
                    let bits = Self::from(byte & 0x7f);
                    number |= bits << shift;
                    match byte & 0x80 {
                        0 if number >> shift == bits => return Ok(number),
                        0 => break,
                        _ => {}
                    }
                }
                Err(StateError::inconsistent("a number is too large"))
            }
        }
    )*};
}

varints!(u64, u128);

/// Implements [`SavedValue`] by a type that includes it.
macro_rules! as_larger {
    ($($type:ty as $larger:ty),*) => {$(
        impl SavedValue for $type {
            #[inline]
            fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
                to.value(&(*self as $larger))
            }

            #[inline]
            fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
                let number: $larger = from.value()?;
                Self::try_from(number).map_err(|error| StateError::inconsistent(error.to_string()))
            }
        }
    )*};
}

as_larger!(u16 as u64, u32 as u64, usize as u64, i16 as i64, i32 as i64);

/// By zigzag: 0, -1, 1, -2 are 0, 1, 2, 3.
impl SavedValue for i64 {
    #[inline]
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&((self << 1 ^ self >> 63) as u64))
    }

    #[inline]
    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let number: u64 = from.value()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

impl SavedValue for f64 {
    #[inline]
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.add(&self.to_le_bytes())
    }

    #[inline]
    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.array().map(Self::from_le_bytes)
    }
}

impl SavedValue for bool {
    #[inline]
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.add(&[u8::from(*self)])
    }

    #[inline]
    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        match from.value::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(StateError::inconsistent(format!("{other} is neither true nor false"))),
        }
    }
}

impl SavedValue for () {
    fn write(&self, _to: &mut StateWriter<'_>) -> Result<(), StateError> {
        Ok(())
    }

    fn read(_from: &mut StateReader<'_>) -> Result<Self, StateError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*))*) => {$(
        impl<$($name: SavedValue),*> SavedValue for ($($name,)*) {
            fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
                $(to.value(&self.$index)?;)*
                Ok(())
            }

            fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
                Ok(($(from.value::<$name>()?,)*))
            }
        }
    )*};
}

tuples!((A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3));

impl<T: SavedValue> SavedValue for Range<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.start)?;
        to.value(&self.end)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        Ok(from.value()?..from.value()?)
    }
}

impl<T: SavedValue> SavedValue for Option<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.is_some())?;
        self.iter().try_for_each(|value| to.value(value))
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        match from.value()? {
            true => from.value().map(Some),
            false => Ok(None),
        }
    }
}

impl<T: SavedValue> SavedValue for Box<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        T::write(self, to)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.value().map(Self::new)
    }
}

impl<T: SavedValue, const N: usize> SavedValue for [T; N] {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.iter().try_for_each(|value| to.value(value))
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let values: Vec<T> = (0..N).map(|_| from.value()).collect::<Result<_, _>>()?;
        values.try_into().map_err(|_| StateError::inconsistent("an array is too short"))
    }
}

impl<T: SavedValue> SavedValue for Vec<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.values(self)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.collect()
    }
}

impl<T: SavedValue> SavedValue for Box<[T]> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.values(self)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.value::<Vec<T>>().map(Self::from)
    }
}

impl<T: SavedValue> SavedValue for VecDeque<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.values(self)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.collect()
    }
}

impl<T: SavedValue> SavedValue for Reverse<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.0)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.value().map(Self)
    }
}

/// In the order of its tree, which it keeps.
impl<T: SavedValue + Ord> SavedValue for BinaryHeap<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.values(self)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.value::<Vec<T>>().map(Self::from)
    }
}

impl<T: SavedValue + Ord> SavedValue for BTreeSet<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.values(self)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.collect()
    }
}

/// Sorted.
impl<T, S> SavedValue for HashSet<T, S>
where
    T: SavedValue + Ord + Hash,
    S: BuildHasher + Default,
{
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        let mut sorted: Vec<&T> = self.iter().collect();
        sorted.sort_unstable();
        to.values(sorted)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.collect()
    }
}

/// Writes a map's keys with their values.
fn write_pairs<'m, K: SavedValue + 'm, V: SavedValue + 'm>(
    mut pairs: impl ExactSizeIterator<Item = (&'m K, &'m V)>,
    to: &mut StateWriter<'_>,
) -> Result<(), StateError> {
    to.value(&pairs.len())?;
    pairs.try_for_each(|(key, value)| {
        to.value(key)?;
        to.value(value)
    })
}

impl<K: SavedValue + Ord, V: SavedValue> SavedValue for BTreeMap<K, V> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        write_pairs(self.iter(), to)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.collect::<(K, V), _>()
    }
}

/// Sorted by key.
impl<K, V, S> SavedValue for HashMap<K, V, S>
where
    K: SavedValue + Ord + Hash,
    V: SavedValue,
    S: BuildHasher + Default,
{
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        let mut sorted: Vec<(&K, &V)> = self.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        write_pairs(sorted.into_iter(), to)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.collect::<(K, V), _>()
    }
}

impl SavedValue for String {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.text(self)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let bytes = from.value()?;
        let text = std::str::from_utf8(from.take(bytes)?);
        text.map(Self::from).map_err(|error| StateError::inconsistent(error.to_string()))
    }
}

impl SavedValue for Arc<str> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.text(self)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.value::<String>().map(Self::from)
    }
}

/// As text; a path that is none cannot be saved.
impl SavedValue for PathBuf {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.text(self.to_str().ok_or(StateError::NotSaved("a path that is not UTF-8"))?)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        from.value::<String>().map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, SavedValue)]
    enum Shape<T, U = ()> {
        Empty,
        Pair(T, Vec<(U, T)>),
        #[allow(dead_code)]
        Named {
            /// With a comma between `<` and `>`.
            map: BTreeMap<u8, T>,
            rest: (U, bool),
        },
    }

    #[derive(Debug, Clone, PartialEq, SavedValue)]
    struct Everything {
        pub(crate) shapes: [Shape<u16>; 3],
        number: Option<i64>,
    }

    fn bytes_of(value: &impl SavedValue) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = StateWriter::new(&mut bytes);
        writer.value(value).and_then(|()| writer.finish()).unwrap();
        bytes
    }

    fn value_of<T: SavedValue>(bytes: &[u8]) -> Result<T, String> {
        let mut reader = StateReader::new(bytes);
        let value = reader.value().and_then(|value| reader.finish().map(|()| value));
        value.map_err(|error: StateError| error.to_string())
    }

    /// The bytes are those of postcard's specification.
    #[track_caller]
    fn check<T: SavedValue + PartialEq + std::fmt::Debug>(value: T, bytes: &[u8]) {
        assert_eq!(bytes_of(&value), bytes);
        for shorter in 0..bytes.len() {
            assert!(value_of::<T>(&bytes[..shorter]).is_err(), "{shorter} of {bytes:?}");
        }
        assert_eq!(value_of::<T>(bytes), Ok(value));
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        check(0_u64, &[0]);
        check(127_u16, &[0x7f]);
        check(128_u32, &[0x80, 1]);
        check(u16::MAX, &[0xff, 0xff, 3]);
        check(u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        check(u128::from(u64::MAX) + 1, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]);
        check(u128::MAX, &[[0xff; 18].as_slice(), &[3]].concat());
        check(200_u8, &[200]);
        check((-1_i16, 1_i32), &[1, 2]);
        check(i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        check(1.5_f64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert!(value_of::<u16>(&[0x80, 0x80, 4]).is_err());
        let too_large = [[0xff; 9].as_slice(), &[2]].concat();
        assert_eq!(value_of::<u64>(&too_large).unwrap_err(), ": a number is too large");
        assert!(value_of::<u64>(&[0x80; 11]).is_err());
        assert_eq!(value_of::<bool>(&[2]).unwrap_err(), ": 2 is neither true nor false");
        assert!(value_of::<String>(&[1, 0xff]).is_err());
        assert!(value_of::<Vec<u32>>(&[0xff, 0xff, 0xff, 0xff, 1, 7]).is_err());
    }

    #[test]
    fn collections_have_their_count_before_them() {
        check(vec![7_u8, 8], &[2, 7, 8]);
        check(VecDeque::from([1_u64]), &[1, 1]);
        check(HashSet::<u32>::from([9, 3, 200]), &[3, 3, 9, 200, 1]);
        check(HashMap::<u8, bool>::from([(9, true), (3, false)]), &[2, 3, 0, 9, 1]);
        check("é".to_owned(), &[2, 0xc3, 0xa9]);
        check(Some(3_u32..5), &[1, 3, 5]);
        check(Box::<[u8]>::from([4]), &[1, 4]);
        let heap = BinaryHeap::from([Reverse(3_u32), Reverse(1), Reverse(2)]);
        let again: BinaryHeap<Reverse<u32>> = value_of(&bytes_of(&heap)).unwrap();
        assert_eq!(again.into_vec(), heap.into_vec());
    }

    #[test]
    fn derived_values_are_their_fields_in_order() {
        let named = Shape::Named { map: BTreeMap::from([(5, 6)]), rest: ((), true) };
        let shapes = [Shape::Empty, Shape::Pair(300, vec![((), 1)]), named];
        let everything = Everything { shapes, number: Some(-2) };
        check(everything, &[0, 1, 0xac, 2, 1, 1, 2, 1, 5, 6, 1, 1, 3]);
        assert_eq!(value_of::<Shape<u8>>(&[3]).unwrap_err(), ": Shape has no variant 3");
    }
}
