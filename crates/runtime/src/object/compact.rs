//! From an object as the server sends it to the form the cache keeps: `TypeMeta` in front, no whitespace, no managedFields,
//! and the places of what everyone asks for.

use super::scan::{Ignore, Output, ScanError, Scanner, key_is};

/// A piece of the compact text; empty where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn of(self, text: &[u8]) -> Option<&[u8]> {
        if self.start == self.end {
            return None;
        }
        text.get(self.start as usize..self.end as usize)
    }
}

/// The spans of the fields of `metadata` in the compact text, which are read without decoding the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MetadataSpans {
    pub(super) name: Span,
    pub(super) namespace: Span,
    pub(super) uid: Span,
    pub(super) resource_version: Span,
    pub(super) generation: Span,
    pub(super) deletion_timestamp: Span,
    pub(super) labels: Span,
    pub(super) annotations: Span,
    pub(super) owner_references: Span,
    pub(super) finalizers: Span,
}

/// Whether managedFields stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ManagedFields {
    Cut,
    Keep,
}

/// Copies an object. `type_meta` is the opening that replaces the object's own apiVersion and kind.
pub(super) fn compact(
    input: &[u8],
    type_meta: &str,
    managed: ManagedFields,
) -> Result<(Vec<u8>, MetadataSpans), ScanError> {
    let mut scanner = Scanner::new(input)?;
    let mut out = Vec::with_capacity(type_meta.len() + input.len());
    let places = compact_next(&mut scanner, type_meta, managed, &mut out)?;
    scanner.end()?;
    Ok((out, places))
}

/// The same for the object that the scanner reads next. It replaces what `out` held.
pub(super) fn compact_next(
    scanner: &mut Scanner<'_>,
    type_meta: &str,
    managed: ManagedFields,
    out: &mut Vec<u8>,
) -> Result<MetadataSpans, ScanError> {
    out.clear();
    out.put(type_meta.as_bytes());
    let mut places = MetadataSpans::default();
    scanner.members(|scanner, key| {
        if key_is(key, "apiVersion") || key_is(key, "kind") {
            return scanner.value(&mut Ignore);
        }
        out.put(b",");
        out.put(key);
        out.put(b":");
        if key_is(key, "metadata") && scanner.peek()? == b'{' {
            places = metadata(scanner, out, managed)?;
            Ok(())
        } else {
            scanner.value(out)
        }
    })?;
    out.put(b"}");
    Ok(places)
}

fn metadata(scanner: &mut Scanner<'_>, out: &mut Vec<u8>, managed: ManagedFields) -> Result<MetadataSpans, ScanError> {
    let mut places = MetadataSpans::default();
    let mut first = true;
    out.put(b"{");
    scanner.members(|scanner, key| {
        if managed == ManagedFields::Cut && key_is(key, "managedFields") {
            return scanner.value(&mut Ignore);
        }
        if !first {
            out.put(b",");
        }
        first = false;
        out.put(key);
        out.put(b":");
        let is_null = scanner.peek()? == b'n';
        let start = offset(out)?;
        scanner.value(out)?;
        let span = if is_null {
            Span::default()
        } else {
            Span {
                start,
                end: offset(out)?,
            }
        };
        for (name, place) in [
            ("name", &mut places.name),
            ("namespace", &mut places.namespace),
            ("uid", &mut places.uid),
            ("resourceVersion", &mut places.resource_version),
            ("generation", &mut places.generation),
            ("deletionTimestamp", &mut places.deletion_timestamp),
            ("labels", &mut places.labels),
            ("annotations", &mut places.annotations),
            ("ownerReferences", &mut places.owner_references),
            ("finalizers", &mut places.finalizers),
        ] {
            if key_is(key, name) {
                *place = span;
                break;
            }
        }
        Ok::<(), ScanError>(())
    })?;
    out.put(b"}");
    Ok(places)
}

fn offset(out: &[u8]) -> Result<u32, ScanError> {
    u32::try_from(out.len()).map_err(|_| ScanError::TooLong)
}
