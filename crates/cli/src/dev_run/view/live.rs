//! The objects of the cluster as they are now, from the history of the API server, and pages that follow them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use kubewright_apiserver::ApiServer;
use kubewright_runtime::serve::{HttpResponse, ResponseBody};
use kubewright_runtime::stop::Stop;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::objects::{is_shown, redacted, summary};
use super::respond;

/// How often the history is looked at. Nothing is read while the revision stays.
const LOOK: Duration = Duration::from_millis(100);
/// After so much silence a comment is sent, so that a page that is gone is noticed.
const SILENCE: Duration = Duration::from_secs(15);
/// As many deletions are remembered for pages that have not seen them; a page that is further behind gets everything anew.
const DELETIONS: usize = 1000;

/// What changed since the command began. Cloning shares it.
#[derive(Clone)]
pub(super) struct Live {
    objects: Arc<Mutex<LiveObjects>>,
    /// The number of the last change.
    changed: Arc<watch::Sender<u64>>,
    /// The revision at which the command began.
    began: u64,
}

#[derive(Default)]
struct LiveObjects {
    by_uid: BTreeMap<String, LiveObject>,
    deleted: VecDeque<(u64, String)>,
    /// The number of the last change.
    last: u64,
    /// Deletions up to this change are forgotten.
    forgotten: u64,
}

struct LiveObject {
    change: u64,
    /// Without what must stay secret.
    object: Value,
}

/// What a page has to know to be up to date.
#[derive(Debug, PartialEq)]
struct News {
    last: u64,
    /// Whether what the page has is to be thrown away.
    anew: bool,
    changed: Vec<Value>,
    deleted: Vec<String>,
}

impl Live {
    pub(super) fn new(began: u64) -> Self {
        Live {
            objects: Arc::default(),
            changed: Arc::new(watch::Sender::new(0)),
            began,
        }
    }

    /// Follows the history until the end is asked for.
    pub(super) async fn follow(self, server: ApiServer, stop: Stop) {
        let mut seen = self.began;
        loop {
            let now = server.revision();
            if now > seen {
                let changes = server.history(seen, is_shown);
                // What is not shown has revisions, too.
                seen = changes.last().map_or(now, |change| now.max(change.revision));
                for change in changes {
                    self.lock().take(change.object, change.deleted);
                }
                let last = self.lock().last;
                self.changed
                    .send_if_modified(|known| std::mem::replace(known, last) != last);
            }
            tokio::select! {
                () = stop.stopped() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// An object as YAML.
    pub(super) fn yaml(&self, uid: &str) -> Option<String> {
        let object = self.lock().by_uid.get(uid)?.object.clone();
        Some(kubewright_codec::yaml::encode(&object))
    }

    fn lock(&self) -> MutexGuard<'_, LiveObjects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveObjects {
    fn take(&mut self, object: Value, is_deleted: bool) {
        let Some(uid) = object["metadata"]["uid"].as_str().map(str::to_owned) else {
            return;
        };
        self.last += 1;
        if !is_deleted {
            let object = redacted(object);
            self.by_uid.insert(
                uid,
                LiveObject {
                    change: self.last,
                    object,
                },
            );
        } else if self.by_uid.remove(&uid).is_some() {
            self.deleted.push_back((self.last, uid));
            if self.deleted.len() > DELETIONS
                && let Some((change, _)) = self.deleted.pop_front()
            {
                self.forgotten = change;
            }
        }
    }

    /// What happened after a change; everything if that is not known any more.
    fn since(&self, seen: Option<u64>) -> News {
        let known = seen.filter(|seen| *seen >= self.forgotten);
        let after = known.unwrap_or(0);
        let changed = self.by_uid.values().filter(|object| object.change > after);
        let deleted = self.deleted.iter().filter(|(change, _)| *change > after);
        News {
            last: self.last,
            anew: known.is_none(),
            changed: changed.map(|object| summary(&object.object)).collect(),
            deleted: deleted
                .filter(|_| known.is_some())
                .map(|(_, uid)| uid.clone())
                .collect(),
        }
    }
}

/// The objects as server-sent events: all of them, then what changes. Changes that come while a page does not read become one.
pub(super) fn events(live: Option<Live>, stop: Stop) -> HttpResponse {
    let Some(live) = live else {
        let none = "retry: 60000\nevent: unavailable\ndata: {}\n\n";
        return respond::events(none.into());
    };
    let reader = Reader {
        changes: live.changed.subscribe(),
        live,
        seen: None,
        stop,
    };
    let pieces = unfold(reader, |mut reader| async move {
        let piece = reader.next().await?;
        Some((piece, reader))
    });
    respond::events(ResponseBody::stream(pieces))
}

/// A page that follows.
struct Reader {
    live: Live,
    changes: watch::Receiver<u64>,
    /// The last change that the page knows of.
    seen: Option<u64>,
    stop: Stop,
}

impl Reader {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(seen) = self.seen {
            let grown = async { self.changes.wait_for(|last| *last > seen).await.is_ok() };
            tokio::select! {
                biased;
                () = self.stop.stopped() => return None,
                is_there = grown => if !is_there { return None },
                () = tokio::time::sleep(SILENCE) => return Some(Bytes::from_static(b":\n\n")),
            }
        }
        let News {
            last,
            anew,
            changed,
            deleted,
        } = self.live.lock().since(self.seen);
        self.seen = Some(last);
        let news = json!({ "anew": anew, "changed": changed, "deleted": deleted });
        Some(Bytes::from(format!("event: objects\ndata: {news}\n\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(number: usize) -> Value {
        json!({ "kind": "ConfigMap", "metadata": { "name": format!("c{number}"), "uid": number.to_string() } })
    }

    #[test]
    fn a_page_gets_everything_and_then_what_changed() {
        let mut objects = LiveObjects::default();
        objects.take(object(1), false);
        objects.take(object(2), false);
        let news = objects.since(None);
        assert_eq!((news.anew, news.changed.len(), news.last), (true, 2, 2));
        objects.take(object(3), false);
        objects.take(object(1), true);
        let news = objects.since(Some(2));
        assert_eq!(
            (news.anew, news.changed.len(), news.deleted),
            (false, 1, vec!["1".to_owned()])
        );
        assert_eq!(objects.since(Some(4)).changed, Vec::<Value>::new());
    }

    #[test]
    fn a_page_that_is_too_far_behind_gets_everything_anew() {
        let mut objects = LiveObjects::default();
        for number in 0..=DELETIONS {
            objects.take(object(number), false);
            objects.take(object(number), true);
        }
        objects.take(object(5000), false);
        let news = objects.since(Some(1));
        assert_eq!((news.anew, news.changed.len(), news.deleted.len()), (true, 1, 0));
        assert_eq!(objects.deleted.len(), DELETIONS);
        assert!(!objects.since(Some(2)).anew);
    }
}
