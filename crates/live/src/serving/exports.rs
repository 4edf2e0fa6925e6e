//! The LUNs of a served array as NBD exports.

use std::sync::{Arc, Mutex, PoisonError};

use strewn_base::SECTOR_BYTES;

use super::Client;
use super::targets::TargetUse;
use crate::engine::{Answer, HostRequest, RequestError};
use crate::nbd;

/// The LUNs of a served array, and its LUNs in snapshots, as NBD exports: `volume/lun` and `volume/lun@snapshot`. As
/// long as a client has one, it is neither deleted nor resized.
pub struct LunExports {
    client: Mutex<Client>,
    description: String,
}

impl LunExports {
    /// Returns the exports of the array behind `client`.
    #[must_use]
    pub fn new(client: Client, description: String) -> Arc<Self> {
        Arc::new(Self { client: Mutex::new(client), description })
    }

    fn client(&self) -> Client {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl nbd::Exports for LunExports {
    fn list(&self) -> Vec<nbd::ExportEntry> {
        let entry = |name| nbd::ExportEntry { name, description: self.description.clone() };
        self.client().targets.names().into_iter().map(entry).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn nbd::Export>> {
        let client = self.client();
        let used = client.targets.open(name)?;
        let description = self.description.clone();
        Some(Arc::new(LunExport { client: Mutex::new(client), used, description }))
    }
}

/// A LUN as the export of one client.
struct LunExport {
    client: Mutex<Client>,
    used: TargetUse,
    description: String,
}

impl nbd::Export for LunExport {
    fn size_bytes(&self) -> u64 {
        self.used.sectors * SECTOR_BYTES
    }

    fn submit(&self, request: nbd::Request, reply: nbd::Reply) {
        let sectors =
            |offset: u64, bytes: u64| offset / SECTOR_BYTES..(offset + bytes) / SECTOR_BYTES;
        let request = match request {
            nbd::Request::Read { offset, bytes } => HostRequest::Read(sectors(offset, bytes)),
            // Every answered write is durable, whether or not that was requested.
            nbd::Request::Write { offset, data, .. } => {
                HostRequest::Write { first_sector: offset / SECTOR_BYTES, data }
            }
            nbd::Request::Flush => HostRequest::Flush,
            nbd::Request::Trim { offset, bytes, .. } => HostRequest::Unmap(sectors(offset, bytes)),
            nbd::Request::WriteZeroes { offset, bytes, .. } => {
                HostRequest::Zero(sectors(offset, bytes))
            }
            nbd::Request::Allocation { offset, bytes, .. } => {
                HostRequest::Allocation(sectors(offset, bytes))
            }
        };
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let requester = reply.requester().clone();
        let reply = Box::new(move |answer| reply.send(to_nbd(answer)));
        client.submit_for(requester, self.used.target, request, reply);
    }

    fn name(&self) -> &str {
        &self.used.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn is_read_only(&self) -> bool {
        self.used.is_read_only
    }
}

fn to_nbd(answer: Result<Answer, RequestError>) -> Result<nbd::Answer, nbd::ExportError> {
    match answer {
        Ok(Answer::Done) => Ok(nbd::Answer::Done),
        Ok(Answer::Bytes(bytes)) => Ok(nbd::Answer::Data(bytes)),
        Ok(Answer::Allocation(stretches)) => Ok(nbd::Answer::Allocation(
            stretches
                .into_iter()
                .map(|(sectors, allocated)| nbd::Extent {
                    bytes: sectors * SECTOR_BYTES,
                    allocated,
                    zero: !allocated,
                })
                .collect(),
        )),
        Err(RequestError::OutOfRange { .. }) => Err(nbd::ExportError::Invalid),
        Err(RequestError::ReadOnly) => Err(nbd::ExportError::NotPermitted),
        Err(RequestError::NoSpace | RequestError::ArrayFull) => Err(nbd::ExportError::NoSpace),
        Err(error) => Err(nbd::ExportError::Io(error.to_string())),
    }
}
