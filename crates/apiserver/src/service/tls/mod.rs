//! TLS to webhooks and aggregated API servers. Certificates are verified by Go's rules, with Go's messages.

mod verify;

use std::sync::Arc;

use kubewright_system::clock::Clock;
use kubewright_x509::{Certificate, pem};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, PeerIncompatible, SignatureScheme,
};

/// Where systems keep the certificates they trust, in the order in which Go looks.
const SYSTEM_ROOTS: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How protocols are called in a handshake.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Which servers are trusted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trust<'a> {
    /// Those whose certificates are issued by a bundle (PEM), or by those that the system trusts if it is empty.
    Bundle(&'a [u8]),
    /// All of them.
    Anybody,
}

/// The configuration of a client, which shows a certificate if it has one. The error is upstream's message.
pub(crate) fn config(
    trust: Trust<'_>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    clock: Clock,
) -> Result<Arc<ClientConfig>, String> {
    let roots = match trust {
        Trust::Anybody => None,
        Trust::Bundle([]) => {
            let system = SYSTEM_ROOTS.iter().find_map(|path| std::fs::read(path).ok());
            Some(read_bundle(system.as_deref().unwrap_or_default()))
        }
        Trust::Bundle(bundle) => {
            let roots = read_bundle(bundle);
            if roots.is_empty() {
                return Err("unable to load root certificates: unable to parse bytes as PEM block".into());
            }
            Some(roots)
        }
    };
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier {
        roots,
        algorithms: provider.signature_verification_algorithms,
        clock,
    };
    let builder = client_config(provider)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match identity {
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| error.to_string())?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![HTTP1.to_vec()];
    Ok(Arc::new(config))
}

/// The same configuration, by which a server may choose HTTP/2.
pub(crate) fn with_http2(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    Arc::new(config)
}

fn client_config(
    provider: Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

fn read_bundle(bundle: &[u8]) -> Vec<Certificate> {
    let certificates = pem::blocks(bundle).filter(|block| block.kind == "CERTIFICATE" && !block.has_headers);
    verify::distinct(certificates.filter_map(|block| Certificate::read(&block.bytes)))
}

#[derive(Debug)]
struct Verifier {
    /// `None` trusts anybody.
    roots: Option<Vec<Certificate>>,
    algorithms: WebPkiSupportedAlgorithms,
    clock: Clock,
}

/// An error with Go's message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct VerificationError(String);

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        let refuse = |why: String| {
            let complaint: Arc<dyn std::error::Error + Send + Sync> = Arc::new(VerificationError(why));
            Error::InvalidCertificate(CertificateError::Other(OtherError(complaint)))
        };
        let leaf = Certificate::read(leaf).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let intermediates: Vec<Certificate> = intermediates
            .iter()
            .filter_map(|certificate| Certificate::read(certificate))
            .collect();
        let verification = verify::Verification {
            roots,
            intermediates: &intermediates,
            host: &server_name.to_str(),
            now: self.clock.now(),
            algorithms: self.algorithms,
        };
        verification.verify(&leaf).map_err(refuse)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Go's message about a failed handshake or a broken connection; `None` if the error is not one of rustls.
pub(crate) fn worded(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            format!("tls: failed to verify certificate: {other}")
        }
        Error::InvalidCertificate(_) => {
            "tls: failed to parse certificate from server: x509: malformed certificate".into()
        }
        Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
        Error::InvalidMessage(_) => "tls: first record does not look like a TLS handshake".into(),
        Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => {
            "tls: server selected unsupported protocol version 302".into()
        }
        Error::PeerIncompatible(_) => "remote error: tls: handshake failure".into(),
        other => format!("tls: {other}"),
    }
}

fn alert_text(alert: rustls::AlertDescription) -> String {
    use rustls::AlertDescription as Alert;
    let text = match alert {
        Alert::CloseNotify => "close notify",
        Alert::UnexpectedMessage => "unexpected message",
        Alert::BadRecordMac => "bad record MAC",
        Alert::RecordOverflow => "record overflow",
        Alert::HandshakeFailure => "handshake failure",
        Alert::BadCertificate => "bad certificate",
        Alert::UnsupportedCertificate => "unsupported certificate",
        Alert::CertificateRevoked => "revoked certificate",
        Alert::CertificateExpired => "expired certificate",
        Alert::CertificateUnknown => "unknown certificate",
        Alert::IllegalParameter => "illegal parameter",
        Alert::UnknownCA => "unknown certificate authority",
        Alert::AccessDenied => "access denied",
        Alert::DecodeError => "error decoding message",
        Alert::DecryptError => "error decrypting message",
        Alert::ProtocolVersion => "protocol version not supported",
        Alert::InsufficientSecurity => "insufficient security level",
        Alert::InternalError => "internal error",
        Alert::InappropriateFallback => "inappropriate fallback",
        Alert::UserCanceled => "user canceled",
        Alert::NoRenegotiation => "no renegotiation",
        Alert::MissingExtension => "missing extension",
        Alert::UnsupportedExtension => "unsupported extension",
        Alert::UnrecognisedName => "unrecognized name",
        Alert::CertificateRequired => "certificate required",
        Alert::NoApplicationProtocol => "no application protocol",
        other => return format!("alert({})", u8::from(other)),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    /// A certificate that has every part that verification reads.
    fn certificate() -> Vec<u8> {
        let names = vec![
            "a.example.com".to_owned(),
            "*.b.example.com".to_owned(),
            "10.1.2.3".to_owned(),
        ];
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
        parameters.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
        parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    fn judged(leaf: &Certificate, host: &str) -> Result<(), String> {
        let roots = [Certificate::read(&leaf.raw).unwrap()];
        let verification = verify::Verification {
            roots: &roots,
            intermediates: &[],
            host,
            now: Clock::system().now(),
            algorithms: ring::default_provider().signature_verification_algorithms,
        };
        verification.verify(leaf)
    }

    #[test]
    fn a_certificate_is_for_the_hosts_it_names() {
        let leaf = Certificate::read(&certificate()).unwrap();
        assert_eq!(judged(&leaf, "A.example.com"), Ok(()));
        assert_eq!(judged(&leaf, "x.b.example.com"), Ok(()));
        assert_eq!(judged(&leaf, "10.1.2.3"), Ok(()));
        assert_eq!(
            judged(&leaf, "b.example.com"),
            Err("x509: certificate is valid for a.example.com, *.b.example.com, not b.example.com".into())
        );
    }

    proptest! {
        #[test]
        fn no_mutation_of_a_certificate_makes_its_judge_panic(
            changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = certificate();
            for (at, byte) in changes {
                let length = bytes.len();
                bytes[at % length] = byte;
            }
            if let Some(leaf) = Certificate::read(&bytes) {
                let _ = judged(&leaf, "a.example.com");
            }
        }
    }
}
