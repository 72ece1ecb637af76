//! `ConfigMap` `kube-system/extension-apiserver-authentication`: how other servers know this one, and its clients, by their
//! certificates. What belongs in it is put back as upstream does: at once after a deletion, within a minute after a change.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kubewright_system::clock;
use kubewright_x509::{Validity, pem};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use super::front_proxy;
use crate::access::front_proxy::FrontProxies;
use crate::object::{self, meta_text, set_meta};
use crate::registry::BuiltInId;
use crate::server::Server;
use crate::write::managed_fields::FieldWriter;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
const MANAGER: &str = "kube-apiserver";
/// How often upstream looks at it.
const EVERY: Duration = Duration::from_mins(1);
/// How long an authority stays in it after it has expired.
const SLACK: SignedDuration = SignedDuration::from_mins(5);
/// How often a write is tried that others come before.
const WRITES: usize = 10;

const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";
const ALLOWED: &str = "requestheader-allowed-names";
/// The lists of names, and what this server puts into each.
const LISTS: [(&str, &str); 5] = [
    (ALLOWED, front_proxy::CLIENT),
    ("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
    ("requestheader-group-headers", "X-Remote-Group"),
    ("requestheader-uid-headers", "X-Remote-Uid"),
    ("requestheader-username-headers", "X-Remote-User"),
];

/// The authorities of clients, as PEM, and the front proxies; both of all listeners.
#[derive(Default)]
pub(crate) struct ClientAuthorities(Mutex<Published>);

#[derive(Clone, Default)]
struct Published {
    clients: String,
    proxies: Vec<FrontProxies>,
}

impl ClientAuthorities {
    pub(crate) fn fork(&self) -> ClientAuthorities {
        ClientAuthorities(Mutex::new(self.0.lock().clone()))
    }
}

impl Server {
    /// Publishes one more authority of clients, and the front proxies that a listener knows.
    pub(crate) fn publish_authorities(&self, clients: &str, proxies: Option<FrontProxies>) {
        let mut published = self.client_authorities.0.lock();
        published.clients.push_str(clients);
        published.proxies.extend(proxies);
        drop(published);
        self.publish_authentication_config();
    }

    /// Takes out of the `ConfigMap` of a new cluster what is about the front proxy of this process, if this server shows another
    /// certificate.
    pub(crate) fn forget_own_front_proxy(&self) {
        let resource = BuiltInId::ConfigMaps.resource();
        let key = object::key(NAMESPACE, NAME);
        if self.aggregation.shown.is_none() {
            return;
        }
        if let Some(record) = self.store.get(resource.table, &key) {
            // Nobody writes before: the server is not shared yet.
            let _ = self.store.delete(resource.table, &key, record.revision);
        }
        self.publish_authentication_config();
    }

    /// Makes the `ConfigMap` contain what belongs into it.
    pub(crate) fn publish_authentication_config(&self) {
        let resource = BuiltInId::ConfigMaps.resource();
        let key = object::key(NAMESPACE, NAME);
        for _ in 0..WRITES {
            let record = self.store.get(resource.table, &key);
            let live = record
                .as_ref()
                .map(|record| object::to_value(resource, record, record.revision));
            let published = self.client_authorities.0.lock().clone();
            let own = self.aggregation.shown.is_none().then(own_authority).flatten();
            let made = restored(live.as_ref(), &published, own, self.clock.now(), || self.random.uuid());
            let Some(object) = made else {
                return;
            };
            let draft = object::to_built_in_draft(resource, &object);
            let is_written = match record {
                Some(record) => self.store.update(resource.table, &key, record.revision, draft).is_ok(),
                None => self.store.create(resource.table, &key, draft).is_ok(),
            };
            if is_written {
                return;
            }
        }
    }

    /// What follows from a write of the `ConfigMap`.
    pub(super) fn after_config_map(&self, object: &Value) {
        if meta_text(object, "name") != NAME || meta_text(object, "namespace") != NAMESPACE {
            return;
        }
        let resource = BuiltInId::ConfigMaps.resource();
        if self.store.get(resource.table, &object::key(NAMESPACE, NAME)).is_none() {
            return self.publish_authentication_config();
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let server = self.me.clone();
        runtime.spawn(async move {
            tokio::time::sleep(EVERY).await;
            if let Some(server) = server.upgrade() {
                server.publish_authentication_config();
            }
        });
    }
}

/// The `ConfigMap` of a new cluster, of which no client has a certificate yet.
pub(crate) fn initial_authentication_config(now: Timestamp, uid: String) -> Option<Value> {
    restored(None, &Published::default(), own_authority(), now, || uid)
}

/// The `ConfigMap` with what belongs into it; `None` if it is there already, or if what is there makes no sense: upstream does
/// not go on then either.
fn restored(
    live: Option<&Value>,
    published: &Published,
    own: Option<&str>,
    now: Timestamp,
    uid: impl FnOnce() -> String,
) -> Option<Value> {
    let empty = Map::new();
    let data = live.and_then(|live| live["data"].as_object()).unwrap_or(&empty);
    let wanted = combined(data, published, own, now)?;
    if live.is_some() && wanted == Value::Object(data.clone()) {
        return None;
    }
    let stamp = clock::stamp(now);
    let mut object = live.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": NAME, "namespace": NAMESPACE, "uid": uid(), "creationTimestamp": stamp },
        })
    });
    object["data"] = wanted;
    let writer = FieldWriter {
        resource: BuiltInId::ConfigMaps.resource(),
        subresource: None,
        manager: MANAGER,
        time: &stamp,
    };
    let mut object = writer.update_built_in(live, object);
    if live.is_none() {
        set_meta(&mut object, "creationTimestamp", stamp.as_str());
    }
    Some(object)
}

/// The authority of the front proxy of this process.
fn own_authority() -> Option<&'static str> {
    front_proxy::front_proxy().map(|proxy| proxy.authority.as_str())
}

/// What is there together with what belongs there; `None` if what is there makes no sense. `own` is the authority of this server's own
/// front proxy, if it is one.
fn combined(data: &Map<String, Value>, published: &Published, own: Option<&str>, now: Timestamp) -> Option<Value> {
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut combined = BTreeMap::new();
    let clients = certificates(&[text(CLIENT_CA), &published.clients], now)?;
    if !clients.is_empty() {
        combined.insert(CLIENT_CA, clients);
    }
    let mut authorities = vec![text(PROXY_CA)];
    authorities.extend(published.proxies.iter().map(|proxies| proxies.authorities.as_str()));
    authorities.extend(own);
    let authorities = certificates(&authorities, now)?;
    if !authorities.is_empty() {
        combined.insert(PROXY_CA, authorities);
        for (key, ours) in LISTS {
            let mut more: Vec<&str> = Vec::new();
            for proxies in &published.proxies {
                more.extend(list_of(proxies, key).iter().map(String::as_str));
            }
            more.extend(own.map(|_| ours));
            combined.insert(key, names(text(key), &more)?);
        }
        if published.proxies.iter().any(|proxies| proxies.allowed.is_empty()) {
            // Proxies of any name are allowed, which a name would end.
            combined.insert(ALLOWED, "[]".to_owned());
        }
    }
    Some(json!(combined))
}

/// The certificates of some texts, each once, without those that have expired; `None` if a text has none.
fn certificates(texts: &[&str], now: Timestamp) -> Option<String> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        let mut any = false;
        for block in pem::blocks(text.as_bytes()).filter(|block| block.kind == "CERTIFICATE" && !block.has_headers) {
            let validity = Validity::of(&block.bytes)?;
            any = true;
            let is_valid = validity.not_after.checked_add(SLACK).is_ok_and(|end| end > now);
            // The end of an authority that does not expire is the last moment there is.
            let is_valid = is_valid || validity.not_after > now;
            if is_valid && !found.contains(&block.bytes) {
                found.push(block.bytes);
            }
        }
        if !any {
            return None;
        }
    }
    Some(found.iter().map(|bytes| pem::encode("CERTIFICATE", bytes)).collect())
}

/// What front proxies have to say in one of the lists.
fn list_of<'p>(proxies: &'p FrontProxies, key: &str) -> &'p [String] {
    match key {
        ALLOWED => &proxies.allowed,
        "requestheader-extra-headers-prefix" => &proxies.headers.extra_prefixes,
        "requestheader-group-headers" => &proxies.headers.groups,
        "requestheader-uid-headers" => &proxies.headers.uids,
        _ => &proxies.headers.users,
    }
}

/// A JSON list of names with some more, each once; `None` if the text is no list.
fn names(text: &str, more: &[&str]) -> Option<String> {
    let mut names: Vec<String> = match text {
        "" => Vec::new(),
        text => serde_json::from_str(text).ok()?,
    };
    names.extend(more.iter().map(|&name| name.to_owned()));
    let mut unique: Vec<String> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    serde_json::to_string(&unique).ok()
}
