//! A cluster by its client: one in this process, or one that is somewhere else.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use kubewright_apimachinery::errors::with_sources;
use kubewright_runtime::mapper::RestMapper;
use kubewright_runtime::object::Kind;
use serde_json::{Value, json};

use super::edit::difference;
use super::{
    Abilities, Answer, Cluster, Edit, Forked, Forks, LogStream, ObjectEvent, ObjectName, Propagation, Refusal,
    WantedLog,
};

/// The manager of the fields that are written here.
const FIELD_MANAGER: &str = "kubewright-view";
/// As many events of an object are read.
const MOST_EVENTS: usize = 200;
/// No refusal is longer.
const LONGEST_STATUS: usize = 1 << 20;

/// A cluster by its client, with the client's rights.
pub struct ClientCluster {
    client: Client,
    mapper: RestMapper,
    writes: bool,
    forks: Option<Arc<dyn Forks>>,
}

impl ClientCluster {
    /// One in which nothing is changed.
    pub fn read_only(client: Client) -> Self {
        ClientCluster {
            mapper: RestMapper::new(client.clone()),
            client,
            writes: false,
            forks: None,
        }
    }

    /// Whether objects may be changed.
    #[must_use]
    pub fn with_writes(mut self, writes: bool) -> Self {
        self.writes = writes;
        self
    }

    /// Lets the past be forked.
    #[must_use]
    pub fn with_forks(mut self, forks: Arc<dyn Forks>) -> Self {
        self.forks = Some(forks);
        self
    }

    fn check_writes(&self) -> Result<(), Refusal> {
        if self.writes { Ok(()) } else { Err(Refusal::read_only()) }
    }

    async fn kind(&self, api_version: &str, kind: &str) -> Result<Kind, Refusal> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let found = self.mapper.kind(group, version, kind).await;
        found.map_err(|error| Refusal::new(404, "NotFound", with_sources(&error)))
    }

    /// The path of an object.
    async fn path(&self, object: &ObjectName) -> Result<String, Refusal> {
        let kind = self.kind(&object.api_version, &object.kind).await?;
        Ok(format!("{}/{}", kind.path(object.namespace.as_deref()), object.name))
    }

    /// Sends a body; what comes back.
    async fn send(&self, method: &str, path: &str, content_type: &str, body: &Value) -> Result<Value, Refusal> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(body.to_string().into_bytes());
        let request = request.map_err(|error| Refusal::bad_request(error.to_string()))?;
        Ok(self.client.request(request).await?)
    }

    async fn get(&self, path: &str) -> Result<Value, Refusal> {
        let request = Request::get(path).body(Vec::new());
        let request = request.map_err(|error| Refusal::bad_request(error.to_string()))?;
        Ok(self.client.request(request).await?)
    }
}

/// The name of an object, which it has to have.
fn name_of(object: &Value) -> Result<ObjectName, Refusal> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let needed = |pointer: &str, field: &str| {
        let missing = || Refusal::bad_request(format!("{field} is missing"));
        text(pointer).map(str::to_owned).ok_or_else(missing)
    };
    Ok(ObjectName {
        api_version: needed("/apiVersion", "apiVersion")?,
        kind: needed("/kind", "kind")?,
        namespace: text("/metadata/namespace").map(str::to_owned),
        name: needed("/metadata/name", "metadata.name")?,
    })
}

impl Cluster for ClientCluster {
    fn abilities(&self) -> Abilities {
        Abilities {
            writes: self.writes,
            forks: self.forks.is_some(),
        }
    }

    fn read<'a>(&'a self, object: &'a ObjectName) -> Answer<'a, Value> {
        Box::pin(async move { self.get(&self.path(object).await?).await })
    }

    fn apply(&self, edit: Edit) -> Answer<'_, Value> {
        Box::pin(async move {
            self.check_writes()?;
            let wanted = name_of(&edit.edited)?;
            let query = format!("fieldManager={FIELD_MANAGER}&fieldValidation=Strict");
            let Some(base) = edit.base else {
                let kind = self.kind(&wanted.api_version, &wanted.kind).await?;
                let namespace = wanted.namespace.as_deref().or(Some("default"));
                let path = format!("{}?{query}", kind.path(namespace));
                return self.send("POST", &path, "application/json", &edit.edited).await;
            };
            if name_of(&base)? != wanted {
                return Err(Refusal::bad_request(
                    "apiVersion, kind, namespace and name of an object cannot be changed",
                ));
            }
            match difference(&base, &edit.edited) {
                Some(change) => {
                    let path = format!("{}?{query}", self.path(&wanted).await?);
                    self.send("PATCH", &path, "application/merge-patch+json", &change).await
                }
                None => Ok(base),
            }
        })
    }

    fn scale<'a>(&'a self, object: &'a ObjectName, replicas: u32) -> Answer<'a, ()> {
        Box::pin(async move {
            self.check_writes()?;
            let path = self.path(object).await?;
            let change = json!({ "spec": { "replicas": replicas } });
            let media_type = "application/merge-patch+json";
            let scale = format!("{path}/scale?fieldManager={FIELD_MANAGER}");
            let scaled = self.send("PATCH", &scale, media_type, &change).await;
            if scaled.as_ref().is_err_and(|refusal| refusal.code == 404) {
                // A kind that does not have the subresource is scaled by its own field.
                let own = format!("{path}?fieldManager={FIELD_MANAGER}");
                self.send("PATCH", &own, media_type, &change).await?;
            } else {
                scaled?;
            }
            Ok(())
        })
    }

    fn delete<'a>(&'a self, object: &'a ObjectName, uid: &'a str, propagation: Propagation) -> Answer<'a, ()> {
        Box::pin(async move {
            self.check_writes()?;
            let options = json!({
                "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation, "preconditions": { "uid": uid },
            });
            let path = self.path(object).await?;
            self.send("DELETE", &path, "application/json", &options).await?;
            Ok(())
        })
    }

    fn events<'a>(&'a self, object: &'a ObjectName, uid: &'a str) -> Answer<'a, Vec<ObjectEvent>> {
        Box::pin(async move {
            // Events about objects of the cluster are in the default namespace.
            let namespace = object.namespace.as_deref().unwrap_or("default");
            let path = format!("/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.uid%3D{uid}");
            let list = self.get(&path).await?;
            let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            let mut events: Vec<ObjectEvent> = items.iter().map(event).collect();
            events.sort_by(|one, other| other.at.cmp(&one.at));
            events.truncate(MOST_EVENTS);
            Ok(events)
        })
    }

    fn logs<'a>(&'a self, pod: &'a ObjectName, wanted: &'a WantedLog) -> Answer<'a, LogStream> {
        Box::pin(async move {
            let mut path = format!("{}/log?tailLines={}", self.path(pod).await?, wanted.tail);
            if let Some(container) = &wanted.container {
                path = format!("{path}&container={container}");
            }
            for (name, is_set) in [("follow", wanted.follows), ("previous", wanted.is_previous)] {
                if is_set {
                    path = format!("{path}&{name}=true");
                }
            }
            let request = Request::get(path).body(Body::empty());
            let request = request.map_err(|error| Refusal::bad_request(error.to_string()))?;
            let answer = self.client.send(request).await?;
            let status = answer.status();
            if status.is_success() {
                let lines = answer.into_body().into_data_stream().map_err(std::io::Error::other);
                return Ok(lines.boxed() as LogStream);
            }
            let body = Limited::new(answer.into_body(), LONGEST_STATUS).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            Err(match serde_json::from_slice::<Status>(&body) {
                Ok(status) => status.into(),
                Err(_) => Refusal::new(status.as_u16(), "", String::from_utf8_lossy(&body)),
            })
        })
    }

    fn fork(&self, revision: u64) -> Answer<'_, Forked> {
        match &self.forks {
            Some(forks) => forks.fork(revision),
            None => Box::pin(async {
                let why = "only a cluster in this process can be forked";
                Err(Refusal::new(405, "MethodNotAllowed", why))
            }),
        }
    }
}

fn event(event: &Value) -> ObjectEvent {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let first = |fields: &[&str]| {
        let values = fields
            .iter()
            .map(|field| text(event.pointer(field).unwrap_or(&Value::Null)));
        values.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
    };
    let counts = ["/series/count", "/count"].map(|field| event.pointer(field).and_then(Value::as_u64));
    ObjectEvent {
        event_type: text(&event["type"]),
        reason: text(&event["reason"]),
        message: text(&event["message"]),
        source: first(&["/source/component", "/reportingComponent"]),
        count: counts.into_iter().flatten().find(|count| *count > 0).unwrap_or(1),
        at: first(&[
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/eventTime",
            "/metadata/creationTimestamp",
        ]),
    }
}

#[cfg(test)]
mod tests {
    use kubewright_apiserver::{ApiServer, Options};

    use super::*;

    fn map(data: &Value) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "default" }, "data": data })
    }

    #[tokio::test]
    async fn a_kind_without_the_subresource_is_scaled_by_its_own_field() {
        let server = ApiServer::new(Options::new());
        let cluster = ClientCluster::read_only(server.client()).with_writes(true);
        let create = |edited| cluster.apply(Edit { base: None, edited });
        let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": { "replicas": { "type": "integer" } } } } });
        create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "views.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": { "kind": "View", "plural": "views" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
            },
        }))
        .await
        .unwrap();
        let view = json!({
            "apiVersion": "example.com/v1", "kind": "View", "metadata": { "name": "a", "namespace": "default" }, "spec": { "replicas": 1 },
        });
        create(view).await.unwrap();
        let named = |name: &str| ObjectName {
            api_version: "example.com/v1".to_owned(),
            kind: "View".to_owned(),
            namespace: Some("default".to_owned()),
            name: name.to_owned(),
        };
        cluster.scale(&named("a"), 3).await.unwrap();
        let scaled = cluster
            .get("/apis/example.com/v1/namespaces/default/views/a")
            .await
            .unwrap();
        assert_eq!(scaled["spec"]["replicas"], 3);
        assert_eq!(cluster.scale(&named("b"), 3).await.unwrap_err().code, 404);
    }

    #[tokio::test]
    async fn an_edit_leaves_alone_what_others_changed_meanwhile() {
        let server = ApiServer::new(Options::new());
        let cluster = ClientCluster::read_only(server.client()).with_writes(true);
        let create = |object| Edit {
            base: None,
            edited: object,
        };
        let made = cluster
            .apply(create(map(&json!({ "a": "1", "b": "1" }))))
            .await
            .unwrap();
        let edit = |base: &Value, data: Value| {
            let mut edited = base.clone();
            edited["data"] = data;
            Edit {
                base: Some(base.clone()),
                edited,
            }
        };
        cluster.apply(edit(&made, json!({ "a": "2", "b": "1" }))).await.unwrap();
        let after = cluster.apply(edit(&made, json!({ "a": "1", "c": "3" }))).await.unwrap();
        assert_eq!(after["data"], json!({ "a": "2", "c": "3" }));
        assert_eq!(after["metadata"]["managedFields"][0]["manager"], FIELD_MANAGER);
        // What is no edit is no request.
        let unchanged = edit(&after, after["data"].clone());
        assert_eq!(cluster.apply(unchanged).await.unwrap(), after);
        let renamed = Edit {
            base: Some(after.clone()),
            edited: json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b", "namespace": "default" } }),
        };
        assert_eq!(cluster.apply(renamed).await.unwrap_err().code, 400);
        let mut unknown = edit(&after, json!({}));
        unknown.edited["colour"] = "red".into();
        let refusal = cluster.apply(unknown).await.unwrap_err();
        assert_eq!(
            (refusal.code, &*refusal.fields[0].field),
            (422, "colour"),
            "{refusal:?}"
        );
    }

    #[tokio::test]
    async fn who_only_looks_changes_nothing_and_sees_secrets() {
        let server = ApiServer::new(Options::new());
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "door", "namespace": "default" }, "stringData": { "key": "sesame" } });
        let writer = ClientCluster::read_only(server.client()).with_writes(true);
        let made = writer
            .apply(Edit {
                base: None,
                edited: secret,
            })
            .await
            .unwrap();
        let looker = ClientCluster::read_only(server.client());
        assert_eq!(looker.abilities(), Abilities::default());
        let door = name_of(&made).unwrap();
        assert_eq!(looker.read(&door).await.unwrap()["data"]["key"], "c2VzYW1l");
        let uid = made["metadata"]["uid"].as_str().unwrap();
        let refusals = [
            looker
                .apply(Edit {
                    base: None,
                    edited: made.clone(),
                })
                .await
                .unwrap_err(),
            looker.scale(&door, 1).await.unwrap_err(),
            looker.delete(&door, uid, Propagation::default()).await.unwrap_err(),
        ];
        assert!(refusals.iter().all(|refusal| *refusal == Refusal::read_only()));
        assert_eq!(looker.fork(1).await.unwrap_err().code, 405);
        // Not another of the same name.
        let another = writer.delete(&door, "0", Propagation::Orphan).await.unwrap_err();
        assert_eq!(another.code, 409);
        writer.delete(&door, uid, Propagation::Background).await.unwrap();
        assert_eq!(looker.read(&door).await.unwrap_err().code, 404);
    }
}
