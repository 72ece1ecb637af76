//! What a webhook answered: an `AdmissionReview` that is read as upstream's decoder reads it, and checked (A4).

mod fields;

use kubewright_apimachinery::go::quote;
use serde_json::Value;

use crate::attributes::GroupVersionKind;
use crate::document;
use crate::failure::Reason;
use crate::review::ReviewVersion;
use crate::webhook::Phase;
use fields::Reader;

const GROUP: &str = "admission.k8s.io";
const KIND: &str = "AdmissionReview";

/// What a webhook decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebhookDecision {
    /// Whether the request may go on.
    pub allowed: bool,
    /// The `Status` it gave, reduced to what that type has; null when it gave none.
    pub status: Value,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log, by key.
    pub audit_annotations: Vec<(String, String)>,
    /// A patch of the object and its type.
    pub patch: Option<(Vec<u8>, String)>,
}

/// Reads and checks the answer to the review `uid`.
pub fn read(version: ReviewVersion, phase: Phase, uid: &str, body: &[u8]) -> Result<WebhookDecision, Reason> {
    let sent = GroupVersionKind::new(GROUP, version.name(), KIND);
    let (value, found) = document::read(&sent, &["v1", "v1beta1"], body).map_err(Reason::Call)?;
    let answer = Reader::read(&value, version).map_err(Reason::Call)?;
    check(version, phase, uid, &found, answer).map_err(Reason::InvalidResponse)
}

fn check(
    version: ReviewVersion,
    phase: Phase,
    uid: &str,
    found: &GroupVersionKind,
    answer: Option<fields::ResponseFields>,
) -> Result<WebhookDecision, String> {
    let answer = answer.ok_or("webhook response was absent")?;
    let patch = match version {
        ReviewVersion::V1 => {
            if answer.uid != uid {
                let (wanted, got) = (quote(uid), quote(&answer.uid));
                return Err(format!("expected response.uid={wanted}, got {got}"));
            }
            let wanted = GroupVersionKind::new(GROUP, "v1", KIND);
            if *found != wanted {
                return Err(format!("expected webhook response of {wanted}, got {found}"));
            }
            check_patch(phase, answer.patch, answer.patch_type)?
        }
        // Upstream checks neither uid nor kind nor patchType of a v1beta1 answer.
        ReviewVersion::V1Beta1 if phase == Phase::Mutating && !answer.patch.is_empty() => {
            Some((answer.patch, "JSONPatch".to_owned()))
        }
        ReviewVersion::V1Beta1 => None,
    };
    Ok(WebhookDecision {
        allowed: answer.allowed,
        status: answer.status,
        warnings: answer.warnings,
        audit_annotations: answer.audit_annotations,
        patch,
    })
}

fn check_patch(phase: Phase, patch: Vec<u8>, ty: Option<String>) -> Result<Option<(Vec<u8>, String)>, String> {
    let refused = match (phase, patch.is_empty(), ty) {
        (_, true, None) => return Ok(None),
        (Phase::Mutating, false, None) => "webhook returned response.patch but not response.patchType",
        (Phase::Mutating, true, Some(_)) => "webhook returned response.patchType but not response.patch",
        (Phase::Mutating, false, Some(ty)) if ty.is_empty() => r#"webhook returned invalid response.patchType of """#,
        (Phase::Mutating, false, Some(ty)) => return Ok(Some((patch, ty))),
        (Phase::Validating, false, _) => "validating webhook may not return response.patch",
        (Phase::Validating, true, Some(_)) => "validating webhook may not return response.patchType",
    };
    Err(refused.to_owned())
}

#[cfg(test)]
mod tests;
