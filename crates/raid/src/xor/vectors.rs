//! Exclusive or in the widest vectors of the processor that the program runs on.
//!
//! All unsafe code of this crate is here, for two reasons. A program built for every x86-64 or
//! Arm processor may use wider vectors only after asking for them, and the compiler cannot check
//! that it did. And the innermost loop takes some eighty vectors from a dozen blocks for each
//! store: with a check of bounds at each it is half as fast, so lengths are checked once, before.

#![allow(unsafe_code)]

use std::ops::BitXor;

/// What is added up in one sum.
pub(crate) struct Sum<'a> {
    /// Where the sum is.
    pub(crate) sum: &'a mut [u8],
    /// What is added, each as long as the sum.
    pub(crate) sources: &'a [&'a [u8]],
}

/// What a sum starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Zero: what the sum holds does not matter.
    Zero,
    /// What the sum holds.
    Held,
}

/// Adds up several sums, all equally long, side by side: a few vectors of the first, as many of
/// the next, and so on. So sums over the same or nearly the same bytes read them from memory
/// once.
///
/// # Panics
///
/// If the sums and sources are not equally long.
#[inline]
pub(crate) fn add_up<const SUMS: usize>(sums: [Sum<'_>; SUMS], start: Start) {
    Width::widest().add_up(sums, start);
}

/// The vectors that a processor may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// 8 bytes: words, which every processor has.
    #[cfg_attr(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        allow(dead_code, reason = "there it is used by tests alone")
    )]
    Word,
    /// 16 bytes: every 64-bit Arm processor.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// 16 bytes: every 64-bit x86 processor.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 64 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The widest that this processor has. The answer is kept by the standard library: asking
    /// takes no longer than a load.
    #[inline]
    fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                Self::Avx512
            } else if std::arch::is_x86_feature_detected!("avx2") {
                Self::Avx2
            } else {
                Self::Sse2
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            Self::Neon
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            Self::Word
        }
    }

    #[inline]
    fn add_up<const SUMS: usize>(self, sums: [Sum<'_>; SUMS], start: Start) {
        let length = sums.first().map_or(0, |first| first.sum.len());
        for Sum { sum, sources } in &sums {
            let equal = |bytes: &[u8]| bytes.len() == length;
            assert!(equal(sum) && sources.iter().all(|source| equal(source)), "unequal lengths");
        }
        // SAFETY: all sums and sources have `length` bytes, as was just checked. A width is made
        // by `widest` alone, after asking the processor, and by tests that ask it too.
        unsafe {
            match self {
                Self::Word => word(sums, length, start),
                #[cfg(target_arch = "aarch64")]
                Self::Neon => neon(sums, length, start),
                #[cfg(target_arch = "x86_64")]
                Self::Sse2 => sse2(sums, length, start),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => avx2(sums, length, start),
                #[cfg(target_arch = "x86_64")]
                Self::Avx512 => avx512(sums, length, start),
            }
        }
    }
}

/// What the processor adds at once.
trait Vector: Copy {
    /// Exclusive or.
    ///
    /// # Safety
    ///
    /// The processor has such vectors.
    unsafe fn plus(self, other: Self) -> Self;
}

macro_rules! word {
    ($type:ty) => {
        impl Vector for $type {
            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                self.bitxor(other)
            }
        }
    };
}

macro_rules! vector {
    ($architecture:literal: $type:ident, $xor:ident) => {
        #[cfg(target_arch = $architecture)]
        impl Vector for arch::$type {
            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: the processor has such vectors.
                unsafe { arch::$xor(self, other) }
            }
        }
    };
}

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64 as arch;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as arch;

word!(u8);
word!(u64);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
word!(u128);
vector!("aarch64": uint8x16_t, veorq_u8);
vector!("x86_64": __m128i, _mm_xor_si128);
vector!("x86_64": __m256i, _mm256_xor_si256);
vector!("x86_64": __m512i, _mm512_xor_si512);

/// A function for one width of vectors: most of the sums four vectors at a time, which keeps
/// them in registers, and the ends in ever narrower ones.
macro_rules! width {
    ($(#[$attribute:meta])* $name:ident: $widest:ty $(, $narrower:ty)*) => {
        /// # Safety
        ///
        /// All sums and sources have `length` bytes, and the processor has the vectors.
        $(#[$attribute])*
        unsafe fn $name<const SUMS: usize>(
            mut sums: [Sum<'_>; SUMS],
            length: usize,
            start: Start,
        ) {
            let sums = &mut sums;
            // SAFETY: as the caller promises.
            unsafe {
                let done = stretch::<$widest, 4, SUMS>(sums, 0, length, start);
                let done = stretch::<$widest, 1, SUMS>(sums, done, length, start);
                $(let done = stretch::<$narrower, 1, SUMS>(sums, done, length, start);)*
                debug_assert_eq!(done, length);
            }
        }
    };
}

width!(word: u64, u8);
#[cfg(target_arch = "aarch64")]
width!(neon: arch::uint8x16_t, u64, u8);
#[cfg(target_arch = "x86_64")]
width!(sse2: arch::__m128i, u64, u8);
#[cfg(target_arch = "x86_64")]
width!(#[target_feature(enable = "avx2")] avx2: arch::__m256i, arch::__m128i, u64, u8);
#[cfg(target_arch = "x86_64")]
width!(
    #[target_feature(enable = "avx512f")]
    avx512: arch::__m512i, arch::__m256i, arch::__m128i, u64, u8
);

/// Adds up the bytes from `from` on, `COUNT` vectors of each sum at a time, as far as `length`
/// holds a whole number of those. Returns how far that was.
///
/// # Safety
///
/// All sums and sources have `length` bytes, `from` is at most `length`, and the processor has
/// the vectors.
#[inline(always)]
unsafe fn stretch<V: Vector, const COUNT: usize, const SUMS: usize>(
    sums: &mut [Sum<'_>; SUMS],
    from: usize,
    length: usize,
    start: Start,
) -> usize {
    let mut at = from;
    while length - at >= COUNT * size_of::<V>() {
        for Sum { sum, sources } in &mut *sums {
            // SAFETY: `COUNT` vectors from `at` on are within `length`, which every sum and
            // source has. Every pattern of bits is a vector.
            unsafe {
                let target = sum.as_mut_ptr().add(at).cast::<V>();
                let mut total = [std::mem::zeroed::<V>(); COUNT];
                if start == Start::Held {
                    for (index, total) in total.iter_mut().enumerate() {
                        *total = target.add(index).read_unaligned();
                    }
                }
                for source in *sources {
                    let source = source.as_ptr().add(at).cast::<V>();
                    for (index, total) in total.iter_mut().enumerate() {
                        *total = total.plus(source.add(index).read_unaligned());
                    }
                }
                for (index, total) in total.into_iter().enumerate() {
                    target.add(index).write_unaligned(total);
                }
            }
        }
        at += COUNT * size_of::<V>();
    }
    at
}

/// A sub-block of the published row-diagonal parity: a whole number of them make a vector of any
/// processor.
pub(crate) type SubBlock = [u8; 16];

/// Columns that [`add_staircase`] takes at most. More of them would take fewer passes over the sums,
/// but of 6, 9 and 10 the least was the fastest, by 5 to 20 %: streams that begin on pages share the
/// few places of the nearest cache that an address may go to, eight in the processors of today.
pub(crate) const STAIRCASE: usize = 6;

/// Adds adjacent columns to the sums of their rows and to the diagonals that they meet: row `r`
/// of the column numbered `c` of them is added to `rows[r]`, from `start`, and to
/// `diagonals[r + c]`.
///
/// Each sub-block is taken from memory once, for both.
///
/// # Panics
///
/// If the columns are not as long as the rows, if there are not one fewer diagonals than rows and
/// columns together, or if there are more columns than [`STAIRCASE`].
#[inline]
pub(crate) fn add_staircase(
    rows: &mut [SubBlock],
    diagonals: &mut [SubBlock],
    columns: &[&[SubBlock]],
    start: Start,
) {
    Width::widest().add_staircase(rows, diagonals, columns, start);
}

impl Width {
    fn add_staircase(
        self,
        rows: &mut [SubBlock],
        diagonals: &mut [SubBlock],
        columns: &[&[SubBlock]],
        start: Start,
    ) {
        macro_rules! with {
            ($columns:expr) => {{
                // SAFETY: the lengths were checked, and the width as for `add_up`.
                unsafe {
                    match self {
                        #[cfg(target_arch = "x86_64")]
                        Self::Avx512 => avx512_staircase(rows, diagonals, $columns, start),
                        #[cfg(target_arch = "x86_64")]
                        Self::Avx2 => avx2_staircase(rows, diagonals, $columns, start),
                        _ => any_staircase(rows, diagonals, $columns, start),
                    }
                }
            }};
        }
        assert!(columns.iter().all(|column| column.len() == rows.len()), "unequal lengths");
        assert_eq!(diagonals.len() + 1, rows.len() + columns.len(), "diagonals for these columns");
        match *columns {
            [] => {}
            [a] => with!([a]),
            [a, b] => with!([a, b]),
            [a, b, c] => with!([a, b, c]),
            [a, b, c, d] => with!([a, b, c, d]),
            [a, b, c, d, e] => with!([a, b, c, d, e]),
            [a, b, c, d, e, f] => with!([a, b, c, d, e, f]),
            _ => panic!("{} columns: at most {STAIRCASE}", columns.len()),
        }
    }
}

/// A vector of sub-blocks.
trait SubBlocks: Vector {
    /// Its sub-blocks.
    const COUNT: usize = size_of::<Self>() / size_of::<SubBlock>();

    /// The last `by` sub-blocks of `before`, then as many as there is room for of `self`.
    ///
    /// # Safety
    ///
    /// The processor has such vectors.
    unsafe fn moved_up(self, before: Self, by: usize) -> Self;
}

macro_rules! one_sub_block {
    ($type:ty) => {
        impl SubBlocks for $type {
            #[inline(always)]
            unsafe fn moved_up(self, _before: Self, _by: usize) -> Self {
                self
            }
        }
        type OneSubBlock = $type;
    };
}

#[cfg(target_arch = "aarch64")]
one_sub_block!(arch::uint8x16_t);
#[cfg(target_arch = "x86_64")]
one_sub_block!(arch::__m128i);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
one_sub_block!(u128);

#[cfg(target_arch = "x86_64")]
impl SubBlocks for arch::__m256i {
    #[inline(always)]
    unsafe fn moved_up(self, before: Self, by: usize) -> Self {
        // SAFETY: the processor has such vectors.
        match by {
            0 => self,
            _ => unsafe { arch::_mm256_permute2x128_si256::<0x21>(before, self) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl SubBlocks for arch::__m512i {
    #[inline(always)]
    unsafe fn moved_up(self, before: Self, by: usize) -> Self {
        // SAFETY: the processor has such vectors.
        match by {
            0 => self,
            1 => unsafe { arch::_mm512_alignr_epi64::<6>(self, before) },
            2 => unsafe { arch::_mm512_alignr_epi64::<4>(self, before) },
            _ => unsafe { arch::_mm512_alignr_epi64::<2>(self, before) },
        }
    }
}

macro_rules! staircase {
    ($(#[$attribute:meta])* $name:ident: $($vector:ty),*) => {
        /// # Safety
        ///
        /// All columns are as long as `rows`, there are `COLUMNS - 1` more diagonals than rows, and
        /// the processor has the vectors.
        $(#[$attribute])*
        unsafe fn $name<const COLUMNS: usize>(
            rows: &mut [SubBlock],
            diagonals: &mut [SubBlock],
            columns: [&[SubBlock]; COLUMNS],
            start: Start,
        ) {
            let done = 0;
            // SAFETY: as the caller promises.
            $(let done = unsafe {
                flight::<$vector, COLUMNS>(rows, diagonals, &columns, done, start)
            };)*
            debug_assert_eq!(done, rows.len());
        }
    };
}

staircase!(any_staircase: OneSubBlock);
#[cfg(target_arch = "x86_64")]
staircase!(#[target_feature(enable = "avx2")] avx2_staircase: arch::__m256i, OneSubBlock);
#[cfg(target_arch = "x86_64")]
staircase!(#[target_feature(enable = "avx512f")] avx512_staircase: arch::__m512i, OneSubBlock);

/// Adds the rows from `from` on, a vector of sub-blocks of each column at a time. Returns how far
/// whole vectors went.
///
/// The columns whose numbers leave the same remainder by the sub-blocks of a vector meet the
/// diagonals in the same places of a vector. So their vectors are added up as they are, and only
/// the sum of each such class is moved up to where the diagonals are, a part of it into the next
/// vector.
///
/// # Safety
///
/// All columns are as long as `rows`, there are `COLUMNS - 1` more diagonals than rows, `from` is
/// at most the number of rows, and the processor has the vectors.
#[inline(always)]
unsafe fn flight<V: SubBlocks, const COLUMNS: usize>(
    rows: &mut [SubBlock],
    diagonals: &mut [SubBlock],
    columns: &[&[SubBlock]; COLUMNS],
    from: usize,
    start: Start,
) -> usize {
    let end = rows.len() - (rows.len() - from) % V::COUNT;
    if end == from {
        return end;
    }
    // SAFETY: every pattern of bits is a vector.
    let zero = unsafe { std::mem::zeroed::<V>() };
    // What the columns that are classes and vectors further on have brought to the diagonals of
    // the vectors to come: `coming[column]` is for the vector `column / V::COUNT` from here.
    let mut coming = [zero; COLUMNS];
    let mut before = [zero; MOST_SUB_BLOCKS];
    let mut at = from;
    while at < end {
        // SAFETY: `at` and the vector from there on are before `end`, so within the rows, the
        // columns and the diagonals.
        unsafe {
            let row = rows.as_mut_ptr().add(at).cast::<V>();
            let diagonal = diagonals.as_mut_ptr().add(at).cast::<V>();
            let mut row_sum = if start == Start::Held { row.read_unaligned() } else { zero };
            for column in 0..COLUMNS {
                let sub_blocks = columns[column].as_ptr().add(at).cast::<V>().read_unaligned();
                row_sum = row_sum.plus(sub_blocks);
                coming[column] = coming[column].plus(sub_blocks);
            }
            row.write_unaligned(row_sum);
            let sum = next_diagonals(&mut coming, &mut before, diagonal.read_unaligned());
            diagonal.write_unaligned(sum);
        }
        at += V::COUNT;
    }
    // What the last rows have brought to the diagonals after them.
    while at - end < COLUMNS - 1 {
        let left = diagonals.len().min(at + V::COUNT) - at;
        let mut last = [[0; size_of::<SubBlock>()]; MOST_SUB_BLOCKS];
        // SAFETY: a vector is no longer than `last`.
        unsafe {
            let place = last.as_mut_ptr().cast::<V>();
            place.write_unaligned(next_diagonals(&mut coming, &mut before, zero));
        }
        for (diagonal, brought) in diagonals[at..at + left].iter_mut().zip(last) {
            for (byte, brought) in diagonal.iter_mut().zip(brought) {
                *byte ^= brought;
            }
        }
        at += V::COUNT;
    }
    end
}

/// Sub-blocks of the widest vectors.
const MOST_SUB_BLOCKS: usize = 4;

/// Adds what the columns bring to a vector of diagonals to `sum`, and turns to the next vector.
///
/// # Safety
///
/// The processor has the vectors.
#[inline(always)]
unsafe fn next_diagonals<V: SubBlocks, const COLUMNS: usize>(
    coming: &mut [V; COLUMNS],
    before: &mut [V; MOST_SUB_BLOCKS],
    mut sum: V,
) -> V {
    // SAFETY: every pattern of bits is a vector, and the processor has them.
    unsafe {
        let zero = std::mem::zeroed::<V>();
        for class in 0..V::COUNT.min(COLUMNS) {
            sum = sum.plus(coming[class].moved_up(before[class], class));
            before[class] = coming[class];
        }
        for column in 0..COLUMNS {
            coming[column] =
                if column + V::COUNT < COLUMNS { coming[column + V::COUNT] } else { zero };
        }
    }
    sum
}

#[cfg(test)]
mod tests;
