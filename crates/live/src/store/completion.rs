//! What became of I/Os.

use strewn_raid::SpindleIndex;

use super::Store;
use super::api::{Failure, Finished};
use super::operation::{Kind, Part, Purpose, Sent};
use super::rows::RowId;
use crate::device::{BLOCK_BYTES, Done, IoError};

impl Store {
    /// What became of something that a device was to do.
    pub fn done(&mut self, done: Done) {
        // What a spindle was asked before it was lost is of no interest.
        let Some(Sent { spindle, purpose }) = self.sent.remove(&done.id) else {
            self.pool.give_back(done.buffer);
            return;
        };
        let result = match done.result {
            Ok(()) => Ok(()),
            Err(IoError::Gone(_)) => {
                self.finished.push(Finished::Lost(spindle));
                // Its operation is among those to be ended with the spindle.
                self.sent.insert(done.id, Sent { spindle, purpose });
                self.lose(spindle);
                self.settle();
                return;
            }
            Err(IoError::NoSpace) => Err(Failure::NoSpace),
            Err(IoError::Unreadable) => Err(Failure::Refused),
        };
        match purpose {
            Purpose::ReadData(part) => match result {
                Ok(()) => self.data_arrived(part, done.buffer),
                Err(_) => self.data_unreadable(part, false),
            },
            Purpose::ReadDataAndChecksums(part) => {
                let Part { row, count, .. } = self.parts[part];
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
            Purpose::ReadChecksums(row) => {
                self.rows.get_mut(row).loading = false;
                self.checksums_arrived(row, result.is_ok().then(|| done.buffer.bytes()));
                self.pool.give_back(done.buffer);
            }
            Purpose::WriteData(part) => {
                self.data_written(part, result);
                self.pool.give_back(done.buffer);
            }
            Purpose::WriteChecksums(row) => {
                self.checksums_written(row, result);
                self.pool.give_back(done.buffer);
            }
            Purpose::WriteRows(parts) => {
                for part in parts {
                    let row = self.parts[part].row;
                    self.data_written(part, result.clone());
                    self.checksums_written(row, result.clone());
                }
                self.pool.give_back(done.buffer);
            }
            Purpose::Common(operation) => self.common_done(operation, result),
        }
        self.settle();
    }

    fn checksums_arrived(&mut self, id: RowId, checksums: Option<&[u8]>) {
        let row = self.rows.get_mut(id);
        // A write of the whole row may have come before it, and knows better.
        if !row.loaded {
            row.load(checksums);
            row.doubt_if_damaged(self.tag);
        }
        self.apply_entries(id);
    }

    /// A spindle has flushed, or has the superblock.
    fn common_done(&mut self, id: usize, result: Result<(), Failure>) {
        let operation = &mut self.operations[id];
        match (result, &mut operation.kind) {
            (Ok(()), Kind::Superblock { written }) => *written += 1,
            (Ok(()), _) => {}
            (Err(failure), _) => {
                operation.failure.get_or_insert(failure);
            }
        }
        self.one_less(id);
    }

    /// Ends everything under way on a spindle, and asks nothing of it any more.
    pub(super) fn lose(&mut self, spindle: SpindleIndex) {
        if let Some(present) = self.present.get_mut(spindle.index()) {
            *present = false;
        }
        self.ios.retain(|io| io.device.0 != spindle.0);
        let dropped = self.rows.drop_spindle(spindle);
        self.dirty.retain(|row| !dropped.contains(row));
        self.agenda.retain(|row| !dropped.contains(row));

        let of_spindle = |kind: &Kind| kind.spindle() == Some(spindle);
        let operations =
            self.operations.iter().filter(|(_, operation)| of_spindle(&operation.kind));
        let ended: Vec<usize> = operations.map(|(id, _)| id).collect();
        let parts = self.parts.iter().filter(|(_, part)| ended.contains(&part.operation));
        let parts: Vec<usize> = parts.map(|(id, _)| id).collect();
        for part in parts {
            self.parts.remove(part);
        }
        for id in ended {
            let Some(operation) = self.operations.remove(id) else { continue };
            let (token, gone) = (operation.token, Err(Failure::Gone));
            self.finished.push(match operation.kind {
                Kind::Read { .. } => Finished::Read { token, result: Err(Failure::Gone) },
                Kind::Look { .. } => Finished::Looked { token, result: Err(Failure::Gone) },
                _ => Finished::Write { token, result: gone },
            });
        }
        // What all spindles do goes on without it.
        let mut common = Vec::new();
        self.sent.retain(|_, sent| {
            if let (Purpose::Common(operation), true) = (&sent.purpose, sent.spindle == spindle) {
                common.push(*operation);
            }
            sent.spindle != spindle
        });
        for operation in common {
            self.one_less(operation);
        }
    }
}
