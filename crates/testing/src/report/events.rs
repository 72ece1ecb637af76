//! The events about an object, and the warnings about what it owns.

use std::fmt::Write as _;

use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kubewright_runtime::cache::Query;
use kubewright_runtime::object::{Kind, ObjectKey, View};
use serde_json::Value;

use crate::TestEnv;

/// More events than this are left out, the oldest first.
const MOST: usize = 10;

/// The events about an object, and the warnings about what it owns; the oldest first.
pub(super) async fn about(env: &TestEnv, kind: &Kind, key: &ObjectKey, owned: &[Value]) -> Vec<String> {
    let query = match key.namespace() {
        Some(namespace) => Query::all().in_namespace(namespace),
        None => Query::all(),
    };
    let Ok(events) = env.client().list::<Event>(&query).await else {
        return Vec::new();
    };
    let line = |event: &View<Event>| {
        let about = event.regarding.as_ref()?;
        let (named, of_kind) = (about.name.as_deref()?, about.kind.as_deref()?);
        if named == key.name() && of_kind == kind.kind() {
            return Some(said(event));
        }
        let is_it = |object: &&Value| object["metadata"]["name"] == named && object["kind"] == of_kind;
        let is_warning = event.type_.as_deref() == Some("Warning");
        let object = owned.iter().filter(|_| is_warning).find(is_it)?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Some(format!("{of_kind} {name}: {}", said(event)))
    };
    let mut lines: Vec<_> = events
        .iter()
        .filter_map(|event| Some((time(event), line(event)?)))
        .collect();
    lines.sort();
    let skipped = lines.len().saturating_sub(MOST);
    lines.into_iter().skip(skipped).map(|(_, line)| line).collect()
}

/// When it happened. Kubernetes' own controllers write the fields of the old event API.
fn time(event: &Event) -> Option<Timestamp> {
    let new = event.event_time.as_ref().map(|time| time.0);
    new.or_else(|| event.deprecated_first_timestamp.as_ref().map(|time| time.0))
}

fn said(event: &Event) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut line = format!("{} {}: {}", text(&event.type_), text(&event.reason), text(&event.note));
    let series = event.series.as_ref().map(|series| series.count);
    if let Some(count) = series.or(event.deprecated_count).filter(|count| *count > 1) {
        let _ = write!(line, " ({count} times)");
    }
    line
}
