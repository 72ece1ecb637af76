//! The documents of views, found where their viewers have them: in the `ConfigMap` that the Pods of their Deployment mount.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright_runtime::cache::Query;
use kubewright_runtime::informer::Cache;
use kubewright_runtime::object::{Kind, Object, ObjectKey, View};
use markdown_view::api::v1::MarkdownView;
use serde::de::DeserializeOwned;

use super::markdown;

/// The file with the table of contents.
pub(super) const SUMMARY: &str = "SUMMARY.md";

/// Finds views and their documents in informers.
pub(super) struct Views {
    cache: Cache,
}

/// A view as the index lists it.
pub(super) struct ViewSummary {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) documents: usize,
    pub(super) ready: i32,
    pub(super) wanted: i32,
}

/// The answer to a request for a view.
pub(super) enum Lookup {
    Found(ViewDocuments),
    /// The view exists and cannot be shown yet; why.
    Waiting(String),
    NotFound,
}

/// The documents of a view.
pub(super) struct ViewDocuments {
    pub(super) namespace: String,
    pub(super) name: String,
    /// By file name.
    pub(super) documents: BTreeMap<String, String>,
    /// How many Pods serve them, for the foot of the page.
    pub(super) ready: i32,
    pub(super) image: String,
}

impl Views {
    pub(super) fn new(cache: Cache) -> Self {
        Views { cache }
    }

    /// The views there are, by name.
    pub(super) fn views(&self) -> Vec<ViewSummary> {
        let mut views: Vec<ViewSummary> = self
            .all::<MarkdownView>()
            .iter()
            .map(|view| ViewSummary {
                namespace: view.key().namespace().unwrap_or_default().to_owned(),
                name: view.key().name().to_owned(),
                documents: view.spec.markdowns.len(),
                ready: self.deployment(view).map_or(0, |deployment| ready(&deployment)),
                wanted: view.spec.replicas,
            })
            .collect();
        views.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
        views
    }

    /// The documents of a view, if somebody can show them.
    pub(super) fn find(&self, namespace: &str, name: &str) -> Lookup {
        let Some(view) = self.get::<MarkdownView>(namespace, name) else {
            return Lookup::NotFound;
        };
        let Some(deployment) = self.deployment(&view) else {
            return Lookup::Waiting("The operator has not made its Deployment yet.".to_owned());
        };
        let viewer = deployment.key().name();
        let ready = ready(&deployment);
        if ready == 0 {
            return Lookup::Waiting(self.why_nobody_is_ready(&deployment));
        }
        let template = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
        let volumes = template.and_then(|pod| pod.volumes.as_deref()).unwrap_or_default();
        let mounted = volumes.iter().find_map(|volume| volume.config_map.as_ref());
        let Some(source) = mounted.map(|config_map| config_map.name.as_str()) else {
            return Lookup::Waiting(format!("The Pods of Deployment {viewer} mount no ConfigMap."));
        };
        let Some(config_map) = self.get::<ConfigMap>(namespace, source) else {
            return Lookup::Waiting(format!("ConfigMap {source}, which its Pods mount, is not there."));
        };
        let image = template.and_then(|pod| pod.containers.first()?.image.clone());
        Lookup::Found(ViewDocuments {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            documents: config_map.data.clone().unwrap_or_default(),
            ready,
            image: image.unwrap_or_default(),
        })
    }

    fn why_nobody_is_ready(&self, deployment: &View<Deployment>) -> String {
        let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let name = deployment.key().name();
        let prefix = format!("{name}-");
        let pods = self.all::<Pod>();
        let waiting = pods.iter().find_map(|pod| {
            let statuses = pod.status.as_ref()?.container_statuses.as_deref()?;
            let state = statuses
                .iter()
                .find_map(|status| status.state.as_ref()?.waiting.as_ref())?;
            let is_own = pod.key().namespace() == deployment.key().namespace() && pod.key().name().starts_with(&prefix);
            let reason = state.reason.as_deref()?;
            is_own.then(|| format!(" Pod {} waits: {reason}.", pod.key().name()))
        });
        format!(
            "None of the {wanted} Pods of Deployment {name} is ready.{}",
            waiting.unwrap_or_default()
        )
    }

    /// The Deployment that a view controls.
    fn deployment(&self, view: &View<MarkdownView>) -> Option<View<Deployment>> {
        let uid = view.metadata.uid.as_deref()?;
        let all = self.all::<Deployment>();
        all.into_iter().find(|deployment| {
            let owners = deployment.metadata.owner_references.iter().flatten();
            owners
                .into_iter()
                .any(|owner| owner.controller == Some(true) && owner.uid == uid)
        })
    }

    fn get<K: Object + DeserializeOwned>(&self, namespace: &str, name: &str) -> Option<View<K>> {
        let informer = self.cache.informer(&Kind::of::<K>())?;
        let key = ObjectKey::namespaced(namespace, name);
        informer.store().get(key.as_str())?.view().ok()
    }

    fn all<K: Object + DeserializeOwned>(&self) -> Vec<View<K>> {
        let records = self
            .cache
            .informer(&Kind::of::<K>())
            .and_then(|informer| informer.store().list(&Query::all()).ok());
        let records = records.unwrap_or_default();
        records.iter().filter_map(|record| record.view().ok()).collect()
    }
}

impl ViewDocuments {
    /// The document that is read first: as in mdBook the first that the summary names, or else the summary.
    pub(super) fn first(&self) -> Option<&str> {
        let summary = self.documents.get(SUMMARY);
        let named = summary.and_then(|summary| {
            let links = markdown::links(summary);
            links
                .into_iter()
                .find_map(|link| self.documents.get_key_value(link.trim_start_matches("./")))
        });
        let (name, _) = named.or_else(|| self.documents.get_key_value(SUMMARY))?;
        Some(name)
    }
}

fn ready(deployment: &Deployment) -> i32 {
    let status = deployment.status.as_ref();
    status.and_then(|status| status.ready_replicas).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(summary: &str) -> ViewDocuments {
        let documents = [(SUMMARY, summary), ("a.md", "A"), ("b c.md", "B")];
        ViewDocuments {
            namespace: "default".to_owned(),
            name: "docs".to_owned(),
            documents: documents.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            ready: 1,
            image: String::new(),
        }
    }

    #[test]
    fn a_book_opens_where_its_summary_begins() {
        assert_eq!(book("- [Gone](x.md)\n- [A](./a.md)").first(), Some("a.md"));
        assert_eq!(book("- [B](<b c.md>)").first(), Some("b c.md"));
        assert_eq!(book("nothing").first(), Some(SUMMARY));
    }
}
