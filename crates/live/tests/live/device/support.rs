//! Operations of one line.

use strewn_live::device::{
    BLOCK_BYTES, Buffer, DeviceIndex, Devices, Io, IoCompletion, IoId, IoRequest,
};

pub const BLOCK: u64 = BLOCK_BYTES as u64;

pub fn io(id: u64, device: u16, request: IoRequest) -> Io {
    Io { id: IoId(id), device: DeviceIndex(device), request }
}

/// Blocks full of `value`.
pub fn filled(blocks: usize, value: u8) -> Buffer {
    let mut buffer = Buffer::zeroed(blocks);
    buffer.bytes_mut().fill(value);
    buffer
}

pub fn write(block: u64, from: Buffer) -> IoRequest {
    IoRequest::Write { offset: block * BLOCK, from, durable: false }
}

pub fn write_durably(block: u64, from: Buffer) -> IoRequest {
    IoRequest::Write { offset: block * BLOCK, from, durable: true }
}

pub fn read(block: u64, blocks: usize) -> IoRequest {
    IoRequest::Read { offset: block * BLOCK, into: Buffer::zeroed(blocks) }
}

/// Asks, and waits until it is done.
pub fn ask(devices: &mut impl Devices, device: u16, request: IoRequest) -> IoCompletion {
    let mut done = Vec::new();
    devices.submit(io(u64::MAX, device, request));
    while done.is_empty() {
        devices.wait(None, &mut done);
    }
    assert_eq!(done.len(), 1, "one thing was asked for");
    assert_eq!((done[0].id, done[0].device), (IoId(u64::MAX), DeviceIndex(device)));
    done.remove(0)
}

/// What the first bytes of some blocks are.
pub fn first_bytes(buffer: &Buffer) -> Vec<u8> {
    buffer.bytes().chunks_exact(BLOCK_BYTES).map(|block| block[0]).collect()
}
