//! Answers to admission requests, compared byte for byte with those of controller-runtime v0.25.2. The recorded file holds
//! requests and what webhooks with the same rules, written in Go, answered to them.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::core::Status;
use kube::core::response::StatusDetails;
use kubewright_runtime::webhook::field::{BadValue, ErrorList, ErrorType, FieldError, Path};
use kubewright_runtime::webhook::{
    AdmissionRequest, AdmissionResponse, Defaulter, PatchOperation, Rejection, Validator, Verdict, Warnings, Webhook,
    WebhookServer,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(kube::CustomResource, schemars::JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "view.zoetrope.github.io",
    version = "v1",
    kind = "MarkdownView",
    namespaced,
    status = "MarkdownViewStatus"
)]
#[serde(rename_all = "camelCase", default)]
struct MarkdownViewSpec {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    markdowns: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "is_zero")]
    replicas: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    viewer_image: String,
}

#[derive(schemars::JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
struct MarkdownViewStatus {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

struct Hooks;

fn name(view: &MarkdownView) -> &str {
    view.metadata.name.as_deref().unwrap_or_default()
}

fn not_ours(reason: &str, code: u16, message: &str) -> Status {
    let details = StatusDetails {
        name: "x".to_owned(),
        group: "apps".to_owned(),
        kind: "deployments".to_owned(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    };
    Status::failure(message, reason).with_code(code).with_details(details)
}

impl Defaulter<MarkdownView> for Hooks {
    async fn set_defaults(&self, view: &mut MarkdownView, _: &AdmissionRequest) -> Result<(), Rejection> {
        match name(view) {
            "panic" => panic!("oh no <&>"),
            "defaulterror" => return Err(std::io::Error::other("cannot default \"this\" <now>").into()),
            "apierror" => {
                let status = not_ours("NotFound", 404, "deployments.apps \"x\" not found");
                return Err(kube::Error::Api(Box::new(status)).into());
            }
            _ => {}
        }
        if view.spec.viewer_image.is_empty() {
            "peaceiris/mdbook:latest".clone_into(&mut view.spec.viewer_image);
        }
        Ok(())
    }
}

impl Validator<MarkdownView> for Hooks {
    async fn validate_create(&self, view: &MarkdownView, _: &AdmissionRequest) -> Verdict {
        let mut warnings = Warnings::none();
        match name(view) {
            "panic" => panic!("{}", "boom".to_owned()),
            "plain" => {
                return Err(Rejection::denied("plain <denial>").with_warnings(Warnings::from(["a warning"])));
            }
            "apierror" => {
                let message = "Operation cannot be fulfilled on deployments.apps \"x\": too late";
                return Err(Rejection::status(not_ours("Conflict", 409, message)));
            }
            "warn" => warnings = Warnings::from(["first", "second & last"]),
            "emptyinvalid" => return Err(Rejection::status(ErrorList::new().into_status("g", "K", "x"))),
            _ => {}
        }
        let (spec, mut errors) = (Path::new("spec"), ErrorList::new());
        if !(1..=5).contains(&view.spec.replicas) {
            let replicas = spec.child("replicas");
            errors.push(FieldError::invalid(
                &replicas,
                view.spec.replicas,
                "replicas must be in the range of 1 to 5.",
            ));
        }
        if !view.spec.markdowns.contains_key("SUMMARY.md") {
            let markdowns = spec.child("markdowns");
            errors.push(FieldError::required(&markdowns, "markdowns must have SUMMARY.md."));
        }
        if name(view) == "fields" {
            errors.extend(all_kinds_of_mistakes());
        }
        errors.verdict_with(warnings)
    }

    async fn validate_update(&self, old: &MarkdownView, new: &MarkdownView, request: &AdmissionRequest) -> Verdict {
        let (was, is) = (old.spec.replicas, new.spec.replicas);
        if was > is {
            return Ok(Warnings::from([format!("scaling down from {was} to {is}")]));
        }
        self.validate_create(new, request).await
    }

    async fn validate_delete(&self, view: &MarkdownView, _: &AdmissionRequest) -> Verdict {
        if name(view) == "keep" {
            return Err(Rejection::denied("it stays"));
        }
        Ok(Warnings::none())
    }
}

fn all_kinds_of_mistakes() -> Vec<FieldError> {
    let path = Path::new("spec").child("a").index(3).key("k.x").child("b").child("c");
    let p = &path;
    let bare = |kind, value: Option<BadValue>, detail: &str| FieldError {
        kind,
        field: p.to_string(),
        value,
        detail: detail.to_owned(),
    };
    vec![
        FieldError::not_supported(p, "x<y", ["A", "B\n"]),
        FieldError::not_supported(p, "z", [""; 0]),
        FieldError::forbidden(p, "no"),
        FieldError::duplicate(p, "dup\u{2028}"),
        FieldError::too_long(p, 1),
        FieldError::too_long(p, 63),
        bare(ErrorType::TooLong, None, "value is too long"),
        FieldError::too_many(p, 7, 1),
        FieldError::too_many(p, 7, 2),
        bare(ErrorType::TooMany, None, "must have at most 2 items"),
        bare(ErrorType::TooMany, Some(3.into()), "has too many items"),
        FieldError::too_few(p, 0, 1),
        FieldError::too_few(p, 0, 3),
        bare(ErrorType::TooFew, Some(0.into()), "has too few items"),
        FieldError::too_short(p, 1),
        FieldError::too_short(p, 3),
        bare(ErrorType::TooShort, None, "value is too short"),
        FieldError::too_long_characters(p, 1),
        FieldError::too_long_characters(p, 2),
        bare(ErrorType::TooLong, None, "value is too long"),
        FieldError::not_found(p, 1.5),
        FieldError::invalid(p, true, ""),
        FieldError::invalid(p, -5_i64, "d"),
        FieldError::invalid(p, vec!["a<b", "c"], "list"),
        FieldError::invalid(p, json!({ "b": 1, "a": "é\u{7}\"'\\" }), "map"),
        FieldError::invalid(p, Value::Null, "nil"),
        FieldError::invalid(p, "é\u{7}\"'\\\t\u{200b}\u{1F600}\u{a0}", "quoted"),
        FieldError::invalid(p, 1e21, ""),
        FieldError::invalid(p, 1e20, ""),
        FieldError::invalid(p, 0.000_001, ""),
        FieldError::invalid(p, 0.000_000_1, ""),
        FieldError::invalid(p, 3.0, ""),
        FieldError::invalid(p, 123_456_789.0, ""),
        FieldError::invalid(p, 0.1_f32, ""),
        FieldError::type_invalid(p, "s", "must be an integer"),
        FieldError::internal(p, "broke"),
        FieldError::duplicate(p, "dup\u{2028}"),
        FieldError::invalid(&Path::new("<nil>"), "v", "nil path"),
        FieldError::required(&Path::new(""), "empty"),
        FieldError::invalid(&Path::new("metadata").child("annotations").key(""), "v", ""),
    ]
}

fn default_pod(pod: &mut Pod) {
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        container.image_pull_policy.get_or_insert_with(|| "Always".to_owned());
    }
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert("a/b~c".to_owned(), "<x>".to_owned());
    if let Some(annotations) = &mut pod.metadata.annotations {
        annotations.remove("drop");
    }
}

async fn raw(request: AdmissionRequest) -> AdmissionResponse {
    match request.name.as_str() {
        "allowed" => AdmissionResponse::allowed(),
        "allowedmsg" => AdmissionResponse::allowed().with_message("fine <thanks>"),
        "denied" => AdmissionResponse::denied("no & never"),
        "deniedempty" => AdmissionResponse::denied(""),
        "errored" => AdmissionResponse::errored(418, "teapot"),
        "patched" => AdmissionResponse::patched([
            PatchOperation::add("/metadata/labels/x~1y", json!({ "b": "<", "a": 1 })),
            PatchOperation::remove("/spec"),
            PatchOperation::replace("/z", Value::Null),
        ])
        .with_message("p"),
        "patchednone" => AdmissionResponse::patched([]).with_message("nothing"),
        "warned" => AdmissionResponse::allowed().with_warnings(["w1", "w2"]),
        "audit" => AdmissionResponse::allowed()
            .with_message("x")
            .with_audit_annotation("b", "2")
            .with_audit_annotation("a", "1<"),
        "panic" => panic!("42"),
        _ => AdmissionResponse::refused(Status::default()),
    }
}

fn server() -> WebhookServer {
    let views = Webhook::of::<MarkdownView>().defaulter(Hooks).validator(Hooks);
    let pods = Webhook::of::<Pod>().defaulter(|pod: &mut Pod, _: &AdmissionRequest| {
        default_pod(pod);
        Ok(())
    });
    WebhookServer::new([Webhook::from(views), pods.into(), Webhook::raw("/raw", raw)]).unwrap()
}

/// A request and what controller-runtime answered to it.
#[derive(Deserialize)]
struct Case {
    id: String,
    method: String,
    path: String,
    #[serde(rename = "type")]
    content_type: Option<String>,
    body: String,
    answer: String,
    /// What we answer instead, where it differs on purpose.
    ours: Option<String>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("answers.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn answer(server: &WebhookServer, case: &Case) -> String {
    let mut request = Request::builder().method(case.method.as_str()).uri(&case.path);
    if let Some(content_type) = &case.content_type {
        request = request.header("content-type", content_type);
    }
    let answer = server
        .answer(request.body(Bytes::from(case.body.clone())).unwrap())
        .await;
    assert_eq!(answer.status(), 200, "{}", case.id);
    String::from_utf8(answer.into_body().to_vec()).unwrap()
}

#[tokio::test]
async fn answers_are_those_of_controller_runtime_to_the_byte() {
    let server = server();
    let (mut equal, mut wrong) = (0, Vec::new());
    for case in cases() {
        let found = answer(&server, &case).await;
        let wanted = case.ours.as_ref().unwrap_or(&case.answer);
        if found != *wanted {
            wrong.push(format!("{}\n  wanted {wanted}  found  {found}", case.id));
        }
        equal += usize::from(found == case.answer);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(equal >= 80, "only {equal} answers are equal to the byte");
}
