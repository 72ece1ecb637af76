//! The `APIServices` in the order of discovery, and those among them that another server answers for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kubewright_store::Store;
use kubewright_structural::crd::compare_versions;
use serde_json::Value;

use super::front_proxy::ClientCertificate;
use super::remote::Remote;
use crate::non_resource::openapi::is_own_document;
use crate::object;
use crate::registry::BuiltInId;
use crate::request::RequestHead;
use crate::server::Server;

/// The name of the `APIService` of the core group, whose paths begin with `/api`.
pub(super) const LEGACY: &str = "v1.";

/// Which server answers for a group and version.
pub(crate) struct ApiService {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) group_priority: i64,
    pub(crate) version_priority: i64,
    /// The other server; `None` for this one.
    pub(crate) remote: Option<Arc<Remote>>,
}

/// All `APIServices`. Empty as long as no other server answers for any of them, since nobody looks at it then.
#[derive(Default)]
pub(crate) struct ApiServiceSet {
    /// Groups in the order of discovery, each with its versions in theirs.
    groups: Vec<Vec<ApiService>>,
    /// By the name of the `APIService`.
    remotes: BTreeMap<String, Arc<Remote>>,
}

impl ApiServiceSet {
    /// Reads the `APIServices` in a store. `before` is what there was of a remote one, which goes on if it is the same; `shown` is by
    /// what other servers recognize this one.
    pub(super) fn compile(
        store: &Store,
        before: impl Fn(&str) -> Option<Arc<Remote>>,
        shown: Option<&ClientCertificate>,
    ) -> ApiServiceSet {
        let resource = BuiltInId::ApiServices.resource();
        let snapshot = store.snapshot(resource.table);
        let mut services: Vec<(String, ApiService)> = Vec::new();
        let mut remotes = BTreeMap::new();
        for record in snapshot.records(None, None) {
            let object = object::to_value(resource, record, record.revision);
            let remote = Remote::read(&record.key, &object, before(&record.key), shown);
            if let Some(remote) = &remote {
                remote.available.store(is_available(&object), Ordering::Release);
                remotes.insert(record.key.to_string(), Arc::clone(remote));
            }
            services.push((record.key.to_string(), service(&object, remote)));
        }
        if remotes.is_empty() {
            return ApiServiceSet::default();
        }
        ApiServiceSet {
            groups: sorted(services),
            remotes,
        }
    }

    /// Whether no other server answers for anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.remotes.is_empty()
    }

    /// Those that another server answers for, by their names.
    pub(crate) fn remotes(&self) -> impl Iterator<Item = &Arc<Remote>> {
        self.remotes.values()
    }

    /// The groups in the order of discovery, each with its versions in theirs.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[ApiService]> {
        self.groups.iter().map(Vec::as_slice)
    }

    /// Which of them are unavailable, as upstream's metric says it.
    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        if self.is_empty() {
            return text;
        }
        text.push_str(
            "# HELP aggregator_unavailable_apiservice [ALPHA] Gauge of APIServices which are marked as unavailable broken \
             down by APIService name.\n# TYPE aggregator_unavailable_apiservice gauge\n",
        );
        for service in self.groups().flatten() {
            let is_available = |remote: &Arc<Remote>| remote.available.load(Ordering::Acquire);
            let unavailable = u8::from(!service.remote.as_ref().is_none_or(is_available));
            let (version, group) = (&service.version, &service.group);
            let _ = writeln!(
                text,
                "aggregator_unavailable_apiservice{{name=\"{version}.{group}\"}} {unavailable}"
            );
        }
        text
    }

    /// The versions of a group.
    pub(crate) fn group(&self, name: &str) -> Option<&[ApiService]> {
        self.groups()
            .find(|group| group.iter().any(|service| service.group == name))
    }

    /// The other server that answers a request; `None` if this one does.
    pub(crate) fn route_of(&self, server: &Server, head: &RequestHead<'_>) -> Option<Arc<Remote>> {
        if self.is_empty() {
            return None;
        }
        let remote = match head.info.path.strip_prefix("/openapi/v3/") {
            // Nobody speaks for what this server has itself.
            Some(name) if is_own_document(name, &server.definitions.served()) => None,
            Some(name) => self
                .remotes()
                .find(|remote| remote.has_openapi(name) && self.may_describe(remote, name)),
            None => self.route(head.info.path),
        };
        remote.cloned()
    }

    /// The names of the documents of `OpenAPI` v3 that other servers have, with where they are.
    pub(crate) fn openapi_index(&self) -> BTreeMap<String, Value> {
        let mut index = BTreeMap::new();
        for remote in self.remotes() {
            for (name, entry) in remote.openapi_index() {
                if self.may_describe(remote, &name) {
                    index.entry(name).or_insert(entry);
                }
            }
        }
        index
    }

    /// Whether a document is about what this server answers for, or about what no other server does: nobody speaks for another
    /// one's group and version.
    fn may_describe(&self, remote: &Remote, document: &str) -> bool {
        let Some(subject) = document.strip_prefix("apis/") else {
            return true;
        };
        match subject.split_once('/') {
            Some((group, version)) => {
                (&*remote.group, &*remote.version) == (group, version)
                    || !self.remotes.contains_key(&format!("{version}.{group}"))
            }
            None => remote.group == subject || !self.remotes().any(|other| other.group == subject),
        }
    }

    /// The other server that answers for a path (without escapes); `None` if this one does.
    fn route(&self, path: &str) -> Option<&Arc<Remote>> {
        if path == "/api" || path.starts_with("/api/") {
            return self.remotes.get(LEGACY);
        }
        let (group, rest) = path.strip_prefix("/apis/")?.split_once('/')?;
        let version = rest.split_once('/').map_or(rest, |(version, _)| version);
        self.remotes.get(&format!("{version}.{group}"))
    }
}

fn service(object: &Value, remote: Option<Arc<Remote>>) -> ApiService {
    let text = |key: &str| object["spec"][key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| object["spec"][key].as_i64().unwrap_or_default();
    ApiService {
        group: text("group"),
        version: text("version"),
        group_priority: number("groupPriorityMinimum"),
        version_priority: number("versionPriority"),
        remote,
    }
}

fn is_available(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
}

/// Groups by the highest priority of their versions, then by the name of that one; versions by their own, then as versions.
fn sorted(mut services: Vec<(String, ApiService)>) -> Vec<Vec<ApiService>> {
    services.sort_by(|(one, a), (other, b)| b.group_priority.cmp(&a.group_priority).then_with(|| one.cmp(other)));
    let mut groups: Vec<Vec<ApiService>> = Vec::new();
    for (_, service) in services {
        match groups.iter_mut().find(|group| group[0].group == service.group) {
            Some(group) => group.push(service),
            None => groups.push(vec![service]),
        }
    }
    for group in &mut groups {
        group.sort_by(|a, b| {
            let by_priority = b.version_priority.cmp(&a.version_priority);
            by_priority.then_with(|| compare_versions(&b.version, &a.version))
        });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(group: &str, version: &str, group_priority: i64, version_priority: i64) -> (String, ApiService) {
        let service = ApiService {
            group: group.into(),
            version: version.into(),
            group_priority,
            version_priority,
            remote: None,
        };
        (format!("{version}.{group}"), service)
    }

    #[test]
    fn groups_and_versions_are_ordered_by_priority_then_by_name() {
        let groups = sorted(vec![
            local("b.example", "v1", 100, 10),
            local("a.example", "v1", 100, 10),
            local("c.example", "v1", 10, 10),
            local("c.example", "v2", 200, 10),
            local("a.example", "v1beta1", 100, 20),
        ]);
        let order: Vec<Vec<String>> = groups
            .iter()
            .map(|group| {
                group
                    .iter()
                    .map(|one| format!("{} {}", one.group, one.version))
                    .collect()
            })
            .collect();
        assert_eq!(
            order,
            [
                vec!["c.example v2", "c.example v1"],
                vec!["a.example v1beta1", "a.example v1"],
                vec!["b.example v1"],
            ]
        );
    }
}
