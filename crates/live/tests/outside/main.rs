//! Live arrays with what a machine may lack: mounts, loop devices, file-system tools, other people's NBD clients.
//!
//! What is missing makes a test *ignored*, with the reason; `STREWN_REQUIRE_ALL=1` makes it fail instead.
#![cfg_attr(not(unix), allow(unused))]
#![allow(clippy::unwrap_used)]

#[cfg(unix)]
#[allow(dead_code)]
#[path = "../live/nbd/client.rs"]
mod client;
#[cfg(unix)]
mod device;
#[cfg(unix)]
#[path = "../live/assembly/common.rs"]
#[allow(dead_code)]
mod folder;
#[cfg(unix)]
#[allow(dead_code)]
#[path = "../live/nbd/memory.rs"]
mod memory;
#[cfg(unix)]
mod nbd_tools;
#[cfg(unix)]
mod permissions;
#[cfg(unix)]
mod probe;
#[cfg(unix)]
mod space;
#[cfg(unix)]
#[allow(dead_code)]
#[path = "../live/device/support.rs"]
mod support;

#[cfg(unix)]
strewn_testing::main![
    device::a_full_file_system_is_no_space,
    device::what_only_the_dead_have_is_waited_for,
    device::a_block_device_is_ours_alone,
    nbd_tools::nbdinfo_reads_what_is_offered,
    nbd_tools::nbdinfo_lists_several_exports,
    nbd_tools::nbdcopy_brings_back_what_it_took,
    nbd_tools::qemu_io_writes_patterns_zeroes_and_discards,
    nbd_tools::fio_verifies_what_it_wrote,
    nbd_tools::libnbd_asks_for_all_that_there_is,
    permissions::a_device_without_permission_is_not_taken_for_lost,
    probe::ext4_is_known,
    probe::ext3_is_known,
    probe::ext2_is_known,
    probe::swap_space_is_known,
    probe::btrfs_is_known,
    probe::fat32_is_known,
    probe::ntfs_is_known,
    probe::an_mbr_is_known,
    probe::a_gpt_is_known,
    space::a_served_array_is_read_without_space_and_written_when_there_is_some,
];

#[cfg(not(unix))]
fn main() {}
