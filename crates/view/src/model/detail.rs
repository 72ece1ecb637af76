//! All that is known of one thing: an object at a moment, a reconcile, what differs between two moments.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reconcile::ReconcileId;
use super::yaml::{self, compare};
use super::{Model, Version, conditions};

/// As many reconciles that led to one are named.
const MOST_BEFORE: usize = 12;

impl Model {
    /// An object as it is or as it was at a revision, with who wrote its versions and whom they woke.
    pub(crate) fn object_detail(&self, uid: &str, revision: Option<u64>) -> Option<Value> {
        let archive = &self.archive;
        let version = archive.at(uid, revision.unwrap_or(u64::MAX))?;
        let object = version.object();
        let managed = yaml::managed(&object);
        Some(json!({
            "object": version.shown(), "isDeletion": version.is_deletion,
            "yaml": yaml::text(&managed.lines), "lines": managed.lines, "managers": managed.managers,
            "conditions": conditions(&object), "replicas": object["spec"]["replicas"], "containers": containers(&object),
            "isSecret": version.summary.kind == "Secret" && version.summary.api_version == "v1",
            "moments": self.moments(archive.versions(uid)),
        }))
    }

    /// When versions came, who wrote them and whom they woke.
    fn moments<'a>(&'a self, versions: impl Iterator<Item = &'a Version>) -> Vec<Value> {
        let versions: Vec<&Version> = versions.collect();
        let revisions: BTreeSet<u64> = versions.iter().map(|version| version.revision).collect();
        let woken = self.timeline.woken_by(&revisions);
        let moment = |version: &&Version| {
            let mut moment = version.moment();
            moment["writer"] = json!(self.timeline.writer_of(version.revision));
            moment["woke"] = json!(woken.get(&version.revision));
            moment
        };
        versions.iter().map(moment).collect()
    }

    /// What differs between an object at two revisions, and the versions that it came through. Before it was there it was nothing.
    pub(crate) fn difference(&self, uid: &str, from: u64, to: u64) -> Option<Value> {
        let text = |revision| {
            let version = self.archive.at(uid, revision).filter(|version| !version.is_deletion);
            version.map(|version| yaml::comparable(&version.object()))
        };
        self.archive.versions(uid).next()?;
        let lines = compare(&text(from).unwrap_or_default(), &text(to).unwrap_or_default());
        let passed = self
            .archive
            .versions(uid)
            .filter(|version| version.revision > from && version.revision <= to);
        Some(json!({ "from": from, "to": to, "lines": lines, "moments": self.moments(passed) }))
    }

    /// A reconcile with the objects that it wrote and the reconciles that led to it, the nearest first.
    pub(crate) fn reconcile_detail(&self, id: ReconcileId) -> Option<Value> {
        let mut detail = self.timeline.get(id)?.detail();
        for step in detail["steps"].as_array_mut().into_iter().flatten() {
            let written = step["revision"].as_u64().filter(|_| step["isWrite"] == true);
            if let Some(uid) = written.and_then(|revision| self.archive.object_of(revision)) {
                step["uid"] = uid.into();
            }
        }
        for woken in detail["wokenBy"].as_array_mut().into_iter().flatten() {
            let is_kept = woken["uid"]
                .as_str()
                .is_some_and(|uid| self.archive.versions(uid).next().is_some());
            if !is_kept {
                woken["uid"] = Value::Null;
            }
        }
        let before = self.timeline.chain(id, MOST_BEFORE).into_iter();
        let before = before.map(|one| json!({ "id": one.id, "controller": one.controller, "key": one.key }));
        detail["before"] = before.collect();
        Some(detail)
    }
}

/// The containers of a Pod.
fn containers(object: &Value) -> Vec<&str> {
    if object["kind"] != "Pod" {
        return Vec::new();
    }
    let parts = ["containers", "initContainers"].map(|part| object["spec"][part].as_array());
    let all = parts.into_iter().flatten().flatten();
    all.filter_map(|container| container["name"].as_str()).collect()
}
