//! Whom an aggregated API trusts: the `ConfigMap` that the API server of the cluster publishes for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, pin_mut};
use http::HeaderMap;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kubewright_apiserver::{FrontProxyHeaders, InvalidCertificate, User, user_of_certificate};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// How long to wait before the `ConfigMap` is read again after that failed.
const PAUSE: Duration = Duration::from_secs(1);
/// How long one watch lasts.
const WATCH_SECONDS: u32 = 290;

/// Whom to trust; nobody by default.
#[derive(Debug, Default)]
pub(super) struct Trust {
    known: bool,
    clients: Option<Arc<dyn ClientCertVerifier>>,
    proxies: Option<Proxies>,
}

/// Proxies whose headers count.
#[derive(Debug)]
struct Proxies {
    verifier: Arc<dyn ClientCertVerifier>,
    /// Their common names; any, if empty.
    allowed: Vec<String>,
    headers: FrontProxyHeaders,
}

impl Trust {
    /// What the `ConfigMap` says. What it gets wrong is left out, and said in the log.
    fn of(data: &BTreeMap<String, String>) -> Trust {
        let list = |key: &str| -> Vec<String> {
            let Some(text) = data.get(key) else {
                return Vec::new();
            };
            serde_json::from_str(text).unwrap_or_else(|error| {
                tracing::warn!(key, %error, "ConfigMap {NAMESPACE}/{NAME} has no list of texts there");
                Vec::new()
            })
        };
        let authority = |key: &str| {
            let verifier = verifier(data.get(key)?);
            if verifier.is_none() {
                tracing::warn!(key, "ConfigMap {NAMESPACE}/{NAME} has no certificates there");
            }
            verifier
        };
        Trust {
            known: true,
            clients: authority("client-ca-file"),
            proxies: authority("requestheader-client-ca-file").map(|verifier| Proxies {
                verifier,
                allowed: list("requestheader-allowed-names"),
                headers: FrontProxyHeaders {
                    users: list("requestheader-username-headers"),
                    uids: list("requestheader-uid-headers"),
                    groups: list("requestheader-group-headers"),
                    extra_prefixes: list("requestheader-extra-headers-prefix"),
                },
            }),
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// Whom a certificate stands for: what a trusted proxy says in headers, else the user that it names itself.
    pub(super) fn user(
        &self,
        chain: &[CertificateDer<'static>],
        headers: &HeaderMap,
    ) -> Result<Option<User>, InvalidCertificate> {
        let Some((certificate, intermediates)) = chain.split_first() else {
            return Ok(None);
        };
        let is_of = |verifier: &Arc<dyn ClientCertVerifier>| {
            verifier
                .verify_client_cert(certificate, intermediates, UnixTime::now())
                .is_ok()
        };
        if let Some(proxies) = self.proxies.as_ref().filter(|proxies| is_of(&proxies.verifier)) {
            let name = user_of_certificate(certificate)?
                .map(|user| user.name)
                .unwrap_or_default();
            let is_allowed = proxies.allowed.is_empty() || proxies.allowed.contains(&name);
            if is_allowed && let Some(user) = proxies.headers.user(headers) {
                return Ok(Some(user));
            }
        }
        if self.clients.as_ref().is_some_and(is_of) {
            return user_of_certificate(certificate);
        }
        Err(InvalidCertificate)
    }
}

/// Verifies client certificates of the authorities in a PEM text; `None` if it has none.
fn verifier(pem: &str) -> Option<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok);
    roots.add_parsable_certificates(certificates);
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .ok()
}

/// Hands over whom to trust, now and whenever that changes. Does not end.
pub(super) async fn follow(kube: &kube::Client, set: impl Fn(Trust)) {
    let maps: Api<ConfigMap> = Api::namespaced(kube.clone(), NAMESPACE);
    let selector = format!("metadata.name={NAME}");
    loop {
        if let Err(error) = follow_once(&maps, &selector, &set).await {
            let hint = "the account needs the role extension-apiserver-authentication-reader in kube-system";
            tracing::warn!(%error, hint, "cannot read ConfigMap {NAMESPACE}/{NAME}");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow_once(maps: &Api<ConfigMap>, selector: &str, set: &impl Fn(Trust)) -> Result<(), kube::Error> {
    let listed = maps.list(&ListParams::default().fields(selector)).await?;
    let put = |map: Option<&ConfigMap>| {
        let data = map.and_then(|map| map.data.clone());
        if data.is_none() {
            tracing::warn!("there is no ConfigMap {NAMESPACE}/{NAME}: no certificate is trusted");
        }
        set(Trust::of(&data.unwrap_or_default()));
    };
    put(listed.items.first());
    let version = listed.metadata.resource_version.unwrap_or_default();
    let watch = WatchParams::default().fields(selector).timeout(WATCH_SECONDS);
    let events = maps.watch(&watch, &version).await?;
    pin_mut!(events);
    while let Some(event) = events.next().await {
        match event? {
            WatchEvent::Added(map) | WatchEvent::Modified(map) => put(Some(&map)),
            WatchEvent::Deleted(_) => put(None),
            WatchEvent::Bookmark(_) => {}
            // Too old, or the server ended the watch: list again.
            WatchEvent::Error(_) => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kubewright_system::certificates::{Leaf, Signer, authority};

    use super::*;

    struct Authority {
        pem: String,
        signer: Signer,
    }

    impl Authority {
        fn new(name: &str) -> Authority {
            let made = authority(name, None).unwrap();
            Authority {
                pem: made.certificate_pem(),
                signer: Signer::new(name, &made.key_pem()).unwrap(),
            }
        }

        fn client(&self, name: &str, groups: &[&str]) -> Vec<CertificateDer<'static>> {
            vec![self.signer.sign(&Leaf::client(name, groups)).unwrap().certificate_der()]
        }
    }

    fn published(proxies: &Authority, clients: &Authority) -> BTreeMap<String, String> {
        let texts = [
            ("client-ca-file", clients.pem.as_str()),
            ("requestheader-client-ca-file", proxies.pem.as_str()),
            ("requestheader-allowed-names", r#"["front-proxy-client"]"#),
            ("requestheader-username-headers", r#"["X-Remote-User"]"#),
            ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
            ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#),
        ];
        texts
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    fn jane() -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-user", "jane".parse().unwrap());
        headers
    }

    #[test]
    fn headers_count_only_behind_a_certificate_of_a_known_proxy() {
        let (proxies, clients) = (Authority::new("proxies"), Authority::new("clients"));
        let trust = Trust::of(&published(&proxies, &clients));
        let proxy = proxies.client("front-proxy-client", &[]);
        assert_eq!(trust.user(&proxy, &jane()).unwrap().unwrap().name, "jane");
        // Another name, another authority, or no certificate: the headers are words of anybody.
        let other = proxies.client("somebody", &[]);
        assert_eq!(trust.user(&other, &jane()), Err(InvalidCertificate));
        let client = clients.client("front-proxy-client", &["ops"]);
        let user = trust.user(&client, &jane()).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.is_in("ops")), ("front-proxy-client", true));
        assert_eq!(trust.user(&[], &jane()), Ok(None));
    }

    #[test]
    fn a_proxy_that_names_nobody_is_no_user() {
        let (proxies, clients) = (Authority::new("proxies"), Authority::new("clients"));
        let trust = Trust::of(&published(&proxies, &clients));
        let proxy = proxies.client("front-proxy-client", &["system:masters"]);
        assert_eq!(trust.user(&proxy, &HeaderMap::new()), Err(InvalidCertificate));
    }

    #[test]
    fn without_a_list_of_names_every_certificate_of_the_authority_is_a_proxy() {
        let (proxies, clients) = (Authority::new("proxies"), Authority::new("clients"));
        let mut data = published(&proxies, &clients);
        data.insert("requestheader-allowed-names".to_owned(), "[]".to_owned());
        let proxy = proxies.client("anybody", &[]);
        assert_eq!(Trust::of(&data).user(&proxy, &jane()).unwrap().unwrap().name, "jane");
    }

    #[test]
    fn nobody_is_trusted_by_a_map_that_makes_no_sense() {
        let proxies = Authority::new("proxies");
        let proxy = proxies.client("front-proxy-client", &[]);
        for data in [
            BTreeMap::new(),
            BTreeMap::from([("requestheader-client-ca-file".to_owned(), "no PEM".to_owned())]),
        ] {
            assert_eq!(Trust::of(&data).user(&proxy, &jane()), Err(InvalidCertificate));
        }
    }
}
