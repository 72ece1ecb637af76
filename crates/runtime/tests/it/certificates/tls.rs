//! Handshakes over real sockets.

use kubewright_runtime::certificates::{ManagedOptions, Source};
use rustls::{AlertDescription, CertificateError, Error};

use super::support::*;

/// Why a handshake failed.
fn reason(error: &std::io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

#[tokio::test]
async fn three_years_of_rotation_drop_no_connection_and_no_handshake() {
    let cluster = Cluster::with_webhooks().await;
    let mut certificates = Source::Managed(options()).open().unwrap();
    let listening = listen(&certificates).await;
    let mut open = None;
    let (mut before, mut authorities, mut leaves) = (None, Vec::new(), Vec::new());
    for days in (0..1200).step_by(1).filter(|days| days % 10 < 2) {
        let now = day(days);
        let replica = Replica::resume(certificates, cluster.kube.clone(), now);
        replica.ready().await;
        certificates = replica.stop().await;
        let bundle = cluster.secret("ca.crt").await.unwrap();
        assert!(cluster.is_announced().await);
        // An API server that is a day late trusts what is shown, and so does one that is not.
        for trusted in [before.as_ref().unwrap_or(&bundle), &bundle] {
            let stream = connect(listening.address, trusted, NAME, now).await;
            let stream = stream.unwrap_or_else(|error| panic!("day {days}: {error}"));
            leaves.push(shown(&stream));
            open.get_or_insert(stream);
        }
        let answer = ask(open.as_mut().unwrap()).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        authorities.push(bundle.clone());
        before = Some(bundle);
    }
    authorities.dedup();
    leaves.dedup();
    assert!(authorities.len() >= 3, "{}", authorities.len());
    assert!((17..=24).contains(&leaves.len()), "{}", leaves.len());
}

#[tokio::test]
async fn a_certificate_is_for_the_service_and_for_nobody_else() {
    let cluster = Cluster::with_webhooks().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let listening = listen(&replica.certificates).await;
    let bundle = cluster.secret("ca.crt").await.unwrap();
    for name in [NAME, "webhooks.shop.svc.cluster.local"] {
        connect(listening.address, &bundle, name, epoch()).await.unwrap();
    }
    for name in ["webhooks.other.svc", "localhost", "a.webhooks.shop.svc"] {
        let error = connect(listening.address, &bundle, name, epoch()).await.unwrap_err();
        let wrong_name = matches!(
            reason(&error),
            Some(Error::InvalidCertificate(
                CertificateError::NotValidForNameContext { .. }
            ))
        );
        assert!(wrong_name, "{error}");
    }
}

#[tokio::test]
async fn until_there_is_a_certificate_handshakes_fail() {
    let certificates = Source::Managed(ManagedOptions::new("shop", "webhooks")).open().unwrap();
    let listening = listen(&certificates).await;
    let error = connect(listening.address, "", NAME, epoch()).await.unwrap_err();
    assert!(matches!(reason(&error), Some(Error::AlertReceived(_))), "{error}");
}

#[tokio::test]
async fn an_expired_certificate_is_not_shown() {
    let cluster = Cluster::with_webhooks().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let certificates = replica.stop().await;
    let listening = listen(&certificates).await;
    let bundle = cluster.secret("ca.crt").await.unwrap();
    connect(listening.address, &bundle, NAME, day(89)).await.unwrap();

    // Nobody could renew it: the API server is gone.
    let gone = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
    });
    let replica = Replica::resume(certificates, kube::Client::new(gone, "default"), day(91));
    eventually("it is told", async || replica.certificates.check().is_err()).await;
    let error = connect(listening.address, &bundle, NAME, day(89)).await.unwrap_err();
    assert!(
        matches!(
            reason(&error),
            Some(Error::AlertReceived(AlertDescription::AccessDenied))
        ),
        "{error}"
    );
    let certificates = replica.stop().await;
    let replica = Replica::resume(certificates, cluster.kube.clone(), day(91));
    eventually("it is renewed", async || {
        connect(listening.address, &bundle, NAME, day(91)).await.is_ok()
    })
    .await;
    drop(replica);
}
