//! Answers that must not change: parity that is on spindles has to be read by later versions.
//!
//! The parity of RAID-4, RAID-DP and RAID-5 was computed by a program of its own, from the
//! published constructions and in another language. That of VRAID-5, whose placement is not
//! published, is as this library first computed it.

use crate::{bytes_from, data_from, parity_of_codec};
use crc32fast::hash;
use strewn_raid::{
    Parity, ParityGroup, Raid5Group, RowDiagonal, StripeCode, StripeCodec, StripedLayout,
    VraidConfig, VraidLayout,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Four data blocks of 32 bytes, p = 5, in full.
#[test]
fn a_small_stripe_byte_by_byte() {
    let codec = StripeCodec::new(StripeCode::RowDiagonal, 4, 32).unwrap();
    let data = data_from(1, 4, 32);
    assert_eq!(
        data.iter().map(|block| hex(block)).collect::<Vec<_>>(),
        [
            "c15c0289ec2d0a9167ec8e65a18debbe5e5532fbeea293f80bc942ee9086c171",
            "ce56971cde355897421efc0b1046c8bf2f537eddbfbc7b9864f6e7ff7a82f2c3",
            "ed8f01dbe4140b1d89a9817b8a6f46b301dd50d0a6e8eb9ccfc9ab66fb64a712",
            "ca8a33e272e3736e30b0984b6ac674e45f847b8efc19efdb9ef8f3260cebe47d",
        ]
    );
    assert_eq!(
        parity_of_codec(&codec, &data).iter().map(|block| hex(block)).collect::<Vec<_>>(),
        [
            "280fa7aca4ef2a759ceb6b5e516211562f5f67780befec273e0efd511d8b70dd",
            "cdfab93fba32530e181d8d2778bcbb73cfca327a077b208767b98eaad7b68f34",
        ]
    );
}

/// Row `r` of column `c` holds bytes `16 (c + 1) + r`, so that the sums can be checked by hand.
#[test]
fn a_small_stripe_by_hand() {
    let codec = StripeCodec::new(StripeCode::RowDiagonal, 4, 32).unwrap();
    let data = (1..=4_u8)
        .map(|column| (0..4).flat_map(|row| [16 * column + row; 8]).collect::<Vec<_>>())
        .collect::<Vec<_>>();
    let [row, diagonal] = &parity_of_codec(&codec, &data)[..] else { panic!("two parities") };
    // Every row: 10 + 20 + 30 + 40, the row numbers cancelling out.
    assert_eq!(hex(row), "40".repeat(32));
    let on_diagonals: [[u8; 4]; 4] = [
        // Diagonal 0: rows 0, 3 and 2 of columns 0, 2 and 3, and row 1 of row parity.
        [0x10, 0x33, 0x42, 0x40],
        // Diagonal 1: rows 1, 0 and 3 of columns 0, 1 and 3, and row 2 of row parity.
        [0x11, 0x20, 0x43, 0x40],
        // Diagonal 2: rows 2, 1 and 0 of columns 0 to 2, and row 3 of row parity.
        [0x12, 0x21, 0x30, 0x40],
        // Diagonal 3: rows 3 to 0 of columns 0 to 3; row parity misses it.
        [0x13, 0x22, 0x31, 0x40],
    ];
    let sums =
        on_diagonals.map(|sub_blocks| [sub_blocks.iter().fold(0, |sum, byte| sum ^ byte); 8]);
    assert_eq!(hex(diagonal), hex(&sums.concat()));
}

/// CRC-32 (that of Ethernet and zip) of row and diagonal parity; data block `i` is drawn from
/// seed `i + 1`.
#[test]
fn parity_of_stripes() {
    for (data_blocks, block_bytes, prime, row, diagonal) in [
        (1, 4096, 257, 0x77ac_17e9, 0xb7cf_dd66),
        (2, 4096, 257, 0xc9b9_4586, 0xfacb_ace8),
        (4, 4096, 257, 0x3bce_1e88, 0x8968_ab78),
        (18, 4096, 257, 0x4346_d75a, 0x0a45_d7ea),
        (26, 4096, 257, 0x1e3c_f101, 0xb74c_3899),
        (28, 4096, 257, 0xe754_33ac, 0xf2b7_5252),
        (256, 4096, 257, 0x695a_8335, 0x5a3d_2253),
        (18, 2048, 257, 0x7def_15be, 0x9ea7_8ef4),
        (18, 8192, 257, 0x2782_572b, 0x97fb_633d),
        (18, 65536, 257, 0x1e45_5809, 0xc17d_fed6),
        (16, 512, 17, 0xc437_5464, 0x6a23_ab0e),
        (16, 1024, 17, 0x9a8b_780d, 0xb0c8_3356),
        (18, 4160, 131, 0x3880_caae, 0x4b8c_d5a1),
        (4, 32, 5, 0xee92_aab0, 0x1bb9_8cd7),
        (2, 16, 3, 0x9ca7_4b23, 0xcf5c_e456),
    ] {
        let data = data_from(1, data_blocks, block_bytes);
        let codec = StripeCodec::new(StripeCode::RowDiagonal, data_blocks, block_bytes).unwrap();
        assert_eq!(codec.diagonal().map(RowDiagonal::prime), Some(prime));
        let parity = parity_of_codec(&codec, &data);
        let sums = parity.iter().map(|block| hash(block)).collect::<Vec<_>>();
        assert_eq!(sums, [row, diagonal], "{data_blocks} blocks of {block_bytes} bytes");
        let codec = StripeCodec::new(StripeCode::Row, data_blocks, block_bytes).unwrap();
        assert_eq!(hash(&parity_of_codec(&codec, &data)[0]), row);
    }
}

/// What every spindle of a layout holds: unit `m` of stripe `s`, of `n` data units, is drawn from
/// seed `1000 + n s + m`. CRC-32 of each spindle.
fn images(layout: &impl StripedLayout) -> Vec<u32> {
    let unit_sectors = layout.unit_sectors();
    let unit_bytes = unit_sectors as usize * 512;
    let codec = StripeCodec::for_shape(layout.shape(), unit_bytes).unwrap();
    let data_blocks = u64::from(layout.shape().data_blocks());
    let mut spindles = vec![Vec::new(); usize::from(layout.spindles())];
    for number in 0..layout.stripes() {
        let stripe = layout.stripe(number);
        let data = (0..data_blocks)
            .map(|block| bytes_from(1000 + number * data_blocks + block, unit_bytes))
            .collect::<Vec<_>>();
        let blocks = [data.clone(), parity_of_codec(&codec, &data)].concat();
        for ((member, unit), block) in stripe.units().zip(blocks) {
            assert_eq!(layout.stripe_on(unit.spindle, unit.sector), Some((number, member)));
            let spindle: &mut Vec<u8> = &mut spindles[unit.spindle.index()];
            let first = unit.sector as usize * 512;
            spindle.resize(spindle.len().max(first + unit_bytes), 0);
            spindle[first..first + unit_bytes].copy_from_slice(&block);
        }
    }
    spindles.iter().map(|spindle| hash(spindle)).collect()
}

const RAID4: [u32; 4] = [0xc493_0016, 0x5259_f4c7, 0xb424_915a, 0x22ee_658b];

const RAID_DP: [u32; 6] =
    [0x984a_bbac, 0xd5e5_00b8, 0xdb29_2779, 0x0c0f_e364, 0x31dd_ad8f, 0x4dce_5a86];

const RAID5: [u32; 5] = [0x348f_7f27, 0x078a_7d5c, 0x8265_1e0b, 0x450e_f246, 0xc4ff_d9e2];

const VRAID5: [u32; 11] = [
    0xdf86_35e4,
    0xea89_a44d,
    0xe65d_3fa8,
    0x5742_1a7d,
    0xad6d_d8a7,
    0xc6d7_2eac,
    0x1149_7c43,
    0x18e9_6050,
    0xabcc_ce3e,
    0x971f_ad5a,
    0x6a30_7d90,
];

#[test]
fn spindles_of_every_layout() {
    let raid4 = ParityGroup::new(Parity::Raid4, 3, 4).unwrap();
    assert_eq!(images(&raid4), RAID4);
    let raid_dp = ParityGroup::new(Parity::RaidDp, 4, 4).unwrap();
    assert_eq!(images(&raid_dp), RAID_DP);
    let raid5 = Raid5Group::new(5, 1024, 7 * 1024).unwrap();
    assert_eq!(images(&raid5), RAID5);
    // Two rounds of an RStore a spindle, over sets of 6 and 5; an RStore has 8 stripes.
    let config = VraidConfig { redundancy_sets: vec![6, 5], chunk_bytes: 512, segment_bytes: 4096 };
    let vraid5 = VraidLayout::new(config, 2 * 5 * 4096).unwrap();
    assert_eq!(images(&vraid5), VRAID5);
}

/// Spindles and sectors of some stripes of an EVA's layout: 20 spindles of 146.8 GB in two
/// redundancy sets. Four units of data, then parity.
#[test]
fn stripes_of_vraid5() {
    let layout = VraidLayout::new(VraidConfig::new(vec![10, 10]), 286_749_488 * 512).unwrap();
    assert_eq!(layout.stripes(), 4_480_320);
    for (number, units) in VRAID5_STRIPES {
        let stripe = layout.stripe(number);
        let found = stripe.units().map(|(_, unit)| (unit.spindle.0, unit.sector));
        assert_eq!(found.collect::<Vec<_>>(), units, "stripe {number}");
    }
}

/// The number of a stripe, and the spindle and sector of each of its units.
type KnownStripe = (u64, [(u16, u64); 5]);

const VRAID5_STRIPES: [KnownStripe; 4] = [
    (0, [(1, 4096), (2, 8192), (3, 12288), (4, 16384), (0, 0)]),
    (1, [(2, 8448), (3, 12544), (4, 16640), (0, 256), (1, 4352)]),
    (12_345, [(15, 780544), (18, 784640), (10, 788736), (12, 792832), (13, 796928)]),
    (1_234_567, [(7, 79025920), (8, 79030016), (0, 79013632), (4, 79017728), (5, 79021824)]),
];
