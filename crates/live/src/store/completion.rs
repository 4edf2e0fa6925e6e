//! Completions of I/Os.

use strewn_raid::SpindleIndex;

use super::Store;
use super::api::{SpindleWriteError, StoreEvent};
use super::operation::{IoPurpose, OperationKind, RowPart, SentIo};
use super::rows::RowId;
use crate::device::{BLOCK_BYTES, IoCompletion, IoError};

impl Store {
    /// Handles the completion of an I/O.
    pub fn done(&mut self, done: IoCompletion) {
        // Ignore I/Os of a spindle that was lost since.
        let Some(SentIo { spindle, purpose }) = self.sent.remove(&done.id) else {
            self.pool.recycle(done.buffer);
            return;
        };
        let result = match done.result {
            Ok(()) => Ok(()),
            Err(IoError::Gone(_)) => {
                self.finished.push(StoreEvent::SpindleLost(spindle));
                // Its operation ends with all others of the spindle.
                self.sent.insert(done.id, SentIo { spindle, purpose });
                self.fail_spindle(spindle);
                self.run_to_quiescence();
                return;
            }
            Err(IoError::NoSpace) => Err(SpindleWriteError::NoSpace),
            Err(IoError::Unreadable) => Err(SpindleWriteError::Refused),
        };
        match purpose {
            IoPurpose::ReadData(part) => match result {
                Ok(()) => self.data_arrived(part, done.buffer),
                Err(_) => self.data_unreadable(part, false),
            },
            IoPurpose::ReadDataAndChecksums(part) => {
                let RowPart { row, count, .. } = self.parts[part];
                self.rows.get_mut(row).loading = false;
                match result {
                    Ok(()) => {
                        let checksums = &done.buffer.bytes()[count * BLOCK_BYTES..];
                        self.checksums_arrived(row, Some(checksums));
                        self.data_arrived(part, done.buffer);
                    }
                    Err(_) => self.data_unreadable(part, true),
                }
            }
            IoPurpose::ReadChecksums(row) => {
                self.rows.get_mut(row).loading = false;
                self.checksums_arrived(row, result.is_ok().then(|| done.buffer.bytes()));
                self.pool.recycle(done.buffer);
            }
            IoPurpose::WriteData(part) => {
                self.data_written(part, result);
                self.pool.recycle(done.buffer);
            }
            IoPurpose::WriteChecksums(row) => {
                self.checksums_written(row, result);
                self.pool.recycle(done.buffer);
            }
            IoPurpose::WriteRows(parts) => {
                for part in parts {
                    let row = self.parts[part].row;
                    self.data_written(part, result.clone());
                    self.checksums_written(row, result.clone());
                }
                self.pool.recycle(done.buffer);
            }
            IoPurpose::AllSpindles(operation) => {
                self.all_spindles_io_done(operation, spindle, result);
                self.pool.recycle(done.buffer);
            }
        }
        self.run_to_quiescence();
    }

    fn checksums_arrived(&mut self, id: RowId, checksums: Option<&[u8]>) {
        let row = self.rows.get_mut(id);
        // A write of the whole row may have replaced the checksums meanwhile.
        if !row.loaded {
            row.load(checksums);
            row.distrust_if_damaged(self.tag);
        }
        self.apply_entries(id);
    }

    /// One spindle has done an I/O of an operation on all spindles.
    fn all_spindles_io_done(
        &mut self,
        id: usize,
        spindle: SpindleIndex,
        result: Result<(), SpindleWriteError>,
    ) {
        let operation = &mut self.operations[id];
        match (result, &mut operation.kind) {
            (Ok(()), OperationKind::Superblock { written }) => *written += 1,
            (Ok(()), _) => {}
            // Zones must be initialized on every spindle that is present.
            (Err(SpindleWriteError::Refused), OperationKind::Initialize(_)) => {
                if self.is_present(spindle) {
                    self.finished.push(StoreEvent::SpindleLost(spindle));
                    self.fail_spindle(spindle);
                }
            }
            (Err(failure), _) => {
                operation.failure.get_or_insert(failure);
            }
        }
        self.part_done(id);
    }

    /// Fails everything in flight on a spindle and sends it nothing more.
    pub(super) fn fail_spindle(&mut self, spindle: SpindleIndex) {
        if let Some(present) = self.present.get_mut(spindle.index())
            && std::mem::take(present)
        {
            self.on_loss();
        }
        self.ios.retain(|io| io.device.0 != spindle.0);
        let dropped = self.rows.drop_spindle(spindle);
        self.dirty.retain(|row| !dropped.contains(row));
        self.ready_rows.retain(|row| !dropped.contains(row));

        let of_spindle = |kind: &OperationKind| kind.spindle() == Some(spindle);
        let operations =
            self.operations.iter().filter(|(_, operation)| of_spindle(&operation.kind));
        let ended: Vec<usize> = operations.map(|(id, _)| id).collect();
        let parts = self.parts.iter().filter(|(_, part)| ended.contains(&part.operation));
        let parts: Vec<usize> = parts.map(|(id, _)| id).collect();
        for part in parts {
            self.parts.remove(part);
        }
        for id in ended {
            let Some(operation) = self.operations.try_remove(id) else { continue };
            let (token, gone) = (operation.token, Err(SpindleWriteError::SpindleLost));
            self.finished.push(match operation.kind {
                OperationKind::Read { .. } => {
                    StoreEvent::Read { token, result: Err(SpindleWriteError::SpindleLost) }
                }
                OperationKind::ReadChecksums { .. } => {
                    StoreEvent::ChecksumsRead { token, result: Err(SpindleWriteError::SpindleLost) }
                }
                _ => StoreEvent::Write { token, result: gone },
            });
        }
        // Operations on all spindles continue without it.
        let mut common = Vec::new();
        self.sent.retain(|_, sent| {
            if let (IoPurpose::AllSpindles(operation), true) =
                (&sent.purpose, sent.spindle == spindle)
            {
                common.push(*operation);
            }
            sent.spindle != spindle
        });
        for operation in common {
            self.part_done(operation);
        }
    }
}
