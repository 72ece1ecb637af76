//! Writes certificates as Go's `x509.CreateCertificate` writes those that the controllers of Kubernetes sign: the same subject, the
//! same extensions in the same order. Signing is left to whoever has the key.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::certificate::{COMMON_NAME, Certificate, ORGANIZATION, Validity};
use crate::der::{
    BIT_STRING, BOOLEAN, GENERALIZED_TIME, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, SET, UTC_TIME, element,
};
use crate::extension::{
    AUTHORITY_KEY_ID, BASIC_CONSTRAINTS, EXTENDED_KEY_USAGE, KEY_USAGE, SUBJECT_ALT_NAME, subject_key_id,
};
use crate::request::{AlternativeNames, CertificateRequest};

const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
/// Context-specific tags.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const KEY_ID: u8 = 0x80;

/// The attributes that Go writes into a name, in its order: country, organization, organizational unit, locality, province, street,
/// postal code, common name, serial number. Others of a request are left out.
const ATTRIBUTES: [&[u8]; 9] = [
    &[0x55, 0x04, 0x06],
    ORGANIZATION,
    &[0x55, 0x04, 0x0b],
    &[0x55, 0x04, 0x07],
    &[0x55, 0x04, 0x08],
    &[0x55, 0x04, 0x09],
    &[0x55, 0x04, 0x11],
    COMMON_NAME,
    SERIAL_NUMBER,
];
const SERIAL_NUMBER: &[u8] = &[0x55, 0x04, 0x05];

/// What a certificate says that is made from a request. It is no authority's.
#[derive(Clone, Debug)]
pub struct Template<'a> {
    /// The serial number, big-endian.
    pub serial: [u8; 16],
    /// The time in which it is valid.
    pub validity: Validity,
    /// What the key may be used for, by the numbers of RFC 5280: bit 0 is `digitalSignature`.
    pub key_usages: u16,
    /// What else the key may be used for: object identifiers as DER content.
    pub extended_key_usages: &'a [&'a [u8]],
}

impl Template<'_> {
    /// The part of the certificate that an authority signs; `algorithm` is the identifier of the signature's algorithm, in DER.
    pub fn to_be_signed(&self, request: &CertificateRequest, authority: &Certificate, algorithm: &[u8]) -> Vec<u8> {
        let first = self.serial.iter().position(|byte| *byte != 0).unwrap_or(15);
        let mut serial = self.serial[first..].to_vec();
        if serial[0] & 0x80 != 0 {
            serial.insert(0, 0);
        }
        let validity = [time(self.validity.not_before), time(self.validity.not_after)].concat();
        let subject = name(&request.subject);
        let extensions = self.extensions(request, authority, subject.len() == 2);
        let parts = [
            element(VERSION, &element(INTEGER, &[2])),
            element(INTEGER, &serial),
            algorithm.to_vec(),
            authority.subject.clone(),
            element(SEQUENCE, &validity),
            subject,
            request.public_key.clone(),
            element(EXTENSIONS, &element(SEQUENCE, &extensions)),
        ];
        element(SEQUENCE, &parts.concat())
    }

    fn extensions(&self, request: &CertificateRequest, authority: &Certificate, has_no_subject: bool) -> Vec<u8> {
        let mut written = Vec::new();
        if self.key_usages != 0 {
            written.extend(extension(KEY_USAGE, true, &bits(self.key_usages)));
        }
        if !self.extended_key_usages.is_empty() {
            let usages = self.extended_key_usages.iter();
            let usages: Vec<u8> = usages.flat_map(|usage| element(OBJECT_IDENTIFIER, usage)).collect();
            written.extend(extension(EXTENDED_KEY_USAGE, false, &element(SEQUENCE, &usages)));
        }
        written.extend(extension(BASIC_CONSTRAINTS, true, &element(SEQUENCE, &[])));
        if let Some(id) = subject_key_id(&authority.raw) {
            let id = element(SEQUENCE, &element(KEY_ID, &id));
            written.extend(extension(AUTHORITY_KEY_ID, false, &id));
        }
        if !request.names.is_empty() {
            written.extend(extension(
                SUBJECT_ALT_NAME,
                has_no_subject,
                &alternatives(&request.names),
            ));
        }
        written
    }
}

/// A certificate: what was signed, the identifier of the algorithm in DER, and the signature.
pub fn assemble(signed: &[u8], algorithm: &[u8], signature: &[u8]) -> Vec<u8> {
    let signature = element(BIT_STRING, &[&[0], signature].concat());
    element(SEQUENCE, &[signed, algorithm, &signature].concat())
}

fn extension(kind: &[u8], is_critical: bool, value: &[u8]) -> Vec<u8> {
    let mut content = element(OBJECT_IDENTIFIER, kind);
    if is_critical {
        content.extend(element(BOOLEAN, &[0xff]));
    }
    content.extend(element(OCTET_STRING, value));
    element(SEQUENCE, &content)
}

/// Key usages as a bit string, without zeros at its end.
fn bits(usages: u16) -> Vec<u8> {
    let mut bytes = usages.reverse_bits().to_be_bytes().to_vec();
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    let unused = bytes.last().map_or(0, |last| last.trailing_zeros());
    bytes.insert(0, u8::try_from(unused).unwrap_or(0));
    element(BIT_STRING, &bytes)
}

fn alternatives(names: &AlternativeNames) -> Vec<u8> {
    let mut written = Vec::new();
    let texts = |tag: u8, texts: &[String]| -> Vec<u8> {
        let elements = texts.iter().flat_map(|text| element(tag, text.as_bytes()));
        elements.collect()
    };
    written.extend(texts(0x82, &names.dns_names));
    written.extend(texts(0x81, &names.email_addresses));
    for address in &names.addresses {
        written.extend(match address {
            std::net::IpAddr::V4(address) => element(0x87, &address.octets()),
            std::net::IpAddr::V6(address) => element(0x87, &address.octets()),
        });
    }
    written.extend(texts(0x86, &names.uris));
    element(SEQUENCE, &written)
}

/// A name with its attributes in Go's order, those of one kind together.
fn name(attributes: &[(Vec<u8>, String)]) -> Vec<u8> {
    let mut sets = Vec::new();
    for kind in ATTRIBUTES {
        let own = attributes.iter().filter(|(own, _)| own == kind);
        let mut values: Vec<Vec<u8>> = own.map(|(_, text)| attribute(kind, text)).collect();
        // There is one common name and one serial number, the last that was asked for, and an empty one is none.
        if kind == COMMON_NAME || kind == SERIAL_NUMBER {
            let last = attributes.iter().rfind(|(own, text)| own == kind && !text.is_empty());
            values = last.map(|(_, text)| attribute(kind, text)).into_iter().collect();
        }
        // DER sorts sets.
        values.sort();
        if !values.is_empty() {
            sets.extend(element(SET, &values.concat()));
        }
    }
    element(SEQUENCE, &sets)
}

fn attribute(kind: &[u8], text: &str) -> Vec<u8> {
    let is_printable = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+,-./ :=?".contains(&byte);
    let tag = if text.bytes().all(is_printable) {
        PRINTABLE_STRING
    } else {
        UTF8_STRING
    };
    let content = [element(OBJECT_IDENTIFIER, kind), element(tag, text.as_bytes())].concat();
    element(SEQUENCE, &content)
}

/// A time, in the form that RFC 5280 demands of its year.
fn time(time: Timestamp) -> Vec<u8> {
    let zoned = time.to_zoned(TimeZone::UTC);
    let (tag, format) = if (1950..2050).contains(&zoned.year()) {
        (UTC_TIME, "%y%m%d%H%M%SZ")
    } else {
        (GENERALIZED_TIME, "%Y%m%d%H%M%SZ")
    };
    element(tag, zoned.strftime(format).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::extensions;

    fn request(names: &[&str]) -> CertificateRequest {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = rcgen::CertificateParams::new(names).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, "jané");
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "ops");
        let key = rcgen::KeyPair::generate().unwrap();
        CertificateRequest::read(params.serialize_request(&key).unwrap().der()).unwrap()
    }

    fn authority() -> Certificate {
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        Certificate::read(params.self_signed(&key).unwrap().der()).unwrap()
    }

    const ALGORITHM: &[u8] = &[0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];

    #[test]
    fn what_is_written_is_read_again() {
        let (request, authority) = (request(&["a.example.com", "10.1.2.3"]), authority());
        let template = Template {
            serial: [0xff; 16],
            validity: Validity {
                not_before: "2026-01-01T00:00:00Z".parse().unwrap(),
                not_after: "2051-01-01T00:00:00Z".parse().unwrap(),
            },
            key_usages: 0b101,
            extended_key_usages: &[&[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01]],
        };
        let signed = template.to_be_signed(&request, &authority, ALGORITHM);
        let read = Certificate::read(&assemble(&signed, ALGORITHM, b"signature")).unwrap();
        assert_eq!((read.common_name.as_str(), read.organization.as_str()), ("jané", "ops"));
        assert_eq!((read.validity, read.version), (template.validity, 3));
        assert_eq!(
            (read.is_ca, read.has_constraints, read.may_sign),
            (false, true, Some(false))
        );
        assert_eq!(
            (read.for_servers, read.dns_names.len(), read.addresses.len()),
            (Some(true), 1, 1)
        );
        assert_eq!((read.issuer, read.serial.len()), (authority.subject, 17));
        assert_eq!((read.signed, read.signature), (signed, b"signature".to_vec()));
    }

    #[test]
    fn names_are_critical_only_where_there_is_no_subject() {
        let (mut request, authority) = (request(&["a.example.com"]), authority());
        let template = Template {
            serial: [0; 16],
            validity: Validity::default(),
            key_usages: 0,
            extended_key_usages: &[],
        };
        for subject in [true, false] {
            if !subject {
                request.subject.clear();
            }
            let signed = template.to_be_signed(&request, &authority, ALGORITHM);
            let whole = assemble(&signed, ALGORITHM, &[]);
            let extensions = extensions(&whole).unwrap();
            let names = extensions.iter().find(|found| found.kind == SUBJECT_ALT_NAME).unwrap();
            assert_eq!(names.is_critical, !subject);
            assert!(extensions.iter().all(|found| found.kind != KEY_USAGE));
        }
    }

    #[test]
    fn usages_are_written_without_zeros_at_their_end() {
        assert_eq!(bits(0b101), [0x03, 2, 5, 0b1010_0000]);
        assert_eq!(bits(1 << 8), [0x03, 3, 7, 0, 0b1000_0000]);
    }
}
