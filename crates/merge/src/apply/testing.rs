//! A kind for tests, with its types written as JSON.

use serde_json::{Value, json};

use super::{ConversionError, FieldManager, Versions};
use crate::managed::FieldFilter;
use crate::{ListKind, PatchStrategy, ScalarKind, Shape, Topology};

/// A type: `{"fields":{…}}` is a struct, `{"entries":…}` a map, `{"items":…,"keys":[…]}` a list by keys, `{"items":…,
/// "set":true}` a set, `{"items":…}` an atomic list, `{"scalar":"string"}` a scalar, `{}` anything. `"atomic":true` and
/// `"default":…` go with any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestType(pub(crate) &'static Value);

/// Types live as long as the tests.
pub(crate) fn test_type(description: Value) -> TestType {
    check_keys(&description);
    TestType(Box::leak(Box::new(description)))
}

fn check_keys(description: &Value) {
    for key in description.as_object().into_iter().flat_map(|fields| fields.keys()) {
        assert!(
            [
                "fields", "entries", "items", "keys", "set", "scalar", "atomic", "default"
            ]
            .contains(&key.as_str()),
            "unknown word {key} in a type"
        );
    }
}

impl Topology<'static> for TestType {
    fn shape(self) -> Shape {
        let atomic = self.0.get("atomic").is_some();
        if self.0.get("fields").is_some() {
            Shape::Struct { atomic }
        } else if self.0.get("entries").is_some() {
            Shape::Map { atomic }
        } else if self.0.get("items").is_some() {
            Shape::List(if self.0.get("keys").is_some() {
                ListKind::Map
            } else if self.0.get("set").is_some() {
                ListKind::Set
            } else {
                ListKind::Atomic
            })
        } else if self.0.get("scalar").is_some() {
            Shape::Scalar
        } else {
            Shape::Untyped
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        self.0.get("fields")?.get(name).map(TestType)
    }

    fn element(self) -> Option<Self> {
        self.0.get("entries").or_else(|| self.0.get("items")).map(TestType)
    }

    fn keys(self) -> &'static [Box<str>] {
        let keys = self.0["keys"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Into::into);
        Box::leak(keys.collect::<Vec<Box<str>>>().into_boxed_slice())
    }

    fn default(self) -> Option<&'static Value> {
        self.0.get("default")
    }

    fn scalar(self) -> ScalarKind {
        match self.0["scalar"].as_str() {
            Some("string") => ScalarKind::String,
            Some("number") => ScalarKind::Number,
            Some("boolean") => ScalarKind::Boolean,
            Some("any") => ScalarKind::Any,
            _ => ScalarKind::Whole,
        }
    }

    fn patch_strategy(self) -> PatchStrategy<'static> {
        PatchStrategy::default()
    }
}

/// The versions of a kind `Thing`: `v1`, and `v2` where `spec.replicas` is called `spec.count`.
pub(crate) struct TestVersions {
    pub(crate) v1: TestType,
    pub(crate) v2: TestType,
    pub(crate) filter: Option<FieldFilter>,
    pub(crate) zero: Option<Value>,
}

pub(crate) fn metadata_type() -> Value {
    let string = json!({"scalar": "string"});
    json!({"fields": {
        "name": string, "namespace": string, "uid": string, "resourceVersion": string, "creationTimestamp": {"scalar": "any"},
        "generation": {"scalar": "number"},
        "labels": {"entries": string}, "annotations": {"entries": string},
        "finalizers": {"items": string, "set": true},
        "ownerReferences": {"items": {"fields": {"uid": string, "name": string}}, "keys": ["uid"]},
        "managedFields": {"items": {}}
    }})
}

fn thing_type(replicas: &str) -> TestType {
    let string = json!({"scalar": "string"});
    test_type(json!({"fields": {
        "apiVersion": string, "kind": string,
        "metadata": metadata_type(),
        "data": {"entries": string},
        "spec": {"fields": {
            replicas: {"scalar": "number"},
            "paused": {"scalar": "boolean"},
            "selector": {"entries": string, "atomic": true},
            "args": {"items": string},
            "raw": {"scalar": "whole"},
            "free": {},
            "groups": {"entries": {"fields": {"a": string, "b": string}}},
            "ports": {"items": {"fields": {
                "port": {"scalar": "number"},
                "protocol": {"scalar": "string", "default": "TCP"},
                "name": string
            }}, "keys": ["port", "protocol"]},
            "containers": {"items": {"fields": {
                "name": string, "image": string,
                "args": {"items": string},
                "env": {"items": {"fields": {"name": string, "value": string}}, "keys": ["name"]}
            }}, "keys": ["name"]}
        }},
        "status": {"fields": {
            "ready": {"scalar": "number"},
            "conditions": {"items": {"fields": {"type": string, "status": string}}, "keys": ["type"]}
        }}
    }}))
}

impl Default for TestVersions {
    fn default() -> Self {
        Self {
            v1: thing_type("replicas"),
            v2: thing_type("count"),
            filter: None,
            zero: None,
        }
    }
}

impl Versions<'static> for TestVersions {
    type Topology = TestType;

    fn topology(&self, api_version: &str) -> Option<TestType> {
        match api_version {
            "v1" => Some(self.v1),
            "v2" => Some(self.v2),
            _ => None,
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let mut object = object.clone();
        let (from, to) = match api_version {
            "v1" => ("count", "replicas"),
            "v2" => ("replicas", "count"),
            _ => return Err(ConversionError::MissingVersion),
        };
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            && let Some(value) = spec.remove(from)
        {
            spec.insert(to.to_owned(), value);
        }
        object["apiVersion"] = json!(api_version);
        Ok(object)
    }

    fn zero(&self, api_version: &str) -> Value {
        let zero = json!({"apiVersion": api_version, "kind": "Thing", "metadata": {}, "spec": {}, "status": {}});
        self.zero.clone().unwrap_or(zero)
    }

    fn filter(&self, _api_version: &str) -> Option<&FieldFilter> {
        self.filter.as_ref()
    }
}

/// The main resource at `v1`.
pub(crate) fn manager<'a>(name: &'a str, time: &'a str) -> FieldManager<'a> {
    FieldManager {
        name,
        api_version: "v1",
        kind: "Thing",
        subresource: "",
        time,
    }
}
