//! Real file systems on loop devices.
//!
//! What is missing makes a test *ignored*, with the reason; `STREWN_REQUIRE_ALL=1` makes it fail instead.
#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![allow(clippy::unwrap_used)]

#[cfg(target_os = "linux")]
mod btrfs;
#[cfg(target_os = "linux")]
mod free_space;
#[cfg(target_os = "linux")]
mod loops;
#[cfg(target_os = "linux")]
mod stack;

#[cfg(target_os = "linux")]
strewn_testing::main![
    btrfs::single_is_translated,
    btrfs::dup_is_translated,
    btrfs::raid0_is_translated,
    btrfs::raid1_is_translated,
    btrfs::raid1c3_is_translated,
    btrfs::raid10_is_translated,
    btrfs::raid5_is_translated,
    btrfs::raid6_is_translated,
    btrfs::changed_fsid_is_translated,
    btrfs::small_nodes_are_translated,
    btrfs::a_file_system_is_read_while_it_is_written,
    btrfs::a_missing_device_leaves_the_other_copy,
    free_space::of_ext4_is_that_of_e2freefrag,
    free_space::of_ext4_with_clusters_is_that_of_the_kernel,
    free_space::of_xfs_is_that_of_its_histogram,
    free_space::of_btrfs_is_that_of_its_free_space_tree,
    free_space::of_a_full_btrfs_is_none,
    stack::a_loop_device_is_on_its_file_and_that_on_its_device,
    stack::a_partition_is_a_part_of_its_disk,
];

#[cfg(not(target_os = "linux"))]
fn main() {}
