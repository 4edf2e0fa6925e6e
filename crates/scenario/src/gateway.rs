//! A gateway: the host of an array that serves its LUNs to a client over a network of their own.

use strewn_transport::Protocol;
use strewn_transport::front_end::WriteStability;

use crate::client_raid::ClientRaid;
use crate::front_end::FrontEnd;
use crate::host::Host;
use crate::machine::Link;
use crate::page_cache::{CacheWrites, PageCache};
use crate::section::Section;
use crate::settings::Settings;
use crate::value;

/// A gateway between the workload and the array. The page cache is then the gateway's, and the front end is the network
/// behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Gateway {
    /// How the client reaches it: the host of these settings is the client, and the controller is the gateway.
    pub front_end: FrontEnd,
    /// Cores of the gateway for what the protocol costs it.
    pub cores: u32,
}

/// Keys of a front end that have no meaning in front of a gateway.
const OTHERS: [&str; 3] = ["router", "host_interrupt_delay", "host_receives"];

impl Gateway {
    /// The key of the table.
    pub(crate) const KEY: &str = "gateway";
    /// The key of the gateway's cores.
    const CORES: &str = "cores";

    /// Reads `[array.gateway]`.
    pub(crate) fn read(mut section: Section<'_>, links: Option<&[Link]>) -> Option<Self> {
        let s = &mut section;
        let cores = s.optional_or(Self::CORES, 1, value::positive_count);
        for key in OTHERS.into_iter().filter(|key| s.has(key)) {
            s.problem(
                key,
                "a client reaches a gateway without this",
                "leave it out, or give it in [array.front_end]",
            );
        }
        if s.peek("protocol").is_some_and(|word| matches!(word.as_str(), "fcp" | "iscsi")) {
            s.problem("protocol", "a gateway serves files", "give \"nfs\", \"smb1\" or \"smb2\"");
        }
        let front_end = FrontEnd::read(section, links, Some(&[]), None);
        Some(Self { front_end: front_end?, cores: cores? })
    }

    /// Checks what the rest of the array must be like.
    pub(crate) fn check(
        &self,
        section: &Section<'_>,
        hosts: Option<&[Host]>,
        front_end: Option<&FrontEnd>,
        page_cache: Option<&PageCache>,
    ) {
        if section.has(ClientRaid::KEY) {
            section.problem(
                ClientRaid::KEY,
                "a gateway does not compute parity over blades",
                "leave the table out, or [array.gateway]",
            );
        }
        if hosts.is_some_and(|hosts| !hosts.is_empty()) {
            section.problem(
                Self::KEY,
                "a gateway is the only host of an array, and has one client",
                "leave `host` out of the [[workload]]s of this array",
            );
        }
        let shared = |link: &&String| front_end.is_some_and(|san| san.path.contains(link));
        if let Some(link) = self.front_end.path.iter().find(shared) {
            section.problem_within(
                Self::KEY,
                "path",
                format!("the link `{link}` is in the path of [array.front_end] too"),
                "give each of the two networks links of its own",
            );
        }
        let is_behind = page_cache.is_some_and(|cache| cache.writes != CacheWrites::Through);
        if is_behind && self.is_stable_before_close() {
            section.problem_within(
                Self::KEY,
                "nfs",
                "the gateway's page cache writes behind, and nothing is stable before a file is closed",
                "leave `stability` out, or give writes = \"through\" in [array.page_cache]",
            );
        }
    }

    /// Whether writes are to be on stable storage before the client closes the file.
    fn is_stable_before_close(&self) -> bool {
        let Protocol::Nfs(nfs) = self.front_end.protocol else { return false };
        nfs.stability != WriteStability::CommitOnClose
    }

    /// Lists the settings of the table besides those of a front end.
    pub(crate) fn listed(&self, settings: &mut Settings) {
        settings.add(Self::CORES, self.cores);
    }
}
