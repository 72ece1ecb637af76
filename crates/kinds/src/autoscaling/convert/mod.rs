//! Between `autoscaling/v1` and the stored `autoscaling/v2`. What v1 has no field for is kept in annotations, written
//! exactly as upstream writes them, so that converting there and back changes nothing.

mod annotations;
mod decoded;

use serde_json::{Map, Value, json};

use annotations::{list, v1_behavior, v1_condition, v1_metric, v1_metric_status};
use decoded::{v2_behavior, v2_metric, v2_metric_status};

use super::default::{CPU_UTILIZATION, cpu_metric};
use crate::rules::access::{at, int_at, list_at, opt_int_at, opt_str_at, str_at};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const TOLERANCES: [&str; 2] = [
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// A stored autoscaler as v1 shows it.
pub fn v2_to_v1(object: &Value) -> Value {
    let mut result = object.clone();
    let mut spec = Map::new();
    for field in ["scaleTargetRef", "minReplicas", "maxReplicas"] {
        copy(object, &["spec", field], &mut spec, field);
    }
    let metrics = list_at(object, &["spec", "metrics"]);
    if let Some(utilization) = metrics.iter().find_map(cpu_utilization) {
        spec.insert("targetCPUUtilizationPercentage".into(), utilization.into());
    }
    let mut status = Map::new();
    for field in ["observedGeneration", "lastScaleTime"] {
        copy(object, &["status", field], &mut status, field);
    }
    for field in ["currentReplicas", "desiredReplicas"] {
        status.insert(field.into(), int_at(object, &["status", field]).into());
    }
    let current = list_at(object, &["status", "currentMetrics"]);
    let utilizations = current.iter().filter(|metric| is_cpu(metric));
    let last = utilizations
        .filter_map(|metric| opt_int_at(metric, &["resource", "current", "averageUtilization"]))
        .next_back();
    if let Some(utilization) = last {
        status.insert("currentCPUUtilizationPercentage".into(), utilization.into());
    }

    let mut annotations = user_annotations(object);
    let others: Vec<String> = metrics
        .iter()
        .filter(|metric| cpu_utilization(metric).is_none())
        .map(v1_metric)
        .collect();
    if !others.is_empty() {
        annotations.insert(METRICS.into(), list(&others).into());
    }
    if !current.is_empty() {
        let current: Vec<String> = current.iter().map(v1_metric_status).collect();
        annotations.insert(CURRENT_METRICS.into(), list(&current).into());
    }
    if let Some(behavior) = at(object, &["spec", "behavior"]) {
        annotations.insert(BEHAVIOR.into(), v1_behavior(behavior).into());
    }
    let conditions = list_at(object, &["status", "conditions"]);
    if !conditions.is_empty() {
        let conditions: Vec<String> = conditions.iter().map(v1_condition).collect();
        annotations.insert(CONDITIONS.into(), list(&conditions).into());
    }
    finish(&mut result, "autoscaling/v1", spec, status, annotations);
    result
}

/// What a v1 client wrote, as it is stored.
pub fn v1_to_v2(object: &Value) -> Value {
    let mut result = object.clone();
    let mut spec = Map::new();
    for field in ["scaleTargetRef", "minReplicas", "maxReplicas"] {
        copy(object, &["spec", field], &mut spec, field);
    }
    let annotation = |name: &str| -> Option<Value> {
        serde_json::from_str(opt_str_at(object, &["metadata", "annotations", name])?).ok()
    };
    let mut metrics: Vec<Value> = Vec::new();
    if let Some(Value::Array(others)) = annotation(METRICS) {
        metrics.extend(others.iter().map(v2_metric));
    }
    metrics.extend(opt_int_at(object, &["spec", "targetCPUUtilizationPercentage"]).map(cpu_metric));
    if metrics.is_empty() {
        metrics.push(cpu_metric(CPU_UTILIZATION));
    }
    spec.insert("metrics".into(), metrics.into());
    if let Some(behavior) = annotation(BEHAVIOR).and_then(|behavior| v2_behavior(&behavior)) {
        spec.insert("behavior".into(), behavior);
    }
    let mut status = Map::new();
    for field in ["observedGeneration", "lastScaleTime"] {
        copy(object, &["status", field], &mut status, field);
    }
    // v1 says so when there are none, v2 does not.
    if int_at(object, &["status", "currentReplicas"]) != 0 {
        copy(object, &["status", "currentReplicas"], &mut status, "currentReplicas");
    }
    status.insert(
        "desiredReplicas".into(),
        int_at(object, &["status", "desiredReplicas"]).into(),
    );
    let utilization = opt_int_at(object, &["status", "currentCPUUtilizationPercentage"]);
    let mut current = utilization.map_or(Value::Null, |utilization| {
        json!([{ "type": "Resource", "resource": { "name": "cpu", "current": { "averageUtilization": utilization } } }])
    });
    if let Some(Value::Array(annotated)) = annotation(CURRENT_METRICS) {
        current = annotated.iter().map(v2_metric_status).collect();
    }
    status.insert("currentMetrics".into(), current);
    if let Some(conditions @ Value::Array(_)) = annotation(CONDITIONS) {
        status.insert("conditions".into(), conditions);
    }
    finish(&mut result, "autoscaling/v2", spec, status, user_annotations(object));
    result
}

fn finish(
    result: &mut Value,
    version: &str,
    spec: Map<String, Value>,
    status: Map<String, Value>,
    annotations: Map<String, Value>,
) {
    let Some(fields) = result.as_object_mut() else { return };
    fields.insert("apiVersion".into(), version.into());
    fields.insert("spec".into(), spec.into());
    fields.insert("status".into(), status.into());
    if let Some(metadata) = fields.entry("metadata").or_insert_with(|| json!({})).as_object_mut() {
        if annotations.is_empty() {
            metadata.remove("annotations");
        } else {
            metadata.insert("annotations".into(), annotations.into());
        }
    }
}

/// The annotations that are the user's own.
fn user_annotations(object: &Value) -> Map<String, Value> {
    let mut annotations = at(object, &["metadata", "annotations"])
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for name in [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR]
        .into_iter()
        .chain(TOLERANCES)
    {
        annotations.remove(name);
    }
    annotations
}

fn copy(from: &Value, path: &[&str], to: &mut Map<String, Value>, field: &str) {
    if let Some(value) = at(from, path) {
        to.insert(field.into(), value.clone());
    }
}

fn is_cpu(metric: &Value) -> bool {
    str_at(metric, &["type"]) == "Resource" && str_at(metric, &["resource", "name"]) == "cpu"
}

/// The target of a metric that v1 has its own field for.
fn cpu_utilization(metric: &Value) -> Option<i64> {
    if is_cpu(metric) {
        opt_int_at(metric, &["resource", "target", "averageUtilization"])
    } else {
        None
    }
}

/// The fields that hold a metric's source.
const SOURCES: [&str; 5] = ["object", "pods", "resource", "containerResource", "external"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_v1_autoscaler_without_a_target_aims_at_the_default_utilization() {
        let stored = v1_to_v2(&json!({ "apiVersion": "autoscaling/v1", "spec": { "maxReplicas": 3 } }));
        assert_eq!(stored["spec"]["metrics"], json!([cpu_metric(80)]));
    }

    #[test]
    fn annotations_that_do_not_parse_are_dropped() {
        let annotations = json!({ METRICS: "{", BEHAVIOR: "[]", CURRENT_METRICS: "1", CONDITIONS: "x", "own": "kept" });
        let stored = v1_to_v2(&json!({ "metadata": { "annotations": annotations }, "spec": {} }));
        assert_eq!(stored["metadata"]["annotations"], json!({ "own": "kept" }));
        assert_eq!(stored["spec"]["metrics"], json!([cpu_metric(80)]));
        assert!(stored["spec"].get("behavior").is_none());
    }

    #[test]
    fn shapeless_values_do_not_panic() {
        for value in [
            json!(null),
            json!([]),
            json!({ "spec": 1 }),
            json!({ "spec": { "metrics": [1, {}] }, "status": [] }),
        ] {
            let _ = (v1_to_v2(&value), v2_to_v1(&value));
        }
    }
}
