use super::*;
use crate::vdev::Redundancy;

#[test]
fn a_hurried_prefetch_waits_for_its_drive_s_next_command() {
    let redundancy = Redundancy::Mirror { drives: 1 };
    let vdev = Vdev { redundancy, ashift: 12, drive_bytes: 1 << 30, scale_down: 1 };
    let mut drives = Drives::new(&[vdev]);
    let first_sectors = |drives: &mut Drives| -> Vec<u64> {
        let touched: Vec<u16> = drives.touched.drain(..).collect();
        let mut first_sectors = Vec::new();
        for drive in touched {
            let queue = &mut drives.queues[usize::from(drive)];
            while let Some(issued) = queue.pop(0, &mut drives.members) {
                first_sectors.push(issued.first_sector - LABEL_START_BYTES / SECTOR_BYTES);
            }
        }
        first_sectors
    };
    // Far apart, so that none joins another: a drive has three asynchronous reads at most.
    for key in 0..5 {
        drives.read(0, key, Purpose::Prefetch, ((0, key << 24), 4_096), None);
    }
    let far = |key: u64| (key << 24) / SECTOR_BYTES;
    assert_eq!(first_sectors(&mut drives), [0, 1, 2].map(far));
    drives.hurry(0, 4);
    assert_eq!(first_sectors(&mut drives), [], "nothing is issued by the change itself");
    drives.read(0, 9, Purpose::Read, ((0, 9 << 24), 4_096), None);
    assert_eq!(first_sectors(&mut drives), [4, 9].map(far), "it goes with the next");
}
