//! Bindings of roles to subjects.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{list, text};
use crate::row::Cell;

pub(super) fn binding(object: &Value, now: Timestamp) -> Vec<Cell> {
    let role = &object["roleRef"];
    let subjects = |kind: &str| {
        let shown: Vec<String> = list(&object["subjects"])
            .iter()
            .filter(|subject| text(&subject["kind"]) == kind)
            .map(|subject| match kind {
                "ServiceAccount" => format!("{}/{}", text(&subject["namespace"]), text(&subject["name"])),
                _ => text(&subject["name"]).to_owned(),
            })
            .collect();
        shown.join(", ")
    };
    cells![
        name(object),
        format!("{}/{}", text(&role["kind"]), text(&role["name"])),
        age::of(object, now),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}
