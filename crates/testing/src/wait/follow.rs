//! Follows objects: one list, then a watch.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::DynamicObject;
use kubewright_runtime::object::{Kind, ObjectKey};
use serde_json::Value;

use crate::Error;

/// How long to wait before a failed list is tried again.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Follow {
    api: Api<DynamicObject>,
    kind: Kind,
    fields: Option<String>,
    objects: BTreeMap<ObjectKey, Value>,
    watch: Option<BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>>,
    trouble: Option<String>,
}

impl Follow {
    /// One object.
    pub(crate) fn object(client: kube::Client, kind: &Kind, key: &ObjectKey) -> Self {
        let fields = Some(format!("metadata.name={}", key.name()));
        Self::new(client, kind, key.namespace(), fields)
    }

    /// All objects of a kind, in one namespace or in all.
    pub(crate) fn all(client: kube::Client, kind: &Kind, namespace: Option<&str>) -> Self {
        Self::new(client, kind, namespace, None)
    }

    fn new(client: kube::Client, kind: &Kind, namespace: Option<&str>, fields: Option<String>) -> Self {
        let resource = kind.api_resource();
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        Follow {
            api,
            kind: kind.clone(),
            fields,
            objects: BTreeMap::new(),
            watch: None,
            trouble: None,
        }
    }

    /// The objects as last seen.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }

    /// Why the last list failed, if it did.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Waits for a change; the first time, for the first list.
    pub(crate) async fn next(&mut self) {
        loop {
            let Some(watch) = &mut self.watch else {
                match self.list().await {
                    Ok(()) => self.trouble = None,
                    Err(error) => {
                        let is_news = self.trouble.is_none();
                        self.trouble = Some(error.text());
                        if !is_news {
                            tokio::time::sleep(PAUSE).await;
                            continue;
                        }
                    }
                }
                return;
            };
            match watch.next().await {
                Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                    self.keep(&object);
                    return;
                }
                Some(Ok(WatchEvent::Deleted(object))) => {
                    self.objects.remove(&key(&object));
                    return;
                }
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                // The watch ended or expired: list again.
                Some(Ok(WatchEvent::Error(_)) | Err(_)) | None => self.watch = None,
            }
        }
    }

    async fn list(&mut self) -> Result<(), Error> {
        let failed = |error| Error::kube(&format!("list {}", self.kind), error);
        let params = ListParams {
            field_selector: self.fields.clone(),
            ..ListParams::default()
        };
        let list = self.api.list(&params).await.map_err(failed)?;
        let version = list.metadata.resource_version.clone().unwrap_or_default();
        let params = WatchParams {
            field_selector: self.fields.clone(),
            ..WatchParams::default()
        };
        let watch = self.api.watch(&params, &version).await.map_err(failed)?;
        self.watch = Some(watch.boxed());
        self.objects.clear();
        for object in &list.items {
            self.keep(object);
        }
        Ok(())
    }

    fn keep(&mut self, object: &DynamicObject) {
        let Ok(mut value) = serde_json::to_value(object) else {
            return;
        };
        // Items of a list have no apiVersion and kind.
        value["apiVersion"] = self.kind.api_version().into();
        value["kind"] = self.kind.kind().into();
        self.objects.insert(key(object), value);
    }
}

fn key(object: &DynamicObject) -> ObjectKey {
    ObjectKey::new(
        object.metadata.namespace.as_deref(),
        object.metadata.name.as_deref().unwrap_or_default(),
    )
}
