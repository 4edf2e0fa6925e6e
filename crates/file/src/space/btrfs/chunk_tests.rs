use super::*;

const START: u64 = 1 << 30;

/// An item of a chunk: `stripes` are devices with their offsets.
fn item(bytes: u64, kind: u64, copies: u16, stripes: &[(u64, u64)]) -> Vec<u8> {
    let mut item = vec![0; 48 + 32 * stripes.len()];
    item[0..8].copy_from_slice(&bytes.to_le_bytes());
    item[16..24].copy_from_slice(&STRIPE_BYTES.to_le_bytes());
    item[24..32].copy_from_slice(&kind.to_le_bytes());
    item[44..46].copy_from_slice(&(stripes.len() as u16).to_le_bytes());
    item[46..48].copy_from_slice(&copies.to_le_bytes());
    for (index, (device, byte)) in stripes.iter().enumerate() {
        let at = 48 + 32 * index;
        item[at..at + 8].copy_from_slice(&device.to_le_bytes());
        item[at + 8..at + 16].copy_from_slice(&byte.to_le_bytes());
    }
    item
}

fn device(id: u64) -> Option<u16> {
    u16::try_from(id).ok()
}

fn map(kind: u64, copies: u16, stripes: &[(u64, u64)]) -> ChunkMap {
    let mut map = ChunkMap::default();
    map.insert(START, &item(64 << 20, kind, copies, stripes), device).unwrap();
    map
}

/// Device and byte of each stripe of 64 KiB from the beginning of the chunk.
fn stripes(map: &ChunkMap, count: u64) -> Vec<(u16, u64)> {
    let mut pieces = Vec::new();
    for stripe in 0..count {
        assert_eq!(
            map.read(START + stripe * STRIPE_BYTES, STRIPE_BYTES, &mut pieces),
            STRIPE_BYTES
        );
    }
    pieces.iter().map(|piece| (piece.device, piece.byte >> 16)).collect()
}

const KIND_RAID0: u64 = DATA | 0x08;
const KIND_RAID1: u64 = DATA | 0x10;
const KIND_RAID10: u64 = DATA | 0x40;
const KIND_RAID5: u64 = DATA | 0x80;
const KIND_RAID6: u64 = DATA | 0x100;

#[test]
fn stripes_are_where_each_profile_has_them() {
    let on = |count: u64| (0..count).map(|device| (device, 0)).collect::<Vec<_>>();
    assert_eq!(stripes(&map(KIND_RAID0, 1, &on(2)), 4), [(0, 0), (1, 0), (0, 1), (1, 1)]);
    assert_eq!(stripes(&map(KIND_RAID10, 2, &on(4)), 4), [(0, 0), (2, 0), (0, 1), (2, 1)]);
    // Parity of the first row is on the last device, that of the second on the first.
    assert_eq!(stripes(&map(KIND_RAID5, 1, &on(3)), 4), [(0, 0), (1, 0), (1, 1), (2, 1)]);
    let raid6 = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (0, 3)];
    assert_eq!(stripes(&map(KIND_RAID6, 1, &on(4)), 8), raid6);
}

#[test]
fn what_is_not_striped_is_one_piece() {
    let raid1 = map(KIND_RAID1, 1, &[(3, 4096), (5, 8192)]);
    let mut pieces = vec![Piece { device: 3, byte: 0, bytes: 4096 + 8192 }];
    assert_eq!(raid1.read(START + 8192, 32 << 20, &mut pieces), 32 << 20);
    // What was there before is another's, even if it is adjacent.
    assert_eq!(pieces[1..], [Piece { device: 3, byte: 4096 + 8192, bytes: 32 << 20 }]);
    let alone = map(KIND_RAID0, 1, &[(0, 0)]);
    pieces.clear();
    assert_eq!(alone.read(START, 32 << 20, &mut pieces), 32 << 20);
    assert_eq!(pieces.len(), 1);
}

#[test]
fn chunks_that_follow_on_their_device_are_one_piece() {
    let mut map = ChunkMap::default();
    for (chunk, byte) in [(0, 0), (1, 1 << 20), (2, 5 << 20)] {
        map.insert(chunk << 20, &item(1 << 20, DATA, 1, &[(0, byte)]), device).unwrap();
    }
    let mut pieces = Vec::new();
    // The last half MiB is in no chunk.
    assert_eq!(map.read(1 << 19, 3 << 20, &mut pieces), 5 << 19);
    let piece = |byte, bytes| Piece { device: 0, byte, bytes };
    assert_eq!(pieces, [piece(1 << 19, 3 << 19), piece(5 << 20, 1 << 20)]);
    assert_eq!(map.read(u64::MAX - 10, 100, &mut pieces), 0);
}

#[test]
fn a_missing_device_is_read_from_the_other_copy_or_not_at_all() {
    let present = |id: u64| (id != 1).then_some(0);
    let read = |kind, copies, stripes: &[(u64, u64)]| {
        let mut map = ChunkMap::default();
        map.insert(0, &item(1 << 20, kind, copies, stripes), present).unwrap();
        map.read(0, 1 << 20, &mut Vec::new())
    };
    assert_eq!(read(KIND_RAID1, 1, &[(1, 0), (2, 0)]), 1 << 20);
    assert_eq!(read(KIND_RAID10, 2, &[(1, 0), (2, 0), (3, 0), (4, 0)]), 1 << 20);
    assert_eq!(read(KIND_RAID0, 1, &[(1, 0), (2, 0)]), 1 << 19);
    assert_eq!(read(DATA, 1, &[(1, 0)]), 0);
}

#[test]
fn superblocks_are_in_chunks_by_their_profile() {
    let at = 60 << 20;
    let single = map(DATA, 1, &[(0, at)]);
    let range = |byte: u64, bytes: u64| START + byte..START + byte + bytes;
    assert_eq!(single.superblocks(START), [range(4 << 20, 64 << 10)]);
    // Stripe 64 of the second of two devices.
    let raid0 = map(KIND_RAID0, 1, &[(0, 1 << 30), (1, at)]);
    assert_eq!(raid0.superblocks(START), [range((64 * 2 + 1) << 16, 64 << 10)]);
    let raid5 = map(KIND_RAID5, 1, &[(0, 1 << 30), (1, at), (2, at)]);
    assert_eq!(raid5.superblocks(START), [range((64 * 2) << 16, 128 << 10)]);
    assert_eq!(single.superblocks(0), []);
    assert_eq!((raid0.allocated_bytes(), raid5.allocated_bytes()), (64 << 20, 96 << 20));
}

#[test]
fn what_is_no_chunk_is_an_error() {
    let mut map = ChunkMap::default();
    map.insert(1 << 20, &item(1 << 20, DATA, 1, &[(0, 0)]), device).unwrap();
    for (at, item) in [
        (1 << 20, item(4096, DATA, 1, &[(0, 0)])),
        ((1 << 20) - 4096, item(8192, DATA, 1, &[(0, 0)])),
        (2 << 20, item(0, DATA, 1, &[(0, 0)])),
        (2 << 20, item(1 << 20, DATA, 1, &[])),
        (2 << 20, item(1 << 20, KIND_RAID10, 0, &[(0, 0)])),
        (2 << 20, item(1 << 20, KIND_RAID6, 1, &[(0, 0), (1, 0)])),
        (2 << 20, item(1 << 20, DATA | 0x18, 1, &[(0, 0), (1, 0)])),
        (u64::MAX - 4095, item(1 << 20, DATA, 1, &[(0, 0)])),
        (2 << 20, vec![0; 47]),
    ] {
        assert!(map.insert(at, &item, device).is_err());
    }
    assert_eq!(map.len(), 1);
}
