//! What to write into an object so that its webhooks are called here, and what so that it is as before: pure decisions from
//! the object as it is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::certificates::inject::{CERT_MANAGER, unchanged};
use crate::certificates::target::TargetKind;

/// Holds what was there before a local run.
pub(in crate::certificates) const ANNOTATION: &str = "kubewright.dev/local-run";
const POINTER: &str = "/metadata/annotations/kubewright.dev~1local-run";

/// The fields of a webhook that a local run changes.
const FIELDS: [&str; 3] = ["clientConfig", "failurePolicy", "timeoutSeconds"];
/// The name under which the one webhook of a definition is saved.
const CONVERSION: &str = "conversion";

/// The run that has redirected an object, and the time at which it counts as over unless it renews that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::certificates) struct Run {
    pub(in crate::certificates) holder: String,
    pub(in crate::certificates) until: Timestamp,
}

/// The content of the annotation: the webhooks as they were before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedWebhooks {
    holder: String,
    until: Timestamp,
    /// The URL at which the run has its webhooks called.
    url: String,
    /// The fields of each webhook as they were, by its name.
    webhooks: BTreeMap<String, Map<String, Value>>,
    /// cert-manager's annotations, which the run removes, since cert-manager would write its own caBundle.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    annotations: BTreeMap<String, Value>,
}

impl SavedWebhooks {
    /// `None` where there is no annotation, an error where it cannot be read.
    fn of(object: &Value) -> Option<Result<Self, serde_json::Error>> {
        let annotation = object["metadata"]["annotations"].get(ANNOTATION)?;
        Some(serde_json::from_str(annotation.as_str().unwrap_or_default()))
    }

    /// Whether a webhook has the URL of this run.
    fn is_redirected(&self, webhook: &Value) -> bool {
        let url = webhook["clientConfig"]["url"].as_str().unwrap_or_default();
        url.strip_prefix(self.url.as_str())
            .is_some_and(|path| path.is_empty() || path.starts_with('/'))
    }
}

/// The URL at which webhooks are to be called, and its CA.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) url: String,
    /// In base64.
    pub(super) bundle: String,
    pub(super) timeout_seconds: u8,
    pub(super) holder: String,
    pub(super) until: Timestamp,
    /// A redirection that ends before this time is prolonged.
    pub(super) prolong: Timestamp,
}

/// The change that redirects an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Redirection {
    /// None: it is redirected already.
    Nothing,
    /// This JSON patch.
    Patch(Value),
    /// None: it has no webhook.
    NoWebhooks,
}

/// The traces of a local run in an object.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::certificates) enum LeftBehind {
    /// Nothing.
    Nothing,
    /// The run is not over.
    Alive(Run),
    /// The run is over; this JSON patch restores what was there before.
    Patch(Value, Run),
    /// The annotation cannot be read.
    Unreadable,
}

/// The change that restores an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Restoration {
    /// None: no local run has changed it.
    Nothing,
    /// This JSON patch.
    Patch(Value),
    /// The annotation cannot be read.
    Unreadable,
}

/// The run that has redirected the object. A run whose annotation cannot be read is over.
pub(super) fn holder(object: &Value) -> Option<Run> {
    let saved = SavedWebhooks::of(object)?;
    Some(saved.map_or_else(
        |_| Run {
            holder: "unknown".to_owned(),
            until: Timestamp::MIN,
        },
        |saved| Run {
            holder: saved.holder,
            until: saved.until,
        },
    ))
}

/// What a local run has left in an object, for whoever is not one. A manager that starts takes everything back, since nothing
/// tells it whether a run lives or was killed: a run that lives takes it again. Later it leaves runs alone as long as they live.
pub(in crate::certificates) fn left_behind(
    kind: TargetKind,
    object: &Value,
    now: Timestamp,
    starts: bool,
) -> LeftBehind {
    match holder(object) {
        None => LeftBehind::Nothing,
        Some(run) if !starts && now < run.until => LeftBehind::Alive(run),
        Some(run) => match restore(kind, object) {
            Restoration::Nothing => LeftBehind::Nothing,
            Restoration::Patch(patch) => LeftBehind::Patch(patch, run),
            Restoration::Unreadable => LeftBehind::Unreadable,
        },
    }
}

/// What an object needs so that its webhooks are called at an endpoint.
pub(super) fn redirect(kind: TargetKind, object: &Value, endpoint: &Endpoint) -> Redirection {
    let webhooks = webhooks(kind, object);
    if webhooks.is_empty() {
        return Redirection::NoWebhooks;
    }
    // An annotation that cannot be read is replaced.
    let before = SavedWebhooks::of(object).and_then(Result::ok);
    let mut operations = vec![unchanged(object)];
    let mut saved = SavedWebhooks {
        holder: endpoint.holder.clone(),
        until: endpoint.until,
        url: endpoint.url.clone(),
        webhooks: BTreeMap::new(),
        annotations: before
            .as_ref()
            .map(|before| before.annotations.clone())
            .unwrap_or_default(),
    };
    for webhook in webhooks {
        let original = before
            .as_ref()
            .filter(|before| before.is_redirected(webhook.value))
            .and_then(|before| before.webhooks.get(webhook.name).cloned())
            .unwrap_or_else(|| webhook.fields());
        let wanted = webhook.redirected(&original, endpoint);
        operations.extend(webhook.set(&wanted));
        saved.webhooks.insert(webhook.name.to_owned(), original);
    }
    let annotations = &object["metadata"]["annotations"];
    for name in CERT_MANAGER {
        if let Some(value) = annotations.get(name) {
            saved.annotations.insert(name.to_owned(), value.clone());
            operations.push(json!({ "op": "remove", "path": annotation_path(name) }));
        }
    }
    let is_held = before.is_some_and(|before| {
        let lives = before.until > endpoint.prolong;
        let until = before.until;
        lives && before == SavedWebhooks { until, ..saved.clone() }
    });
    if is_held && operations.len() == 1 {
        return Redirection::Nothing;
    }
    if !annotations.is_object() {
        operations.push(json!({ "op": "add", "path": "/metadata/annotations", "value": {} }));
    }
    let text = serde_json::to_string(&saved).unwrap_or_default();
    operations.push(json!({ "op": "add", "path": POINTER, "value": text }));
    Redirection::Patch(Value::Array(operations))
}

/// What an object needs to be as it was before a local run. Whatever somebody else has changed since stays.
pub(super) fn restore(kind: TargetKind, object: &Value) -> Restoration {
    let saved = match SavedWebhooks::of(object) {
        None => return Restoration::Nothing,
        Some(Err(_)) => return Restoration::Unreadable,
        Some(Ok(saved)) => saved,
    };
    let mut operations = vec![unchanged(object)];
    for webhook in webhooks(kind, object) {
        if let Some(original) = saved
            .webhooks
            .get(webhook.name)
            .filter(|_| saved.is_redirected(webhook.value))
        {
            operations.extend(webhook.set(original));
        }
    }
    for (name, value) in &saved.annotations {
        if object["metadata"]["annotations"].get(name).is_none() {
            operations.push(json!({ "op": "add", "path": annotation_path(name), "value": value }));
        }
    }
    operations.push(json!({ "op": "remove", "path": POINTER }));
    Restoration::Patch(Value::Array(operations))
}

fn annotation_path(name: &str) -> String {
    format!("/metadata/annotations/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// One webhook in its object.
struct Webhook<'a> {
    name: &'a str,
    path: String,
    value: &'a Value,
    /// Whether it may fail and take its time, as webhooks of admission may.
    is_admission: bool,
}

fn webhooks(kind: TargetKind, object: &Value) -> Vec<Webhook<'_>> {
    match kind {
        TargetKind::Mutating | TargetKind::Validating => {
            let list = object["webhooks"].as_array().into_iter().flatten().enumerate();
            list.filter_map(|(at, value)| {
                Some(Webhook {
                    name: value["name"].as_str()?,
                    path: format!("/webhooks/{at}"),
                    value,
                    is_admission: true,
                })
            })
            .collect()
        }
        TargetKind::Conversion => {
            let value = &object["spec"]["conversion"]["webhook"];
            let webhook = value["clientConfig"].is_object().then(|| Webhook {
                name: CONVERSION,
                path: "/spec/conversion/webhook".to_owned(),
                value,
                is_admission: false,
            });
            webhook.into_iter().collect()
        }
        // An APIService names a Service and nothing else.
        TargetKind::ApiService => Vec::new(),
    }
}

impl Webhook<'_> {
    /// The fields that a local run changes, as they are.
    fn fields(&self) -> Map<String, Value> {
        FIELDS
            .iter()
            .filter_map(|field| Some(((*field).to_owned(), self.value.get(field)?.clone())))
            .collect()
    }

    /// Those fields as a local run wants them.
    fn redirected(&self, original: &Map<String, Value>, endpoint: &Endpoint) -> Map<String, Value> {
        let url = format!("{}{}", endpoint.url, path_of(original.get("clientConfig")));
        let mut wanted = Map::new();
        wanted.insert(
            "clientConfig".to_owned(),
            json!({ "url": url, "caBundle": endpoint.bundle }),
        );
        if self.is_admission {
            wanted.insert("failurePolicy".to_owned(), "Ignore".into());
            wanted.insert("timeoutSeconds".to_owned(), endpoint.timeout_seconds.into());
        }
        wanted
    }

    /// The operations that give the fields these values.
    fn set(&self, wanted: &Map<String, Value>) -> Vec<Value> {
        let fields = FIELDS
            .iter()
            .filter(|field| self.value.get(field) != wanted.get(**field));
        let operation = |field: &&str| {
            let path = format!("{}/{field}", self.path);
            match wanted.get(*field) {
                Some(value) => json!({ "op": "add", "path": path, "value": value }),
                None => json!({ "op": "remove", "path": path }),
            }
        };
        fields.map(operation).collect()
    }
}

/// The path at which a webhook is called.
fn path_of(client_config: Option<&Value>) -> String {
    let Some(config) = client_config else {
        return String::new();
    };
    let path = match config["url"].as_str() {
        Some(url) => {
            let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
            rest.find('/').map_or("", |at| &rest[at..])
        }
        None => config["service"]["path"].as_str().unwrap_or_default(),
    };
    if path.is_empty() || path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn endpoint(port: u16, holder: &str) -> Endpoint {
        Endpoint {
            url: format!("https://me:{port}"),
            bundle: "b3Vycw==".to_owned(),
            timeout_seconds: 3,
            holder: holder.to_owned(),
            until: time("2026-01-01T00:15:00Z"),
            prolong: time("2026-01-01T00:10:00Z"),
        }
    }

    fn configuration() -> Value {
        json!({
            "metadata": { "name": "shop", "resourceVersion": "7" },
            "webhooks": [
                {
                    "name": "a",
                    "clientConfig": { "service": { "name": "s", "namespace": "n", "path": "/a" }, "caBundle": "dGhlaXJz" },
                    "failurePolicy": "Fail",
                    "timeoutSeconds": 10,
                },
                { "name": "b", "clientConfig": { "url": "https://elsewhere:8443/deep/path?x=1" } },
                { "name": "c", "clientConfig": { "service": { "name": "s", "namespace": "n" } }, "failurePolicy": "Ignore" },
            ],
        })
    }

    /// The operations that patches here consist of.
    fn patched(object: &Value, operations: &Value) -> Value {
        let mut object = object.clone();
        for operation in operations.as_array().unwrap() {
            let (path, value) = (operation["path"].as_str().unwrap(), operation["value"].clone());
            let (parent, last) = path.rsplit_once('/').unwrap();
            let last = last.replace("~1", "/").replace("~0", "~");
            let parent = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            match operation["op"].as_str().unwrap() {
                "remove" => assert!(parent.remove(&last).is_some(), "{path}"),
                "replace" => assert!(parent.insert(last, value).is_some(), "{path}"),
                "add" => _ = parent.insert(last, value),
                other => panic!("{other}"),
            }
        }
        object
    }

    fn redirected(kind: TargetKind, object: &Value, endpoint: &Endpoint) -> Value {
        match redirect(kind, object, endpoint) {
            Redirection::Patch(patch) => patched(object, &patch),
            other => panic!("{other:?}"),
        }
    }

    fn restored(kind: TargetKind, object: &Value) -> Value {
        match restore(kind, object) {
            Restoration::Patch(patch) => patched(object, &patch),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_webhook_is_called_here_under_its_own_path_and_holds_nobody_up() {
        let object = redirected(TargetKind::Mutating, &configuration(), &endpoint(1, "me"));
        let urls: Vec<_> = (0..3)
            .map(|at| object["webhooks"][at]["clientConfig"]["url"].clone())
            .collect();
        assert_eq!(urls, ["https://me:1/a", "https://me:1/deep/path?x=1", "https://me:1"]);
        for webhook in object["webhooks"].as_array().unwrap() {
            assert_eq!(webhook["clientConfig"].as_object().unwrap().len(), 2);
            assert_eq!(webhook["clientConfig"]["caBundle"], "b3Vycw==");
            assert_eq!(
                (&webhook["failurePolicy"], &webhook["timeoutSeconds"]),
                (&json!("Ignore"), &json!(3))
            );
        }
        let run = holder(&object).unwrap();
        assert_eq!((run.holder.as_str(), run.until), ("me", time("2026-01-01T00:15:00Z")));
    }

    #[test]
    fn what_is_redirected_is_restored_to_the_letter_however_many_runs_there_were() {
        let mut original = configuration();
        original["metadata"]["annotations"] = json!({ "cert-manager.io/inject-ca-from": "a/b", "other": "x" });
        let mut object = original.clone();
        for port in 1..5 {
            object = redirected(TargetKind::Validating, &object, &endpoint(port, &format!("run {port}")));
            assert_eq!(object["metadata"]["annotations"].as_object().unwrap().len(), 2);
        }
        assert_eq!(restored(TargetKind::Validating, &object), original);
    }

    #[test]
    fn a_definition_is_redirected_and_restored() {
        let config = json!({ "service": { "name": "s", "namespace": "n", "path": "/convert" } });
        let original = json!({
            "metadata": { "resourceVersion": "7", "annotations": {} },
            "spec": { "conversion": { "strategy": "Webhook", "webhook": { "clientConfig": config } } },
        });
        let object = redirected(TargetKind::Conversion, &original, &endpoint(1, "me"));
        let webhook = &object["spec"]["conversion"]["webhook"];
        assert_eq!(
            webhook,
            &json!({ "clientConfig": { "url": "https://me:1/convert", "caBundle": "b3Vycw==" } })
        );
        assert_eq!(restored(TargetKind::Conversion, &object), original);
        let plain = json!({ "spec": { "conversion": { "strategy": "None" } } });
        assert_eq!(
            redirect(TargetKind::Conversion, &plain, &endpoint(1, "me")),
            Redirection::NoWebhooks
        );
    }

    #[test]
    fn a_run_writes_again_only_to_live_on() {
        let me = endpoint(1, "me");
        let object = redirected(TargetKind::Mutating, &configuration(), &me);
        assert_eq!(redirect(TargetKind::Mutating, &object, &me), Redirection::Nothing);
        let later = Endpoint {
            until: time("2026-01-01T00:20:00Z"),
            prolong: time("2026-01-01T00:15:00Z"),
            ..me
        };
        let object = redirected(TargetKind::Mutating, &object, &later);
        assert_eq!(holder(&object).unwrap().until, later.until);
    }

    #[test]
    fn what_others_changed_meanwhile_is_not_undone() {
        let mut object = redirected(TargetKind::Mutating, &configuration(), &endpoint(1, "me"));
        let theirs = json!({ "name": "a", "clientConfig": { "url": "https://theirs" }, "failurePolicy": "Fail" });
        object["webhooks"][0] = theirs.clone();
        let restored = restored(TargetKind::Mutating, &object);
        assert_eq!(restored["webhooks"][0], theirs);
        assert_eq!(restored["webhooks"][1], configuration()["webhooks"][1]);
    }

    #[test]
    fn what_is_left_behind_is_taken_back_at_the_start_and_when_the_run_is_over() {
        let kind = TargetKind::Mutating;
        let object = redirected(kind, &configuration(), &endpoint(1, "me"));
        let (before, after) = (time("2026-01-01T00:14:00Z"), time("2026-01-01T00:15:00Z"));
        assert!(matches!(
            left_behind(kind, &object, before, false),
            LeftBehind::Alive(_)
        ));
        assert!(matches!(
            left_behind(kind, &object, before, true),
            LeftBehind::Patch(..)
        ));
        assert!(matches!(
            left_behind(kind, &object, after, false),
            LeftBehind::Patch(..)
        ));
        assert_eq!(left_behind(kind, &configuration(), after, true), LeftBehind::Nothing);
    }

    #[test]
    fn a_url_that_only_looks_like_ours_is_not() {
        let object = redirected(TargetKind::Mutating, &configuration(), &endpoint(1, "me"));
        let saved = SavedWebhooks::of(&object).unwrap().unwrap();
        for (url, ours) in [
            ("https://me:1/a", true),
            ("https://me:1", true),
            ("https://me:11/a", false),
            ("", false),
        ] {
            assert_eq!(
                saved.is_redirected(&json!({ "clientConfig": { "url": url } })),
                ours,
                "{url}"
            );
        }
    }

    #[test]
    fn an_annotation_that_cannot_be_read_is_the_end_of_a_run() {
        let mut object = configuration();
        for rubbish in [json!("rubbish"), json!("{}"), json!(7)] {
            object["metadata"]["annotations"] = json!({ ANNOTATION: rubbish });
            assert_eq!(restore(TargetKind::Mutating, &object), Restoration::Unreadable);
            assert_eq!(holder(&object).unwrap().until, Timestamp::MIN);
        }
    }
}
