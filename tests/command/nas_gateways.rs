//! Gateways against what the source says of them: a steady flow and bursts, and who finishes first.

use strewn::results::{ArrayResults, RowStatus};

use crate::common::results_of;

fn seconds(array: &ArrayResults) -> f64 {
    array.segments.iter().map(|segment| segment.seconds).sum()
}

/// MiB a second on the Fibre Channel link behind the gateway, segment by segment, without the last one, which is short.
fn to_array(array: &ArrayResults) -> Vec<f64> {
    let whole = &array.segments[..array.segments.len() - 1];
    let links = whole.iter().map(|segment| &segment.machine.as_ref().unwrap().links);
    let san = links.map(|links| links.iter().find(|link| link.name == "san").unwrap());
    san.map(|link| link.mib_per_s_to_array).collect()
}

#[test]
fn a_copy_is_steady_behind_windows_in_bursts_behind_linux_and_sooner_done() {
    let results = results_of("nas-gateways");
    let array = |name: &str| results.arrays.iter().find(|array| array.name == name).unwrap();
    for network in ["Fast Ethernet", "gigabit"] {
        let [cifs, samba, nfs] =
            ["CIFS", "Samba 3", "NFS v3"].map(|protocol| array(&format!("{protocol}, {network}")));
        assert!(seconds(nfs) < seconds(samba) && seconds(samba) < seconds(cifs), "{network}");
        let flow = to_array(cifs);
        let least = flow.iter().copied().fold(f64::MAX, f64::min);
        let most = flow.iter().copied().fold(0.0, f64::max);
        assert!(least > 0.95 * most, "{network}: {least} to {most}");
        let pauses = to_array(samba).iter().filter(|now| **now == 0.0).count();
        assert!(pauses > to_array(samba).len() / 4, "{network}: {pauses} pauses");
    }
    for segment in results.arrays.iter().flat_map(|array| &array.segments) {
        let gateway = segment.gateway.unwrap();
        let parts = gateway.client_ms + gateway.wire_ms + gateway.gateway_ms + gateway.storage_ms;
        assert!((parts - segment.response_ms.mean).abs() < 0.01 * parts + 1e-9, "{gateway:?}");
    }
    let fitted = results.published_rows.iter().filter(|row| row.status == RowStatus::Fitted);
    assert!(
        fitted.clone().count() == 2
            && fitted.clone().all(|row| row.error_percent.unwrap().abs() < 0.5)
    );
}
