//! Reads certificates and certificate requests in DER.

use std::net::IpAddr;

use jiff::Timestamp;

use crate::der::{BIT_STRING, BOOLEAN, Element, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, SET};
use crate::extension::{BASIC_CONSTRAINTS, EXTENDED_KEY_USAGE, KEY_USAGE, SUBJECT_ALT_NAME};

/// Context-specific tags of a certificate's body.
const VERSION: u8 = 0xa0;
pub(crate) const EXTENSIONS: u8 = 0xa3;

/// The object identifier of common names, 2.5.4.3, as DER content.
pub const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// The object identifier of organizations, 2.5.4.10, as DER content.
pub const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
/// The extended key usages with the object identifiers 1.3.6.1.5.5.7.3.1 and 2.5.29.37.0.
const SERVER_AUTH: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

/// The time in which a certificate is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validity {
    /// The beginning, inclusive.
    pub not_before: Timestamp,
    /// The end, inclusive; [`Timestamp::MAX`] for a certificate that does not expire.
    pub not_after: Timestamp,
}

impl Validity {
    /// Reads the validity of a certificate in DER. `None` where the bytes are not a certificate.
    pub fn of(certificate: &[u8]) -> Option<Self> {
        Some(Body::read(certificate)?.validity)
    }

    /// Whether the certificate is valid at this time.
    pub fn covers(&self, now: Timestamp) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}

/// An attribute of a distinguished name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute<'d> {
    /// Its object identifier, as DER content: [`COMMON_NAME`], [`ORGANIZATION`] or another.
    pub kind: &'d [u8],
    /// Its text, with U+FFFD in place of bytes that are not UTF-8.
    pub text: String,
}

/// Reads the attributes of a certificate's subject, in order. `None` where the bytes are not a certificate in DER.
pub fn subject(certificate: &[u8]) -> Option<Vec<Attribute<'_>>> {
    name(Body::read(certificate)?.subject.content)
}

/// Reads the attributes of the subject that a certificate request asks for, in order. `None` where the bytes are not a request in DER.
pub fn request_subject(request: &[u8]) -> Option<Vec<Attribute<'_>>> {
    let mut body = Reader(request).inside(SEQUENCE)?.inside(SEQUENCE)?;
    // The version comes first.
    body.element()?;
    name(body.content(SEQUENCE)?)
}

/// The message of Go's `x509.ParseCertificate` for bytes whose outermost structure is not that of a certificate.
pub fn malformation(certificate: &[u8]) -> Option<&'static str> {
    let mut outside = Reader(certificate);
    let Some(mut inside) = outside.inside(SEQUENCE) else {
        return Some("x509: malformed certificate");
    };
    if inside.expect(SEQUENCE).is_none() {
        return Some("x509: malformed tbs certificate");
    }
    (!outside.is_empty()).then_some("x509: trailing data")
}

/// The signed part of a certificate, up to its subject.
pub(crate) struct Body<'d> {
    /// The elements behind the signed part: the signature's algorithm and the signature.
    outside: Reader<'d>,
    signed: &'d [u8],
    version: u8,
    serial: &'d [u8],
    issuer: &'d [u8],
    validity: Validity,
    subject: Element<'d>,
    /// The public key and the extensions.
    pub(crate) rest: Reader<'d>,
}

impl<'d> Body<'d> {
    pub(crate) fn read(certificate: &'d [u8]) -> Option<Self> {
        let mut outside = Reader(certificate).inside(SEQUENCE)?;
        let signed = outside.expect(SEQUENCE)?;
        let mut body = Reader(signed.content);
        let mut version = 1;
        if body.is_at(VERSION) {
            version = body.inside(VERSION)?.content(INTEGER)?.last()?.saturating_add(1);
        }
        let serial = body.content(INTEGER)?;
        // The signed part repeats the signature's algorithm.
        body.expect(SEQUENCE)?;
        let issuer = body.expect(SEQUENCE)?.whole;
        let mut validity = body.inside(SEQUENCE)?;
        Some(Body {
            outside,
            signed: signed.whole,
            version,
            serial,
            issuer,
            validity: Validity {
                not_before: validity.time()?,
                not_after: validity.time()?,
            },
            subject: body.expect(SEQUENCE)?,
            rest: body,
        })
    }
}

/// The attributes of a distinguished name.
pub(crate) fn name(text: &[u8]) -> Option<Vec<Attribute<'_>>> {
    let mut names = Reader(text);
    let mut attributes = Vec::new();
    while !names.is_empty() {
        let mut set = names.inside(SET)?;
        while !set.is_empty() {
            let mut attribute = set.inside(SEQUENCE)?;
            attributes.push(Attribute {
                kind: attribute.content(OBJECT_IDENTIFIER)?,
                text: String::from_utf8_lossy(attribute.element()?.content).into_owned(),
            });
        }
    }
    Some(attributes)
}

/// The parts of a certificate that Go's verifier uses.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    /// The whole certificate in DER.
    pub raw: Vec<u8>,
    /// The part that is signed.
    pub signed: Vec<u8>,
    /// The content of the signature's algorithm identifier.
    pub signature_algorithm: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
    /// The content of the public key's algorithm identifier.
    pub key_algorithm: Vec<u8>,
    /// The public key.
    pub key: Vec<u8>,
    /// The version of X.509: 1, 2 or 3.
    pub version: u8,
    /// The serial number, big-endian.
    pub serial: Vec<u8>,
    /// The name of the issuer, as DER.
    pub issuer: Vec<u8>,
    /// The name of the subject, as DER.
    pub subject: Vec<u8>,
    /// The last common name of the subject.
    pub common_name: String,
    /// The first organization of the subject.
    pub organization: String,
    /// The time in which it is valid.
    pub validity: Validity,
    /// Whether it has basic constraints.
    pub has_constraints: bool,
    /// Whether its basic constraints make it an authority.
    pub is_ca: bool,
    /// How many intermediate certificates may follow it in a chain, if its basic constraints limit that.
    pub max_path: Option<usize>,
    /// Whether its key may sign certificates, if it has key usages.
    pub may_sign: Option<bool>,
    /// Whether servers may use it, if it has extended key usages.
    pub for_servers: Option<bool>,
    /// Whether it has subject alternative names.
    pub has_names: bool,
    /// The DNS names it is for.
    pub dns_names: Vec<String>,
    /// The addresses it is for.
    pub addresses: Vec<IpAddr>,
}

impl Certificate {
    /// Reads a certificate in DER. `None` where the bytes are not one.
    pub fn read(raw: &[u8]) -> Option<Certificate> {
        let Body {
            mut outside,
            signed,
            version,
            serial,
            issuer,
            validity,
            subject,
            mut rest,
        } = Body::read(raw)?;
        let mut key = rest.inside(SEQUENCE)?;
        let mut certificate = Certificate {
            raw: raw.to_vec(),
            signed: signed.to_vec(),
            signature_algorithm: outside.content(SEQUENCE)?.to_vec(),
            signature: outside.bits()?.to_vec(),
            key_algorithm: key.content(SEQUENCE)?.to_vec(),
            key: key.bits()?.to_vec(),
            version,
            serial: serial.to_vec(),
            issuer: issuer.to_vec(),
            subject: subject.whole.to_vec(),
            validity,
            ..Certificate::default()
        };
        for Attribute { kind, text } in name(subject.content)? {
            if kind == COMMON_NAME {
                certificate.common_name = text;
            } else if kind == ORGANIZATION && certificate.organization.is_empty() {
                certificate.organization = text;
            }
        }
        while !rest.is_empty() {
            let element = rest.element()?;
            if element.tag == EXTENSIONS {
                let mut extensions = Reader(element.content).inside(SEQUENCE)?;
                while !extensions.is_empty() {
                    certificate.read_extension(extensions.inside(SEQUENCE)?)?;
                }
            }
        }
        Some(certificate)
    }

    fn read_extension(&mut self, mut extension: Reader<'_>) -> Option<()> {
        let kind = extension.content(OBJECT_IDENTIFIER)?;
        if extension.is_at(BOOLEAN) {
            extension.element()?;
        }
        let mut content = extension.inside(OCTET_STRING)?;
        match kind {
            KEY_USAGE => {
                // The first byte counts unused bits; the sixth flag is keyCertSign.
                let bits = content.content(BIT_STRING)?.get(1..).unwrap_or_default();
                let flags = bits.first().copied().unwrap_or(0);
                self.may_sign = bits.iter().any(|byte| *byte != 0).then_some(flags & 0x04 != 0);
            }
            BASIC_CONSTRAINTS => {
                let mut fields = content.inside(SEQUENCE)?;
                self.has_constraints = true;
                if fields.is_at(BOOLEAN) {
                    self.is_ca = fields.element()?.content.iter().any(|byte| *byte != 0);
                }
                if fields.is_at(INTEGER) {
                    self.max_path = fields.element()?.content.last().map(|last| usize::from(*last));
                }
            }
            EXTENDED_KEY_USAGE => {
                let mut usages = content.inside(SEQUENCE)?;
                let mut for_servers = false;
                while !usages.is_empty() {
                    let usage = usages.content(OBJECT_IDENTIFIER)?;
                    for_servers |= usage == SERVER_AUTH || usage == ANY_USAGE;
                }
                self.for_servers = Some(for_servers);
            }
            SUBJECT_ALT_NAME => {
                self.has_names = true;
                let mut names = content.inside(SEQUENCE)?;
                while !names.is_empty() {
                    match names.element()? {
                        Element { tag: 0x82, content, .. } => {
                            self.dns_names.push(String::from_utf8_lossy(content).into_owned());
                        }
                        Element { tag: 0x87, content, .. } => self.addresses.extend(address(content)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Some(())
    }
}

pub(crate) fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(from: (i32, u8, u8), to: (i32, u8, u8)) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(["a.example.com".to_owned(), "10.1.2.3".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
        params.not_after = rcgen::date_time_ymd(to.0, to.1, to.2);
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "ops");
        params.distinguished_name.push(rcgen::DnType::CommonName, "jane");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(3));
        params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_is_read() {
        let der = made((2020, 1, 1), (2030, 1, 1));
        let read = Certificate::read(&der).unwrap();
        assert_eq!((read.common_name.as_str(), read.organization.as_str()), ("jane", "ops"));
        assert_eq!((read.version, read.is_ca, read.max_path), (3, true, Some(3)));
        assert_eq!((read.may_sign, read.for_servers), (Some(true), Some(true)));
        assert_eq!(read.dns_names, ["a.example.com"]);
        assert_eq!(read.addresses, [IpAddr::from([10, 1, 2, 3])]);
        assert_eq!((&read.issuer, &read.raw), (&read.subject, &der));
        let subject = subject(&der).unwrap();
        assert!(
            subject
                .iter()
                .any(|part| part.kind == ORGANIZATION && part.text == "ops")
        );
        assert!(
            subject
                .iter()
                .any(|part| part.kind == COMMON_NAME && part.text == "jane")
        );
        assert_eq!(malformation(&der), None);
    }

    #[test]
    fn a_request_is_read() {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "ops");
        let key = rcgen::KeyPair::generate().unwrap();
        let request = params.serialize_request(&key).unwrap();
        let subject = request_subject(request.der()).unwrap();
        assert_eq!((subject[0].kind, subject[0].text.as_str()), (ORGANIZATION, "ops"));
    }

    #[test]
    fn both_ways_of_writing_a_time_are_read() {
        let validity = Validity::of(&made((1999, 12, 31), (2061, 2, 28))).unwrap();
        assert_eq!(validity.not_before, "1999-12-31T00:00:00Z".parse().unwrap());
        assert_eq!(validity.not_after, "2061-02-28T00:00:00Z".parse().unwrap());
        assert!(validity.covers("2026-01-01T00:00:00Z".parse().unwrap()));
        assert!(!validity.covers("2061-02-28T00:00:01Z".parse().unwrap()));
    }

    #[test]
    fn what_never_ends_is_valid_until_the_end_of_time() {
        let validity = Validity::of(&made((2020, 1, 1), (9999, 12, 31))).unwrap();
        assert_eq!(validity.not_after, Timestamp::MAX);
    }

    #[test]
    fn what_is_cut_short_is_no_certificate() {
        let whole = made((2020, 1, 1), (2030, 1, 1));
        for length in 0..whole.len() {
            let cut = &whole[..length];
            assert_eq!(Validity::of(cut), None, "{length}");
            assert!(Certificate::read(cut).is_none() && subject(cut).is_none() && request_subject(cut).is_none());
            assert_eq!(malformation(cut), Some("x509: malformed certificate"));
        }
        let longer = [whole, vec![0]].concat();
        assert_eq!(malformation(&longer), Some("x509: trailing data"));
        assert_eq!(malformation(&[0x30, 0]), Some("x509: malformed tbs certificate"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (Certificate::read(&bytes), subject(&bytes), request_subject(&bytes), malformation(&bytes));
        }

        #[test]
        fn a_changed_certificate_is_read_without_a_panic(at in 0..400_usize, byte: u8) {
            let mut der = made((2020, 1, 1), (2030, 1, 1));
            let at = at % der.len();
            der[at] = byte;
            let _ = (Certificate::read(&der), subject(&der), malformation(&der));
        }
    }
}
