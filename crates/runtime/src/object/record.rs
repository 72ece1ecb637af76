//! What the cache keeps of an object: compact bytes and the places of what everyone asks for.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeOwned, MapAccess, Visitor};

use super::compact::{ManagedFields, MetadataSpans, Span, compact, compact_next};
use super::key::ObjectKey;
use super::kind::Kind;
use super::scan::{ScanError, Scanner};
use super::selector::Selector;
use super::view::{DecodeError, DecodedForms, View};

/// Why some bytes are not an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes are not JSON.
    #[error("the object is not valid JSON")]
    Scan(#[from] ScanError),
    /// The object has no name.
    #[error("the object has no metadata.name")]
    NoName,
}

/// One object as the cache keeps it. Immutable and shared; reading a part of its metadata decodes only that part.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::object::{Kind, Record};
///
/// let bytes = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"shop",
///     "uid":"8c5d","resourceVersion":"42","labels":{"app":"web"},"managedFields":[{"manager":"kubectl"}]}}"#;
/// let record = Record::parse(bytes, &Kind::of::<ConfigMap>()).unwrap();
/// assert_eq!(record.key().to_string(), "shop/settings");
/// assert_eq!(record.revision(), Some(42));
/// assert_eq!((&*record.uid(), &*record.resource_version()), ("8c5d", "42"));
/// assert_eq!((record.generation(), record.is_deleting()), (None, false));
/// assert_eq!(record.labels().len(), 1);
/// assert!(record.annotations().is_empty() && record.finalizers().is_empty());
/// assert!(record.json().starts_with(b"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\""));
/// assert_eq!(record.label("app").as_deref(), Some("web"));
/// let decoded: ConfigMap = record.decode().unwrap();
/// assert_eq!(decoded.metadata.managed_fields, None);
/// ```
pub struct Record {
    key: ObjectKey,
    json: Box<[u8]>,
    places: MetadataSpans,
    revision: Option<u64>,
    memo: DecodedForms,
}

impl Record {
    /// Reads an object as the server sent it.
    pub fn parse(json: &[u8], kind: &Kind) -> Result<Self, RecordError> {
        let (json, places) = compact(json, &kind.type_meta(), ManagedFields::Cut)?;
        Self::new(&json, places)
    }

    /// The same, but managedFields stay: for objects that are read once and not kept.
    pub(crate) fn parse_whole(json: &[u8], kind: &Kind) -> Result<Self, RecordError> {
        let (json, places) = compact(json, &kind.type_meta(), ManagedFields::Keep)?;
        Self::new(&json, places)
    }

    /// Reads the object that the scanner stands before. `scratch` is room to work in, for many objects one after the other.
    pub(super) fn parse_next(
        scanner: &mut Scanner<'_>,
        type_meta: &str,
        scratch: &mut Vec<u8>,
    ) -> Result<Self, RecordError> {
        let places = compact_next(scanner, type_meta, ManagedFields::Cut, scratch)?;
        Self::new(scratch, places)
    }

    /// The text is copied: what is kept for long has exactly its size, and leaves no holes behind.
    fn new(json: &[u8], places: MetadataSpans) -> Result<Self, RecordError> {
        let text = |span: Span| span.of(json).and_then(string);
        let name = text(places.name)
            .filter(|name| !name.is_empty())
            .ok_or(RecordError::NoName)?;
        let key = ObjectKey::new(text(places.namespace).as_deref(), &name);
        let revision = text(places.resource_version).and_then(|text| revision(&text));
        Ok(Record {
            key,
            json: json.into(),
            places,
            revision,
            memo: DecodedForms::default(),
        })
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The uid; empty if the object has none.
    pub fn uid(&self) -> Cow<'_, str> {
        self.text(self.places.uid)
    }

    /// The resourceVersion as the server wrote it; empty if the object has none.
    pub fn resource_version(&self) -> Cow<'_, str> {
        self.text(self.places.resource_version)
    }

    /// The resourceVersion as a number, which orders the changes of a kind. `None` if the server writes something else.
    pub fn revision(&self) -> Option<u64> {
        self.revision
    }

    /// The generation of the specification.
    pub fn generation(&self) -> Option<i64> {
        self.part(self.places.generation)
    }

    /// Whether deletion was asked for and waits for finalizers or a grace period.
    pub fn is_deleting(&self) -> bool {
        self.places.deletion_timestamp.of(&self.json).is_some()
    }

    /// The labels, in the order of the text.
    pub fn labels(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        self.part::<Pairs<'_>>(self.places.labels).unwrap_or_default().0
    }

    /// One label.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        self.labels()
            .into_iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The annotations, in the order of the text.
    pub fn annotations(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        self.part::<Pairs<'_>>(self.places.annotations).unwrap_or_default().0
    }

    /// The finalizers.
    pub fn finalizers(&self) -> Vec<String> {
        self.part(self.places.finalizers).unwrap_or_default()
    }

    /// The owners.
    pub fn owners(&self) -> Vec<Owner<'_>> {
        self.part(self.places.owner_references).unwrap_or_default()
    }

    /// The one owner that is the object's controller.
    pub fn controller(&self) -> Option<Owner<'_>> {
        self.owners().into_iter().find(|owner| owner.controller)
    }

    /// Whether the labels satisfy a selector.
    pub fn matches(&self, selector: &Selector) -> bool {
        selector.is_everything() || selector.matches(&self.labels())
    }

    /// Whether both have the same labels, annotations or other part; compares text first.
    pub(crate) fn same_labels(&self, other: &Record) -> bool {
        self.same(self.places.labels, other, other.places.labels, Self::labels)
    }

    pub(crate) fn same_annotations(&self, other: &Record) -> bool {
        self.same(
            self.places.annotations,
            other,
            other.places.annotations,
            Self::annotations,
        )
    }

    /// Whether two states of an object have the same owners and finalizers, and both or none is being deleted. Another
    /// spelling of the same may count as a difference.
    pub fn same_ownership(&self, other: &Record) -> bool {
        let same = |mine: Span, theirs: Span| mine.of(&self.json) == theirs.of(&other.json);
        same(self.places.owner_references, other.places.owner_references)
            && same(self.places.finalizers, other.places.finalizers)
            && self.is_deleting() == other.is_deleting()
    }

    fn same<'a>(
        &'a self,
        mine: Span,
        other: &'a Record,
        theirs: Span,
        pairs: impl Fn(&'a Record) -> Vec<(Cow<'a, str>, Cow<'a, str>)>,
    ) -> bool {
        if mine.of(&self.json) == theirs.of(&other.json) {
            return true;
        }
        let (mut left, mut right) = (pairs(self), pairs(other));
        left.sort_unstable();
        right.sort_unstable();
        left == right
    }

    /// The whole object: compact JSON that begins with apiVersion and kind and has no managedFields.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// How many bytes it takes, without decoded forms that readers hold.
    pub(crate) fn bytes(&self) -> usize {
        // With the two counts of its `Arc`, and of that of its key.
        size_of::<Record>() + 4 * size_of::<usize>() + self.json.len() + self.key.as_str().len()
    }

    /// Decodes the object anew.
    pub fn decode<K: DeserializeOwned>(&self) -> Result<K, DecodeError> {
        serde_json::from_slice(&self.json).map_err(|source| DecodeError {
            key: self.key.clone(),
            kind: std::any::type_name::<K>(),
            source,
        })
    }

    /// The object decoded; readers that hold it at the same time share one decoding.
    pub fn view<K: DeserializeOwned + Send + Sync + 'static>(self: &Arc<Self>) -> Result<View<K>, DecodeError> {
        View::of(self)
    }

    pub(super) fn memo(&self) -> &DecodedForms {
        &self.memo
    }

    fn text(&self, span: Span) -> Cow<'_, str> {
        span.of(&self.json).and_then(string).unwrap_or_default()
    }

    fn part<'a, T: Deserialize<'a>>(&'a self, span: Span) -> Option<T> {
        serde_json::from_slice(span.of(&self.json)?).ok()
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Record({}@{}, {} bytes)",
            self.key,
            self.resource_version(),
            self.json.len()
        )
    }
}

/// A quoted JSON string without its quotes and escapes.
fn string(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return serde_json::from_slice::<String>(quoted).ok().map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

/// A resourceVersion as a number: decimal digits without sign or leading zero, as the rule of 1.35 has it.
pub(crate) fn revision(text: &str) -> Option<u64> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    if canonical { text.parse().ok() } else { None }
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner<'a> {
    /// Group and version of the owner.
    #[serde(borrow, default)]
    pub api_version: Cow<'a, str>,
    /// Kind of the owner.
    #[serde(borrow, default)]
    pub kind: Cow<'a, str>,
    /// Name of the owner.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// Uid of the owner.
    #[serde(borrow, default)]
    pub uid: Cow<'a, str>,
    /// Whether it is the controller.
    #[serde(default, deserialize_with = "true_or_not")]
    pub controller: bool,
    /// Whether it is not deleted before the object, if it is deleted after its dependents.
    #[serde(default, deserialize_with = "true_or_not")]
    pub block_owner_deletion: bool,
}

impl Owner<'_> {
    /// The API group of the owner; its version does not matter to who it is.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Whether the owner is of this kind, in whatever version.
    pub(crate) fn is_of(&self, kind: &Kind) -> bool {
        self.kind == kind.kind() && self.group() == kind.group()
    }
}

fn true_or_not<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(deserializer)?.unwrap_or(false))
}

/// A map of strings, borrowed where it can be.
#[derive(Default)]
struct Pairs<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(Text(key)) = map.next_key()? {
                    // Go reads a null as an empty string.
                    let value = map.next_value::<Option<Text<'de>>>()?;
                    pairs.push((key, value.map_or(Cow::Borrowed(""), |Text(value)| value)));
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    const JSON: &[u8] = br#"{"metadata":{"name":"a","namespace":"n","generation":3,"finalizers":["x/y"],
        "deletionTimestamp":"2026-01-01T00:00:00Z","annotations":{"note":"say \"hi\"","empty":null},
        "ownerReferences":[{"apiVersion":"apps/v1beta1","kind":"Deployment","name":"web","uid":"1","controller":true},
            {"apiVersion":"v1","kind":"Node","name":"node","uid":"2"}],
        "managedFields":[{"manager":"kubectl"}]}}"#;

    #[test]
    fn managed_fields_are_cut_for_the_cache_and_kept_for_who_reads_once() {
        let kind = Kind::of::<ConfigMap>();
        let managed =
            |record: Record| record.decode::<serde_json::Value>().unwrap()["metadata"]["managedFields"].clone();
        assert_eq!(managed(Record::parse(JSON, &kind).unwrap()), serde_json::Value::Null);
        assert_eq!(
            managed(Record::parse_whole(JSON, &kind).unwrap())[0]["manager"],
            "kubectl"
        );
    }

    #[test]
    fn metadata_is_read_without_decoding_the_object() {
        let record = Record::parse(JSON, &Kind::of::<ConfigMap>()).unwrap();
        assert_eq!((record.generation(), record.is_deleting()), (Some(3), true));
        assert_eq!(record.finalizers(), ["x/y"]);
        let annotations = record.annotations();
        assert_eq!(annotations[0], ("note".into(), "say \"hi\"".into()));
        assert_eq!(annotations[1], ("empty".into(), "".into()));
        assert_eq!(record.owners().len(), 2);
        let controller = record.controller().unwrap();
        // The version of an owner does not matter to who it is.
        assert!(controller.is_of(&Kind::of::<k8s_openapi::api::apps::v1::Deployment>()));
        assert_eq!((record.uid(), record.revision()), ("".into(), None));
    }

    #[test]
    fn only_canonical_numbers_are_revisions() {
        assert_eq!(revision("0"), Some(0));
        assert_eq!(revision("18446744073709551615"), Some(u64::MAX));
        for opaque in ["", "01", "+1", "1a", "18446744073709551616", " 1"] {
            assert_eq!(revision(opaque), None, "{opaque:?}");
        }
    }
}
