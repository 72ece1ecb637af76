//! What keeps pods running: deployments and their kin, revisions, disruption budgets.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, containers, lower, name};
use crate::age;
use crate::read::{flag, int, int_or_string, list, text};
use crate::row::{Cell, PrintError};
use crate::selector::{format_labels, format_selector, requirements};

pub(super) fn replication_controller(object: &Value, now: Timestamp) -> Vec<Cell> {
    let selector = format_labels(&object["spec"]["selector"]);
    replicas(object, now, selector)
}

pub(super) fn replica_set(object: &Value, now: Timestamp) -> Vec<Cell> {
    let selector = format_selector(&object["spec"]["selector"]);
    replicas(object, now, selector)
}

fn replicas(object: &Value, now: Timestamp, selector: String) -> Vec<Cell> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]["spec"]);
    cells![
        name(object),
        int(&spec["replicas"]),
        int(&status["replicas"]),
        int(&status["readyReplicas"]),
        age::of(object, now),
        names,
        images,
        selector,
    ]
}

pub(super) fn deployment(object: &Value, now: Timestamp) -> Vec<Cell> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]["spec"]);
    // Unlike its kin, a deployment shows a selector of everything as nothing.
    let selector = requirements(&spec["selector"]).unwrap_or_else(|| "<invalid>".into());
    cells![
        name(object),
        format!("{}/{}", int(&status["readyReplicas"]), int(&spec["replicas"])),
        int(&status["updatedReplicas"]),
        int(&status["availableReplicas"]),
        age::of(object, now),
        names,
        images,
        selector,
    ]
}

pub(super) fn stateful_set(object: &Value, now: Timestamp) -> Vec<Cell> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]["spec"]);
    cells![
        name(object),
        format!("{}/{}", int(&status["readyReplicas"]), int(&spec["replicas"])),
        age::of(object, now),
        names,
        images,
    ]
}

pub(super) fn daemon_set(object: &Value, now: Timestamp) -> Vec<Cell> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let template = &spec["template"]["spec"];
    let (names, images) = containers(template);
    cells![
        name(object),
        int(&status["desiredNumberScheduled"]),
        int(&status["currentNumberScheduled"]),
        int(&status["numberReady"]),
        int(&status["updatedNumberScheduled"]),
        int(&status["numberAvailable"]),
        format_labels(&template["nodeSelector"]),
        age::of(object, now),
        names,
        images,
        format_selector(&spec["selector"]),
    ]
}

pub(super) fn controller_revision(object: &Value, now: Timestamp) -> Result<Vec<Cell>, PrintError> {
    let controller = list(&object["metadata"]["ownerReferences"])
        .iter()
        .find(|owner| flag(&owner["controller"]));
    let controller = match controller {
        Some(owner) => owner_name(owner)?,
        None => "<none>".into(),
    };
    Ok(cells![
        name(object),
        controller,
        int(&object["revision"]),
        age::of(object, now)
    ])
}

/// `kind.group/name`.
fn owner_name(owner: &Value) -> Result<String, PrintError> {
    let version = text(&owner["apiVersion"]);
    let (kind, name) = (text(&owner["kind"]), text(&owner["name"]));
    let group = match version.matches('/').count() {
        _ if version == "/" => "",
        0 => "",
        1 => version.split('/').next().unwrap_or_default(),
        _ => return Err(PrintError::OwnerVersion(version.to_owned())),
    };
    Ok(match (kind, group) {
        ("", "") => name.to_owned(),
        (kind, "") => format!("{}/{name}", lower(kind)),
        (kind, group) => format!("{}.{}/{name}", lower(kind), lower(group)),
    })
}

pub(super) fn pod_disruption_budget(object: &Value, now: Timestamp) -> Vec<Cell> {
    let limit = |field: &str| match &object["spec"][field] {
        Value::Null => "N/A".into(),
        value => int_or_string(value),
    };
    cells![
        name(object),
        limit("minAvailable"),
        limit("maxUnavailable"),
        int(&object["status"]["disruptionsAllowed"]),
        age::of(object, now),
    ]
}
