//! What a block takes of RAID-Z, as read back from real pools.

use strewn_zfs::{POINTERS, RaidZ};

use crate::recording::read;

#[test]
fn a_block_takes_what_it_takes_in_real_pools() {
    let table = read("asize.tsv");
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<u64> = line.split('\t').map(|field| field.parse().unwrap()).collect();
        let [parity, width, bytes, allocated] = fields[..] else { panic!("{line}") };
        let raid_z = RaidZ { width: width as u8, parity: parity as u8, ashift: 12 };
        assert_eq!(raid_z.allocated_bytes(bytes), allocated, "{raid_z:?}, {bytes} bytes");
        rows += 1;
    }
    assert!(rows >= 175, "{rows} rows");
}

/// Issue 1807 of OpenZFS: 10 GiB in blocks of 8 KiB, on six drives with double parity, took 32,718,569,472 bytes. With
/// OpenZFS 0.6.2, indirect blocks were of 16 KiB and had 128 pointers. The difference of 40 such blocks in 20,642 is of
/// what else changed in a pool of 9 TB while the volume was written.
#[test]
fn a_volume_of_small_blocks_takes_what_its_owner_saw() {
    let raid_z = RaidZ { width: 6, parity: 2, ashift: 12 };
    let blocks = (10u64 << 30) / 8_192;
    let indirect = blocks.div_ceil(128) + blocks.div_ceil(128 * 128) + 5_u64.div_ceil(5);
    let bytes =
        blocks * raid_z.allocated_bytes(8_192) + 2 * indirect * raid_z.allocated_bytes(16 << 10);
    assert_eq!(bytes - 32_718_569_472, 40 * raid_z.allocated_bytes(16 << 10));
    assert_eq!(POINTERS, 1_024, "later versions: 128 KiB");
}
