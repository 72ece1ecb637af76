//! The kubeconfig that describes a webhook: where it is, whom it trusts and who asks.

use std::path::{Path, PathBuf};
use std::{fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_codec::yaml;
use serde_json::Value;

use super::{Caller, Credentials};

/// Why a kubeconfig describes no webhook.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// It is not YAML.
    #[error("the kubeconfig is not YAML: {0}")]
    Syntax(String),
    /// It does not say something.
    #[error("the kubeconfig has no {0}")]
    Missing(&'static str),
    /// A file that it names cannot be read.
    #[error("cannot read {path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What it has cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// Who posts to the webhook of a kubeconfig. Files that it names are below `folder` unless their paths are absolute.
pub(crate) fn caller(text: &str, folder: &Path) -> Result<Caller, KubeconfigError> {
    let config = yaml::decode(text.as_bytes()).map_err(|error| KubeconfigError::Syntax(error.to_string()))?;
    let config = config.value;
    let context = named(&config["contexts"], "context", &config["current-context"])
        .ok_or(KubeconfigError::Missing("context that is its current-context"))?;
    let cluster = named(&config["clusters"], "cluster", &context["cluster"])
        .ok_or(KubeconfigError::Missing("cluster of its current-context"))?;
    let server = cluster["server"].as_str().ok_or(KubeconfigError::Missing("server"))?;
    let user = named(&config["users"], "user", &context["user"]).unwrap_or(&Value::Null);
    let read = |of: &Value, key: &str| bytes(of, key, folder);
    let token = match user["token"].as_str() {
        Some(token) => Some(token.to_owned()),
        None => read_file(&user["tokenFile"], folder)?.map(|token| String::from_utf8_lossy(&token).trim().to_owned()),
    };
    let credentials = Credentials {
        authority: read(cluster, "certificate-authority")?.unwrap_or_default(),
        trusts_anybody: cluster["insecure-skip-tls-verify"] == true,
        certificate: read(user, "client-certificate")?,
        key: read(user, "client-key")?,
        token,
    };
    Caller::new(server, credentials).map_err(KubeconfigError::Unusable)
}

/// The entry of this name in a list of named things.
fn named<'a>(list: &'a Value, kind: &str, name: &Value) -> Option<&'a Value> {
    let mut entries = list.as_array()?.iter();
    entries.find(|entry| entry["name"] == *name)?.get(kind)
}

/// What is written inside, or in the file that is named.
fn bytes(of: &Value, key: &str, folder: &Path) -> Result<Option<Vec<u8>>, KubeconfigError> {
    if let Some(inside) = of[format!("{key}-data")].as_str() {
        let decoded = STANDARD.decode(inside);
        return decoded
            .map(Some)
            .map_err(|_| KubeconfigError::Unusable(format!("{key}-data is not base64")));
    }
    read_file(&of[key], folder)
}

fn read_file(path: &Value, folder: &Path) -> Result<Option<Vec<u8>>, KubeconfigError> {
    let Some(path) = path.as_str().filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let path = folder.join(path);
    fs::read(&path)
        .map(Some)
        .map_err(|source| KubeconfigError::File { path, source })
}
