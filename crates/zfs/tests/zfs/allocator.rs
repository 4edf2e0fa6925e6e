//! The allocator is given the sizes of blocks in the order of a real pool, and what that pool freed when. It must put
//! each block where the real one put it, and print the same FRAG.

use std::collections::HashMap;

use strewn_zfs::{Contents, Dva, Pool};

use crate::recording::{BlockName, Event, Recording, full, whole};

#[test]
fn each_block_goes_where_the_real_allocator_put_it() {
    let full = full();
    for recording in whole().iter().chain(&full) {
        let (blocks, headers, groups) = replay(recording);
        println!(
            "{}: {blocks} blocks, {headers} headers, {groups} transaction groups",
            recording.name
        );
        assert_eq!(headers > 100, recording.name.starts_with("full-"));
        assert!(blocks > 5_000 && groups > 15, "{} is recorded", recording.name);
    }
}

/// Returns blocks and pieces of blocks, headers of those in pieces, and transaction groups.
fn replay(recording: &Recording) -> (usize, usize, usize) {
    let mut pool = recording.pool();
    let (mut blocks, mut headers, mut groups) = (0, 0, 0);
    let mut now = (0, 1);
    let mut ended = Vec::new();
    // Blocks that found no room in one piece: copies, and the header when it is there.
    let mut divided: HashMap<BlockName, (usize, Option<Vec<Dva>>)> = HashMap::new();
    let events = recording.events();
    for (number, event) in events.iter().enumerate() {
        let name = format!("{}, line {}: {event:?}", recording.name, number + 1);
        match event {
            Event::Allocate { at, block, bytes, copies } => {
                begin(&mut pool, &mut now, *at);
                let contents = if block.is_data() { Contents::Data } else { Contents::Metadata };
                let (placed, in_pieces) = pool.place(contents, *bytes, copies.len()).unwrap();
                assert_eq!((&*placed, in_pieces), (&**copies, false), "{name}");
                blocks += 1;
            }
            Event::NoRoom { at, block, bytes, copies, is_piece } => {
                begin(&mut pool, &mut now, *at);
                let placed = match is_piece {
                    true => pool.allocate_piece(*bytes, *copies),
                    false => {
                        divided.insert(*block, (*copies, None));
                        pool.allocate(*bytes, *copies)
                    }
                };
                assert_eq!(placed.ok(), None, "{name}");
            }
            Event::AllocateHeader { block, copies, .. } => {
                let (of_block, leader) = divided.get_mut(block).unwrap();
                let placed = pool.allocate_header(*of_block, leader.as_deref()).unwrap();
                assert_eq!(&*placed, &**copies, "{name}");
                leader.get_or_insert_with(|| copies.clone());
                headers += 1;
            }
            Event::AllocatePiece { at, bytes, copies } => {
                begin(&mut pool, &mut now, *at);
                let placed = pool.allocate_piece(*bytes, copies.len()).unwrap();
                assert_eq!(&*placed, &**copies, "{name}");
                blocks += 1;
            }
            Event::Join { vdev } => recording.join(&mut pool, *vdev),
            Event::Free { at, copy } => {
                begin(&mut pool, &mut now, *at);
                pool.free(Dva { ..*copy });
            }
            Event::End { txg, .. } => {
                // One for each vdev that it has changed.
                ended.push(event);
                if ends(events.get(number + 1), *txg) {
                    continue;
                }
                pool.sync_pass();
                pool.sync_done();
                ended.drain(..).for_each(|event| check_end(&pool, event, &name));
                groups += 1;
            }
            Event::Other => {}
        }
    }
    (blocks, headers, groups)
}

fn ends(event: Option<&Event>, group: u64) -> bool {
    matches!(event, Some(Event::End { txg, .. }) if *txg == group)
}

/// An event of a later sync pass of the same transaction group ends the pass before.
fn begin(pool: &mut Pool, now: &mut (u64, u32), at: (u64, u32)) {
    if at.0 == now.0 && at.1 != now.1 {
        pool.sync_pass();
    }
    *now = at;
}

fn check_end(pool: &Pool, event: &Event, name: &str) {
    let Event::End { vdev, frag, allocated, metaslabs, .. } = event else { unreachable!() };
    assert_eq!(pool.fragmentation_of(*vdev), *frag, "FRAG of vdev {vdev}, {name}");
    assert_eq!(pool.allocated_on(*vdev), *allocated, "bytes in use on vdev {vdev}, {name}");
    assert_eq!(&pool.metaslabs_of(*vdev).collect::<Vec<_>>(), metaslabs, "vdev {vdev}, {name}");
}
