//! A gateway: the host of an array that serves its LUNs to a client over a network of their own.

use strewn_transport::Protocol;
use strewn_transport::front_end::WriteStability;

use crate::client_raid::ClientRaid;
use crate::fields::{Fields, Section, Table, Text, Words, choice, count, list_of, name};
use crate::front_end::{FrontEnd, Sides};
use crate::host::Host;
use crate::page_cache::{CacheWrites, PageCache};
use crate::processor::MOST_CORES;
use crate::protocol::{self, ProtocolName};
use crate::setting_value::SettingValue;

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

/// The protocols of files.
const OF_FILES: [ProtocolName; 3] = [ProtocolName::Nfs, ProtocolName::Smb1, ProtocolName::Smb2];

const CLIENT_AND_GATEWAY: Sides = Sides {
    host_cores: "Cores of the client for what the protocol costs it.",
    host_pdu: "What a PDU costs the client's processor, at most 1 s.",
    host_per_kib: "What a KiB of data costs the client's processor, at most 1 s.",
    controller_pdu: "What a PDU costs the gateway's processor, at most 1 s.",
    controller_per_kib: "What a KiB of data costs the gateway's processor, at most 1 s.",
};

impl Default for Gateway {
    fn default() -> Self {
        let name = ProtocolName::Nfs;
        let (protocol, transport) = (name.protocol(), name.transport());
        Self { front_end: FrontEnd { protocol, transport, ..FrontEnd::default() }, cores: 1 }
    }
}

impl Table for Gateway {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            count("cores", "Cores of the gateway for what the protocol costs it.")
                .at_most(MOST_CORES)
                .chosen("1"),
            &mut self.cores,
        );
        for key in OTHERS {
            f.refuses(
                key,
                "a client reaches a gateway without this",
                "leave it out, or give it in [array.front_end]",
            );
        }
        let mut protocol = ProtocolName::of(&self.front_end.protocol);
        let words = OF_FILES.map(Words::word);
        f.value(
            choice::<ProtocolName>("protocol", "The protocol of files.")
                .required("\"nfs\"")
                .of_words(&words)
                .refusing(refuse_blocks),
            &mut protocol,
        );
        self.front_end.begin(f, protocol);
        f.value(
            list_of(name(
                "path",
                "The links from the client to the gateway, by name, with a switch between two of them.",
            ))
            .required("[\"gigabit\"]"),
            &mut self.front_end.path,
        );
        // A gateway is the only host of its array, and has one client.
        f.context.hosts_are_named = false;
        self.front_end.common(f, &CLIENT_AND_GATEWAY);
        let FrontEnd { protocol, transport, .. } = &mut self.front_end;
        protocol::of_protocols(f, protocol, transport, &OF_FILES);
    }
}

fn refuse_blocks(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Text(word) = value else { return None };
    matches!(word.as_str(), "fcp" | "iscsi").then(|| {
        let help = "give \"nfs\", \"smb1\" or \"smb2\"";
        ("a gateway serves files".to_owned(), help.to_owned())
    })
}

impl Gateway {
    /// The key of the table.
    pub(crate) const KEY: &str = "gateway";

    /// Checks what the rest of the array must be like.
    pub(crate) fn check_array(
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
}
