//! `PodTolerationRestriction`: Pods get the tolerations of their namespace, or of the cluster, and may have only those that these
//! allow (A19).

use http::StatusCode;
use kubewright_apimachinery::field::PathRef;
use kubewright_apimachinery::go::value::json_kind;
use kubewright_codec::json;
use kubewright_kinds::pod;
use serde_json::{Map, Value};

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::{Result, Status};

pub(super) struct PodTolerationRestriction;

const DEFAULT: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";

/// What holds for namespaces that say nothing themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct TolerationLimits {
    default: Vec<Toleration>,
    allowed: Vec<Toleration>,
}

impl TolerationLimits {
    /// Reads a configuration. The error is upstream's message.
    pub(super) fn read(configuration: &Value) -> std::result::Result<TolerationLimits, String> {
        let path = PathRef::root("podtolerationrestriction");
        let mut errors = Vec::new();
        let mut read = |key: &str| {
            let list = configuration.get(key).and_then(Value::as_array);
            let list = list.map_or(&[][..], Vec::as_slice);
            pod::validate_tolerations(list, &path.child(key), &mut errors);
            list.iter().map(Toleration::of).collect()
        };
        let limits = TolerationLimits {
            default: read("default"),
            allowed: read("whitelist"),
        };
        if errors.is_empty() {
            return Ok(limits);
        }
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Err(format!("invalid config: [{}]", errors.join(" ")))
    }
}

impl Plugin for PodTolerationRestriction {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::PodTolerationRestriction)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, _old: Option<&Value>) -> Result<()> {
        if !is_about(attributes) {
            return Ok(());
        }
        let mut further = Vec::new();
        if attributes.operation == Operation::Create {
            further = match of_namespace(attributes, DEFAULT)? {
                Some(own) => own,
                None => attributes.server.admission.tolerations.default.clone(),
            };
        }
        if pod::quality_of_service(pod) != "BestEffort" {
            further.push(Toleration {
                key: MEMORY_PRESSURE.into(),
                operator: "Exists".into(),
                effect: "NoSchedule".into(),
                ..Toleration::default()
            });
        }
        if !further.is_empty()
            && let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut)
        {
            let mut all = tolerations_of(spec.get("tolerations"));
            all.extend(further);
            let merged: Vec<Value> = merged(&all).into_iter().map(Toleration::to_json).collect();
            spec.insert("tolerations".into(), merged.into());
        }
        check(attributes, pod)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if is_about(attributes) {
            check(attributes, pod)
        } else {
            Ok(())
        }
    }
}

fn is_about(attributes: &Attributes<'_>) -> bool {
    attributes.is(BuiltInId::Pods) && matches!(attributes.operation, Operation::Create | Operation::Update)
}

fn check(attributes: &Attributes<'_>, pod: &Value) -> Result<()> {
    let tolerations = tolerations_of(pod.pointer("/spec/tolerations"));
    if tolerations.is_empty() {
        return Ok(());
    }
    let of_cluster = &attributes.server.admission.tolerations.allowed;
    let own = of_namespace(attributes, ALLOWED)?;
    let (allowed, scope) = match &own {
        Some(own) => (own, "namespace"),
        None => (of_cluster, "cluster"),
    };
    let is_allowed = |toleration: &Toleration| allowed.iter().any(|allowed| allowed.includes(toleration));
    if allowed.is_empty() || tolerations.iter().all(is_allowed) {
        return Ok(());
    }
    Err(failed(format!(
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
    )))
}

/// An error that upstream's plugin returns as it is.
fn failed(message: String) -> Box<Status> {
    Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

/// The tolerations in an annotation of the namespace; `None` if it has no such annotation.
fn of_namespace(attributes: &Attributes<'_>, annotation: &str) -> Result<Option<Vec<Toleration>>> {
    let namespace = attributes.stored(BuiltInId::Namespaces, attributes.namespace);
    let annotations = namespace.as_ref().and_then(|own| own.pointer("/metadata/annotations"));
    let text = annotations.and_then(|all| all.get(annotation)).and_then(Value::as_str);
    text.map(|text| parse(text).map_err(failed)).transpose()
}

/// Reads a list as Go's `encoding/json` does. The error is worded as its.
fn parse(text: &str) -> std::result::Result<Vec<Toleration>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let decoded = json::decode(text.as_bytes()).map_err(|error| error.to_string())?;
    let mismatch = |value: &Value, into: &str| format!("json: cannot unmarshal {} into Go {into}", json_kind(value));
    match &decoded.value {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) => list
            .iter()
            .map(|item| match item {
                Value::Null => Ok(Toleration::default()),
                Value::Object(fields) => Toleration::decoded(fields),
                other => Err(mismatch(other, "value of type v1.Toleration")),
            })
            .collect(),
        other => Err(mismatch(other, "value of type []v1.Toleration")),
    }
}

fn tolerations_of(list: Option<&Value>) -> Vec<Toleration> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().map(Toleration::of).collect()
}

/// The list without what another one includes.
fn merged(all: &[Toleration]) -> Vec<&Toleration> {
    let mut merged: Vec<&Toleration> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let is_included = merged.iter().any(|kept| kept.includes(one));
        let will_be = all[index + 1..].iter().any(|later| later != one && later.includes(one));
        if !is_included && !will_be {
            merged.push(one);
        }
    }
    merged
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Toleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
    seconds: Option<i64>,
}

impl Toleration {
    /// Of an object whose types are known to be right.
    fn of(toleration: &Value) -> Toleration {
        let text = |key: &str| {
            let text = toleration.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Toleration {
            key: text("key"),
            operator: text("operator"),
            value: text("value"),
            effect: text("effect"),
            seconds: toleration.get("tolerationSeconds").and_then(Value::as_i64),
        }
    }

    /// Of any object; as in Go, the case of names does not matter.
    fn decoded(fields: &Map<String, Value>) -> std::result::Result<Toleration, String> {
        let mut toleration = Toleration::default();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let wrong = |field: &str, of: &str| {
                let kind = match value {
                    Value::Number(number) if of == "int64" => format!("number {number}"),
                    other => json_kind(other).to_owned(),
                };
                format!("json: cannot unmarshal {kind} into Go struct field Toleration.{field} of type {of}")
            };
            let (field, into, of) = match name.to_ascii_lowercase().as_str() {
                "key" => ("key", &mut toleration.key, "string"),
                "operator" => ("operator", &mut toleration.operator, "v1.TolerationOperator"),
                "value" => ("value", &mut toleration.value, "string"),
                "effect" => ("effect", &mut toleration.effect, "v1.TaintEffect"),
                "tolerationseconds" => {
                    let seconds = value.as_i64();
                    toleration.seconds = Some(seconds.ok_or_else(|| wrong("tolerationSeconds", "int64"))?);
                    continue;
                }
                _ => continue,
            };
            value.as_str().ok_or_else(|| wrong(field, of))?.clone_into(into);
        }
        Ok(toleration)
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        for (name, text) in [
            ("key", &self.key),
            ("operator", &self.operator),
            ("value", &self.value),
            ("effect", &self.effect),
        ] {
            if !text.is_empty() {
                fields.insert(name.into(), text.as_str().into());
            }
        }
        if let Some(seconds) = self.seconds {
            fields.insert("tolerationSeconds".into(), seconds.into());
        }
        fields.into()
    }

    /// Whether it tolerates everything that the other one does.
    fn includes(&self, other: &Toleration) -> bool {
        if self == other {
            return true;
        }
        let any_key = self.key.is_empty() && self.operator == "Exists";
        let any_effect = self.effect.is_empty();
        if (self.key != other.key && !any_key) || (self.effect != other.effect && !any_effect) {
            return false;
        }
        if self.effect == "NoExecute"
            && let Some(seconds) = self.seconds
            && other.seconds.is_none_or(|other| other > seconds)
        {
            return false;
        }
        match self.operator.as_str() {
            "Equal" | "" => other.operator == "Equal" && other.value == self.value,
            operator => operator == "Exists",
        }
    }
}
