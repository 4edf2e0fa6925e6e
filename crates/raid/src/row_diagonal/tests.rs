use super::*;

#[test]
fn primes_by_size_of_block() {
    for (block_bytes, prime) in [
        (16, 3),
        (32, 5),
        (512, 17),
        (1024, 17),
        (2048, 257),
        (4096, 257),
        (8192, 257),
        (65536, 257),
        (4160, 131),
    ] {
        let code = RowDiagonal::new(block_bytes).unwrap();
        assert_eq!(code.prime(), prime, "{block_bytes} bytes");
        assert_eq!(code.sub_block_bytes() * (prime - 1), block_bytes);
        assert_eq!(code.most_data_blocks(), prime - 1);
    }
    assert_eq!(RowDiagonal::with_prime(4096, 5).unwrap().sub_block_bytes(), 1024);
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_the_reason() {
    assert_eq!(
        RowDiagonal::new(520).unwrap_err().to_string(),
        "row-diagonal parity cuts a block into p - 1 equal sub-blocks of whole 8-byte words, \
         p being a prime from 3 to 257; 520 bytes cannot be cut so"
    );
    assert!(RowDiagonal::new(0).is_err());
    assert_eq!(
        RowDiagonal::with_prime(4096, 33).unwrap_err().to_string(),
        "row-diagonal parity is for a prime p above 2, not 33"
    );
    assert_eq!(
        RowDiagonal::with_prime(512, 257).unwrap_err().to_string(),
        "with p = 257, row-diagonal parity cuts a block into 256 equal sub-blocks of whole \
         8-byte words; 512 bytes cannot be cut so"
    );
    for not_prime in [0, 1, 2, 4, 9, 255, 256] {
        assert!(RowDiagonal::with_prime(4096, not_prime).is_err(), "{not_prime}");
    }
}

#[test]
fn together_as_one_by_one() {
    for block_bytes in [16, 512, 2048, 4096] {
        let code = RowDiagonal::new(block_bytes).unwrap();
        let block = |seed: usize| -> Vec<u8> {
            (0..block_bytes).map(|at| (at * 7 + at / 251 + seed * 131) as u8).collect()
        };
        let last = code.row_parity_column();
        for columns in [
            &[0, 1, 2][..],
            &[0, 0, last, last],
            &[last - 1, last],
            &[2, 1, 0],
            &[1, 1, 1, 1, 1, 1, 1],
        ] {
            let blocks: Vec<_> = columns.iter().map(|&column| (column, block(column))).collect();
            let members = || blocks.iter().map(|(column, block)| (*column, block.as_slice()));
            let sums = || (vec![0x5a; block_bytes], vec![0x5a; block_bytes]);
            let (mut rows, mut diagonals) = sums();
            code.add_up(Some(&mut rows), &mut diagonals, Start::Held, members());
            let (mut rows_apart, mut diagonals_apart) = sums();
            for (column, block) in members() {
                for row in 0..code.prime - 1 {
                    let sub_block =
                        |row: usize| row * code.sub_block_bytes..(row + 1) * code.sub_block_bytes;
                    let add = |sum: &mut [u8]| {
                        sum.iter_mut().zip(&block[sub_block(row)]).for_each(|(a, b)| *a ^= b);
                    };
                    add(&mut rows_apart[sub_block(row)]);
                    let diagonal = (row + column) % code.prime;
                    if diagonal < code.prime - 1 {
                        add(&mut diagonals_apart[sub_block(diagonal)]);
                    }
                }
            }
            assert_eq!(rows, rows_apart, "{block_bytes} bytes, {columns:?}");
            assert_eq!(diagonals, diagonals_apart, "{block_bytes} bytes, {columns:?}");
            let (_, mut diagonals_alone) = sums();
            code.add_up(None, &mut diagonals_alone, Start::Held, members());
            assert_eq!(diagonals_alone, diagonals, "{block_bytes} bytes, {columns:?}");
        }
    }
}
