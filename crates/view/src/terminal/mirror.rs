//! What the terminal knows: the model's news, taken in piece by piece.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::Standing;

/// What the terminal knows.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    /// By uid.
    pub(super) objects: BTreeMap<String, ObjectRow>,
    /// The revisions between which any moment is known.
    pub(super) oldest: u64,
    pub(super) newest: u64,
    /// In the order in which they began.
    pub(super) reconciles: BTreeMap<u64, ReconcileRow>,
    /// By their id.
    pub(super) warnings: BTreeMap<String, WarningRow>,
    pub(super) controllers: Vec<ControllerRow>,
    pub(super) session: SessionRow,
    /// Kinds that cannot be read, and why.
    pub(super) unreadable: BTreeMap<String, String>,
    /// Why the operator cannot be asked.
    pub(super) unreachable: Option<String>,
    /// How many records of the trace were lost.
    pub(super) missed: u64,
}

/// An object.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectRow {
    pub(super) uid: String,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) owners: Vec<String>,
    pub(super) state: String,
    pub(super) standing: Standing,
    pub(super) why: String,
    /// Whether a `CustomResourceDefinition` has its kind.
    #[serde(default)]
    pub(super) is_defined: bool,
}

/// A reconcile.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ReconcileRow {
    pub(super) id: String,
    pub(super) order: u64,
    pub(super) controller: String,
    pub(super) key: String,
    pub(super) at: i64,
    pub(super) took: Option<f64>,
    pub(super) outcome: String,
    pub(super) standing: Standing,
    pub(super) why: String,
    pub(super) smells: Vec<String>,
    pub(super) writes: u64,
}

/// Something that deserves a look.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WarningRow {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) advice: String,
    pub(super) reconcile: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) times: u64,
    pub(super) first: i64,
    pub(super) last: i64,
}

/// A controller of the operator, as its debug page tells of it. What another version of the operator does not say is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ControllerRow {
    pub(super) name: String,
    pub(super) workers: u64,
    pub(super) busy: u64,
    pub(super) ready: Keys,
    pub(super) waiting: Keys,
    pub(super) reconciles: BTreeMap<String, f64>,
}

/// Keys of a queue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Keys {
    pub(super) count: u64,
}

/// How the operator stands with the command.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SessionRow {
    pub(super) state: String,
    pub(super) since: Option<i64>,
    pub(super) compiler: Option<f64>,
    pub(super) rest: Option<f64>,
    pub(super) is_running: bool,
    pub(super) errors: String,
    pub(super) why: String,
    pub(super) how: String,
}

impl ObjectRow {
    /// `shop/web`
    pub(super) fn place(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.clone(),
        }
    }

    /// `Deployment shop/web`
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.kind, self.place())
    }
}

impl SessionRow {
    /// In a few words.
    pub(super) fn words(&self) -> String {
        let beside = if self.is_running {
            "; the one before goes on"
        } else {
            ""
        };
        match &*self.state {
            "building" => format!("is built{beside}"),
            "running" => "runs".to_owned(),
            "buildFailed" => format!("does not build{beside}"),
            "notStarted" if self.is_running => format!("is not started anew{beside}"),
            "notStarted" => "is not started".to_owned(),
            "ended" => format!("ended with {}", self.how),
            _ => String::new(),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        match &*self.state {
            "building" => Standing::Busy,
            "running" => Standing::Good,
            "buildFailed" | "notStarted" | "ended" => Standing::Bad,
            _ => Standing::Neutral,
        }
    }

    /// What has to be read before anything else; empty while all is well.
    pub(super) fn trouble(&self) -> &str {
        match &*self.state {
            "buildFailed" => &self.errors,
            "notStarted" => &self.why,
            _ => "",
        }
    }
}

impl Mirror {
    /// Takes news in.
    pub(super) fn take(&mut self, mut news: Value) {
        if let Some(session) = read(part(&mut news, "session")) {
            self.session = session;
        }
        let mut objects = part(&mut news, "objects");
        if !objects.is_null() {
            if objects["anew"] == true {
                self.objects.clear();
            }
            for object in list::<ObjectRow>(part(&mut objects, "changed")) {
                self.objects.insert(object.uid.clone(), object);
            }
            for uid in list::<String>(part(&mut objects, "deleted")) {
                self.objects.remove(&uid);
            }
            self.oldest = objects["oldest"].as_u64().unwrap_or(self.oldest);
            self.newest = objects["newest"].as_u64().unwrap_or(self.newest);
        }
        let mut reconciles = part(&mut news, "reconciles");
        if !reconciles.is_null() {
            for reconcile in list::<ReconcileRow>(part(&mut reconciles, "changed")) {
                self.reconciles.insert(reconcile.order, reconcile);
            }
            let oldest = reconciles["oldest"].as_u64().unwrap_or(0);
            self.reconciles = self.reconciles.split_off(&oldest);
            self.missed = reconciles["missed"].as_u64().unwrap_or(0);
        }
        for warning in list::<WarningRow>(part(&mut news, "warnings")) {
            self.warnings.insert(warning.id.clone(), warning);
        }
        let mut operator = part(&mut news, "operator");
        if !operator.is_null() {
            self.controllers = list(part(&mut part(&mut operator, "page"), "controllers"));
            self.unreachable = operator["unreachable"].as_str().map(str::to_owned);
        }
        if let Some(unreadable) = read(part(&mut news, "unreadable")) {
            self.unreadable = unreadable;
        }
    }

    /// A reconcile by its id.
    pub(super) fn reconcile(&self, id: &str) -> Option<&ReconcileRow> {
        self.reconciles.values().rev().find(|one| one.id == id)
    }

    /// The objects that are wanted and their owners, with how deep each is in the tree: those of kinds that are defined here and those that own
    /// something first, what they own below.
    pub(super) fn tree(&self, is_wanted: &dyn Fn(&ObjectRow) -> bool) -> Vec<(&ObjectRow, usize)> {
        let mut sorted: Vec<&ObjectRow> = self.objects.values().collect();
        sorted.sort_by_cached_key(|object| {
            let (kind, namespace, name) = (object.kind.clone(), object.namespace.clone(), object.name.clone());
            (!object.is_defined, kind, namespace, name)
        });
        let mut below: BTreeMap<&str, Vec<&ObjectRow>> = BTreeMap::new();
        let owner_of = |object: &ObjectRow| {
            let mut owners = object.owners.iter().filter(|uid| **uid != object.uid);
            owners.find_map(|uid| self.objects.get_key_value(uid).map(|(uid, _)| uid.as_str()))
        };
        for object in &sorted {
            if let Some(owner) = owner_of(object) {
                below.entry(owner).or_default().push(object);
            }
        }
        let mut roots: Vec<&ObjectRow> = sorted.iter().copied().filter(|one| owner_of(one).is_none()).collect();
        roots.sort_by_key(|object| !object.is_defined && !below.contains_key(object.uid.as_str()));
        // Owners in a circle are possible: none of them is a root.
        let mut walk = Walk {
            below: &below,
            is_wanted,
            seen: BTreeSet::new(),
            rows: Vec::new(),
        };
        for object in roots.into_iter().chain(sorted) {
            walk.visit(object, 0);
        }
        walk.rows
    }

    /// What an object owns.
    pub(super) fn owned(&self, uid: &str) -> impl Iterator<Item = &ObjectRow> {
        self.objects
            .values()
            .filter(move |object| object.owners.iter().any(|owner| owner == uid))
    }
}

/// A walk through the tree of owners.
struct Walk<'a, 'm> {
    below: &'a BTreeMap<&'m str, Vec<&'m ObjectRow>>,
    is_wanted: &'a dyn Fn(&ObjectRow) -> bool,
    seen: BTreeSet<&'m str>,
    rows: Vec<(&'m ObjectRow, usize)>,
}

impl<'m> Walk<'_, 'm> {
    fn visit(&mut self, object: &'m ObjectRow, depth: usize) {
        if !self.seen.insert(&object.uid) {
            return;
        }
        let place = self.rows.len();
        self.rows.push((object, depth));
        for owned in self.below.get(object.uid.as_str()).into_iter().flatten() {
            self.visit(owned, depth + 1);
        }
        if self.rows.len() == place + 1 && !(self.is_wanted)(object) {
            self.rows.pop();
        }
    }
}

/// A member of an object, if it is one and has it.
fn part(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map(Value::take).unwrap_or_default()
}

fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

/// The items of a list that are what they should be.
fn list<T: DeserializeOwned>(value: Value) -> Vec<T> {
    match value {
        Value::Array(items) => items.into_iter().filter_map(read).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(uid: &str, owners: &[&str]) -> Value {
        json!({
            "uid": uid, "apiVersion": "v1", "kind": "ConfigMap", "namespace": "a", "name": uid, "owners": owners, "state": "ready",
            "standing": "good", "why": "", "at": 0, "revision": 1,
        })
    }

    fn names(mirror: &Mirror, wanted: &str) -> Vec<String> {
        let tree = mirror.tree(&|object| object.name.contains(wanted));
        tree.iter()
            .map(|(object, depth)| format!("{depth}{}", object.name))
            .collect()
    }

    #[test]
    fn the_tree_has_owners_above_what_they_own_and_ends_at_a_circle() {
        let mut mirror = Mirror::default();
        let all = [
            object("loose", &[]),
            object("pod", &["set"]),
            object("set", &["deployment", "gone"]),
            object("deployment", &[]),
            object("egg", &["hen"]),
            object("hen", &["egg"]),
        ];
        mirror.take(json!({ "objects": { "anew": true, "changed": all, "deleted": [] } }));
        assert_eq!(
            names(&mirror, ""),
            ["0deployment", "1set", "2pod", "0loose", "0egg", "1hen"]
        );
        assert_eq!(names(&mirror, "pod"), ["0deployment", "1set", "2pod"]);
        // What an operator is about comes before all that Kubernetes has.
        let mut website = object("website", &[]);
        website["isDefined"] = true.into();
        mirror.take(json!({ "objects": { "anew": false, "changed": [website], "deleted": [] } }));
        assert_eq!(names(&mirror, "")[..2], ["0website", "0deployment"]);
        mirror.take(json!({ "objects": { "anew": false, "changed": [], "deleted": ["website"] } }));
        mirror.take(json!({ "objects": { "anew": false, "changed": [], "deleted": ["set"] } }));
        assert_eq!(names(&mirror, ""), ["0deployment", "0loose", "0pod", "0egg", "1hen"]);
    }

    #[test]
    fn what_is_not_kept_any_more_goes_and_what_is_unknown_is_left_out() {
        let mut mirror = Mirror::default();
        let reconcile = |order: u64| {
            json!({
                "id": order.to_string(), "order": order, "controller": "c", "key": "a/b", "at": 0, "waited": 0.0, "took": null,
                "outcome": "running", "standing": "busy", "why": "", "smells": [], "writes": 0,
            })
        };
        mirror.take(json!({ "reconciles": { "changed": [reconcile(1), reconcile(2), { "of": "another version" }], "oldest": 2, "missed": 3 } }));
        assert_eq!(mirror.reconciles.keys().collect::<Vec<_>>(), [&2]);
        assert_eq!(mirror.missed, 3);
        assert!(mirror.reconcile("2").is_some() && mirror.reconcile("1").is_none());
        mirror.take(json!({ "operator": { "page": "nonsense", "unreachable": "no route" }, "warnings": 3 }));
        assert_eq!(mirror.unreachable.as_deref(), Some("no route"));
    }
}
