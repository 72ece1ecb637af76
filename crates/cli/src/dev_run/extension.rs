//! The aggregated API of an operator that runs on this machine: the port and the certificate that it is served with, and how the API
//! server finds it there.

use std::collections::BTreeSet;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::embedded::Embedded;
use kubewright_cluster::kubeconfig::{self, TemporaryFolder};
use kubewright_cluster::local_extension::{HostService, LocalExtension};
use kubewright_cluster::progress::Progress;
use kubewright_cluster::{Cluster, Reference};
use kubewright_system::certificates::{Leaf, Signer, authority};
use kubewright_system::listen::free_ports;
use serde_json::Value;

const PORT: &str = "extension-port";
const CERTIFICATES: &str = "extension-cert-path";

/// What the authority of a run is called in its certificate.
const AUTHORITY: &str = "kubewright-run";

/// How often the cluster is asked whether it has found the API, and for how long.
const ASKED_EVERY: Duration = Duration::from_millis(500);
const FOUND_WITHIN: Duration = Duration::from_mins(1);

/// An aggregated API that the operator of a run serves.
pub(super) struct ServedExtension {
    /// What the cluster is told.
    pub(super) local: LocalExtension,
    /// Where it is served on this machine.
    port: u16,
    /// What the operator is told.
    flags: Vec<String>,
    /// The names of the Services through which it is found, as `SERVICE.NAMESPACE.svc`.
    names: BTreeSet<String>,
    /// Holds the certificate.
    _folder: Option<TemporaryFolder>,
}

/// Whether the operator serves an API itself.
pub(super) fn is_served(bundle: &Bundle) -> bool {
    api_services(bundle).next().is_some()
}

fn api_services(bundle: &Bundle) -> impl Iterator<Item = &Value> {
    bundle.objects.iter().filter(|object| object["kind"] == "APIService")
}

/// The Services of the `APIServices`: namespace, name and port.
fn services(bundle: &Bundle) -> BTreeSet<(&str, &str, u64)> {
    api_services(bundle)
        .filter_map(|object| {
            let service = &object["spec"]["service"];
            Some((
                service["namespace"].as_str()?,
                service["name"].as_str()?,
                service["port"].as_u64().unwrap_or(443),
            ))
        })
        .collect()
}

/// Under which name the certificate of a Service is verified.
fn verified_name(namespace: &str, name: &str) -> String {
    format!("{name}.{namespace}.svc")
}

impl ServedExtension {
    /// The aggregated API of an operator that is started with these flags; `None` if they switch it off. With `reached_at`, the
    /// namespace for a Service and the name or address of this machine, a Service leads the cluster here.
    pub(super) fn prepare(
        bundle: &Bundle,
        given: &[String],
        reached_at: Option<(String, String)>,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let named = value_of(given, PORT).and_then(|port| port.parse().ok());
        let port = match named {
            Some(0) => return Ok(None),
            Some(port) => port,
            None => {
                let [free] = free_ports::<1>()?;
                free
            }
        };
        let mut flags = Vec::new();
        if named.is_none() {
            flags.push(format!("--{PORT}={port}"));
        }
        let service = reached_at.map(|(namespace, host)| HostService {
            namespace,
            name: HostService::name_for(bundle),
            host,
            port,
        });
        let hosts = names(bundle, service.as_ref());
        let (mut authority, mut folder) = (None, None);
        // Who verifies the certificate of the user's own, only the user knows.
        if value_of(given, CERTIFICATES).is_none() {
            let (pem, made) = certificate(&hosts)?;
            flags.push(format!("--{CERTIFICATES}={}", made.path().display()));
            (authority, folder) = (Some(pem), Some(made));
        }
        Ok(Some(ServedExtension {
            local: LocalExtension { service, authority },
            port,
            flags,
            names: hosts,
            _folder: folder,
        }))
    }

    /// Whether it still is what an operator that was built anew needs.
    pub(super) fn fits(&self, bundle: &Bundle) -> bool {
        self.names == names(bundle, self.local.service.as_ref())
    }

    /// The flags of the operator beside those that the user gave.
    pub(super) fn flags(&self) -> &[String] {
        &self.flags
    }

    /// Leads the Services of the `APIServices` to the port of this machine.
    pub(super) fn register(&self, embedded: &Embedded, bundle: &Bundle) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        for (namespace, name, port) in services(bundle) {
            if let Ok(port) = u16::try_from(port) {
                embedded.server().serve_service(namespace, name, port, address);
            }
        }
    }
}

fn names(bundle: &Bundle, service: Option<&HostService>) -> BTreeSet<String> {
    match service {
        Some(service) => BTreeSet::from([verified_name(&service.namespace, &service.name)]),
        None => services(bundle)
            .into_iter()
            .map(|(namespace, name, _)| verified_name(namespace, name))
            .collect(),
    }
}

/// Makes a certificate for these names, in a folder as the operator reads it; with its authority, as PEM.
fn certificate(names: &BTreeSet<String>) -> Result<(String, TemporaryFolder), Box<dyn Error>> {
    let ca = authority(AUTHORITY, None)?;
    let signer = Signer::new(AUTHORITY, &ca.key_pem())?;
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.push("localhost");
    let serving = signer.sign(&Leaf::server(names[0], &names))?;
    let folder = kubeconfig::temporary_folder()?;
    for (file, text) in [("tls.crt", serving.certificate_pem()), ("tls.key", serving.key_pem())] {
        kubeconfig::write(&folder.path().join(file), &text)?;
    }
    Ok((ca.certificate_pem(), folder))
}

/// The value that the flags give a flag.
pub(super) fn value_of<'a>(flags: &'a [String], name: &str) -> Option<&'a str> {
    flags.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix('-')?.trim_start_matches('-').strip_prefix(name)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if rest.is_empty() => flags.get(at + 1).map(String::as_str),
            None => None,
        }
    })
}

/// The namespace for the Service of a run: that of the installation if it is there, or else `default`, which always is.
pub(super) async fn namespace(cluster: &Cluster, bundle: &Bundle) -> String {
    let own = Reference::new("v1", "Namespace", None, &bundle.namespace);
    match cluster.get(&own).await {
        Ok(Some(found)) if found["metadata"]["deletionTimestamp"].is_null() => bundle.namespace.clone(),
        _ => "default".to_owned(),
    }
}

/// Waits until the API server has found each version of the API, and tells the user.
pub(super) async fn tell(cluster: Arc<Cluster>, bundle: Bundle, progress: Progress) {
    let references = api_services(&bundle).filter_map(Reference::of);
    for reference in references {
        let found = async {
            loop {
                if let Ok(Some(live)) = cluster.get(&reference).await
                    && is_available(&live)
                {
                    return;
                }
                tokio::time::sleep(ASKED_EVERY).await;
            }
        };
        match tokio::time::timeout(FOUND_WITHIN, found).await {
            Ok(()) => progress.note(format!(
                "{reference} is available: the API server passes its requests on"
            )),
            Err(_) => progress.warn(format!(
                "{reference} is not available after {FOUND_WITHIN:?}: kubectl describe {reference}"
            )),
        }
    }
}

fn is_available(live: &Value) -> bool {
    let conditions = live["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_flag_is_found_however_it_is_written() {
        for given in [
            "--extension-port=7000",
            "-extension-port=7000",
            "--extension-port 7000",
            "--x --extension-port 7000",
        ] {
            assert_eq!(value_of(&flags(given), PORT), Some("7000"), "{given}");
        }
        assert_eq!(value_of(&flags("--extension-cert-path=/certs"), PORT), None);
        assert_eq!(value_of(&flags("--extension-portal=1 extension-port=2"), PORT), None);
    }

    #[test]
    fn a_certificate_is_one_of_its_authority_and_for_nobody_else_to_read() {
        let names = BTreeSet::from([verified_name("default", "sky-extension-run")]);
        let (authority, folder) = certificate(&names).unwrap();
        let served = std::fs::read_to_string(folder.path().join("tls.crt")).unwrap();
        assert!(authority.starts_with("-----BEGIN CERTIFICATE-----"), "{authority}");
        assert_ne!(authority, served);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let key = folder.path().join("tls.key").metadata().unwrap();
            assert_eq!(key.permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn an_api_service_is_available_when_its_condition_says_so() {
        let with = |status: &str| serde_json::json!({ "status": { "conditions": [{ "type": "Available", "status": status }] } });
        assert!(is_available(&with("True")));
        assert!(!is_available(&with("False")) && !is_available(&serde_json::json!({})));
    }
}
