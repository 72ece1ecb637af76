//! Answers as they came from a webhook of the real server, and what that said about them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn answer(phase: Phase, body: &str) -> Result<WebhookDecision, String> {
    read(ReviewVersion::V1, phase, "u", body.as_bytes()).map_err(|reason| reason.to_string())
}

fn review(response: &Value) -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).to_string()
}

#[test]
fn a_decision_is_read_with_all_its_fields() {
    let body = review(&json!({
        "uid": "u", "allowed": false, "warnings": ["w"], "auditAnnotations": {"k": "v"},
        "status": {"code": 422, "message": "m", "reason": "Invalid", "more": 1, "metadata": {"resourceVersion": "7"},
            "details": {"name": "n", "causes": [{"reason": "R", "message": "mm", "field": "f"}], "retryAfterSeconds": 3}},
    }));
    let decision = answer(Phase::Validating, &body).unwrap();
    assert!(!decision.allowed);
    assert_eq!(decision.warnings, ["w"]);
    assert_eq!(decision.audit_annotations, [("k".to_owned(), "v".to_owned())]);
    assert_eq!(
        decision.status,
        json!({"code": 422, "message": "m", "reason": "Invalid", "metadata": {"resourceVersion": "7"},
            "details": {"name": "n", "causes": [{"reason": "R", "message": "mm", "field": "f"}], "retryAfterSeconds": 3}})
    );
}

#[test]
fn an_answer_may_be_yaml() {
    let body = "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse:\n  uid: u\n  allowed: true\n";
    assert!(answer(Phase::Mutating, body).unwrap().allowed);
}

#[test]
fn what_is_no_review_is_told_in_upstreams_words() {
    let of_struct = |kind: &str| {
        format!(
            "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into Go \
             value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
             \"json:\\\"kind,omitempty\\\"\" }}"
        )
    };
    let kinds = |api_version: &str, kind: &str| json!({"apiVersion": api_version, "kind": kind}).to_string();
    let unregistered = |kind: &str, version: &str| {
        format!(
            r#"failed to call webhook: no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111""#
        )
    };
    for (body, sentence) in [
        ("hello".to_owned(), of_struct("string")),
        ("[]".into(), of_struct("array")),
        ("5".into(), of_struct("number")),
        (
            r#"{"a":"#.into(),
            "failed to call webhook: couldn't get version/kind; json parse error: unexpected end of JSON input".into(),
        ),
        (
            "{}xyz".into(),
            "failed to call webhook: couldn't get version/kind; json parse error: invalid character 'x' after \
             top-level value"
                .into(),
        ),
        (
            "null".into(),
            "received invalid webhook response: webhook response was absent".into(),
        ),
        (
            "{}".into(),
            "received invalid webhook response: webhook response was absent".into(),
        ),
        (
            kinds("admission.k8s.io/v1beta1", "AdmissionReview"),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"
                .into(),
        ),
        (
            kinds("v1", "Status"),
            "failed to call webhook: converting (v1.Status) to (v1.AdmissionReview): unknown conversion".into(),
        ),
        (
            kinds("admission.k8s.io/v2", "AdmissionReview"),
            unregistered("AdmissionReview", "admission.k8s.io/v2"),
        ),
        (
            kinds("admission.k8s.io/v1", "Review"),
            unregistered("Review", "admission.k8s.io/v1"),
        ),
        (kinds("v1", "Pod"), unregistered("Pod", "v1")),
        (
            kinds("a/b/c", "AdmissionReview"),
            "failed to call webhook: unexpected GroupVersion string: a/b/c".into(),
        ),
    ] {
        assert_eq!(answer(Phase::Mutating, &body).unwrap_err(), sentence, "{body}");
    }
}

#[test]
fn an_answer_with_another_uid_or_kind_is_invalid() {
    let invalid = "received invalid webhook response: ";
    for (body, sentence) in [
        (
            review(&json!({"uid": "abc"})),
            r#"expected response.uid="u", got "abc""#,
        ),
        (
            review(&json!({"allowed": true})),
            r#"expected response.uid="u", got """#,
        ),
        (
            json!({"apiVersion": "admission.k8s.io/v1", "response": {"uid": "u"}}).to_string(),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1, Kind=",
        ),
        (
            json!({"kind": "AdmissionReview", "response": {"uid": "u"}}).to_string(),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=AdmissionReview",
        ),
        (
            json!({"response": {"uid": "u"}}).to_string(),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
    ] {
        assert_eq!(
            answer(Phase::Mutating, &body).unwrap_err(),
            format!("{invalid}{sentence}"),
            "{body}"
        );
    }
}

#[test]
fn fields_of_the_wrong_type_are_told_in_the_words_of_go() {
    for (response, sentence) in [
        (
            json!({"uid": "u", "allowed": "yes"}),
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
        (
            json!([]),
            "json: cannot unmarshal array into Go struct field AdmissionReview.response of type v1.AdmissionResponse",
        ),
        (
            json!({"uid": 5}),
            "json: cannot unmarshal number into Go struct field AdmissionResponse.response.uid of type types.UID",
        ),
        (
            json!({"uid": "u", "warnings": "x"}),
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.warnings of type []string",
        ),
        (
            json!({"uid": "u", "patch": "!!!"}),
            "illegal base64 data at input byte 0",
        ),
        (
            json!({"uid": "u", "patch": "YWJ"}),
            "illegal base64 data at input byte 0",
        ),
    ] {
        assert_eq!(
            answer(Phase::Mutating, &review(&response)).unwrap_err(),
            format!("failed to call webhook: {sentence}"),
            "{response}"
        );
    }
}

#[test]
fn a_patch_and_its_type_come_together_and_only_from_mutating_webhooks() {
    let invalid = "received invalid webhook response: ";
    let both = json!({"uid": "u", "patch": "W10=", "patchType": "JSONPatch"});
    assert_eq!(
        answer(Phase::Mutating, &review(&both)).unwrap().patch,
        Some((b"[]".to_vec(), "JSONPatch".to_owned()))
    );
    for (phase, response, sentence) in [
        (
            Phase::Mutating,
            json!({"uid": "u", "patch": "W10="}),
            "webhook returned response.patch but not response.patchType",
        ),
        (
            Phase::Mutating,
            json!({"uid": "u", "patchType": ""}),
            "webhook returned response.patchType but not response.patch",
        ),
        (
            Phase::Mutating,
            json!({"uid": "u", "patch": "W10=", "patchType": ""}),
            r#"webhook returned invalid response.patchType of """#,
        ),
        (
            Phase::Validating,
            both,
            "validating webhook may not return response.patch",
        ),
        (
            Phase::Validating,
            json!({"uid": "u", "patchType": "JSONPatch"}),
            "validating webhook may not return response.patchType",
        ),
    ] {
        let found = answer(phase, &review(&response)).unwrap_err();
        assert_eq!(found, format!("{invalid}{sentence}"), "{response}");
    }
}

#[test]
fn the_older_version_of_reviews_checks_less() {
    let body = json!({"response": {"uid": "other", "allowed": true, "patch": "W10="}}).to_string();
    let decision = read(ReviewVersion::V1Beta1, Phase::Mutating, "u", body.as_bytes()).unwrap();
    assert_eq!(decision.patch, Some((b"[]".to_vec(), "JSONPatch".to_owned())));
}

proptest! {
    #[test]
    fn no_answer_makes_the_reader_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(ReviewVersion::V1, Phase::Mutating, "u", &body);
    }

    #[test]
    fn no_mutation_of_an_answer_makes_the_reader_panic(at in 0usize..200, byte in any::<u8>()) {
        let mut body = review(&json!({"uid": "u", "allowed": true, "patch": "W10=", "patchType": "JSONPatch",
            "status": {"code": 3, "details": {"causes": [{}]}}, "warnings": ["x"]})).into_bytes();
        let length = body.len();
        body[at % length] = byte;
        let _ = read(ReviewVersion::V1, Phase::Mutating, "u", &body);
    }
}
