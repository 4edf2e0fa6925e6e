//! Requests in flight that overlap: each is carried out after those that were submitted before it.

use strewn_base::Rng;
use strewn_live::device::Devices;
use strewn_live::engine::{Answer, HostRequest, LiveArray, RequestId, TargetId};
use strewn_live::restart::restart_write_anywhere;
use strewn_live::running::RunningArray;
use strewn_raid::Parity;

use super::in_place_rig::Rig;
use super::{config, fresh_devices};

const SECTOR: usize = 512;
const BURSTS: u64 = 120;
const REQUESTS_IN_BURST: u64 = 12;

/// The bytes of a range of sectors.
fn bytes_of(sectors: std::ops::Range<u64>) -> std::ops::Range<usize> {
    sectors.start as usize * SECTOR..sectors.end as usize * SECTOR
}

/// Any change from `first` on, which is also made to the model. Some have more than `piece` sectors.
fn any_change(
    rng: &mut Rng,
    first: u64,
    (piece, unmaps): (u64, bool),
    value: u8,
    model: &mut [u8],
) -> HostRequest {
    let lun_sectors = (model.len() / SECTOR) as u64;
    let sectors = match rng.below(30) {
        0 => rng.below(8) * piece + 1,
        1..10 => 8,
        _ => 1 + rng.below(24),
    };
    let sectors = first..(first + sectors).min(lun_sectors);
    match rng.below(5) {
        0 => {
            model[bytes_of(sectors.clone())].fill(0);
            HostRequest::Zero(sectors)
        }
        1 if unmaps => {
            let whole_blocks = first.next_multiple_of(8)..sectors.end / 8 * 8;
            if !whole_blocks.is_empty() {
                model[bytes_of(whole_blocks)].fill(0);
            }
            HostRequest::Unmap(sectors)
        }
        _ => {
            let data = vec![value; (sectors.end - first) as usize * SECTOR];
            model[bytes_of(sectors)].copy_from_slice(&data);
            HostRequest::Write { first_sector: first, data }
        }
    }
}

/// Submits changes without waiting for the earlier ones, and compares the LUN with a model that carries them out one
/// by one.
fn change_at_random<D: Devices, A: LiveArray>(array: &mut RunningArray<D, A>, rng: &mut Rng) {
    let lun_sectors = array.engine().target_sectors(TargetId::FIRST_LUN).unwrap();
    let mut model = vec![0; lun_sectors as usize * SECTOR];
    let piece = array.engine().piece_sectors();
    let (mut outstanding, mut answers) = (0, Vec::new());
    let mut wait_until = |array: &mut RunningArray<D, A>, outstanding: &mut usize, most: usize| {
        while *outstanding > most {
            array.poll(None);
            array.engine_mut().take_answers(&mut answers);
            *outstanding -= answers.len();
            assert!(answers.drain(..).all(|(_, answer)| answer == Ok(Answer::Done)));
        }
    };
    for burst in 0..BURSTS {
        // Where nothing is in the cache, most of the time.
        let base = rng.below(lun_sectors.saturating_sub(8 * piece).max(lun_sectors / 2) - 48);
        for number in 0..REQUESTS_IN_BURST {
            let id = burst * REQUESTS_IN_BURST + number;
            let value = 1 + (id % 255) as u8;
            // Several pieces later, where a large one may not have come yet.
            let pieces = if rng.one_in(4) { rng.below(8) } else { 0 };
            let first = base + rng.below(24) + pieces * piece;
            let first = first.min(lun_sectors - 1);
            let change = any_change(rng, first, (piece, A::SUPPORTS_UNMAP), value, &mut model);
            array.submit(RequestId(id), TargetId::FIRST_LUN, change);
            outstanding += 1;
            wait_until(array, &mut outstanding, 2 * REQUESTS_IN_BURST as usize);
        }
    }
    wait_until(array, &mut outstanding, 0);
    for first in (0..lun_sectors).step_by(64) {
        let sectors = first..(first + 64).min(lun_sectors);
        let read = HostRequest::Read(sectors.clone());
        let answer = array.ask(RequestId(0), TargetId::FIRST_LUN, read);
        assert!(
            answer == Ok(Answer::Bytes(model[bytes_of(sectors.clone())].to_vec())),
            "{sectors:?}"
        );
    }
}

#[test]
fn changes_that_overlap_are_carried_out_in_the_order_of_their_submission() {
    for seed in 0..4 {
        println!("write-anywhere, seed {seed}");
        let config = config(Parity::RaidDp, 5);
        let (devices, beginning) = fresh_devices(seed, &config);
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        change_at_random(&mut array, &mut Rng::new(seed));
        array.shut_down().unwrap();
    }
}

#[test]
fn in_place_too() {
    for seed in 0..10 {
        println!("in place, seed {seed}");
        let mut rig = Rig::new(seed);
        rig.start();
        change_at_random(rig.running(), &mut Rng::new(seed));
        rig.shut_down();
    }
}
