//! Whole arrays under faults.

use strewn_live::configuration::LayoutName;
use strewn_torture::{Options, ScheduleKind, Summary, layout_of, run};

fn all_hold(seeds: impl IntoIterator<Item = u64>, layout: Option<LayoutName>) -> Summary {
    all_hold_with(seeds, Options { layout, ..Options::default() })
}

/// Schedules that were found before arrays had several LUNs.
fn with_one_lun_hold(seeds: impl IntoIterator<Item = u64>, layout: Option<LayoutName>) {
    all_hold_with(seeds, Options { layout, single_lun: true, ..Options::default() });
}

fn all_hold_with(seeds: impl IntoIterator<Item = u64>, options: Options) -> Summary {
    let (mut all, mut failures) = (Summary::default(), Vec::new());
    for seed in seeds {
        match run(seed, options) {
            Ok(summary) => all += summary,
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    all
}

#[test]
fn schedules_of_all_kinds_hold() {
    for kind in ScheduleKind::ALL {
        for layout in LayoutName::ALL {
            let is = |seed: &u64| ScheduleKind::of(*seed) == kind && layout_of(*seed) == layout;
            assert!((0..200).filter(is).count() >= 5, "{kind:?} {layout}");
        }
    }
    let all = all_hold(0..200, None);
    assert!(all.log_faults > 0 && all.logs_replaced > 0, "{all:?}");
    assert!(all.copies > 20 && all.scrubs > 100, "{all:?}");
    assert!(all.changes > 300 && all.changes_refused > 0 && all.snapshots > 50, "{all:?}");
}

/// Hosts are answered while there is no space, on every layout; nothing acknowledged is lost, and no array hangs.
#[test]
fn arrays_without_space_for_a_while_answer_and_go_on() {
    for layout in LayoutName::ALL {
        let seeds = (200..700).filter(|seed| ScheduleKind::of(*seed) == ScheduleKind::NoRoom);
        let options = Options { layout: Some(layout), ..Options::default() };
        let mut all = Summary::default();
        for seed in seeds {
            all += run(seed, options).unwrap_or_else(|failure| panic!("{failure}"));
        }
        assert!(all.refused_for_space > 0 && all.crashes > 0 && all.stops > 0, "{all:?}");
    }
}

/// The power failed when only the log's device had the label of an added parity group, and that device was lost.
#[test]
fn regression_an_addition_is_undone_if_all_that_knew_of_it_are_lost() {
    let summary = all_hold([2062, 2265], Some(LayoutName::Raid4));
    assert_eq!(summary.additions_undone, 2);
}

/// The power goes while an array starts that rebuilds a spindle: none of the others answers.
#[test]
fn a_start_without_spindles_to_rebuild_from_is_refused() {
    with_one_lun_hold([1406], Some(LayoutName::RaidDp));
}

/// Blocks turn out bad while the others of their stripes are being read for a rebuild: what these do not suffice for
/// any more is read again, and not left out.
#[test]
fn regression_a_block_that_turns_out_bad_while_its_stripe_is_rebuilt() {
    with_one_lun_hold([539], Some(LayoutName::RaidDp));
}

/// Where blocks were bad, the steps of a rebuild ended amid rows. Tetrises in such a row took the spindle for whole,
/// and were not kept out of the rest of the row while it was rebuilt.
#[test]
fn regression_a_rebuild_goes_row_by_row_where_blocks_are_bad() {
    with_one_lun_hold([7838, 8351], Some(LayoutName::RaidDp));
}

/// A write of parity was lost: a block rebuilt from it is not what was written, and is computed once more without it.
#[test]
fn regression_a_rebuild_does_without_parity_that_is_old() {
    with_one_lun_hold([71, 16514], Some(LayoutName::RaidDp));
}

/// A read of blocks in place waited for space, because a neighbour was being written back.
#[test]
fn regression_reads_in_place_are_answered_without_space() {
    with_one_lun_hold([12378], Some(LayoutName::Vraid5));
    with_one_lun_hold([14678], Some(LayoutName::Raid5));
}

/// Two blocks of one read were wrong in different ways: parity of one was unreadable, of the other it was old.
#[test]
fn regression_each_stripe_of_a_read_is_doubted_by_itself() {
    with_one_lun_hold([12849], Some(LayoutName::RaidDp));
}

/// A power loss tore the first record that was to overwrite a free half of one device's redo records.
#[test]
fn regression_redo_records_that_are_being_overwritten_are_not_lost() {
    with_one_lun_hold([5259, 15459], Some(LayoutName::Vraid5));
}

/// A spindle is lost while an array starts, and the power fails before the labels say so.
#[test]
fn regression_a_spindle_that_returns_knows_which_zones_are_initialized() {
    with_one_lun_hold([19972], Some(LayoutName::Vraid5));
}

/// Blocks of a deleted LUN that a snapshot holds were rebuilt under the names of other blocks, and were not verified
/// when they were read for parity.
#[test]
fn regression_blocks_of_deleted_luns_are_verified_and_rebuilt() {
    all_hold([401, 561, 721, 961], Some(LayoutName::RaidDp));
    all_hold([781], Some(LayoutName::Raid4));
}

/// A snapshot of a volume whose only LUN has one block was read without the indirect block of that LUN.
#[test]
fn regression_a_lun_of_one_block_has_an_indirect_block() {
    all_hold([526, 567, 921, 927], Some(LayoutName::RaidDp));
    all_hold([182, 986], Some(LayoutName::Raid4));
}

/// Parity was rebuilt from a block that lacked its last write, although the pointer to the block told.
#[test]
fn regression_parity_is_not_rebuilt_from_old_blocks() {
    all_hold([169], Some(LayoutName::RaidDp));
}

/// The first write of parity that is zeros was lost. A scrub found nothing, and the stripe was refused once another
/// spindle was lost.
#[test]
fn regression_parity_of_zeros_whose_first_write_was_lost() {
    all_hold([74, 232], Some(LayoutName::Raid5));
    all_hold([91, 173], Some(LayoutName::Vraid5));
}

/// Both devices of a mirrored log were replaced, one after the other, when no redo record was needed any more. The log
/// then counted as never durable, and rebuilt parity as older than its data.
#[test]
fn regression_parity_is_as_new_as_its_data_once_both_logs_were_replaced() {
    all_hold([1792], Some(LayoutName::Raid5));
}

/// Rebuilt and repaired data had no record number, so parity that lacked its last write passed for newer: a scrub put
/// old contents in its place.
#[test]
fn regression_rebuilt_data_is_as_new_as_its_parity() {
    all_hold([4511, 4871, 7271, 10052, 11071, 11351, 11911, 12071, 12131, 14991, 19471], None);
    all_hold([7411, 10052, 12131, 19471], Some(LayoutName::Vraid5));
}

/// A power loss tore the first record of a half of one device's redo records, and spared an older one's beginning.
#[test]
fn regression_redo_records_that_are_overwritten_in_part_are_not_lost() {
    all_hold([5834], Some(LayoutName::Raid5));
}

/// A refused write was there, and a later one of zeros was taken for an earlier one of zeros.
#[test]
fn regression_zeros_do_not_tell_which_write_is_there() {
    all_hold([10218], Some(LayoutName::Vraid5));
}
