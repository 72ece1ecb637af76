//! What became of a cluster between two moments: which objects came, went and changed.

use serde_json::{Value, json};

use super::{Model, Version};

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    Created,
    Changed,
    Deleted,
    /// It was there at neither moment, but in between.
    Passing,
}

impl Became {
    fn as_str(self) -> &'static str {
        match self {
            Became::Created => "created",
            Became::Changed => "changed",
            Became::Deleted => "deleted",
            Became::Passing => "passing",
        }
    }
}

impl Model {
    /// The objects that are not what they were between two revisions, the earlier of which counts first, by kind and name. What is older than the oldest
    /// moment that is known begins there, and what is newer than the newest ends there.
    pub(crate) fn between(&self, one: u64, other: u64) -> Value {
        let archive = &self.archive;
        let (oldest, newest) = (archive.oldest(), archive.newest());
        let from = one.min(other).clamp(oldest, newest.max(oldest));
        let to = one.max(other).clamp(from, newest.max(from));
        let mut changes: Vec<(Became, Option<&Version>, &Version)> = archive
            .between(from, to)
            .map(|last| {
                let then = archive.at(&last.summary.uid, from).filter(|then| !then.is_deletion);
                let became = match (then, last.is_deletion) {
                    (None, false) => Became::Created,
                    (Some(_), false) => Became::Changed,
                    (Some(_), true) => Became::Deleted,
                    (None, true) => Became::Passing,
                };
                (became, then, last)
            })
            .collect();
        changes.sort_by_cached_key(|(_, _, last)| {
            let summary = &last.summary;
            (
                !summary.is_defined,
                summary.kind.clone(),
                summary.namespace.clone(),
                summary.name.clone(),
                last.revision,
            )
        });
        let changes = changes.into_iter().map(|(became, then, last)| {
            let mut shown = last.shown();
            shown["became"] = became.as_str().into();
            shown["was"] =
                json!(then.map(|then| json!({ "state": then.summary.state, "standing": then.summary.standing })));
            shown
        });
        json!({ "from": from, "to": to, "changes": changes.collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::Seen;
    use super::*;

    fn seen(name: &str, revision: u64, phase: &str, is_deletion: bool) -> Seen {
        Seen {
            revision,
            at: Timestamp::UNIX_EPOCH,
            object: json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "shop", "uid": name, "resourceVersion": revision.to_string() },
                "status": { "phase": phase },
            }),
            is_deletion,
        }
    }

    /// A cluster in which one Pod stays, one changes, one goes, one comes, and one comes and goes.
    fn model() -> Model {
        let mut model = Model::new(1 << 20);
        for (name, revision, phase, is_deletion) in [
            ("stays", 1, "Running", false),
            ("changes", 2, "Pending", false),
            ("goes", 3, "Running", false),
            ("passes", 4, "Pending", false),
            ("comes", 5, "Pending", false),
            ("changes", 6, "Failed", false),
            ("passes", 7, "Pending", true),
            ("goes", 8, "Running", true),
            ("late", 9, "Running", false),
        ] {
            model.object(seen(name, revision, phase, is_deletion));
        }
        model
    }

    fn told(between: &Value) -> Vec<String> {
        let changes = between["changes"].as_array().unwrap().iter();
        let told = changes.map(|one| format!("{} {}", one["name"].as_str().unwrap(), one["became"].as_str().unwrap()));
        told.collect()
    }

    #[test]
    fn what_came_went_and_changed_between_two_moments_is_told_by_name() {
        let model = model();
        let between = model.between(3, 8);
        assert_eq!(
            told(&between),
            ["changes changed", "comes created", "goes deleted", "passes passing"]
        );
        assert_eq!((&between["from"], &between["to"]), (&json!(3), &json!(8)));
        // In whatever order one names them.
        assert_eq!(model.between(8, 3), between);
        assert_eq!(told(&model.between(8, 9)), ["late created"]);
        assert!(told(&model.between(9, 9)).is_empty());
    }

    #[test]
    fn how_an_object_stood_is_told_beside_how_it_stands() {
        let between = model().between(3, 8);
        let changed = &between["changes"][0];
        assert_ne!(changed["was"]["standing"], changed["standing"]);
        assert_eq!(changed["standing"], "bad");
        assert_eq!(changed["revision"], 6);
        assert!(between["changes"][1]["was"].is_null());
    }

    #[test]
    fn moments_that_are_not_known_are_the_nearest_that_are() {
        let mut model = Model::new(1 << 20);
        model.archive.begin_at(4);
        model.object(seen("one", 5, "Running", false));
        let between = model.between(0, u64::MAX);
        assert_eq!((&between["from"], &between["to"]), (&json!(4), &json!(5)));
        assert_eq!(told(&between), ["one created"]);
        assert_eq!(told(&Model::new(1).between(1, 2)), Vec::<String>::new());
    }

    #[test]
    fn a_difference_says_who_wrote_what_is_in_between() {
        let model = model();
        let difference = model.difference("changes", 2, 8).unwrap();
        let revisions: Vec<&Value> = difference["moments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["revision"])
            .collect();
        assert_eq!(revisions, [6]);
        assert!(difference["lines"].to_string().contains("Failed"));
    }
}
