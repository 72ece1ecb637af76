//! What the tests share: certificates, requests, waiting for something to become true.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use kube::api::{Api, PostParams};
use kubewright_apiserver::ApiServer;
use kubewright_runtime::certificates::{CertificateFiles, ServingCertificates, Source};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::markdown_view::MarkdownView;

/// A certificate for this machine in a folder, and itself as what to trust.
pub(crate) fn certificates(folder: &Path) -> (ServingCertificates, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let files = CertificateFiles::in_folder(folder, "tls.crt", "tls.key");
    (Source::Files(files).open().unwrap(), made.cert.pem().into_bytes())
}

pub(crate) async fn create<K>(server: &ApiServer, object: &K) -> K
where
    K: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    let api = Api::<K>::all(server.client());
    api.create(&PostParams::default(), object).await.unwrap()
}

/// Sends a request over TLS and reads the whole answer: its head, and its body.
pub(crate) async fn https(port: u16, trusted: &[u8], request: &[u8]) -> (String, String) {
    let mut stream = connect(port, trusted, &[]).await;
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    // A server that refuses a body may close before it has read all of it.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_owned(), body.to_owned())
}

/// A connection over TLS that offers these protocols.
pub(crate) async fn connect(port: u16, trusted: &[u8], protocols: &[&[u8]]) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap()
}

/// A POST of a review, as the API server sends it.
pub(crate) fn post(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Installs the kind.
pub(crate) async fn install(server: &ApiServer) {
    create::<CustomResourceDefinition>(server, &MarkdownView::crd()).await;
}

/// Asks until the answer is yes; the last no is the message.
pub(crate) async fn eventually<F: Future<Output = Result<(), String>>>(mut ask: impl FnMut() -> F) {
    let mut last = String::new();
    for _ in 0..3_000 {
        match ask().await {
            Ok(()) => return,
            Err(no) => last = no,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not within a minute: {last}");
}
