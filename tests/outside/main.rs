//! The command as its users run it: as a server that is killed, beside fio, qemu, libnbd, e2fsprogs and Chromium,
//! without permission, on a cluster, and its page in a browser.
//!
//! Two loads show at once what survives SIGKILL. A client here keeps a model of the LUN: it knows, sector by sector,
//! which requests were answered and which were in flight when the server died. No answered write may be missing, and
//! each piece of a write in flight must be there whole or not at all. fio cannot continue without its server, so each
//! round runs two of its jobs: one completes before the server dies, and its region is verified after every later
//! restart; the other is in flight in a region that nobody checks.
//!
//! A test whose tools are missing is reported as ignored, with the reason, and fails with STREWN_REQUIRE_ALL=1. Random
//! tests print their seed.
#![allow(clippy::unwrap_used)]

#[cfg(unix)]
mod array;
#[cfg(unix)]
mod browser;
#[cfg(unix)]
mod chromium;
#[cfg(unix)]
#[allow(dead_code)]
#[path = "../../crates/live/tests/live/nbd/client.rs"]
mod client;
#[cfg(unix)]
#[allow(dead_code)]
#[path = "../command/common.rs"]
mod common;
#[cfg(unix)]
mod copies;
#[cfg(target_os = "linux")]
mod files;
#[cfg(unix)]
mod fio;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod kubernetes;
#[cfg(unix)]
mod latex;
#[cfg(unix)]
mod log;
#[cfg(target_os = "linux")]
#[allow(dead_code)]
#[path = "../../crates/file/tests/outside/loops.rs"]
mod loops;
#[cfg(unix)]
mod luns;
#[cfg(unix)]
mod metrics;
#[cfg(unix)]
mod model;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod permissions;
#[cfg(unix)]
mod playground;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod qemu;
#[cfg(unix)]
mod read_only;
#[cfg(unix)]
mod slurm;
#[cfg(unix)]
mod sweeps;
#[cfg(unix)]
mod tools;

#[cfg(unix)]
strewn_testing::main![
    browser::the_page_of_real_spindles_has_the_figures_of_its_results,
    browser::the_page_of_a_sweep_draws_every_choice_of_axes,
    browser::the_page_loads_its_slider_moves_the_map_and_its_figures_are_those_of_the_results,
    copies::a_file_system_comes_back_as_it_was,
    copies::nbdinfo_is_told_what_the_lun_is,
    files::commands::on_ext4_are_those_that_the_kernel_counts,
    files::commands::on_xfs_are_those_that_the_kernel_counts,
    files::commands::on_btrfs_are_those_that_the_kernel_counts_and_fall_by_defragmentation,
    files::commands::on_btrfs_raid1_are_those_that_the_kernel_counts,
    files::commands::on_btrfs_raid10_are_those_that_the_kernel_counts,
    files::commands::on_btrfs_raid5_are_those_that_the_kernel_counts,
    files::edges::compressed_bytes_are_counted_as_such,
    files::edges::compressed_clusters_are_counted_and_said,
    files::edges::inline_unwritten_sparse_and_empty_files_take_no_command,
    files::edges::reflinks_and_snapshots_are_shared,
    files::edges::files_may_be_as_large_as_their_file_system_allows,
    files::edges::what_is_no_regular_file_is_named_and_not_waited_for,
    files::edges::a_file_without_permission_is_named_with_what_to_do,
    files::edges::a_file_of_tmpfs_lies_nowhere,
    files::edges::a_file_of_an_overlay_lies_where_the_layer_has_it,
    files::edges::a_file_of_fuse_says_where_to_look_instead,
    files::edges::a_file_that_is_written_to_meanwhile_has_a_note,
    files::names::strange_names_are_shown_harmlessly_and_found_again,
    files::names::names_that_are_no_text_are_told_apart,
    files::names::many_names_of_one_file_are_one_file,
    files::trees::memory_does_not_grow_with_extents,
    files::trees::a_tree_is_looked_at_as_far_as_possible_and_until_stopped,
    files::trees::a_tree_ends_at_its_file_system_if_asked,
    killed::what_was_answered_survives_twenty_kills,
    killed::what_was_answered_survives_kills_of_raid_4,
    killed::spindles_that_are_lost_with_the_server_are_made_good,
    latex::tables_of_awkward_names_can_be_included_in_a_paper,
    log::regression_a_log_that_has_lost_acknowledged_writes_is_not_taken_for_whole,
    log::regression_a_log_from_before_is_known,
    log::a_log_that_is_not_needed_is_replaced_and_one_that_is_only_when_told_to,
    page::the_commands_of_the_page_do_what_it_says,
    playground::the_page_runs_and_gives_the_bytes_of_the_command,
    playground::a_link_has_the_whole_scenario,
    playground::bad_input_has_a_place_and_a_remedy,
    playground::a_run_is_stopped_and_keeps_what_it_has,
    playground::regression_a_run_that_fails_at_once_has_an_end,
    playground::everything_that_ships_can_be_chosen,
    playground::the_page_fits_a_phone_and_is_small,
    permissions::without_permission_nothing_is_opened_or_written,
    processes::one_process_has_an_array_at_a_time,
    processes::asked_to_end_it_leaves_everything_on_the_spindles,
    processes::what_is_wrong_while_it_is_served_is_said,
    processes::asked_to_end_under_load_it_answers_what_it_took,
    processes::sixteen_clients_each_find_what_they_wrote,
    luns::four_luns_a_snapshot_and_a_clone_are_worked_on_at_once,
    kubernetes::kubectl_creates_the_job_in_a_dry_run,
    kubernetes::kubectl_knows_every_field_of_the_job,
    metrics::another_parser_reads_what_an_array_tells,
    metrics::promtool_finds_nothing_wrong_with_metrics_and_rules,
    qemu::patterns_zeroes_and_holes_are_as_qemu_has_them,
    read_only::regression_a_read_only_file_system_is_called_that,
    sweeps::a_slurm_array_that_loses_a_task_and_a_node_gives_the_same_bytes,
    sweeps::tasks_by_an_index_of_the_environment_in_any_order_give_the_same_bytes,
];

/// Arrays on real spindles, and with them these tests, are for Unix.
#[cfg(not(unix))]
fn main() {}
