//! Capabilities that containers add, and that they must drop.

use serde_json::Value;

use super::{distinct, is_windows, named, of_context, quoted, these_containers, violation};
use crate::Violation;
use crate::pod::{containers, list};

const HARMLESS: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) fn baseline(pod: &Value) -> Option<Violation> {
    let detail = added_beyond(pod, &HARMLESS)?;
    violation("non-default capabilities", detail)
}

pub(super) fn restricted(pod: &Value) -> Option<Violation> {
    let drops_all = |container: &Value| listed(container, "drop").any(|name| name == "ALL");
    let missing = named(pod, |container| !drops_all(container));
    let mut details = Vec::new();
    if !missing.is_empty() {
        let these = these_containers(&missing);
        details.push(format!("{these} must set securityContext.capabilities.drop=[\"ALL\"]"));
    }
    details.extend(added_beyond(pod, &["NET_BIND_SERVICE"]));
    if details.is_empty() {
        return None;
    }
    violation("unrestricted capabilities", details.join("; "))
}

pub(super) fn restricted_1_25(pod: &Value) -> Option<Violation> {
    if is_windows(pod) { None } else { restricted(pod) }
}

fn added_beyond(pod: &Value, allowed: &[&str]) -> Option<String> {
    let bad = |container: &Value| listed(container, "add").any(|name| !allowed.contains(&name));
    let names = named(pod, bad);
    if names.is_empty() {
        return None;
    }
    let added = containers(pod).flat_map(|container| listed(container, "add"));
    let added = distinct(added.filter(|name| !allowed.contains(name)));
    Some(format!(
        "{} must not include {} in securityContext.capabilities.add",
        these_containers(&names),
        quoted(&added)
    ))
}

fn listed<'c>(container: &'c Value, which: &str) -> impl Iterator<Item = &'c str> {
    let capabilities = of_context(container, "capabilities").and_then(|capabilities| capabilities.get(which));
    list(capabilities).iter().filter_map(Value::as_str)
}
