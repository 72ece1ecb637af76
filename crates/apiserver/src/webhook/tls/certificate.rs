//! What a certificate says, as far as Go's verifier asks: a small reader of X.509's DER.

use std::net::IpAddr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const INTEGER: u8 = 0x02;
const BOOLEAN: u8 = 0x01;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// 2.5.4.3 and 2.5.4.10.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
/// 2.5.29.15, .17, .19 and .37.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
/// 1.3.6.1.5.5.7.3.1 and 2.5.29.37.0.
const SERVER_AUTH: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

/// A certificate that was read.
#[derive(Debug, Default)]
pub(super) struct Certificate {
    /// The whole certificate.
    pub(super) raw: Vec<u8>,
    /// The part that is signed.
    pub(super) signed: Vec<u8>,
    /// The content of the signature's algorithm identifier.
    pub(super) signature_algorithm: Vec<u8>,
    pub(super) signature: Vec<u8>,
    /// The content of the public key's algorithm identifier.
    pub(super) key_algorithm: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) version: u8,
    pub(super) serial: Vec<u8>,
    pub(super) issuer: Vec<u8>,
    pub(super) subject: Vec<u8>,
    pub(super) common_name: String,
    pub(super) organization: String,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    /// Whether it says if it may sign certificates.
    pub(super) has_constraints: bool,
    pub(super) is_ca: bool,
    /// How many certificates may come between it and the last one.
    pub(super) max_path: Option<usize>,
    /// Whether its key may sign certificates, if it says what its key is for.
    pub(super) may_sign: Option<bool>,
    /// Whether it may be shown by servers, if it says what it may be shown for.
    pub(super) for_servers: Option<bool>,
    pub(super) has_names: bool,
    pub(super) dns_names: Vec<String>,
    pub(super) addresses: Vec<IpAddr>,
}

impl Certificate {
    /// Reads a certificate; `None` when it is none.
    pub(super) fn read(raw: &[u8]) -> Option<Certificate> {
        let mut outer = Der(Der(raw).expect(SEQUENCE)?);
        let mut certificate = Certificate {
            raw: raw.to_vec(),
            version: 1,
            ..Certificate::default()
        };
        let (signed, body) = outer.whole(SEQUENCE)?;
        signed.clone_into(&mut certificate.signed);
        certificate.signature_algorithm = outer.expect(SEQUENCE)?.to_vec();
        certificate.signature = outer.bits()?.to_vec();
        certificate.read_body(Der(body))?;
        Some(certificate)
    }

    fn read_body(&mut self, mut body: Der<'_>) -> Option<()> {
        if body.0.first() == Some(&VERSION) {
            let version = Der(body.next()?.1).expect(INTEGER)?;
            self.version = version.last()?.saturating_add(1);
        }
        self.serial = body.expect(INTEGER)?.to_vec();
        body.expect(SEQUENCE)?;
        let (issuer, _) = body.whole(SEQUENCE)?;
        self.issuer = issuer.to_vec();
        let mut validity = Der(body.expect(SEQUENCE)?);
        self.not_before = validity.time()?;
        self.not_after = validity.time()?;
        let (subject, names) = body.whole(SEQUENCE)?;
        self.subject = subject.to_vec();
        self.read_subject(Der(names))?;
        let mut key = Der(body.expect(SEQUENCE)?);
        self.key_algorithm = key.expect(SEQUENCE)?.to_vec();
        self.key = key.bits()?.to_vec();
        while !body.0.is_empty() {
            let (tag, content) = body.next()?;
            if tag == EXTENSIONS {
                let mut extensions = Der(Der(content).expect(SEQUENCE)?);
                while !extensions.0.is_empty() {
                    self.read_extension(Der(extensions.expect(SEQUENCE)?))?;
                }
            }
        }
        Some(())
    }

    fn read_subject(&mut self, mut names: Der<'_>) -> Option<()> {
        while !names.0.is_empty() {
            let mut set = Der(names.expect(SET)?);
            while !set.0.is_empty() {
                let mut attribute = Der(set.expect(SEQUENCE)?);
                let kind = attribute.expect(OBJECT_IDENTIFIER)?;
                let text = String::from_utf8_lossy(attribute.next()?.1).into_owned();
                if kind == COMMON_NAME {
                    self.common_name = text;
                } else if kind == ORGANIZATION && self.organization.is_empty() {
                    self.organization = text;
                }
            }
        }
        Some(())
    }

    fn read_extension(&mut self, mut extension: Der<'_>) -> Option<()> {
        let kind = extension.expect(OBJECT_IDENTIFIER)?;
        if extension.0.first() == Some(&BOOLEAN) {
            extension.next()?;
        }
        let mut content = Der(extension.expect(OCTET_STRING)?);
        match kind {
            KEY_USAGE => {
                let bits = content.expect(BIT_STRING)?;
                // The first byte counts unused bits; the sixth flag is keyCertSign.
                let flags = bits.get(1).copied().unwrap_or(0);
                self.may_sign =
                    (bits.get(1..).is_some_and(|bits| bits.iter().any(|byte| *byte != 0))).then_some(flags & 0x04 != 0);
            }
            BASIC_CONSTRAINTS => {
                let mut fields = Der(content.expect(SEQUENCE)?);
                self.has_constraints = true;
                if fields.0.first() == Some(&BOOLEAN) {
                    self.is_ca = fields.next()?.1.iter().any(|byte| *byte != 0);
                }
                if fields.0.first() == Some(&INTEGER) {
                    let path = fields.next()?.1;
                    self.max_path = path.last().map(|last| usize::from(*last));
                }
            }
            EXTENDED_KEY_USAGE => {
                let mut usages = Der(content.expect(SEQUENCE)?);
                let mut for_servers = false;
                while !usages.0.is_empty() {
                    let usage = usages.expect(OBJECT_IDENTIFIER)?;
                    for_servers |= usage == SERVER_AUTH || usage == ANY_USAGE;
                }
                self.for_servers = Some(for_servers);
            }
            SUBJECT_ALT_NAME => {
                self.has_names = true;
                let mut names = Der(content.expect(SEQUENCE)?);
                while !names.0.is_empty() {
                    match names.next()? {
                        (0x82, name) => self.dns_names.push(String::from_utf8_lossy(name).into_owned()),
                        (0x87, bytes) => self.addresses.extend(address(bytes)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Some(())
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

/// What is left to read of DER text.
struct Der<'c>(&'c [u8]);

impl<'c> Der<'c> {
    /// The next element: its tag and content.
    fn next(&mut self) -> Option<(u8, &'c [u8])> {
        let (tag, _, content) = self.element()?;
        Some((tag, content))
    }

    /// The content of the next element, which must have this tag.
    fn expect(&mut self, tag: u8) -> Option<&'c [u8]> {
        self.next()
            .filter(|(found, _)| *found == tag)
            .map(|(_, content)| content)
    }

    /// The next element with its header, and its content.
    fn whole(&mut self, tag: u8) -> Option<(&'c [u8], &'c [u8])> {
        let (found, whole, content) = self.element()?;
        (found == tag).then_some((whole, content))
    }

    /// A bit string of whole bytes.
    fn bits(&mut self) -> Option<&'c [u8]> {
        let (unused, bits) = self.expect(BIT_STRING)?.split_first()?;
        (*unused == 0).then_some(bits)
    }

    fn time(&mut self) -> Option<Timestamp> {
        let (tag, content) = self.next()?;
        let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
        let long = match tag {
            // Years are of this century up to 49.
            UTC_TIME if text.len() == 12 && text.as_bytes()[0] < b'5' => format!("20{text}"),
            UTC_TIME if text.len() == 12 => format!("19{text}"),
            GENERALIZED_TIME => text.to_owned(),
            _ => return None,
        };
        let time = DateTime::strptime("%Y%m%d%H%M%S", &long).ok()?;
        time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
    }

    fn element(&mut self) -> Option<(u8, &'c [u8], &'c [u8])> {
        let start = self.0;
        let (&tag, rest) = start.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short @ 0..=0x7f => (usize::from(short), rest),
            long @ 0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, &start[..start.len() - rest.len()], content))
    }
}
