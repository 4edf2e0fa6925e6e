use super::*;

/// Of a LUN of 100,000 sectors: 1,024 sectors ahead, in chunks of 512.
fn streams() -> Streams {
    Streams::new(100_000, 1_024, 512)
}

/// Reads `sectors` from `first` on, `count` times, and returns what is read ahead after each.
fn read(streams: &mut Streams, first: u64, sectors: u64, count: u64) -> Vec<Option<Range<u64>>> {
    let read = |number| {
        let first = first + number * sectors;
        streams.note_read(first..first + sectors)
    };
    (0..count).map(read).collect()
}

#[test]
fn the_second_read_in_a_row_that_goes_on_begins_a_stream() {
    let ahead = read(&mut streams(), 0, 128, 4);
    assert_eq!(ahead, [None, None, Some(384..512), Some(512..1_536)]);
}

#[test]
fn a_stream_grows_to_its_window_and_asks_for_whole_chunks() {
    let mut streams = streams();
    let ahead = read(&mut streams, 0, 128, 40);
    let asked: Vec<_> = ahead.into_iter().flatten().collect();
    assert!(asked.windows(2).all(|two| two[0].end == two[1].start), "{asked:?}");
    assert_eq!(asked[..2], [384..512, 512..1_536]);
    assert!(asked[2..].iter().all(|one| one.end - one.start == 512), "{asked:?}");
    // 40 reads have come to 5,120, and two chunks are ahead.
    assert_eq!(asked.last().unwrap().end, 5_120 + 1_024);
}

/// Two at full scale, whatever the file; more where streams would begin by chance in a file that is scaled down.
#[test]
fn more_reads_begin_a_stream_only_where_chance_would() {
    let blocks_of_4_gib = 1 << 20;
    for places in [1, 100, blocks_of_4_gib, u64::MAX] {
        assert_eq!(stream_matches(places, 1), 2, "{places} at full scale");
    }
    assert_eq!([8, 64].map(|by| stream_matches(blocks_of_4_gib / u64::from(by), by)), [3, 4]);
    assert_eq!([8, 64].map(|by| stream_matches(25 * blocks_of_4_gib / u64::from(by), by)), [2, 3]);
    assert_eq!(stream_matches(u64::MAX, 64), 2);
    assert!(stream_matches(0, u32::MAX) < 30);
}

#[test]
fn random_reads_of_a_file_scaled_down_begin_no_stream() {
    let (by, blocks) = (64, (4 << 30) / 4096 / 64);
    let begun = |matches| {
        let mut streams = Streams::new(blocks * 8, 1_024, 512);
        streams.set_matches(matches);
        let mut rng = strewn_base::Rng::new(3);
        for _ in 0..50_000 {
            let first = rng.below(blocks) * 8;
            streams.note_read(first..first + 8);
        }
        streams.in_use
    };
    assert_eq!(begun(stream_matches(blocks, by)), 0, "seed 3");
    assert!(begun(MATCHES_NEEDED) > 5, "seed 3");
}

#[test]
fn as_many_streams_as_there_is_room_for_go_on_at_once() {
    let mut streams = streams();
    for number in 0..20u64 {
        for stream in 0..MOST_STREAMS as u64 {
            let first = stream * 5_000 + number * 128;
            let ahead = streams.note_read(first..first + 128);
            assert!(number != 2 || ahead.is_some(), "stream {stream} is not recognized");
        }
    }
    assert!(streams.streams.iter().all(|stream| stream.next % 5_000 == 20 * 128));
}

#[test]
fn one_stream_too_many_replaces_the_one_that_rested_longest() {
    let mut streams = streams();
    for stream in 0..=MOST_STREAMS as u64 {
        read(&mut streams, stream * 5_000, 128, 4);
    }
    assert!(!streams.streams.iter().any(|stream| stream.next == 4 * 128));
    assert!(streams.streams.iter().any(|stream| stream.next == 5_000 + 4 * 128));
}

#[test]
fn random_reads_between_those_of_a_stream_do_not_end_it() {
    let mut streams = streams();
    read(&mut streams, 0, 128, 4);
    for number in 0..1_000 {
        assert_eq!(streams.note_read(50_000 + number * 37..50_000 + number * 37 + 8), None);
    }
    assert!(read(&mut streams, 512, 128, 4).iter().flatten().count() > 0);
}

#[test]
fn pairs_of_adjacent_reads_read_nothing_ahead() {
    let mut streams = streams();
    for number in 0..1_000 {
        assert_eq!(read(&mut streams, number * 97, 8, 2), [None, None]);
    }
}

#[test]
fn reads_out_of_order_belong_to_their_stream() {
    let mut streams = streams();
    read(&mut streams, 0, 128, 8);
    let of = |first: u64| first..first + 128;
    for [first, second] in [[1_152, 1_024], [1_408, 1_280], [1_664, 1_536]] {
        streams.note_read(of(first));
        streams.note_read(of(second));
    }
    assert_eq!((streams.in_use, streams.streams[0].next), (1, 1_792));
}

#[test]
fn a_stream_ends_with_its_lun() {
    let mut streams = Streams::new(1_003, 1_024, 512);
    let ahead = read(&mut streams, 0, 128, 7);
    assert_eq!(ahead.into_iter().flatten().next_back().map(|last| last.end), Some(1_000));
}

#[test]
fn what_could_not_be_read_ahead_is_asked_for_again() {
    let mut streams = streams();
    assert_eq!(read(&mut streams, 0, 128, 4)[3], Some(512..1_536));
    streams.stops_at(600);
    assert_eq!(streams.note_read(512..640), Some(640..1_536));
}

#[test]
fn a_window_smaller_than_a_chunk_is_divided_in_two() {
    let mut streams = Streams::new(100_000, 128, 512);
    let asked: Vec<_> = read(&mut streams, 0, 16, 100).into_iter().flatten().collect();
    assert!(asked[2..].iter().all(|one| one.end - one.start == 64), "{asked:?}");
}

#[test]
fn operations_wait_for_the_blocks_that_they_lack_and_no_others() {
    let mut waiters = Waiters::default();
    for block in [10, 11, 12, 20] {
        waiters.add(1, block..block + 1);
    }
    waiters.add(2, 11..14);
    assert_eq!(waiters.take(&(0..10)), None);
    assert_eq!(waiters.take(&(11..12)), Some((1, 11..12)));
    assert_eq!(waiters.take(&(11..12)), Some((2, 11..12)));
    assert_eq!(waiters.take(&(11..12)), None);
    let mut rest = Vec::new();
    while let Some(one) = waiters.take(&(0..100)) {
        rest.push(one);
    }
    assert_eq!(rest, [(1, 10..11), (1, 12..13), (1, 20..21), (2, 12..14)]);
    assert!(waiters.is_empty());
}
