//! Devices that do no wrong, but everything in any order.

use super::rig::Rig;

#[test]
fn what_is_read_is_what_was_written() {
    for seed in strewn_testing::seeds(8, 30) {
        let mut rig = Rig::new(seed);
        for _ in 0..400 {
            for _ in 0..rig.rng.below(6) {
                rig.anything();
            }
            if rig.rng.one_in(30) && !rig.is_flushing() {
                rig.flush();
            }
            rig.submit();
            for _ in 0..rig.rng.below(12) {
                rig.step();
                if rig.rng.one_in(2) {
                    rig.submit();
                }
            }
        }
        rig.run_dry();
        rig.read_everything();
        // And the devices have it, too.
        rig.restart();
        rig.read_everything();
    }
}
