//! A kubeconfig that tells who the administrator is by a certificate, signed by the authority that `upstream/start` made.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use kubewright_system::certificates::{Leaf, Signer};

/// The name that `upstream/start` gives its authority.
const AUTHORITY: &str = "recorder-ca";

/// The kubeconfig for a server whose folder holds the key of the authority of its clients.
pub(super) fn kubeconfig(folder: &Path, server: &str) -> io::Result<String> {
    let key = fs::read_to_string(folder.join("client-ca.key"))?;
    let administrator = Signer::new(AUTHORITY, &key)
        .and_then(|signer| signer.sign(&Leaf::client("admin", &["system:masters"])))
        .map_err(io::Error::other)?;
    Ok(format!(
        "\
apiVersion: v1
kind: Config
current-context: certified
clusters: [{{name: c, cluster: {{server: \"{server}\", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{client-certificate-data: {certificate}, client-key-data: {key}}}}}]
contexts: [{{name: certified, context: {{cluster: c, user: admin}}}}]
",
        certificate = BASE64.encode(administrator.certificate_pem()),
        key = BASE64.encode(administrator.key_pem()),
    ))
}
