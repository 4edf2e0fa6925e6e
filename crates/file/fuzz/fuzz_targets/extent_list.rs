//! Any bytes as a list of extents of any dialect: extents are in order and do not overlap, and what is read is written
//! and read the same once more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::{Extent, ExtentListReader, ExtentListWriter, FileError, ListedFile};

fn files(bytes: &[u8]) -> Result<Vec<(ListedFile, Vec<Extent>)>, FileError> {
    let mut list = ExtentListReader::new(bytes, "fuzz");
    let mut files = Vec::new();
    while let Some(file) = list.next_file()? {
        files.push((file, list.extents().collect::<Result<_, _>>()?));
    }
    Ok(files)
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut files_read) = files(bytes) else { return };
    let mut writer = ExtentListWriter::new(Vec::new());
    let (mut block_bytes, mut device_bytes) = (None, None);
    for (number, (file, extents)) in files_read.iter_mut().enumerate() {
        // Files are divided by their paths; sizes hold until they are given again.
        file.path = file.path.take().or_else(|| Some(number.to_string()));
        block_bytes = file.block_bytes.or(block_bytes);
        device_bytes = file.device_bytes.or(device_bytes);
        (file.block_bytes, file.device_bytes) = (block_bytes, device_bytes);
        writer.file(file).expect("memory takes it");
        let mut end = 0;
        for extent in extents {
            assert!(extent.offset >= end && extent.bytes > 0);
            end = extent.offset.checked_add(extent.bytes).expect("the end is within 2^64");
            writer.extent(extent).expect("memory takes it");
        }
    }
    if files_read.is_empty() {
        return;
    }
    let text = writer.finish().expect("memory takes it");
    assert_eq!(files(&text).expect("what was written is read"), files_read);
});
