use super::*;

/// Every width that this processor has.
fn widths() -> Vec<Width> {
    let mut widths = vec![Width::Word, Width::widest()];
    #[cfg(target_arch = "x86_64")]
    {
        widths.push(Width::Sse2);
        if std::arch::is_x86_feature_detected!("avx2") {
            widths.push(Width::Avx2);
        }
    }
    widths
}

/// Bytes that differ from block to block and have no period of a power of 2.
fn block(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251 + seed * 89) as u8).collect()
}

#[test]
fn every_width_agrees_with_byte_by_byte_at_any_length_and_alignment() {
    // Under Miri a byte takes a thousand times as long.
    let lengths = if cfg!(miri) { vec![0, 1, 9, 131, 275] } else { (0..700).collect() };
    for (length, unaligned) in lengths.into_iter().flat_map(|length| [(length, 0), (length, 3)]) {
        for count in [0, 1, 2, 7] {
            let blocks: Vec<_> = (0..count).map(|seed| block(seed, unaligned + length)).collect();
            let sources: Vec<_> = blocks.iter().map(|block| &block[unaligned..]).collect();
            for (start, held) in [(Start::Zero, 0), (Start::Held, 0x5a)] {
                let expected: Vec<u8> = (0..length)
                    .map(|at| sources.iter().fold(held, |sum, source| sum ^ source[at]))
                    .collect();
                for width in widths() {
                    let mut sums = [vec![0x5a; length], vec![0x5a; length]];
                    let [first, second] = &mut sums;
                    let sums_of = |sum| Sum { sum, sources: &sources };
                    width.add_up([first, second].map(|sum| sums_of(&mut sum[..])), start);
                    assert!(
                        sums.iter().all(|sum| *sum == expected),
                        "{width:?}, {count} sources of {length} bytes from {unaligned} on"
                    );
                }
            }
        }
    }
}

#[test]
fn every_width_climbs_the_staircase_as_one_by_one() {
    for (count, length) in
        (1..=STAIRCASE).flat_map(|count| [0, 1, 2, 4, 5, 7, 13].map(|length| (count, length)))
    {
        let blocks: Vec<_> = (0..count).map(|seed| block(seed, 16 * length)).collect();
        let columns: Vec<_> = blocks.iter().map(|block| block.as_chunks().0).collect();
        let held = block(99, 16 * (length + count - 1));
        let held: &[SubBlock] = held.as_chunks().0;
        for start in [Start::Zero, Start::Held] {
            let mut expected = (held[..length].to_vec(), held.to_vec());
            if start == Start::Zero {
                expected.0.fill([0; 16]);
            }
            for (number, column) in columns.iter().enumerate() {
                for (row, sub_block) in column.iter().enumerate() {
                    let add = |sum: &mut SubBlock| {
                        sum.iter_mut().zip(sub_block).for_each(|(sum, byte)| *sum ^= byte);
                    };
                    add(&mut expected.0[row]);
                    add(&mut expected.1[row + number]);
                }
            }
            for width in widths() {
                let (mut rows, mut diagonals) = (held[..length].to_vec(), held.to_vec());
                width.add_staircase(&mut rows, &mut diagonals, &columns, start);
                assert_eq!((rows, diagonals), expected, "{width:?}, {count} of {length} rows");
            }
        }
    }
}

#[test]
#[should_panic(expected = "diagonals for these columns")]
fn a_staircase_without_its_last_diagonal_is_refused() {
    let column: &[SubBlock] = &[[1; 16]; 8];
    let (mut rows, mut diagonals) = ([[0; 16]; 8], [[0; 16]; 8]);
    add_staircase(&mut rows, &mut diagonals, &[column, column], Start::Held);
}

#[test]
#[should_panic(expected = "unequal lengths")]
fn a_source_of_another_length_is_refused() {
    add_up([Sum { sum: &mut [0; 8], sources: &[&[1; 8], &[1; 7]] }], Start::Zero);
}

#[test]
#[should_panic(expected = "unequal lengths")]
fn a_sum_of_another_length_is_refused() {
    let (first, second) = (&mut [0; 8], &mut [0; 9]);
    add_up([Sum { sum: first, sources: &[] }, Sum { sum: second, sources: &[] }], Start::Zero);
}
