//! What was said about an object.

use std::fmt::Write as _;

use k8s_openapi::api::events::v1::Event;
use kubewright_runtime::cache::Query;
use kubewright_runtime::object::{Kind, ObjectKey};

use crate::TestEnv;

/// More events than this are left out, the oldest first.
const MOST: usize = 10;

/// The events about an object, oldest first.
pub(super) async fn about(env: &TestEnv, kind: &Kind, key: &ObjectKey) -> Vec<String> {
    let query = match key.namespace() {
        Some(namespace) => Query::all().in_namespace(namespace),
        None => Query::all(),
    };
    let Ok(events) = env.client().list::<Event>(&query).await else {
        return Vec::new();
    };
    let is_about = |event: &&kubewright_runtime::object::View<Event>| {
        event.regarding.as_ref().is_some_and(|about| {
            about.name.as_deref() == Some(key.name()) && about.kind.as_deref() == Some(kind.kind())
        })
    };
    let mut said: Vec<_> = events
        .iter()
        .filter(is_about)
        .map(|event| (event.event_time.as_ref().map(|time| time.0), line(event)))
        .collect();
    said.sort();
    let skipped = said.len().saturating_sub(MOST);
    said.into_iter().skip(skipped).map(|(_, line)| line).collect()
}

fn line(event: &Event) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut line = format!("{} {}: {}", text(&event.type_), text(&event.reason), text(&event.note));
    if let Some(series) = &event.series {
        let _ = write!(line, " ({} times)", series.count);
    }
    line
}
