//! A kubeconfig with a client certificate for the administrator, signed by the authority that `upstream/start` made.

use std::fs;
use std::io;
use std::path::Path;

use kubewright_system::certificates::{Leaf, Signer};
use kubewright_system::kubeconfig::{Authority, Credentials, Kubeconfig};

/// The name that `upstream/start` gives its authority.
const AUTHORITY: &str = "recorder-ca";

/// Makes the kubeconfig for a server whose folder has the key of its client authority.
pub(super) fn kubeconfig(folder: &Path, server: &str) -> io::Result<String> {
    let key = fs::read_to_string(folder.join("client-ca.key"))?;
    let administrator = Signer::new(AUTHORITY, &key)
        .and_then(|signer| signer.sign(&Leaf::client("admin", &["system:masters"])))
        .map_err(io::Error::other)?;
    let text = Kubeconfig {
        context: "certified",
        cluster: "c",
        user: "admin",
        namespace: None,
        server,
        authority: Authority::Unverified,
        credentials: Credentials::Certificate {
            certificate: &administrator.certificate_pem(),
            key: &administrator.key_pem(),
        },
    }
    .to_string();
    Ok(text)
}
