use super::*;

fn request(layout: LayoutName) -> ArraySpec {
    ArraySpec {
        layout,
        data_spindles: 6,
        spindle_bytes: 512 << 20,
        lun_bytes: 1 << 30,
        log_half_bytes: None,
        cache_bytes: None,
    }
}

#[test]
fn few_words_make_a_whole_array_that_a_label_has_room_for() {
    for layout in LayoutName::ALL {
        let planned = request(layout).plan().unwrap();
        assert_eq!(planned.layout_name(), layout);
        assert_eq!(planned.spindles(), request(layout).spindles());
        assert_eq!(planned.lun_bytes(), 1 << 30);
        assert_eq!(planned.log_half_bytes, 64 << 20);
        let text = planned.to_toml().unwrap();
        assert!(text.len() < 1024, "{text}");
        assert_eq!(Configuration::from_toml(&text).unwrap(), planned, "{text}");
        let unknown = format!("colour = 1\n{text}");
        let error = Configuration::from_toml(&unknown).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }
}

/// The text is on every spindle of arrays that exist: no key of it may change.
#[test]
fn labels_of_arrays_that_exist_are_read_and_written_alike() {
    let write_anywhere = r#"lun_blocks = 24576
blocks_per_spindle = 32192
log_half_bytes = 6291456
cache_bytes = 25165824

[layout.write-anywhere]
parity = "raid-dp"
data_spindles = 4
volume_blocks = 102890
policy = "emptiest-area"
area_stripes = 4096
tetris_stripes = 64
chunk_blocks = 64
tetrises_in_flight = 2
checkpoint_interval_ms = 10000
protected_percent = 50
dirty_limit_percent = 30
delayed_free_blocks = 245
"#;
    let in_place = r#"lun_blocks = 24576
blocks_per_spindle = 32192
log_half_bytes = 6291456
cache_bytes = 25165824

[layout.in-place]
stripes = "over-all"
redundancy_sets = [5]
chunk_bytes = 131072
segment_bytes = 2097152
destage_low_percent = 10
destages_per_spindle = 8
"#;
    for text in [write_anywhere, in_place] {
        assert_eq!(Configuration::from_toml(text).unwrap().to_toml().unwrap(), text);
    }
}

#[test]
fn what_is_planned_is_an_array_and_its_largest_lun_too() {
    use strewn_array::in_place::InPlace;
    use strewn_array::write_anywhere::WriteAnywhere;

    for layout in LayoutName::ALL {
        let mut request = request(layout);
        request.lun_bytes = request.largest_lun_bytes();
        match request.plan().unwrap().array().unwrap() {
            ArrayConfig::WriteAnywhere(config) => {
                let array = WriteAnywhere::<()>::empty(config).unwrap();
                assert!(array.keys().end() > array.keys().data().end);
            }
            ArrayConfig::InPlace(config) => drop(InPlace::<()>::new(config).unwrap()),
        }
        let largest = request.lun_bytes;
        request.lun_bytes += 1 << 20;
        match request.plan().unwrap_err() {
            ConfigurationError::LunTooLarge { largest_bytes, .. } => {
                assert_eq!(largest_bytes, largest);
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn what_cannot_be_is_said_with_the_value_and_what_can() {
    let of = |change: &dyn Fn(&mut ArraySpec)| {
        let mut request = request(LayoutName::RaidDp);
        change(&mut request);
        let error = request.plan().unwrap_err();
        format!("{error}; {}", error.remedy())
    };
    let cases = [
        (of(&|request| request.lun_bytes = 1 << 40), "a LUN of 1 TiB does not fit"),
        (of(&|request| request.lun_bytes = 0), "a LUN of 0 B; give it 1 MiB"),
        (of(&|request| request.data_spindles = 0), "1 to 26 data spindles; 2 more"),
        (of(&|request| request.data_spindles = 27), "1 to 26 data spindles; 2 more"),
        (of(&|request| request.data_spindles = u16::MAX), "1 to 26 data spindles"),
        (of(&|request| request.spindle_bytes = 64 << 10), "spindles of 64 KiB are too small"),
        (of(&|request| request.spindle_bytes = 0), "spindles of 0 B are too small"),
        (of(&|request| request.spindle_bytes = 1 << 20), "spindles of 1 MiB are too small"),
        (of(&|request| request.log_half_bytes = Some(4096)), "half a log of 4 KiB"),
        (of(&|request| request.cache_bytes = Some(0)), "a cache of 0 B"),
        (of(&|request| request.cache_bytes = Some(8 << 30)), "smaller log or cache"),
        (of(&|request| request.lun_bytes = u64::MAX), "a LUN of 16777215.9 TiB"),
        (of(&|request| request.spindle_bytes = u64::MAX), "more bytes than 64 bits can count"),
        (of(&|request| request.spindle_bytes = 16 << 40), "takes less than 16 TiB"),
        (
            of(&|request| (request.spindle_bytes, request.lun_bytes) = (2 << 40, 8 << 40)),
            "at most 8 TiB of LUNs",
        ),
        (
            of(&|request| (request.layout, request.data_spindles) = (LayoutName::Vraid5, 4)),
            "5 to 64 spindles",
        ),
        (
            of(&|request| (request.layout, request.data_spindles) = (LayoutName::Vraid5, 65)),
            "5 to 64 spindles",
        ),
        (
            of(&|request| (request.layout, request.data_spindles) = (LayoutName::Raid5, 1)),
            "2 to 63 data spindles; 1 more",
        ),
        (
            of(&|request| (request.layout, request.data_spindles) = (LayoutName::Raid5, 64)),
            "2 to 63 data spindles",
        ),
    ];
    for (message, fragment) in cases {
        assert!(message.contains(fragment), "no {fragment:?} in {message}");
    }
    assert!("raid-6".parse::<LayoutName>().unwrap_err().to_string().contains("raid-dp"));
}
