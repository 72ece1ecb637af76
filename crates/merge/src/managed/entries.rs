//! `metadata.managedFields`: the managers of an object and what each owns (S2).

use kubewright_apimachinery::go::{json, quote};
use serde_json::{Map, Value};

use super::{FieldSet, FieldsError, fields_v1, time};

/// How a manager came to own its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What makes two entries the same manager. An applier is the same at every version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManagerId {
    /// The name of the manager.
    pub manager: Box<str>,
    /// How it writes.
    pub operation: Operation,
    /// The apiVersion it writes at; empty for appliers.
    pub api_version: Box<str>,
    /// The subresource it writes through; empty for the main resource.
    pub subresource: Box<str>,
}

impl ManagerId {
    /// The identity of a manager.
    pub fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Self {
            manager: manager.into(),
            operation,
            api_version: api_version.into(),
            subresource: subresource.into(),
        }
    }

    /// Upstream keeps identities as this text and orders managers by it.
    pub(crate) fn sort_key(&self) -> String {
        let mut key = String::from("{");
        let fields = [
            ("manager", &*self.manager),
            ("operation", self.operation.as_str()),
            ("apiVersion", &*self.api_version),
            ("subresource", &*self.subresource),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            if key.len() > 1 {
                key.push(',');
            }
            json::write_string(name, &mut key);
            key.push(':');
            json::write_string(value, &mut key);
        }
        key.push('}');
        key
    }
}

/// One manager and what it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedFieldsEntry {
    /// The manager.
    pub id: ManagerId,
    /// The version that the fields belong to.
    pub api_version: Box<str>,
    /// When it last changed something.
    pub time: Option<Box<str>>,
    /// The fields that it owns.
    set: FieldSet,
    /// The set as it was read, if writing it would give the same again.
    written: Option<Value>,
}

impl ManagedFieldsEntry {
    /// A manager with its fields.
    pub fn new(id: ManagerId, api_version: &str, time: Option<&str>, set: FieldSet) -> Self {
        Self {
            id,
            api_version: api_version.into(),
            time: time.map(Into::into),
            set,
            written: None,
        }
    }

    /// What the manager owns.
    pub fn set(&self) -> &FieldSet {
        &self.set
    }

    /// Replaces what the manager owns.
    pub fn replace_set(&mut self, set: FieldSet) {
        if set != self.set {
            self.set = set;
            self.written = None;
        }
    }

    fn seconds(&self) -> i64 {
        self.time.as_deref().and_then(time::unix_seconds).unwrap_or_default()
    }

    fn decode(entry: Value, index: usize) -> Result<Self, DecodeError> {
        let Value::Object(mut entry) = entry else {
            return Err(DecodeError::Operation);
        };
        let operation = match text(&entry, "operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(DecodeError::Operation),
        };
        let api_version = text(&entry, "apiVersion");
        if api_version.is_empty() {
            return Err(DecodeError::ApiVersion);
        }
        match text(&entry, "fieldsType") {
            "FieldsV1" => {}
            "" => return Err(DecodeError::MissingFieldsType(index)),
            other => {
                return Err(DecodeError::FieldsType {
                    name: other.to_owned(),
                    index,
                });
            }
        }
        let id = ManagerId::new(
            text(&entry, "manager"),
            operation,
            api_version,
            text(&entry, "subresource"),
        );
        let time = Some(text(&entry, "time"))
            .filter(|time| !time.is_empty())
            .map(Into::into);
        let api_version = api_version.into();
        let (set, written) = match entry.remove("fieldsV1") {
            None | Some(Value::Null) => (FieldSet::new(), None),
            Some(fields) => {
                let decoded = fields_v1::decode(&fields)?;
                (decoded.set, decoded.canonical.then_some(fields))
            }
        };
        Ok(Self {
            id,
            api_version,
            time,
            set,
            written,
        })
    }

    fn encode(self) -> Value {
        let mut entry = Map::new();
        let fields = self.written.unwrap_or_else(|| self.set.to_fields_v1());
        entry.insert("fieldsV1".to_owned(), fields);
        let texts = [
            ("manager", Some(self.id.manager)),
            ("operation", Some(self.id.operation.as_str().into())),
            ("apiVersion", Some(self.api_version)),
            ("time", self.time),
            ("fieldsType", Some("FieldsV1".into())),
            ("subresource", Some(self.id.subresource)),
        ];
        for (name, value) in texts {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                entry.insert(name.to_owned(), Value::String(value.into_string()));
            }
        }
        Value::Object(entry)
    }
}

fn text<'a>(entry: &'a Map<String, Value>, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Why `managedFields` could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// An operation that does not exist.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No version.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// No form of the fields.
    #[error("missing fieldsType in managed fields entry {0}")]
    MissingFieldsType(usize),
    /// An unknown form of the fields.
    #[error("invalid fieldsType {} in managed fields entry {index}", quote(.name))]
    FieldsType {
        /// What it says.
        name: String,
        /// Which entry.
        index: usize,
    },
    /// The fields are not readable.
    #[error("error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

/// All managers of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedFields {
    /// Sorted by identity: a client may submit very many.
    entries: Vec<ManagedFieldsEntry>,
}

impl ManagedFields {
    /// Reads `metadata.managedFields`; anything but a list counts as no managers.
    pub fn decode(managed_fields: Value) -> Result<Self, DecodeError> {
        let Value::Array(list) = managed_fields else {
            return Ok(Self::default());
        };
        let decoded = list
            .into_iter()
            .enumerate()
            .map(|(index, entry)| ManagedFieldsEntry::decode(entry, index));
        let mut entries = decoded.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|left, right| left.id.cmp(&right.id));
        // Of several entries of one manager the last counts.
        entries.dedup_by(|later, kept| {
            let is_same = later.id == kept.id;
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
        Ok(Self { entries })
    }

    /// Writes `metadata.managedFields` in upstream's order; `None` when there are no managers.
    pub fn encode(self) -> Option<Value> {
        if self.entries.is_empty() {
            return None;
        }
        let mut entries: Vec<(i64, ManagedFieldsEntry)> =
            self.entries.into_iter().map(|entry| (entry.seconds(), entry)).collect();
        entries.sort_by(|(left_seconds, left), (right_seconds, right)| {
            let order = left
                .id
                .operation
                .cmp(&right.id.operation)
                .then(left_seconds.cmp(right_seconds));
            let order = order.then_with(|| left.id.manager.cmp(&right.id.manager));
            let order = order.then_with(|| left.api_version.cmp(&right.api_version));
            order.then_with(|| left.id.subresource.cmp(&right.id.subresource))
        });
        Some(Value::Array(
            entries.into_iter().map(|(_, entry)| entry.encode()).collect(),
        ))
    }

    /// Whether the list asks for a reset: it is empty, or has one entry that says nothing (S10).
    pub fn is_reset(managed_fields: &Value) -> bool {
        match managed_fields.as_array().map(Vec::as_slice) {
            Some([]) => true,
            Some([Value::Object(entry)]) => entry
                .values()
                .all(|value| value.is_null() || value.as_str().is_some_and(str::is_empty)),
            _ => false,
        }
    }

    /// Whether there are no managers.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The managers, in the order of their identities.
    pub fn iter(&self) -> impl Iterator<Item = &ManagedFieldsEntry> {
        self.entries.iter()
    }

    /// The managers, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut ManagedFieldsEntry> {
        self.entries.iter_mut()
    }

    fn position(&self, id: &ManagerId) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.id.cmp(id))
    }

    /// The entry of a manager, to change it.
    pub fn get_mut(&mut self, id: &ManagerId) -> Option<&mut ManagedFieldsEntry> {
        self.position(id).ok().map(|index| &mut self.entries[index])
    }

    /// The entry of a manager.
    pub fn get(&self, id: &ManagerId) -> Option<&ManagedFieldsEntry> {
        self.position(id).ok().map(|index| &self.entries[index])
    }

    /// Adds an entry, or replaces the one of the same manager.
    pub fn put(&mut self, entry: ManagedFieldsEntry) {
        match self.position(&entry.id) {
            Ok(index) => self.entries[index] = entry,
            Err(index) => self.entries.insert(index, entry),
        }
    }

    /// Takes the entry of a manager out.
    pub fn take(&mut self, id: &ManagerId) -> Option<ManagedFieldsEntry> {
        self.position(id).ok().map(|index| self.entries.remove(index))
    }

    /// Keeps only some managers.
    pub fn retain(&mut self, keep: impl FnMut(&mut ManagedFieldsEntry) -> bool) {
        self.entries.retain_mut(keep);
    }

    /// How many managers there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The managers of one operation, oldest first; equally old ones by upstream's identity.
    pub(crate) fn oldest_first(&self, operation: Operation) -> Vec<&ManagedFieldsEntry> {
        let mut found: Vec<&ManagedFieldsEntry> = self.of(operation).collect();
        found.sort_by_cached_key(|entry| (entry.seconds(), entry.id.sort_key()));
        found
    }

    /// The managers of one operation.
    pub(crate) fn of(&self, operation: Operation) -> impl Iterator<Item = &ManagedFieldsEntry> {
        self.entries.iter().filter(move |entry| entry.id.operation == operation)
    }
}
