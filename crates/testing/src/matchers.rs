//! What can be expected of an object, each able to say what is wrong: conditions, owners, fields, and parts of objects.

use std::fmt;

use kubewright_runtime::object::Object;
use serde_json::Value;

/// Something that is expected of an object. It displays as what it expects.
///
/// ```
/// use kubewright_testing::matchers::{Matcher, condition, field};
/// use serde_json::json;
///
/// let object = json!({ "spec": { "replicas": 1 }, "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
/// let wanted = field("spec.replicas", 1).and(condition("Ready", "True"));
/// assert_eq!(wanted.to_string(), "spec.replicas = 1, condition Ready = True");
/// assert_eq!(wanted.check(&object).unwrap_err(), ["condition Ready: expected True, is False"]);
/// ```
pub trait Matcher: fmt::Display + Send {
    /// Nothing, if the object is as expected; else what is not.
    fn check(&self, object: &Value) -> Result<(), Vec<String>>;

    /// Both this and another.
    fn and<M: Matcher>(self, other: M) -> And<Self, M>
    where
        Self: Sized,
    {
        And(self, other)
    }
}

/// Two expectations. Made by [`Matcher::and`].
#[derive(Clone, Debug)]
pub struct And<A, B>(A, B);

impl<A: Matcher, B: Matcher> Matcher for And<A, B> {
    fn check(&self, object: &Value) -> Result<(), Vec<String>> {
        let wrong: Vec<_> = [self.0.check(object), self.1.check(object)]
            .into_iter()
            .filter_map(Result::err)
            .flatten()
            .collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

impl<A: Matcher, B: Matcher> fmt::Display for And<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.0, self.1)
    }
}

/// A condition in `status.conditions`. Made by [`condition`].
#[derive(Clone, Debug)]
pub struct Condition {
    type_: String,
    status: String,
    reason: Option<String>,
}

/// A condition of this type has this status: `True`, `False` or `Unknown`.
///
/// ```
/// use kubewright_testing::matchers::{Matcher, condition};
/// use serde_json::json;
///
/// let object = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
/// assert!(condition("Ready", "True").check(&object).is_ok());
/// assert_eq!(condition("Degraded", "False").check(&object).unwrap_err(), ["condition Degraded: there is none; there are Ready"]);
/// ```
pub fn condition(type_: impl Into<String>, status: impl Into<String>) -> Condition {
    Condition {
        type_: type_.into(),
        status: status.into(),
        reason: None,
    }
}

impl Condition {
    /// And this reason.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

impl Matcher for Condition {
    fn check(&self, object: &Value) -> Result<(), Vec<String>> {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let conditions: Vec<_> = conditions.collect();
        let type_ = &self.type_;
        let Some(found) = conditions.iter().find(|condition| condition["type"] == type_.as_str()) else {
            let others: Vec<_> = conditions
                .iter()
                .filter_map(|condition| condition["type"].as_str())
                .collect();
            let others = if others.is_empty() {
                "there are no conditions".to_owned()
            } else {
                format!("there are {}", others.join(", "))
            };
            return Err(vec![format!("condition {type_}: there is none; {others}")]);
        };
        let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
        let (status, reason, message) = (text("status"), text("reason"), text("message"));
        let said = match (reason.as_str(), message.as_str()) {
            ("", "") => String::new(),
            (reason, "") => format!(" ({reason})"),
            (reason, message) => format!(" ({reason}: {message})"),
        };
        if status != self.status {
            return Err(vec![format!(
                "condition {type_}: expected {}, is {status}{said}",
                self.status
            )]);
        }
        match &self.reason {
            Some(wanted) if *wanted != reason => Err(vec![format!(
                "condition {type_}: expected the reason {wanted}, is {reason}"
            )]),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "condition {} = {}", self.type_, self.status)?;
        match &self.reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}

/// An owner. Made by [`owned_by`] and [`controlled_by`].
#[derive(Clone, Debug)]
pub struct Owned {
    kind: String,
    name: String,
    uid: String,
    controller: bool,
}

/// This object is among the owners.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::matchers::{Matcher, owned_by};
/// use serde_json::json;
///
/// let mut owner = ConfigMap::default();
/// owner.metadata.uid = Some("7".to_owned());
/// assert!(owned_by(&owner).check(&json!({ "metadata": { "ownerReferences": [{ "uid": "7" }] } })).is_ok());
/// ```
pub fn owned_by<K: Object>(owner: &K) -> Owned {
    Owned {
        kind: K::kind(&()).into_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: owner.meta().uid.clone().unwrap_or_default(),
        controller: false,
    }
}

/// This object is the owner that controls it.
pub fn controlled_by<K: Object>(owner: &K) -> Owned {
    Owned {
        controller: true,
        ..owned_by(owner)
    }
}

impl Matcher for Owned {
    fn check(&self, object: &Value) -> Result<(), Vec<String>> {
        let owners: Vec<_> = object["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let is_wanted =
            |owner: &&&Value| owner["uid"] == self.uid.as_str() && (!self.controller || owner["controller"] == true);
        if owners.iter().any(|owner| is_wanted(&owner)) {
            return Ok(());
        }
        if owners.is_empty() {
            return Err(vec!["it has no owner".to_owned()]);
        }
        let named = owners.iter().map(|owner| {
            let text = |name: &str| owner[name].as_str().unwrap_or_default();
            let role = if owner["controller"] == true {
                " (controller)"
            } else {
                ""
            };
            format!("{} {}{role}", text("kind"), text("name"))
        });
        Err(vec![format!("owners: {}", named.collect::<Vec<_>>().join(", "))])
    }
}

impl fmt::Display for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.controller { "controlled" } else { "owned" };
        write!(f, "{verb} by {} {}", self.kind, self.name)
    }
}

/// The value of a field. Made by [`field`].
#[derive(Clone, Debug)]
pub struct Field {
    path: String,
    value: Value,
}

/// A field has this value. Its path has dots, and numbers for items: `spec.template.spec.containers.0.image`.
///
/// ```
/// use kubewright_testing::matchers::{Matcher, field};
/// use serde_json::json;
///
/// let object = json!({ "spec": { "ports": [80] } });
/// assert!(field("spec.ports.0", 80).check(&object).is_ok());
/// assert_eq!(field("spec.ports.1", 443).check(&object).unwrap_err(), ["spec.ports.1: expected 443, is missing"]);
/// ```
pub fn field(path: impl Into<String>, value: impl Into<Value>) -> Field {
    Field {
        path: path.into(),
        value: value.into(),
    }
}

impl Matcher for Field {
    fn check(&self, object: &Value) -> Result<(), Vec<String>> {
        let found = self.path.split('.').try_fold(object, |value, name| match value {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?),
            other => other.get(name),
        });
        match found {
            Some(found) if *found == self.value => Ok(()),
            Some(found) => Err(vec![format!("{}: expected {}, is {found}", self.path, self.value)]),
            None => Err(vec![format!("{}: expected {}, is missing", self.path, self.value)]),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.path, self.value)
    }
}

/// A part of an object. Made by [`like`].
#[derive(Clone, Debug)]
pub struct Like(Value);

/// The object has all that is in this value, and maybe more. Lists have to be as long as here.
///
/// ```
/// use kubewright_testing::matchers::{Matcher, like};
/// use serde_json::json;
///
/// let object = json!({ "spec": { "replicas": 1, "paused": false } });
/// assert!(like(json!({ "spec": { "replicas": 1 } })).check(&object).is_ok());
/// assert_eq!(like(json!({ "spec": { "replicas": 2 } })).check(&object).unwrap_err(), ["- spec.replicas: 2", "+ spec.replicas: 1"]);
/// ```
pub fn like(part: Value) -> Like {
    Like(part)
}

impl Matcher for Like {
    fn check(&self, object: &Value) -> Result<(), Vec<String>> {
        let mut wrong = Vec::new();
        compare(&self.0, Some(object), "", &mut wrong);
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

/// Lines as of a diff: `-` what was expected, `+` what is there.
fn compare(wanted: &Value, found: Option<&Value>, path: &str, wrong: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(fields), Some(Value::Object(present))) => {
            for (name, value) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                compare(value, present.get(name), &path, wrong);
            }
        }
        (Value::Array(items), Some(Value::Array(present))) if items.len() == present.len() => {
            for (at, (value, found)) in items.iter().zip(present).enumerate() {
                compare(value, Some(found), &format!("{path}.{at}"), wrong);
            }
        }
        (wanted, Some(found)) if wanted == found => {}
        (wanted, found) => {
            wrong.push(format!("- {path}: {wanted}"));
            if let Some(found) = found {
                wrong.push(format!("+ {path}: {found}"));
            }
        }
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "like {}", self.0)
    }
}
