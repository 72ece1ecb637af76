//! What a reader does not know yet, part by part.

use serde_json::{Value, json};

use super::{Model, Version};

/// How much a reader knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    objects: u64,
    timeline: u64,
    session: u64,
    operator: u64,
    requests: u64,
    warnings: u64,
    unreadable: u64,
    said: u64,
    story: u64,
}

impl Model {
    /// What is new since a reader looked last, with the parts in which something is; `None` if there is nothing.
    pub(crate) fn news(&self, cursor: &mut Cursor) -> Option<Value> {
        let mut news = serde_json::Map::new();
        if let Some(session) = self.session.since(cursor.session) {
            cursor.session = session.change;
            news.insert("session".to_owned(), json!(session));
        }
        if let Some(objects) = self.archive.since(cursor.objects) {
            cursor.objects = objects.change;
            let changed = objects.changed.iter().map(Version::shown);
            let part = json!({
                "anew": objects.anew, "changed": changed.collect::<Vec<_>>(), "deleted": objects.deleted,
                "oldest": objects.oldest, "newest": objects.newest,
            });
            news.insert("objects".to_owned(), part);
        }
        if let Some(timeline) = self.timeline.since(cursor.timeline) {
            cursor.timeline = timeline.change;
            let part = json!({
                "changed": timeline.changed, "oldest": timeline.oldest, "webhooks": timeline.webhooks, "missed": timeline.missed,
            });
            news.insert("reconciles".to_owned(), part);
        }
        if let Some((change, operator)) = self.operator.since(cursor.operator) {
            cursor.operator = change;
            news.insert("operator".to_owned(), operator);
        }
        if let Some((change, requests)) = self.requests.since(cursor.requests) {
            cursor.requests = change;
            news.insert("requests".to_owned(), requests);
        }
        if let Some((change, warnings)) = self.warnings.since(cursor.warnings) {
            cursor.warnings = change;
            news.insert("warnings".to_owned(), json!(warnings));
        }
        if self.unreadable.change > cursor.unreadable {
            cursor.unreadable = self.unreadable.change;
            news.insert("unreadable".to_owned(), json!(self.unreadable.by_kind));
        }
        if let Some((change, uids)) = self.said.since(cursor.said) {
            cursor.said = change;
            news.insert("said".to_owned(), json!(uids));
        }
        if let Some(story) = self.story.since(cursor.story) {
            cursor.story = story.change;
            news.insert("story".to_owned(), json!(story));
        }
        (!news.is_empty()).then_some(Value::Object(news))
    }
}
