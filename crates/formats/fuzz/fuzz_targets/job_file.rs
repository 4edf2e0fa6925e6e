//! Any bytes: a job file that is read has shares that add up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_formats::fio::{BlockSizes, JobFile};

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = JobFile::read(bytes, Some("fuzz")) else { return };
    assert_eq!(file.refuse_unsupported().is_ok(), file.refused.is_empty());
    assert_eq!(file.groups().map(<[_]>::len).sum::<usize>(), file.jobs.len());
    for job in &file.jobs {
        assert!(job.read_percent <= 100 && job.outstanding() >= 1);
        for sizes in [&job.block_sizes.read, &job.block_sizes.write, &job.block_sizes.trim] {
            assert!(sizes.least_bytes() > 0);
            if let BlockSizes::Split(shares) = sizes {
                assert_eq!(shares.iter().map(|share| u32::from(share.percent)).sum::<u32>(), 100);
            }
        }
    }
});
