//! Priority: a pod's priority and preemption policy follow from its class, of which one at most is the default.

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object;
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct Priority;

/// The classes every cluster has.
const SYSTEM: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

impl Plugin for Priority {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::Priority)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, old: Option<&Value>) -> Result<()> {
        if !attributes.is(BuiltInId::Pods) || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        if attributes.operation == Operation::Update {
            // Clients that do not know these fields must not lose them.
            for field in ["priority", "preemptionPolicy"] {
                if let Some(kept) = old.and_then(|old| old.pointer(&format!("/spec/{field}")))
                    && !spec.contains_key(field)
                {
                    spec.insert(field.into(), kept.clone());
                }
            }
            return Ok(());
        }
        let name = spec
            .get("priorityClassName")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let (priority, policy) = if name.is_empty() {
            match default_class(attributes) {
                Some((name, priority, policy)) => {
                    spec.insert("priorityClassName".into(), name.into());
                    (priority, policy)
                }
                None => (0, "PreemptLowerPriority".to_owned()),
            }
        } else {
            class(attributes, &name).ok_or_else(|| {
                let why = format!("no PriorityClass with name {name} was found");
                attributes.forbidden(&why)
            })?
        };
        let refuse = |why: String| attributes.forbidden(&why);
        if let Some(given) = spec
            .get("priority")
            .and_then(Value::as_i64)
            .filter(|given| *given != priority)
        {
            return Err(refuse(format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
                 computed {priority} from the given PriorityClass name"
            )));
        }
        spec.insert("priority".into(), priority.into());
        match spec.get("preemptionPolicy").and_then(Value::as_str) {
            Some(given) if given != policy => {
                return Err(refuse(format!(
                    "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
                     controller computed {policy} from the given PriorityClass name"
                )));
            }
            _ => {
                spec.insert("preemptionPolicy".into(), policy.into());
            }
        }
        Ok(())
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        class: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        let is_write = matches!(attributes.operation, Operation::Create | Operation::Update);
        let is_default = class.get("globalDefault").and_then(Value::as_bool) == Some(true);
        if !is_write || !is_default || !attributes.is(BuiltInId::PriorityClasses) {
            return Ok(());
        }
        match default_class(attributes) {
            Some((other, ..)) if attributes.operation == Operation::Create || other != attributes.name => {
                let why = format!("PriorityClass {other} is already marked as default. Only one default can exist");
                Err(attributes.forbidden(&why))
            }
            _ => Ok(()),
        }
    }
}

fn class(attributes: &Attributes<'_>, name: &str) -> Option<(i64, String)> {
    if let Some((_, priority)) = SYSTEM.iter().find(|(known, _)| *known == name) {
        return Some((*priority, "PreemptLowerPriority".into()));
    }
    let classes = BuiltInId::PriorityClasses.resource();
    let record = attributes.server.store.get(classes.table, name)?;
    Some(read(&object::to_value(classes, &record, record.revision)))
}

/// The lowest of the classes that call themselves the default.
fn default_class(attributes: &Attributes<'_>) -> Option<(String, i64, String)> {
    let classes = BuiltInId::PriorityClasses.resource();
    let snapshot = attributes.server.store.snapshot(classes.table);
    let defaults = snapshot
        .records(None, None)
        .map(|record| {
            (
                record.name().to_owned(),
                object::to_value(classes, record, record.revision),
            )
        })
        .filter(|(_, class)| class.get("globalDefault").and_then(Value::as_bool) == Some(true))
        .map(|(name, class)| {
            let (priority, policy) = read(&class);
            (name, priority, policy)
        });
    defaults.min_by_key(|(_, priority, _)| *priority)
}

fn read(class: &Value) -> (i64, String) {
    let policy = class
        .get("preemptionPolicy")
        .and_then(Value::as_str)
        .unwrap_or("PreemptLowerPriority");
    (
        class.get("value").and_then(Value::as_i64).unwrap_or(0),
        policy.to_owned(),
    )
}
