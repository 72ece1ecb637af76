//! What a webhook is sent: an `AdmissionReview` (A3), written field by field in upstream's order.

use kubewright_codec::json;
use serde_json::Value;

use crate::attributes::{Attributes, GroupVersionKind, GroupVersionResource};
use crate::webhook::{Invocation, Webhook};

/// A version of `AdmissionReview`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `admission.k8s.io/v1`
    V1,
    /// `admission.k8s.io/v1beta1`, whose answers are read more leniently.
    V1Beta1,
}

impl ReviewVersion {
    /// The version's name.
    pub fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1Beta1 => "v1beta1",
        }
    }

    /// The first version that a webhook understands and upstream knows.
    pub fn of(webhook: &Webhook) -> Option<ReviewVersion> {
        webhook
            .review_versions
            .iter()
            .find_map(|version| match version.as_str() {
                "v1" => Some(ReviewVersion::V1),
                "v1beta1" => Some(ReviewVersion::V1Beta1),
                _ => None,
            })
    }
}

/// Writes the review of a request, for objects shown as the invocation wants them. `uid` comes back in the answer.
pub fn write(
    version: ReviewVersion,
    uid: &str,
    attributes: &Attributes,
    invocation: &Invocation,
    object: &Value,
    old: &Value,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    text(&mut out, r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/"#);
    text(&mut out, version.name());
    text(&mut out, r#"","request":{"uid":"#);
    json::write_string(uid, &mut out);
    text(&mut out, r#","kind":"#);
    kind(&mut out, &invocation.kind);
    text(&mut out, r#","resource":"#);
    place(&mut out, &invocation.resource);
    optional(&mut out, "subResource", &attributes.subresource);
    text(&mut out, r#","requestKind":"#);
    kind(&mut out, &attributes.kind);
    text(&mut out, r#","requestResource":"#);
    place(&mut out, &attributes.resource);
    optional(&mut out, "requestSubResource", &attributes.subresource);
    optional(&mut out, "name", &attributes.name);
    optional(&mut out, "namespace", &attributes.namespace);
    text(&mut out, r#","operation":""#);
    text(&mut out, attributes.operation.name());
    text(&mut out, r#"","userInfo":"#);
    json::write(&attributes.user.to_value(), &mut out);
    text(&mut out, r#","object":"#);
    json::write(object, &mut out);
    text(&mut out, r#","oldObject":"#);
    json::write(old, &mut out);
    text(&mut out, r#","dryRun":"#);
    text(&mut out, if attributes.dry_run { "true" } else { "false" });
    text(&mut out, r#","options":"#);
    json::write(&attributes.options, &mut out);
    text(&mut out, "}}");
    out
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn optional(out: &mut Vec<u8>, key: &str, value: &str) {
    if !value.is_empty() {
        text(out, ",\"");
        text(out, key);
        text(out, "\":");
        json::write_string(value, out);
    }
}

fn kind(out: &mut Vec<u8>, kind: &GroupVersionKind) {
    triple(out, [&kind.group, &kind.version, &kind.kind], "kind");
}

fn place(out: &mut Vec<u8>, place: &GroupVersionResource) {
    triple(out, [&place.group, &place.version, &place.resource], "resource");
}

fn triple(out: &mut Vec<u8>, [group, version, last]: [&str; 3], key: &str) {
    text(out, r#"{"group":"#);
    json::write_string(group, out);
    text(out, r#","version":"#);
    json::write_string(version, out);
    text(out, ",\"");
    text(out, key);
    text(out, "\":");
    json::write_string(last, out);
    text(out, "}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attributes::{Operation, UserInfo};

    #[test]
    fn a_review_reads_as_upstream_writes_it() {
        let attributes = Attributes {
            operation: Operation::Create,
            kind: GroupVersionKind::new("", "v1", "ConfigMap"),
            resource: GroupVersionResource::new("", "v1", "configmaps"),
            subresource: String::new(),
            name: String::new(),
            namespace: "whprobe".into(),
            user: UserInfo {
                username: "admin".into(),
                uid: "admin".into(),
                groups: vec!["system:masters".into(), "system:authenticated".into()],
                extra: Vec::new(),
            },
            dry_run: false,
            options: json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}),
        };
        let invocation = Invocation {
            resource: attributes.resource.clone(),
            kind: attributes.kind.clone(),
        };
        let object = json!({"data": {"a": "<b>"}});
        let bytes = write(ReviewVersion::V1, "u", &attributes, &invocation, &object, &Value::Null);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            concat!(
                r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","#,
                r#""kind":{"group":"","version":"v1","kind":"ConfigMap"},"#,
                r#""resource":{"group":"","version":"v1","resource":"configmaps"},"#,
                r#""requestKind":{"group":"","version":"v1","kind":"ConfigMap"},"#,
                r#""requestResource":{"group":"","version":"v1","resource":"configmaps"},"#,
                r#""namespace":"whprobe","operation":"CREATE","#,
                r#""userInfo":{"groups":["system:masters","system:authenticated"],"uid":"admin","username":"admin"},"#,
                r#""object":{"data":{"a":"\u003cb\u003e"}},"oldObject":null,"dryRun":false,"#,
                r#""options":{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"}}}"#,
            )
        );
    }
}
