//! Deletes requests for certificates that are old: nobody reads them any more. It acts when one is due; upstream looks every hour.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kubewright_runtime::client::DeleteOptions;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::controller::{Action, Controller};
use kubewright_x509::{Validity, pem};

use super::is_issued;
use crate::support::Settings;
use crate::support::time::{later, until};

/// How long a request is kept after it was decided, and how long if nobody decides or nobody signs.
const DECIDED: i64 = 3600;
const UNDECIDED: i64 = 24 * 3600;

/// The controller.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<CertificateSigningRequest>()
        .named("certificatesigningrequest-cleaner-controller")
        .reconcile_objects::<CertificateSigningRequest, _>(move |context, csr| {
            let client = context.client();
            let now = settings.clock_of(&client).now();
            async move {
                let Some(due) = due(&csr) else {
                    return Ok(Action::done());
                };
                if now <= due {
                    return Ok(Action::requeue_after(until(due, now) + Duration::from_secs(1)));
                }
                let options = DeleteOptions {
                    uid: csr.metadata.uid.clone(),
                    ..DeleteOptions::default()
                };
                ignore_not_found(
                    client
                        .delete_with::<CertificateSigningRequest>(csr.key(), &options)
                        .await,
                )?;
                Ok(Action::done())
            }
        })
}

/// After which moment a request is to be deleted. One that has no times is kept.
fn due(csr: &CertificateSigningRequest) -> Option<Timestamp> {
    let conditions = csr.status.as_ref().and_then(|status| status.conditions.as_deref());
    let conditions = conditions.unwrap_or_default();
    if conditions.is_empty() {
        let made = csr.metadata.creation_timestamp.as_ref()?;
        return Some(later(made.0, UNDECIDED));
    }
    let issued = is_issued(csr);
    let by_conditions = conditions.iter().filter_map(|condition| {
        let decided = condition.last_update_time.as_ref()?.0;
        match condition.type_.as_str() {
            "Denied" | "Failed" => Some(later(decided, DECIDED)),
            "Approved" if issued => Some(later(decided, DECIDED)),
            "Approved" => Some(later(decided, UNDECIDED)),
            _ => None,
        }
    });
    let is_approved = conditions.iter().any(|condition| condition.type_ == "Approved");
    by_conditions.chain(is_approved.then(|| expires(csr)).flatten()).min()
}

/// When its certificate expires.
fn expires(csr: &CertificateSigningRequest) -> Option<Timestamp> {
    let certificate = csr.status.as_ref()?.certificate.as_ref()?;
    let (block, _) = pem::decode(&certificate.0)?;
    Validity::of(&block.bytes).map(|validity| validity.not_after)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use k8s_openapi::ByteString;
    use serde_json::{Value, json};

    use super::*;

    fn due_of(status: Value) -> Option<String> {
        let csr = json!({
            "metadata": { "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "request": "", "signerName": "example.com/mine" },
            "status": status,
        });
        due(&serde_json::from_value(csr).unwrap()).map(|due| due.to_string())
    }

    fn condition(kind: &str) -> Value {
        json!([{ "type": kind, "status": "True", "lastUpdateTime": "2026-01-01T10:00:00Z" }])
    }

    #[test]
    fn what_nobody_decides_is_kept_for_a_day() {
        assert_eq!(due_of(json!({})).as_deref(), Some("2026-01-02T00:00:00Z"));
    }

    #[test]
    fn what_is_decided_is_kept_for_an_hour_and_what_nobody_signs_for_a_day() {
        for decision in ["Denied", "Failed"] {
            let due = due_of(json!({ "conditions": condition(decision) }));
            assert_eq!(due.as_deref(), Some("2026-01-01T11:00:00Z"));
        }
        let unsigned = due_of(json!({ "conditions": condition("Approved") }));
        assert_eq!(unsigned.as_deref(), Some("2026-01-02T10:00:00Z"));
        let signed = json!({ "conditions": condition("Approved"), "certificate": ByteString(b"x".to_vec()) });
        assert_eq!(due_of(signed).as_deref(), Some("2026-01-01T11:00:00Z"));
    }

    #[test]
    fn what_has_no_times_is_kept() {
        assert_eq!(
            due_of(json!({ "conditions": [{ "type": "Denied", "status": "True" }] })),
            None
        );
        assert_eq!(due_of(json!({ "conditions": condition("Unheard") })), None);
    }

    #[test]
    fn a_certificate_that_expires_sooner_takes_its_request_along() {
        let validity = Validity {
            not_before: "2026-01-01T00:00:00Z".parse().unwrap(),
            not_after: "2026-01-01T10:30:00Z".parse().unwrap(),
        };
        let made = kubewright_system::certificates::authority("ca", Some(validity)).unwrap();
        let certificate = ByteString(made.certificate_pem().into_bytes());
        let signed = json!({ "conditions": condition("Approved"), "certificate": certificate });
        assert_eq!(due_of(signed).as_deref(), Some("2026-01-01T10:30:00Z"));
    }
}
