//! The aggregated API of an operator that runs on this machine: how the embedded API server finds it there.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::embedded::Embedded;
use kubewright_system::listen::free_ports;
use serde_json::Value;

const FLAG: &str = "extension-port";

/// Whether the operator serves an API itself.
pub(super) fn is_served(bundle: &Bundle) -> bool {
    api_services(bundle).next().is_some()
}

fn api_services(bundle: &Bundle) -> impl Iterator<Item = &Value> {
    bundle.objects.iter().filter(|object| object["kind"] == "APIService")
}

/// The port that the flags name, or else a free one, which is added to them.
pub(super) fn port(flags: &mut Vec<String>) -> Option<u16> {
    let given = flags.iter().enumerate().find_map(|(at, word)| {
        let rest = word.trim_start_matches('-').strip_prefix(FLAG)?;
        match rest.strip_prefix('=') {
            Some(value) => value.parse().ok(),
            None if rest.is_empty() => flags.get(at + 1)?.parse().ok(),
            None => None,
        }
    });
    if given.is_some() {
        return given;
    }
    let [free] = free_ports::<1>().ok()?;
    flags.push(format!("--{FLAG}={free}"));
    Some(free)
}

/// Leads the Services of the `APIServices` to a port of this machine.
pub(super) fn register(embedded: &Embedded, bundle: &Bundle, port: u16) {
    let services: BTreeSet<(&str, &str, u64)> = api_services(bundle)
        .filter_map(|object| {
            let service = &object["spec"]["service"];
            Some((
                service["namespace"].as_str()?,
                service["name"].as_str()?,
                service["port"].as_u64().unwrap_or(443),
            ))
        })
        .collect();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    for (namespace, name, port) in services {
        if let Ok(port) = u16::try_from(port) {
            embedded.server().serve_service(namespace, name, port, address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_the_user_names_is_taken_and_another_one_found_otherwise() {
        for given in ["--extension-port=7000", "-extension-port=7000", "--extension-port 7000"] {
            let mut flags: Vec<String> = given.split(' ').map(str::to_owned).collect();
            let before = flags.clone();
            assert_eq!(port(&mut flags), Some(7000), "{given}");
            assert_eq!(flags, before);
        }
        let mut flags = vec!["--extension-cert-path=/certs".to_owned()];
        let found = port(&mut flags).unwrap();
        assert_eq!(flags[1], format!("--extension-port={found}"));
    }
}
