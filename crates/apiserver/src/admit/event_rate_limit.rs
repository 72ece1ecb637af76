//! `EventRateLimit`: events come no faster than a configuration allows, by server, namespace, user, or source and object (A21).

use std::collections::HashMap;

use kubewright_apimachinery::field::{FieldError, Path, aggregate};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::wire::status::{Result, Status};

pub(super) struct EventRateLimit;

/// So many keys are remembered unless a limit says otherwise.
const CACHE_SIZE: usize = 4096;
const TYPES: [&str; 4] = ["Namespace", "Server", "SourceAndObject", "User"];

impl Plugin for EventRateLimit {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::EventRateLimit)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        event: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        let is_write = matches!(attributes.operation, Operation::Create | Operation::Update);
        // Events of `events.k8s.io` are of another kind.
        let is_event = attributes.resource.group.is_empty() && attributes.resource.kind == "Event";
        if !is_write || !is_event || attributes.dry_run {
            return Ok(());
        }
        let mut refused: Vec<String> = Vec::new();
        for limit in &attributes.server.admission.event_limits {
            let key = limit.key(attributes, event);
            if !limit.accept(&key, Instant::now()) {
                refused.push(format!("limit reached on type {} for key {key}", limit.name));
            }
        }
        refused.dedup();
        match refused.as_slice() {
            [] => Ok(()),
            [only] => Err(Status::too_many_requests(only)),
            several => Err(Status::too_many_requests(&format!("[{}]", several.join(", ")))),
        }
    }
}

/// A limit of a configuration, and how much of it is used up.
#[derive(Debug)]
pub(crate) struct EventLimit {
    name: &'static str,
    per_second: f64,
    burst: f64,
    cache_size: usize,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Clone for EventLimit {
    fn clone(&self) -> Self {
        EventLimit {
            buckets: Mutex::new(self.buckets.lock().clone()),
            ..*self
        }
    }
}

impl EventLimit {
    /// Reads the limits of a `Configuration` of `eventratelimit.admission.k8s.io/v1alpha1`.
    pub(super) fn read(configuration: &Value) -> std::result::Result<Vec<EventLimit>, String> {
        let list = configuration.get("limits").and_then(Value::as_array);
        let list = list.map_or(&[][..], Vec::as_slice);
        let (path, mut errors, mut limits) = (Path::new("limits"), Vec::new(), Vec::new());
        if list.is_empty() {
            errors.push(FieldError::invalid(&path, Value::Null, "must not be empty"));
        }
        for (index, limit) in list.iter().enumerate() {
            let path = path.index(index);
            let given = limit.get("type").and_then(Value::as_str).unwrap_or_default();
            let name = TYPES.into_iter().find(|name| *name == given);
            if name.is_none() {
                errors.push(FieldError::not_supported(&path.child("type"), given, TYPES));
            }
            let mut number = |key: &str, least: i32, wrong: &str| {
                let value = limit.get(key).and_then(Value::as_i64).unwrap_or_default();
                if value < i64::from(least) {
                    errors.push(FieldError::invalid(&path.child(key), value, wrong));
                }
                i32::try_from(value).unwrap_or(i32::MAX)
            };
            let burst = number("burst", 1, "must be positive");
            let per_second = number("qps", 1, "must be positive");
            let cache_size = match name {
                Some("Server") => 0,
                _ => number("cacheSize", 0, "must not be negative"),
            };
            limits.push(EventLimit {
                name: name.unwrap_or_default(),
                per_second: per_second.into(),
                burst: burst.into(),
                cache_size: usize::try_from(cache_size)
                    .ok()
                    .filter(|size| *size > 0)
                    .unwrap_or(CACHE_SIZE),
                buckets: Mutex::default(),
            });
        }
        aggregate(&errors).map_or(Ok(limits), Err)
    }

    fn key(&self, attributes: &Attributes<'_>, event: &Value) -> String {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        match self.name {
            "Namespace" => attributes.namespace.to_owned(),
            "User" => attributes.user.name.clone(),
            "SourceAndObject" => [
                "/source/component",
                "/source/host",
                "/involvedObject/kind",
                "/involvedObject/namespace",
                "/involvedObject/name",
                "/involvedObject/uid",
                "/involvedObject/apiVersion",
            ]
            .map(text)
            .concat(),
            _ => String::new(),
        }
    }

    /// Whether there is room for one more at this moment; then it is used up.
    fn accept(&self, key: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock();
        if buckets.len() >= self.cache_size && !buckets.contains_key(key) {
            let oldest = buckets.iter().min_by_key(|(_, bucket)| bucket.at);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                buckets.remove(&oldest);
            }
        }
        let full = Bucket {
            tokens: self.burst,
            at: now,
        };
        let bucket = buckets.entry(key.to_owned()).or_insert(full);
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.tokens = self.burst.min(bucket.tokens + passed * self.per_second);
        bucket.at = now;
        let has_room = bucket.tokens >= 1.0;
        if has_room {
            bucket.tokens -= 1.0;
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn limit(cache_size: i64) -> EventLimit {
        let limit = json!({"type": "User", "qps": 2, "burst": 3, "cacheSize": cache_size});
        EventLimit::read(&json!({ "limits": [limit] })).unwrap().remove(0)
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_allowed_and_then_the_rate() {
        let limit = limit(0);
        let now = Instant::now();
        let accepted = (0..5).filter(|_| limit.accept("alice", now)).count();
        assert_eq!(accepted, 3);
        assert!(limit.accept("bob", now), "each key has a bucket of its own");
        let later = now + Duration::from_millis(500);
        assert!(limit.accept("alice", later) && !limit.accept("alice", later));
        let much_later = now + Duration::from_mins(1);
        assert_eq!((0..9).filter(|_| limit.accept("alice", much_later)).count(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_keys_are_remembered() {
        let limit = limit(2);
        let now = Instant::now();
        for moment in 0..100 {
            limit.accept(&format!("user-{moment}"), now + Duration::from_millis(moment));
        }
        assert_eq!(limit.buckets.lock().len(), 2);
    }

    #[test]
    fn a_mistaken_configuration_is_refused_in_upstreams_words() {
        let wrong = |limits: Value| EventLimit::read(&json!({ "limits": limits })).unwrap_err();
        assert_eq!(wrong(json!([])), "limits: Invalid value: null: must not be empty");
        let mistakes = wrong(json!([{"type": "Cluster", "qps": 0, "burst": -1, "cacheSize": -1}]));
        assert!(mistakes.contains(r#"limits[0].type: Unsupported value: "Cluster": supported values: "Namespace", "Server", "SourceAndObject", "User""#), "{mistakes}");
        assert!(mistakes.contains("limits[0].burst: Invalid value: -1: must be positive"));
        assert!(mistakes.contains("limits[0].qps: Invalid value: 0: must be positive"));
        assert!(mistakes.contains("limits[0].cacheSize: Invalid value: -1: must not be negative"));
    }
}
