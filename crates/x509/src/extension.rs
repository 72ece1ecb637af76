//! The extensions of a certificate, one by one.

use crate::certificate::{Body, EXTENSIONS};
use crate::der::{BOOLEAN, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE};

/// Extensions by their object identifiers: 2.5.29.14, .15, .17, .19, .35 and .37.
pub(crate) const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 0x0e];
pub(crate) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
pub(crate) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
pub(crate) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
pub(crate) const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 0x23];
pub(crate) const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];

/// An extension of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension<'d> {
    /// Its object identifier, as DER content.
    pub kind: &'d [u8],
    /// Whether those who do not know it must refuse the certificate.
    pub is_critical: bool,
    /// What it says, in DER.
    pub value: &'d [u8],
}

/// Reads the extensions of a certificate in DER, in order. `None` where the bytes are not a certificate.
pub fn extensions(certificate: &[u8]) -> Option<Vec<Extension<'_>>> {
    let mut rest = Body::read(certificate)?.rest;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let element = rest.element()?;
        if element.tag != EXTENSIONS {
            continue;
        }
        let mut extensions = Reader(element.content).inside(SEQUENCE)?;
        while !extensions.is_empty() {
            let mut extension = extensions.inside(SEQUENCE)?;
            found.push(Extension {
                kind: extension.content(OBJECT_IDENTIFIER)?,
                is_critical: extension.is_at(BOOLEAN) && extension.element()?.content != [0],
                value: extension.content(OCTET_STRING)?,
            });
        }
    }
    Some(found)
}

/// The identifier of a certificate's key, if it has one.
pub(crate) fn subject_key_id(certificate: &[u8]) -> Option<Vec<u8>> {
    let extensions = extensions(certificate)?;
    let found = extensions.iter().find(|extension| extension.kind == SUBJECT_KEY_ID)?;
    Reader(found.value).content(OCTET_STRING).map(<[u8]>::to_vec)
}
