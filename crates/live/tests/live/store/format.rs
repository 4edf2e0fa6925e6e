//! The codecs: round trips, damage, versions, and what `docs/format.md` says of them.

use proptest::prelude::*;
use strewn_array::{BlockContents, Root};
use strewn_live::device::BLOCK_BYTES;
use strewn_live::format::*;
use strewn_raid::{Dbn, SpindleIndex, Vbn};

fn identity() -> impl Strategy<Value = Identity> {
    any::<[u8; 16]>().prop_filter("of a device", |bytes| bytes != &[0; 16]).prop_map(Identity)
}

fn holds() -> impl Strategy<Value = BlockContents> {
    prop_oneof![
        Just(BlockContents::Nothing),
        any::<u64>().prop_map(BlockContents::lun),
        any::<u32>().prop_map(BlockContents::Metadata),
        Just(BlockContents::Parity),
    ]
}

prop_compose! {
    fn label()(
        (array, own) in (identity(), identity()),
        logs in prop::collection::vec(
            (identity(), prop_oneof![Just(MemberState::Present), Just(MemberState::Failed)])
                .prop_map(|(identity, state)| Member { identity, state }),
            0..=MIRRORED_LOGS,
        ),
        (sequence, device_blocks, compatible_features) in any::<(u64, u64, u64)>(),
        (position, kind) in (any::<u16>(), prop_oneof![Just(DeviceKind::Spindle), Just(DeviceKind::Log)]),
        (log_half_blocks, redo_half_blocks) in any::<(u64, u64)>(),
        members in prop::collection::vec(
            (identity(), prop_oneof![
                Just(MemberState::Present),
                Just(MemberState::Failed),
                Just(MemberState::Rebuilding),
            ]).prop_map(|(identity, state)| Member { identity, state }),
            0..=MAXIMUM_MEMBERS,
        ),
        configuration in "[a-z=\" \n\u{e4}]{0,1000}",
        group_sizes in prop::collection::vec((any::<u64>(), 0..10_u16), 0..MAXIMUM_GROUPS),
    ) -> Label {
        let mut logs = logs;
        let is_mirrored = logs.len() == MIRRORED_LOGS;
        if let [log] = &mut logs[..] {
            log.state = MemberState::Present;
        }
        let mut incompatible_features = if is_mirrored { FEATURE_MIRRORED_LOG } else { 0 };
        // The last group has what the others leave.
        let mut left = members.len() as u16;
        let mut groups: Vec<MemberGroup> = Vec::new();
        for (device_blocks, spindles) in group_sizes {
            let spindles = spindles.min(left);
            left -= spindles;
            groups.push(MemberGroup { spindles, device_blocks });
        }
        if !groups.is_empty() {
            groups.push(MemberGroup { spindles: left, device_blocks });
            incompatible_features |= FEATURE_PARITY_GROUPS;
        }
        Label {
            version: FORMAT, incompatible_features, compatible_features, array, own, position, kind,
            sequence, device_blocks, log_half_blocks, redo_half_blocks, members, groups, logs,
            configuration,
        }
    }
}

prop_compose! {
    fn superblock()(
        array in identity(),
        (consistency_point, log_start, redo_start, held_back_blocks, label_sequence, clean)
            in any::<(u64, u64, u64, u64, u64, bool)>(),
        block in any::<Option<(u64, u32)>>(),
        catalog in prop::collection::vec(any::<(u32, u32)>(), 0..=16),
        (groups, map_sequences) in any::<(u16, [u64; MAXIMUM_GROUPS])>(),
    ) -> Superblock {
        let block = block.map(|(vbn, crc)| (Vbn(vbn), crc));
        let mut root = Root { held_back_blocks, block, groups, ..Root::default() };
        for (into, (vbn, crc)) in root.catalog.iter_mut().zip(catalog) {
            *into = Some((Vbn(u64::from(vbn)), crc));
        }
        Superblock {
            array, consistency_point, log_start, log_durable: log_start, map_sequences, redo_start,
            label_sequence, clean, root
        }
    }
}

prop_compose! {
    fn block_tag()(holds in holds(), sum in any::<Option<u64>>()) -> BlockTag {
        let stripe_sum = sum.filter(|_| holds == BlockContents::Parity).map(StripeSum);
        BlockTag { stripe_sum, ..holds.into() }
    }
}

prop_compose! {
    fn entry()(
        (data_crc, spindle, dbn, consistency_point) in any::<(u32, u16, u64, u64)>(),
        (tag, block_tag, redo) in (any::<[u8; 8]>(), block_tag(), any::<u64>()),
    ) -> ChecksumEntry {
        let place = BlockAddress { tag: ArrayTag(tag), spindle: SpindleIndex(spindle), dbn: Dbn(dbn) };
        ChecksumEntry { data_crc, place, block_tag: BlockTag { redo, ..block_tag }, consistency_point }
    }
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_label_comes_back_and_every_flip_is_seen(label in label()) {
        let block = label.encode().unwrap();
        prop_assert_eq!(Label::decode(block.bytes()).unwrap(), label);
        for bit in 0..BLOCK_BYTES * 8 {
            prop_assert!(Label::decode(&flipped(block.bytes(), bit)).is_err(), "bit {}", bit);
        }
    }

    #[test]
    fn a_superblock_comes_back_and_every_flip_is_seen(superblock in superblock()) {
        let block = superblock.encode();
        prop_assert_eq!(Superblock::decode(block.bytes()).unwrap(), superblock);
        for bit in 0..BLOCK_BYTES * 8 {
            prop_assert!(Superblock::decode(&flipped(block.bytes(), bit)).is_err(), "bit {}", bit);
        }
    }

    #[test]
    fn an_entry_comes_back_and_every_flip_is_seen(entry in entry()) {
        let bytes = entry.encode();
        prop_assert_eq!(ChecksumEntry::decode(&bytes, entry.place), Ok(EntryRead::Written(entry)));
        for bit in 0..ENTRY_BYTES * 8 {
            let flipped = flipped(&bytes, bit).try_into().unwrap();
            prop_assert_eq!(ChecksumEntry::decode(&flipped, entry.place), Err(BadEntry::Damaged));
        }
        let mut place = entry.place;
        place.dbn.0 ^= 1;
        let elsewhere = BadEntry::OtherPlace(entry.place.spindle, entry.place.dbn);
        prop_assert_eq!(ChecksumEntry::decode(&bytes, place), Err(elsewhere));
        place.tag.0[7] ^= 1;
        prop_assert_eq!(ChecksumEntry::decode(&bytes, place), Err(BadEntry::OtherArray));
    }

    #[test]
    fn a_record_comes_back_and_every_flip_is_seen(
        (follows, first) in any::<(u32, u64)>(),
        behind in 0..3_u64,
        file in 1..u32::MAX,
        tag in any::<[u8; 8]>(),
        data in prop::collection::vec(any::<u8>(), 512),
        sectors in 0..2_usize,
    ) {
        let (data, tag) = (&data[..sectors * 512], ArrayTag(tag));
        let kind = if sectors == 0 {
            RecordKind::Unmap { file, first_sector: first, sectors: first as u32 }
        } else {
            RecordKind::Write { file, first_sector: first, sectors: 1 }
        };
        let (follows, data_bytes) = (u64::from(follows), data.len() as u32);
        let durable = follows.saturating_sub(behind);
        let header = RecordHeader { sequence: follows + 1, follows, durable, kind, data_bytes };
        let bytes = header.encode(tag, data);
        prop_assert_eq!(RecordHeader::decode(&bytes, tag), Some(header));
        prop_assert!(RecordHeader::is_whole(&bytes, data));
        let whole = [&bytes[..], data].concat();
        for bit in 0..whole.len() * 8 {
            let flipped = flipped(&whole, bit);
            let (header, data) = flipped.split_at(RECORD_HEADER_BYTES);
            prop_assert!(!RecordHeader::is_whole(header.try_into().unwrap(), data), "bit {}", bit);
        }
    }

    #[test]
    fn redo_data_come_back(
        all in prop::collection::vec((any::<u16>(), any::<u32>(), block_tag(), any::<u8>()), 0..9),
        redo in any::<u64>(),
    ) {
        let blocks: Vec<RedoBlock> = all.into_iter().map(|(spindle, dbn, block_tag, byte)| RedoBlock {
            spindle: SpindleIndex(spindle),
            dbn: Dbn(u64::from(dbn)),
            block_tag: BlockTag { redo, ..block_tag },
            bytes: vec![byte; BLOCK_BYTES],
        }).collect();
        let writes: Vec<RedoWrite<'_>> = blocks.iter().map(|block| RedoWrite {
            spindle: block.spindle,
            first: block.dbn,
            block_tags: std::slice::from_ref(&block.block_tag),
            bytes: vec![&block.bytes],
        }).collect();
        let mut data = Vec::new();
        encode_redo(&writes, &mut data);
        prop_assert_eq!(data.len(), redo_data_bytes(blocks.len()));
        prop_assert_eq!(decode_redo(redo, &data), Some(blocks));
    }

    #[test]
    fn every_block_has_a_place_of_its_own(rows in 1..40_u64, spare in 0..65_u64) {
        let device = 16 + rows * 65 + 1 + spare;
        prop_assert_eq!(data_blocks(device), rows * 64);
        prop_assert_eq!(device_blocks_for(rows * 64), device - spare);
        let data = (0..rows * 64).map(|dbn| device_block(Dbn(dbn)));
        let mut places: Vec<u64> = data.chain((0..rows).map(checksum_block)).collect();
        places.sort_unstable();
        prop_assert_eq!(places, (16..16 + rows * 65).collect::<Vec<_>>());
    }

    #[test]
    fn an_identity_is_a_uuid(bytes in any::<[u8; 16]>()) {
        let identity = Identity::from_random(bytes);
        let text = identity.to_string();
        prop_assert_eq!(text.parse::<Identity>().unwrap(), identity);
        prop_assert_eq!((text.len(), text.as_bytes()[14]), (36, b'4'));
    }
}

fn sealed(mut block: Vec<u8>) -> Vec<u8> {
    let crc = crc32c::crc32c(&block[..4092]);
    block[4092..].copy_from_slice(&crc.to_le_bytes());
    block
}

fn some_label(sequence: u64) -> Label {
    Label {
        version: FORMAT,
        incompatible_features: 0,
        compatible_features: 0,
        array: Identity([1; 16]),
        own: Identity([2; 16]),
        position: 0,
        kind: DeviceKind::Spindle,
        sequence,
        device_blocks: 82,
        log_half_blocks: 0,
        redo_half_blocks: 0,
        members: vec![Member { identity: Identity([2; 16]), state: MemberState::Present }],
        groups: Vec::new(),
        logs: Vec::new(),
        configuration: String::new(),
    }
}

#[test]
fn other_versions_are_refused_by_name() {
    let block = some_label(1).encode().unwrap().bytes().to_vec();
    let with = |major: u16, minor: u16| {
        let mut block = block.clone();
        block[8..10].copy_from_slice(&major.to_le_bytes());
        block[10..12].copy_from_slice(&minor.to_le_bytes());
        Label::decode(&sealed(block))
    };
    assert_eq!(with(2, 0).unwrap().version, Version { major: 2, minor: 0 });
    assert_eq!(with(2, 7).unwrap().version, Version { major: 2, minor: 7 });
    for (major, minor) in [(3, 3), (1, 9), (0, 9)] {
        assert_eq!(
            with(major, minor).unwrap_err().to_string(),
            format!(
                "the label is of format {major}.{minor}, and this program reads format 2.0: use the version of Strewn that wrote it"
            )
        );
    }
    let mut features = block.clone();
    features[16] = 16;
    assert_eq!(
        Label::decode(&sealed(features)).unwrap_err(),
        DiskFormatError::UnknownFeatures { what: "label", unknown: 16 }
    );
    let mut newer = block.clone();
    newer[8] = 3;
    assert!(matches!(Label::of_copies(&block, &newer), Err(DiskFormatError::OtherVersion { .. })));
}

#[test]
fn of_two_copies_the_newer_good_one_is_the_label() {
    let [old, new] = [1, 2].map(|sequence| some_label(sequence).encode().unwrap().bytes().to_vec());
    let torn = [&new[..512], &old[512..]].concat();
    let zeros = vec![0; BLOCK_BYTES];
    let sequence =
        |first: &[u8], second: &[u8]| Label::of_copies(first, second).map(|of| of.sequence);
    assert_eq!(sequence(&old, &new), Ok(2));
    assert_eq!(sequence(&new, &old), Ok(2));
    assert_eq!(sequence(&torn, &old), Ok(1));
    assert_eq!(sequence(&zeros, &new), Ok(2));
    assert!(matches!(sequence(&zeros, &torn), Err(DiskFormatError::Damaged { .. })));
    assert!(matches!(sequence(&zeros, &zeros), Err(DiskFormatError::NotOurs { .. })));
}

#[test]
fn what_has_no_room_is_refused() {
    let mut label = some_label(1);
    label.configuration = "x".repeat(MAXIMUM_CONFIGURATION_BYTES + 1);
    assert!(label.encode().is_err());
    label.configuration.pop();
    assert!(label.encode().is_ok());
    label.members = vec![label.members[0]; MAXIMUM_MEMBERS + 1];
    assert!(label.encode().is_err());
}

#[test]
fn a_label_lists_the_sizes_of_parity_groups() {
    let member = some_label(1).members[0];
    let group = |spindles, device_blocks| MemberGroup { spindles, device_blocks };
    let label = Label {
        incompatible_features: FEATURE_PARITY_GROUPS,
        members: vec![member; 9],
        groups: vec![group(5, 82), group(4, 147)],
        ..some_label(3)
    };
    let block = label.encode().unwrap().bytes().to_vec();
    assert_eq!(Label::decode(&block).unwrap(), label);
    assert_eq!(label.spindles_of_groups(), [0..5, 5..9]);
    // Each device's own size is that of its group.
    let sizes: Vec<u64> = label.of_devices().iter().map(|(_, label)| label.device_blocks).collect();
    assert_eq!(sizes, [82, 82, 82, 82, 82, 147, 147, 147, 147]);

    let refused = |label: Label| assert!(label.encode().is_err(), "{label:?}");
    refused(Label { groups: vec![group(5, 82), group(5, 147)], ..label.clone() });
    refused(Label { groups: vec![group(9, 82)], ..label.clone() });
    refused(Label { groups: Vec::new(), ..label.clone() });
    refused(Label { incompatible_features: 0, ..label.clone() });
    let nine = vec![group(1, 82); MAXIMUM_GROUPS + 1];
    refused(Label { groups: nine, ..label });
    // A group more than the members are.
    let mut damaged = block;
    damaged[1236] = 6;
    let error = Label::decode(&sealed(damaged)).unwrap_err();
    assert!(error.to_string().contains("parity groups"), "{error}");
}

#[test]
fn the_newest_good_superblock_of_the_array_wins() {
    let of = |array: u8, consistency_point| {
        let root = Root { block: Some((Vbn(1), 2)), ..Root::default() };
        let array = Identity([array; 16]);
        Superblock {
            array,
            consistency_point,
            log_start: 1,
            log_durable: 0,
            map_sequences: [0; MAXIMUM_GROUPS],
            redo_start: 1,
            root,
            label_sequence: 1,
            clean: true,
        }
        .encode()
    };
    let mut damaged = of(1, 9);
    damaged.bytes_mut()[40] ^= 1;
    let slots = [of(1, 4), of(1, 5), of(2, 8), damaged];
    let newest = Superblock::newest(slots.iter().map(|slot| slot.bytes()), Identity([1; 16]));
    assert_eq!(
        newest.map(|superblock| (superblock.consistency_point, superblock.slot())),
        Some((5, 2))
    );
}

/// Any mixture of the sectors of two checksum blocks has each entry of one of them.
#[test]
fn a_torn_checksum_block_has_each_entry_old_or_new() {
    let place =
        |block| BlockAddress { tag: ArrayTag([5; 8]), spindle: SpindleIndex(3), dbn: Dbn(block) };
    let block = |consistency_point| -> Vec<u8> {
        let entry = |block| {
            let holds = BlockContents::lun(block * consistency_point);
            ChecksumEntry {
                data_crc: 7,
                place: place(block),
                block_tag: holds.into(),
                consistency_point,
            }
            .encode()
        };
        (0..64).flat_map(entry).collect()
    };
    let (old, new) = (block(1), block(2));
    for sectors in 0..256_u32 {
        let torn: Vec<u8> = (0..8)
            .flat_map(|sector| {
                let from = if sectors >> sector & 1 == 1 { &new } else { &old };
                &from[sector * 512..][..512]
            })
            .copied()
            .collect();
        for (number, entry) in (0..).zip(torn.as_chunks::<64>().0) {
            let EntryRead::Written(found) = ChecksumEntry::decode(entry, place(number)).unwrap()
            else {
                panic!("entry {number} is none")
            };
            assert_eq!(found.block_tag.holds, BlockContents::lun(number * found.consistency_point));
        }
    }
}

/// Offset, length and name of a field.
type Row = (usize, usize, String);

/// The tables of `docs/format.md`, by title.
fn documented() -> Vec<(String, Vec<Row>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/format.md");
    let mut tables: Vec<(String, Vec<Row>)> = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if let Some(title) = line.strip_prefix("## ") {
            tables.push((title.to_owned(), Vec::new()));
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, offset, bytes, name, ..] = cells[..]
            && let (Ok(offset), Ok(bytes)) = (offset.parse(), bytes.parse())
        {
            tables.last_mut().unwrap().1.push((offset, bytes, name.to_owned()));
        }
    }
    tables
}

#[test]
fn the_documented_tables_are_those_of_the_codecs() {
    let documented = documented();
    for (title, bytes, fields) in TABLES {
        let mut end = 0;
        for field in *fields {
            assert_eq!(field.offset, end, "{title}: {} follows without a gap", field.name);
            end += field.bytes;
        }
        assert_eq!(end, *bytes, "{title}");
        let fields: Vec<_> =
            fields.iter().map(|of| (of.offset, of.bytes, of.name.to_owned())).collect();
        let table = documented.iter().find(|(of, _)| of == title);
        assert_eq!(table.map(|(_, fields)| fields), Some(&fields), "{title}");
    }
}
