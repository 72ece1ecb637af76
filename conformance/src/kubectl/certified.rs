//! A kubeconfig that tells who the administrator is by a certificate, signed by the authority that `upstream/start` made.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};

/// The name that `upstream/start` gives its authority.
const AUTHORITY: &str = "recorder-ca";

/// The kubeconfig for a server whose folder holds the key of the authority of its clients.
pub(super) fn kubeconfig(folder: &Path, server: &str) -> io::Result<String> {
    let key = fs::read_to_string(folder.join("client-ca.key"))?;
    let (certificate, key) = administrator(&key).map_err(io::Error::other)?;
    Ok(format!(
        "\
apiVersion: v1
kind: Config
current-context: certified
clusters: [{{name: c, cluster: {{server: \"{server}\", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{client-certificate-data: {certificate}, client-key-data: {key}}}}}]
contexts: [{{name: certified, context: {{cluster: c, user: admin}}}}]
",
        certificate = BASE64.encode(certificate),
        key = BASE64.encode(key),
    ))
}

fn administrator(authority: &str) -> Result<(String, String), rcgen::Error> {
    let mut issuing = CertificateParams::default();
    issuing.distinguished_name = named(&[(DnType::CommonName, AUTHORITY)]);
    let issuer = Issuer::new(issuing, KeyPair::from_pem(authority)?);
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named(&[
        (DnType::OrganizationName, "system:masters"),
        (DnType::CommonName, "admin"),
    ]);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    Ok((parameters.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
}

fn named(parts: &[(DnType, &str)]) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    for (kind, value) in parts {
        names.push(kind.clone(), *value);
    }
    names
}
