//! What v1 has no field for, as the text of annotations: fields in the order upstream writes them.

use std::fmt::Write as _;

use serde_json::Value;

use super::SOURCES;
use crate::rules::access::{at, int_at, list_at, str_at};

/// A JSON object whose fields keep the order they are written in.
#[derive(Default)]
struct Ordered(String);

impl Ordered {
    fn field(mut self, name: &str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        let _ = write!(self.0, "\"{name}\":{value}");
        self
    }

    fn value(self, name: &str, value: &Value) -> Self {
        self.field(name, &text(value))
    }

    fn optional(self, name: &str, value: Option<&Value>) -> Self {
        match value {
            Some(value) => self.value(name, value),
            None => self,
        }
    }

    fn done(self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// A value as Go's encoder writes it: markup characters escaped.
fn text(value: &Value) -> String {
    value
        .to_string()
        .replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
}

pub(super) fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

fn reference(value: Option<&Value>) -> String {
    let nothing = Value::Null;
    let value = value.unwrap_or(&nothing);
    Ordered::default()
        .value("kind", &str_at(value, &["kind"]).into())
        .value("name", &str_at(value, &["name"]).into())
        .optional("apiVersion", at(value, &["apiVersion"]))
        .done()
}

fn selector(value: Option<&Value>) -> Option<String> {
    value.map(|value| {
        Ordered::default()
            .optional("matchLabels", at(value, &["matchLabels"]))
            .optional("matchExpressions", at(value, &["matchExpressions"]))
            .done()
    })
}

fn with_selector(fields: Ordered, name: &str, source: &Value) -> Ordered {
    match selector(at(source, &["metric", "selector"])) {
        Some(selector) => fields.field(name, &selector),
        None => fields,
    }
}

/// Which half of a metric is written: what is wanted, or what is measured. The two differ in the names of their fields
/// and in which of them are always there.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Target,
    Current,
}

impl Side {
    /// Where v2 has the values.
    fn field(self) -> &'static str {
        match self {
            Side::Target => "target",
            Side::Current => "current",
        }
    }

    /// Writes a value under v1's name for it: `targetValue`, `currentAverageValue`.
    fn write(self, fields: Ordered, name: &str, source: &Value, is_pointer: bool) -> Ordered {
        let mut capital = name.to_owned();
        capital[..1].make_ascii_uppercase();
        let written = format!("{}{capital}", self.field());
        match at(source, &[self.field(), name]) {
            None if is_pointer => fields,
            None => fields.value(&written, &"0".into()),
            Some(value) => fields.value(&written, value),
        }
    }
}

pub(super) fn v1_metric(metric: &Value) -> String {
    sources(metric, Side::Target)
}

pub(super) fn v1_metric_status(metric: &Value) -> String {
    sources(metric, Side::Current)
}

fn sources(metric: &Value, side: Side) -> String {
    let mut fields = Ordered::default().value("type", &str_at(metric, &["type"]).into());
    for name in SOURCES {
        if let Some(source) = at(metric, &[name]) {
            fields = fields.field(name, &v1_source(name, source, side).done());
        }
    }
    fields.done()
}

fn v1_source(kind: &str, source: &Value, side: Side) -> Ordered {
    let metric_name: Value = str_at(source, &["metric", "name"]).into();
    let fields = Ordered::default();
    match kind {
        "object" => {
            let fields = fields.field("target", &reference(at(source, &["describedObject"])));
            let fields = side.write(fields.value("metricName", &metric_name), "value", source, false);
            with_selector(fields, "selector", source)
                .optional("averageValue", at(source, &[side.field(), "averageValue"]))
        }
        "pods" => {
            let fields = side.write(fields.value("metricName", &metric_name), "averageValue", source, false);
            with_selector(fields, "selector", source)
        }
        "external" => {
            let fields = with_selector(fields.value("metricName", &metric_name), "metricSelector", source);
            let fields = side.write(fields, "value", source, side == Side::Target);
            side.write(fields, "averageValue", source, true)
        }
        _ => {
            let fields = fields.value("name", &str_at(source, &["name"]).into());
            let fields = side.write(fields, "averageUtilization", source, true);
            let fields = side.write(fields, "averageValue", source, side == Side::Target);
            match kind {
                "containerResource" => fields.value("container", &str_at(source, &["container"]).into()),
                _ => fields,
            }
        }
    }
}

pub(super) fn v1_condition(condition: &Value) -> String {
    Ordered::default()
        .value("type", &str_at(condition, &["type"]).into())
        .value("status", &str_at(condition, &["status"]).into())
        .value(
            "lastTransitionTime",
            at(condition, &["lastTransitionTime"]).unwrap_or(&Value::Null),
        )
        .optional("reason", at(condition, &["reason"]))
        .optional("message", at(condition, &["message"]))
        .done()
}

/// The behavior with the field names of upstream's internal type, which is what the annotation holds.
pub(super) fn v1_behavior(behavior: &Value) -> String {
    let rules = |direction: &str| {
        let Some(rules) = at(behavior, &[direction]) else {
            return "null".to_owned();
        };
        let policies = at(rules, &["policies"]).map(|_| {
            let policy = |policy: &Value| {
                Ordered::default()
                    .value("Type", &str_at(policy, &["type"]).into())
                    .value("Value", &int_at(policy, &["value"]).into())
                    .value("PeriodSeconds", &int_at(policy, &["periodSeconds"]).into())
                    .done()
            };
            list(&list_at(rules, &["policies"]).iter().map(policy).collect::<Vec<_>>())
        });
        let pointer = |field: &str| at(rules, &[field]).cloned().unwrap_or(Value::Null);
        Ordered::default()
            .value("StabilizationWindowSeconds", &pointer("stabilizationWindowSeconds"))
            .value("SelectPolicy", &pointer("selectPolicy"))
            .field("Policies", policies.as_deref().unwrap_or("null"))
            .value("Tolerance", &pointer("tolerance"))
            .done()
    };
    Ordered::default()
        .field("ScaleUp", &rules("scaleUp"))
        .field("ScaleDown", &rules("scaleDown"))
        .done()
}
