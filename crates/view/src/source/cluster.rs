//! The objects of a cluster that is somewhere else, by its watches. Only what happens from now on is known of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::Api;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use kubewright_runtime::object::Kind;
use kubewright_runtime::stop::Stop;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::events;
use crate::model::{Seen, SharedModel};

/// As many objects are asked for at once.
const PAGE: u32 = 500;
/// How long after a watch that failed the next one begins.
const AGAIN: Duration = Duration::from_secs(2);
/// So long a server keeps a watch open.
const WATCH_SECONDS: u32 = 290;

/// A kind of which the objects are followed.
#[derive(Clone, Debug)]
pub struct FollowedKind {
    /// The kind.
    pub kind: Kind,
    /// Whether its objects are shown from the beginning. Those of other kinds are when they belong to one that is shown, or change.
    pub is_own: bool,
}

/// Writes what is and what changes in a cluster into the model, until the end is asked for. A kind that cannot be read is told in the model and tried
/// again.
pub async fn follow_cluster(client: kube::Client, kinds: Vec<FollowedKind>, model: SharedModel, stop: Stop) {
    let follow = async {
        let shown = Arc::new(Mutex::new(Shown {
            unlisted: kinds.len(),
            ..Shown::default()
        }));
        let said = events::follow(client.clone(), &model);
        let mut tasks = JoinSet::new();
        for kind in kinds {
            let follower = Follower {
                api: Api::all_with(client.clone(), &kind.kind.api_resource()),
                kind,
                model: model.clone(),
                shown: Arc::clone(&shown),
                known: BTreeMap::new(),
            };
            tasks.spawn(follower.run());
        }
        tokio::join!(said, tasks.join_all());
    };
    tokio::select! {
        biased;
        () = stop.stopped() => {}
        () = follow => {}
    }
}

/// Which objects are shown, and which wait for an owner that is.
#[derive(Default)]
struct Shown {
    uids: BTreeSet<String>,
    waiting: BTreeMap<String, Vec<Value>>,
    /// How many kinds were not listed yet. Once all were, no owner is to come of what was there before.
    unlisted: usize,
}

impl Shown {
    /// Shows an object and all that wait for it.
    fn show(&mut self, object: Value, model: &SharedModel) {
        let mut ready = vec![object];
        while let Some(object) = ready.pop() {
            let uid = uid(&object).to_owned();
            ready.extend(self.waiting.remove(&uid).unwrap_or_default());
            self.uids.insert(uid);
            seen(object, false, model);
        }
    }

    /// Shows an object that was there before if it belongs to one that is shown, now or later.
    fn show_if_owned(&mut self, object: Value, model: &SharedModel) {
        let owners: Vec<String> = owners(&object).map(str::to_owned).collect();
        if owners.iter().any(|owner| self.uids.contains(owner)) {
            return self.show(object, model);
        }
        for owner in owners.into_iter().filter(|_| self.unlisted > 0) {
            self.waiting.entry(owner).or_default().push(object.clone());
        }
    }
}

/// Follows one kind.
struct Follower {
    api: Api<DynamicObject>,
    kind: FollowedKind,
    model: SharedModel,
    shown: Arc<Mutex<Shown>>,
    /// What is there by uid, without more than tells it apart.
    known: BTreeMap<String, Value>,
}

impl Follower {
    async fn run(mut self) {
        let name = self.kind.kind.to_string();
        let mut is_first = true;
        loop {
            let ended = self.list_and_watch(&mut is_first).await;
            if std::mem::replace(&mut is_first, false) {
                // It cannot be listed, and nothing waits for it.
                self.listed().await;
            }
            if let Err(error) = ended {
                let why = match &error {
                    kube::Error::Api(status) => status.message.clone(),
                    other => kubewright_apimachinery::errors::with_sources(other),
                };
                self.model.write(|model| model.unreadable(&name, Some(&why)));
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Lists, then watches until a watch cannot go on where the last one ended.
    async fn list_and_watch(&mut self, is_first: &mut bool) -> Result<(), kube::Error> {
        let mut revision = self.list(*is_first).await?;
        if std::mem::replace(is_first, false) {
            self.listed().await;
        }
        self.model
            .write(|model| model.unreadable(&self.kind.kind.to_string(), None));
        loop {
            let options = WatchParams::default().timeout(WATCH_SECONDS);
            let mut events = self.api.watch(&options, &revision).await?.boxed();
            while let Some(event) = events.next().await {
                match event? {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        revision = object.metadata.resource_version.clone().unwrap_or(revision);
                        self.changed(value(&object)).await;
                    }
                    WatchEvent::Deleted(object) => {
                        revision = object.metadata.resource_version.clone().unwrap_or(revision);
                        self.deleted(value(&object)).await;
                    }
                    WatchEvent::Bookmark(bookmark) => revision = bookmark.metadata.resource_version,
                    WatchEvent::Error(status) if status.code == 410 => return Ok(()),
                    WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
                }
            }
        }
    }

    /// Takes all objects; what was known and is not among them is gone. The revision to watch from.
    async fn list(&mut self, is_first: bool) -> Result<String, kube::Error> {
        let mut found = BTreeSet::new();
        let mut options = ListParams::default().limit(PAGE);
        loop {
            let page = self.api.list(&options).await?;
            for object in &page.items {
                let object = self.typed(object);
                found.insert(uid(&object).to_owned());
                if is_first && !self.kind.is_own {
                    self.known.insert(uid(&object).to_owned(), outline(&object));
                    self.shown.lock().await.show_if_owned(object, &self.model);
                } else {
                    self.changed(object).await;
                }
            }
            if let Some(token) = page.metadata.continue_.filter(|token| !token.is_empty()) {
                options = options.continue_token(&token);
                continue;
            }
            let is_gone = |(uid, _): &(&String, &Value)| !found.contains(*uid);
            let gone: Vec<Value> = self
                .known
                .iter()
                .filter(is_gone)
                .map(|(_, object)| object.clone())
                .collect();
            for object in gone {
                self.deleted(object).await;
            }
            return Ok(page.metadata.resource_version.unwrap_or_default());
        }
    }

    /// All objects that were there before are known.
    async fn listed(&self) {
        let mut shown = self.shown.lock().await;
        shown.unlisted = shown.unlisted.saturating_sub(1);
        if shown.unlisted == 0 {
            shown.waiting.clear();
        }
    }

    /// Items of a list do not say what they are.
    fn typed(&self, object: &DynamicObject) -> Value {
        let mut object = value(object);
        object["apiVersion"] = self.kind.kind.api_version().into();
        object["kind"] = self.kind.kind.kind().into();
        object
    }

    async fn changed(&mut self, object: Value) {
        let known = self.known.insert(uid(&object).to_owned(), object.clone());
        let is_news =
            known.is_none_or(|known| known["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"]);
        if is_news {
            self.shown.lock().await.show(object, &self.model);
        }
    }

    async fn deleted(&mut self, object: Value) {
        self.known.remove(uid(&object));
        self.shown.lock().await.uids.remove(uid(&object));
        seen(object, true, &self.model);
    }
}

fn value(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// What an object is and at which version.
fn outline(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "metadata": {
            "uid": metadata["uid"], "namespace": metadata["namespace"], "name": metadata["name"],
            "resourceVersion": metadata["resourceVersion"],
        },
    })
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
}

fn seen(object: Value, is_deletion: bool, model: &SharedModel) {
    let revision = object["metadata"]["resourceVersion"].as_str();
    let revision = revision.and_then(|revision| revision.parse().ok()).unwrap_or(0);
    let at = Timestamp::now();
    model.write(|model| {
        model.object(Seen {
            revision,
            at,
            object,
            is_deletion,
        });
    });
}

#[cfg(test)]
mod tests {
    use http::Request;
    use kubewright_apiserver::{ApiServer, Options};
    use kubewright_runtime::stop::Stopper;

    use super::*;
    use crate::Model;

    async fn send(server: &ApiServer, method: &str, path: &str, body: Value) -> Value {
        let content = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = server.handle(request.body(body.into()).unwrap()).await;
        assert!(answer.status().is_success(), "{method} {path}: {}", answer.status());
        let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap();
        serde_json::from_slice(&body.to_bytes()).unwrap()
    }

    const MAPS: &str = "/api/v1/namespaces/default/configmaps";
    const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

    fn object(name: &str, owner: Option<&Value>) -> Value {
        let mut object = json!({ "metadata": { "name": name } });
        if let Some(owner) = owner {
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": owner["metadata"]["uid"],
            }]);
        }
        object
    }

    async fn names(model: &SharedModel, until: &[&str]) {
        let mut writes = model.writes();
        for _ in 0..1000 {
            let mut found = model.read(|model| {
                let all = model.archive.all_at(u64::MAX);
                let all = all.filter(|version| version.summary.namespace.as_deref() == Some("default"));
                all.map(|version| version.summary.name.clone()).collect::<Vec<_>>()
            });
            found.retain(|name| name != "kube-root-ca.crt" && name != "default");
            found.sort();
            if found == until {
                return;
            }
            let waited = tokio::time::timeout(Duration::from_mins(1), writes.changed()).await;
            assert!(waited.is_ok(), "{found:?} and not {until:?}");
        }
        panic!("it does not come to {until:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_belongs_to_the_operators_objects_is_shown_and_all_else_when_it_changes() {
        let server = ApiServer::new(Options::new());
        let root = send(&server, "POST", MAPS, object("root", None)).await;
        let child = send(&server, "POST", ACCOUNTS, object("child", Some(&root))).await;
        send(&server, "POST", ACCOUNTS, object("grandchild", Some(&child))).await;
        send(&server, "POST", ACCOUNTS, object("stranger", None)).await;
        let kinds = [
            ("ConfigMap", "configmaps", true),
            ("ServiceAccount", "serviceaccounts", false),
        ];
        let kinds = kinds.map(|(kind, plural, is_own)| FollowedKind {
            kind: Kind::named("", "v1", kind, plural, true),
            is_own,
        });
        let model = SharedModel::new(Model::new(1 << 20));
        let (stopper, stop) = Stopper::new();
        let following = tokio::spawn(follow_cluster(server.client(), kinds.to_vec(), model.clone(), stop));
        names(&model, &["child", "grandchild", "root"]).await;

        let label = json!({ "metadata": { "labels": { "a": "b" } } });
        send(&server, "PATCH", &format!("{ACCOUNTS}/stranger"), label.clone()).await;
        names(&model, &["child", "grandchild", "root", "stranger"]).await;
        send(&server, "DELETE", &format!("{MAPS}/root"), json!(null)).await;
        names(&model, &["child", "grandchild", "stranger"]).await;
        stopper.stop();
        following.await.unwrap();
    }

    #[tokio::test]
    async fn what_went_unseen_is_gone_with_the_next_list() {
        let server = ApiServer::new(Options::new());
        for name in ["one", "two"] {
            send(&server, "POST", MAPS, object(name, None)).await;
        }
        let model = SharedModel::new(Model::new(1 << 20));
        let kind = Kind::named("", "v1", "ConfigMap", "configmaps", true);
        let mut follower = Follower {
            api: Api::all_with(server.client(), &kind.api_resource()),
            kind: FollowedKind { kind, is_own: true },
            model: model.clone(),
            shown: Arc::default(),
            known: BTreeMap::new(),
        };
        follower.list(true).await.unwrap();
        names(&model, &["one", "two"]).await;
        send(&server, "DELETE", &format!("{MAPS}/one"), json!(null)).await;
        follower.list(false).await.unwrap();
        names(&model, &["two"]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_cannot_be_read_is_told_and_holds_nothing_up() {
        let server = ApiServer::new(Options::new());
        send(&server, "POST", MAPS, object("root", None)).await;
        let kinds = [
            ("", "v1", "ConfigMap", "configmaps"),
            ("example.com", "v1", "Nothing", "nothings"),
        ];
        let kinds = kinds.map(|(group, version, kind, plural)| FollowedKind {
            kind: Kind::named(group, version, kind, plural, true),
            is_own: true,
        });
        let model = SharedModel::new(Model::new(1 << 20));
        let (stopper, stop) = Stopper::new();
        let following = tokio::spawn(follow_cluster(server.client(), kinds.to_vec(), model.clone(), stop));
        names(&model, &["root"]).await;
        let mut writes = model.writes();
        while model.read(|model| model.unreadable.by_kind.is_empty()) {
            writes.changed().await.unwrap();
        }
        model.read(|model| {
            let why = &model.unreadable.by_kind["Nothing.example.com"];
            assert_eq!(why, "404 page not found");
        });
        stopper.stop();
        following.await.unwrap();
    }
}
