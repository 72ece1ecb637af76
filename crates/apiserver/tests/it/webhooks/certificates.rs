//! Whose certificates are trusted, and how it is told when they are not: the words of Go's TLS (A5, A7).

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;

use super::hostile::{Listening, answer_reviews, listen};
use super::support::{Cluster, allow, webhook};

pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;

pub(crate) fn authority(name: &str) -> Authority {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named(name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

fn named(name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject
}

/// A certificate for these names, signed by `authority` or by itself, after `change`.
fn certified(
    names: &[&str],
    authority: Option<&Authority>,
    change: impl FnOnce(&mut CertificateParams),
) -> (CertificateDer<'static>, String, PrivateKeyDer<'static>) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).unwrap();
    parameters.distinguished_name = named("webhook");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    change(&mut parameters);
    let key = KeyPair::generate().unwrap();
    let certificate = match authority {
        Some(authority) => parameters.signed_by(&key, authority).unwrap(),
        None => parameters.self_signed(&key).unwrap(),
    };
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    (certificate.der().clone(), certificate.pem(), private)
}

pub(crate) fn acceptor(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> TlsAcceptor {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// A webhook that allows everything, behind TLS with a certificate for this machine; and what to trust.
pub(crate) async fn trusted(names: &[&str]) -> (Listening, String) {
    let authority = authority("test-ca");
    let (certificate, _, key) = certified(names, Some(&authority), |_| {});
    let acceptor = acceptor(vec![certificate], key);
    (listen(answer_reviews(acceptor, allow())).await, authority.pem())
}

/// The webhook at this address, trusted by this bundle.
pub(crate) fn at(host: &str, address: SocketAddr, bundle: &str) -> Value {
    let config = json!({
        "url": format!("https://{host}:{}/h.a", address.port()), "caBundle": STANDARD.encode(bundle),
    });
    webhook("h.a", json!({ "clientConfig": config }))
}

/// What is left of the message of a call that failed, once all that is always there is taken away.
pub(crate) fn why(message: &str) -> String {
    let (_, rest) = message.split_once("?timeout=").unwrap_or(("", message));
    let rest = rest.split_once("s\": ").map_or(rest, |(_, why)| why);
    rest.to_owned()
}

/// What a server says of a webhook with this certificate, called as `host` and trusted by `bundle`.
async fn verdict(host: &str, bundle: &str, chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> String {
    let listening = listen(answer_reviews(acceptor(chain, key), allow())).await;
    let cluster = Cluster::new(|_, _| allow());
    cluster
        .configure("Validating", "c", &[at(host, listening.address, bundle)])
        .await;
    let answer = cluster.create("x").await;
    if answer.code == 201 {
        "trusted".to_owned()
    } else {
        why(answer.message())
    }
}

#[tokio::test]
async fn a_certificate_of_the_authority_or_the_certificate_itself_is_trusted() {
    let authority = authority("test-ca");
    let (certificate, pem, key) = certified(&["127.0.0.1", "localhost"], Some(&authority), |_| {});
    for (host, bundle) in [
        ("127.0.0.1", authority.pem()),
        ("localhost", authority.pem()),
        ("127.0.0.1", pem),
    ] {
        let found = verdict(host, &bundle, vec![certificate.clone()], key.clone_key()).await;
        assert_eq!(found, "trusted", "{host}");
    }
    let (certificate, pem, key) = certified(&["127.0.0.1"], None, |_| {});
    assert_eq!(verdict("127.0.0.1", &pem, vec![certificate], key).await, "trusted");
}

#[tokio::test]
async fn an_authority_may_have_sent_another_one() {
    let root = authority("root");
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named("between");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let between = CertifiedIssuer::signed_by(parameters, KeyPair::generate().unwrap(), &root).unwrap();
    let (certificate, _, key) = certified(&["127.0.0.1"], Some(&between), |_| {});
    let chain = vec![certificate, between.der().clone()];
    for bundle in [root.pem(), between.pem()] {
        assert_eq!(
            verdict("127.0.0.1", &bundle, chain.clone(), key.clone_key()).await,
            "trusted"
        );
    }
}

#[tokio::test]
async fn what_is_not_trusted_is_told_in_the_words_of_go() {
    let (own, other, namesake) = (authority("test-ca"), authority("other-ca"), authority("test-ca"));
    let here = ["127.0.0.1", "localhost"];
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let (certificate, _, key) = certified(&here, Some(&other), |_| {});
    assert_eq!(verdict("127.0.0.1", &own.pem(), vec![certificate], key).await, unknown);
    let (certificate, _, key) = certified(&here, Some(&namesake), |_| {});
    assert_eq!(
        verdict("127.0.0.1", &own.pem(), vec![certificate], key).await,
        format!(
            "{unknown} (possibly because of \"x509: ECDSA verification failure\" while trying to verify candidate \
             authority certificate \"test-ca\")"
        )
    );
    let (certificate, _, key) = certified(&["a.example.com", "b.example.com"], Some(&own), |_| {});
    assert_eq!(
        verdict("localhost", &own.pem(), vec![certificate.clone()], key.clone_key()).await,
        "tls: failed to verify certificate: x509: certificate is valid for a.example.com, b.example.com, not localhost"
    );
    assert_eq!(
        verdict("127.0.0.1", &own.pem(), vec![certificate], key).await,
        "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain \
         any IP SANs"
    );
    let (certificate, _, key) = certified(&["10.1.2.3"], Some(&own), |_| {});
    assert_eq!(
        verdict("127.0.0.1", &own.pem(), vec![certificate], key).await,
        "tls: failed to verify certificate: x509: certificate is valid for 10.1.2.3, not 127.0.0.1"
    );
    let (certificate, _, key) = certified(&[], Some(&own), |parameters| {
        parameters.distinguished_name = named("localhost");
    });
    assert_eq!(
        verdict("localhost", &own.pem(), vec![certificate], key).await,
        "tls: failed to verify certificate: x509: certificate relies on legacy Common Name field, use SANs instead"
    );
    let (certificate, _, key) = certified(&here, Some(&own), |parameters| {
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    assert_eq!(
        verdict("127.0.0.1", &own.pem(), vec![certificate], key).await,
        "tls: failed to verify certificate: x509: certificate specifies an incompatible key usage"
    );
}

#[tokio::test]
async fn a_certificate_counts_only_in_its_time() {
    let own = authority("test-ca");
    let expired = "x509: certificate has expired or is not yet valid: current time ";
    let (certificate, _, key) = certified(&["127.0.0.1"], Some(&own), |parameters| {
        parameters.not_after = date_time_ymd(2001, 2, 3);
    });
    let found = verdict("127.0.0.1", &own.pem(), vec![certificate], key).await;
    assert!(
        found.contains(expired) && found.ends_with(" is after 2001-02-03T00:00:00Z"),
        "{found}"
    );
    let (certificate, _, key) = certified(&["127.0.0.1"], Some(&own), |parameters| {
        parameters.not_before = date_time_ymd(2300, 1, 1);
    });
    let found = verdict("127.0.0.1", &own.pem(), vec![certificate], key).await;
    assert!(
        found.contains(expired) && found.ends_with(" is before 2300-01-01T00:00:00Z"),
        "{found}"
    );
}

#[tokio::test]
async fn a_bundle_that_is_none_is_told_before_anybody_is_called() {
    let cluster = Cluster::new(|_, _| allow());
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
    cluster
        .configure("Validating", "c", &[at("127.0.0.1", nowhere, "garbage")])
        .await;
    assert_eq!(
        cluster.create("x").await.message(),
        "Internal error occurred: failed calling webhook \"h.a.example.com\": could not get REST client: unable to \
         load root certificates: unable to parse bytes as PEM block"
    );
}

#[tokio::test]
async fn a_service_leads_to_a_registered_listener_or_to_its_endpoints() {
    let (listening, bundle) = trusted(&["hook.default.svc"]).await;
    let cluster = Cluster::new(|_, _| allow());
    let config = json!({
        "service": { "namespace": "default", "name": "hook", "path": "/x", "port": 8443 },
        "caBundle": STANDARD.encode(bundle),
    });
    let hook = webhook("h.a", json!({ "clientConfig": config, "timeoutSeconds": 1 }));
    cluster.configure("Validating", "c", &[hook]).await;
    let missing = cluster.create("x").await;
    assert_eq!(
        missing.message(),
        "Internal error occurred: failed calling webhook \"h.a.example.com\": failed to call webhook: Post \
         \"https://hook.default.svc:8443/x?timeout=1s\": service \"hook\" not found"
    );
    cluster.server.serve_service("default", "hook", 8443, listening.address);
    assert_eq!(cluster.create("x").await.code, 201);
    cluster.server.forget_service("default", "hook", 8443);
    // The Service and its endpoints are exempt from nothing but are no ConfigMaps.
    let service = json!({ "metadata": { "name": "hook" }, "spec": { "ports": [{ "port": 8443, "name": "https" }] } });
    cluster
        .send("POST", "/api/v1/namespaces/default/services", service)
        .await;
    let unavailable = cluster.create("y").await;
    assert_eq!(
        why(unavailable.message()),
        "no endpoints available for service \"hook\""
    );
    let slice = json!({
        "metadata": { "name": "hook-1", "labels": { "kubernetes.io/service-name": "hook" } },
        "addressType": "IPv4", "ports": [{ "name": "https", "port": listening.address.port() }],
        "endpoints": [{ "addresses": ["127.0.0.1"] }],
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let made = cluster.send("POST", slices, slice).await;
    assert_eq!(made.code, 422, "the loopback address is not for endpoints: {made:?}");
    let slice = json!({
        "metadata": { "name": "hook-1", "labels": { "kubernetes.io/service-name": "hook" } },
        "addressType": "IPv4", "ports": [{ "name": "https", "port": 1 }],
        "endpoints": [
            { "addresses": ["192.0.2.2"], "conditions": { "ready": false } },
            { "addresses": ["192.0.2.1"] },
        ],
    });
    assert_eq!(cluster.send("POST", slices, slice).await.code, 201);
    let called = why(cluster.create("z").await.message());
    // Nobody has this address: there is no way there, or no answer from there.
    assert!(
        called.starts_with("dial tcp 192.0.2.1:1: ") || called == "context deadline exceeded",
        "{called}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_does_not_run_away_while_a_listener_of_the_same_runtime_is_called() {
    let (listening, bundle) = trusted(&["127.0.0.1"]).await;
    let cluster = Cluster::new(|_, _| allow());
    cluster
        .configure("Validating", "c", &[at("127.0.0.1", listening.address, &bundle)])
        .await;
    for at in 0..20 {
        let answer = cluster.create(&format!("x{at}")).await;
        assert_eq!(answer.code, 201, "{answer:?}");
    }
}
