//! Reads requests for certificates (PKCS #10), as Go's `x509.ParseCertificateRequest` does.

use std::net::IpAddr;

use crate::certificate::{COMMON_NAME, ORGANIZATION, address, name};
use crate::der::{BOOLEAN, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, SET};
use crate::extension::SUBJECT_ALT_NAME;

/// The attributes of a request, a context-specific tag.
const ATTRIBUTES: u8 = 0xa0;
/// The attribute with the extensions that are asked for, 1.2.840.113549.1.9.14.
const EXTENSION_REQUEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e];

/// The names and addresses that a certificate is for beside its subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlternativeNames {
    /// DNS names.
    pub dns_names: Vec<String>,
    /// Addresses of e-mail.
    pub email_addresses: Vec<String>,
    /// Addresses of IP.
    pub addresses: Vec<IpAddr>,
    /// URIs.
    pub uris: Vec<String>,
}

impl AlternativeNames {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        let AlternativeNames {
            dns_names,
            email_addresses,
            addresses,
            uris,
        } = self;
        dns_names.is_empty() && email_addresses.is_empty() && addresses.is_empty() && uris.is_empty()
    }

    fn read(&mut self, extension: &[u8]) -> Option<()> {
        let mut names = Reader(extension).inside(SEQUENCE)?;
        while !names.is_empty() {
            let name = names.element()?;
            let text = || String::from_utf8(name.content.to_vec()).ok();
            match name.tag {
                0x81 => self.email_addresses.push(text()?),
                0x82 => self.dns_names.push(text()?),
                0x86 => self.uris.push(text()?),
                0x87 => self.addresses.push(address(name.content)?),
                _ => {}
            }
        }
        Some(())
    }
}

/// What a request asks a certificate for. [`SignedRequest`](crate::SignedRequest) says what is wrong with one, in words of Go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateRequest {
    /// The part that is signed.
    pub signed: Vec<u8>,
    /// The content of the signature's algorithm identifier.
    pub signature_algorithm: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
    /// The public key, as a `SubjectPublicKeyInfo` in DER.
    pub public_key: Vec<u8>,
    /// The content of the public key's algorithm identifier.
    pub key_algorithm: Vec<u8>,
    /// The bytes of the public key alone.
    pub key: Vec<u8>,
    /// The attributes of the subject, in order: object identifier as DER content, and text.
    pub subject: Vec<(Vec<u8>, String)>,
    /// The names beside the subject.
    pub names: AlternativeNames,
}

impl CertificateRequest {
    /// Reads a request in DER. `None` where the bytes are not one.
    ///
    /// ```
    /// use kubewright_x509::CertificateRequest;
    ///
    /// # let key = rcgen::KeyPair::generate().unwrap();
    /// # let mut params = rcgen::CertificateParams::new(["a.example.com".to_owned()]).unwrap();
    /// # params.distinguished_name.push(rcgen::DnType::CommonName, "jane");
    /// # let der = params.serialize_request(&key).unwrap().der().to_vec();
    /// let request = CertificateRequest::read(&der).unwrap();
    /// assert_eq!(request.common_name(), "jane");
    /// assert_eq!(request.names.dns_names, ["a.example.com"]);
    /// ```
    pub fn read(der: &[u8]) -> Option<Self> {
        let mut whole = Reader(der);
        let mut outside = whole.inside(SEQUENCE)?;
        let signed = outside.expect(SEQUENCE)?;
        let mut body = Reader(signed.content);
        // The version comes first.
        body.element()?;
        let subject = body.expect(SEQUENCE)?;
        let public_key = body.expect(SEQUENCE)?;
        let mut key = Reader(public_key.content);
        let mut request = CertificateRequest {
            signed: signed.whole.to_vec(),
            signature_algorithm: outside.content(SEQUENCE)?.to_vec(),
            signature: outside.bits()?.to_vec(),
            public_key: public_key.whole.to_vec(),
            key_algorithm: key.content(SEQUENCE)?.to_vec(),
            key: key.bits()?.to_vec(),
            subject: name(subject.content)?
                .into_iter()
                .map(|attribute| (attribute.kind.to_vec(), attribute.text))
                .collect(),
            names: AlternativeNames::default(),
        };
        if body.is_at(ATTRIBUTES) {
            let mut attributes = body.inside(ATTRIBUTES)?;
            while !attributes.is_empty() {
                let mut attribute = attributes.inside(SEQUENCE)?;
                if attribute.content(OBJECT_IDENTIFIER)? == EXTENSION_REQUEST {
                    request.read_extensions(attribute.inside(SET)?.inside(SEQUENCE)?)?;
                }
            }
        }
        whole.is_empty().then_some(request)
    }

    fn read_extensions(&mut self, mut extensions: Reader<'_>) -> Option<()> {
        while !extensions.is_empty() {
            let mut extension = extensions.inside(SEQUENCE)?;
            let kind = extension.content(OBJECT_IDENTIFIER)?;
            if extension.is_at(BOOLEAN) {
                extension.element()?;
            }
            let value = extension.content(OCTET_STRING)?;
            if kind == SUBJECT_ALT_NAME {
                self.names.read(value)?;
            }
        }
        Some(())
    }

    /// The last common name of the subject, or nothing.
    pub fn common_name(&self) -> &str {
        self.texts(COMMON_NAME).last().unwrap_or_default()
    }

    /// The organizations of the subject.
    pub fn organizations(&self) -> Vec<&str> {
        self.texts(ORGANIZATION).collect()
    }

    fn texts<'a>(&'a self, kind: &'a [u8]) -> impl Iterator<Item = &'a str> {
        self.subject
            .iter()
            .filter(move |(own, _)| own == kind)
            .map(|(_, text)| text.as_str())
    }
}
