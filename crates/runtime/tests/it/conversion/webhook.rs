//! The answers to `ConversionReview`.

use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kubewright_runtime::conversion::{Conversion, ConversionError, Conversions};
use kubewright_runtime::metrics::{Registry, RuntimeMetrics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kinds::{forgetful, review, shop, shops, v1, v1beta1};

/// Status code and body.
pub(crate) fn ask(conversions: &Conversions, body: &[u8]) -> (u16, Vec<u8>) {
    let (head, body) = conversions.answer(body).into_parts();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let body = runtime.block_on(body.collect()).unwrap().to_bytes();
    (head.status.as_u16(), body.to_vec())
}

fn answer(conversions: &Conversions, review: &Value) -> Value {
    let (code, body) = ask(conversions, review.to_string().as_bytes());
    assert_eq!(code, 200);
    serde_json::from_slice(&body).unwrap()
}

fn converted(desired: &str, objects: &[Value]) -> Vec<Value> {
    let answer = answer(&forgetful(), &review(desired, objects));
    assert_eq!(answer["response"]["result"]["status"], "Success", "{answer}");
    answer["response"]["convertedObjects"].as_array().unwrap().clone()
}

fn refusal(desired: &str, object: &Value) -> String {
    let answer = answer(
        &forgetful(),
        &review(
            desired,
            &[shop("v1", "fine", &json!({ "replicas": 1 })), object.clone()],
        ),
    );
    assert_eq!(answer["response"]["result"]["status"], "Failure", "{answer}");
    assert_eq!(answer["response"]["convertedObjects"], Value::Null);
    answer["response"]["result"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn spokes_and_hub_convert_in_every_direction() {
    let alpha = shop("v1alpha1", "a", &json!({ "size": "3", "ports": [80] }));
    let beta = shop(
        "v1beta1",
        "a",
        &json!({ "size": 3, "ports": [{ "name": "port-80", "number": 80 }], "payment": "Cash" }),
    );
    let hub = shop(
        "v1",
        "a",
        &json!({
            "replicas": 3, "ports": [{ "name": "port-80", "number": 80, "protocol": "TCP" }], "paused": false, "payment": "Cash",
        }),
    );
    for (version, expected) in [("v1alpha1", &alpha), ("v1beta1", &beta), ("v1", &hub)] {
        for source in [&alpha, &beta, &hub] {
            let came = converted(&format!("shop.example.com/{version}"), std::slice::from_ref(source));
            assert_eq!(came, std::slice::from_ref(expected), "{source}");
        }
    }
}

#[test]
fn fields_are_renamed_and_retyped_in_status_too() {
    let mut old = shop(
        "v1beta1",
        "a",
        &json!({ "size": 1, "timeout": "5s", "payment": "Plastic" }),
    );
    old["status"] = json!({ "ready": 1 });
    let new = converted("shop.example.com/v1", &[old]);
    assert_eq!(
        new[0]["spec"],
        json!({ "replicas": 1, "timeoutSeconds": 5, "paused": false, "payment": "Card" })
    );
    assert_eq!(new[0]["status"], json!({ "readyReplicas": 1 }));
}

#[test]
fn many_objects_of_many_versions_keep_their_order() {
    let objects: Vec<_> = (0..60)
        .map(|at| match at % 3 {
            0 => shop("v1", &format!("n{at}"), &json!({ "replicas": at })),
            1 => shop("v1beta1", &format!("n{at}"), &json!({ "size": at })),
            _ => shop("v1alpha1", &format!("n{at}"), &json!({ "size": at.to_string() })),
        })
        .collect();
    let converted = converted("shop.example.com/v1", &objects);
    assert_eq!(converted.len(), 60);
    for (at, object) in converted.iter().enumerate() {
        assert_eq!(object["apiVersion"], "shop.example.com/v1");
        assert_eq!(object["metadata"]["name"], format!("n{at}"));
        assert_eq!(object["spec"]["replicas"], at);
    }
}

#[test]
fn objects_of_the_desired_version_are_untouched_whatever_they_are() {
    let mut odd = shop("v1", "odd", &json!({ "replicas": "not a number", "x": [1.5, null] }));
    odd["extra"] = json!({ "a": {} });
    let came = converted("shop.example.com/v1", std::slice::from_ref(&odd));
    assert_eq!(came, [odd]);
}

#[test]
fn metadata_is_taken_over_to_the_letter() {
    let mut old = shop("v1beta1", "a", &json!({ "size": 1 }));
    old["metadata"] = json!({
        "name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7", "generation": 3, "selfLink": "/odd",
        "creationTimestamp": "2026-01-01T00:00:00Z", "labels": { "a": "b" }, "annotations": {}, "finalizers": ["x.example.com/y"],
        "managedFields": [{ "manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": {} } }],
        "fieldOfTheFuture": { "deep": [1, 2, { "x": null }] },
    });
    let new = converted("shop.example.com/v1alpha1", std::slice::from_ref(&old));
    assert_eq!(new[0]["metadata"], old["metadata"]);
}

#[test]
fn fields_that_neither_type_knows_stay_where_they_were() {
    let old = shop(
        "v1beta1",
        "a",
        &json!({ "size": 1, "future": { "a": 1 }, "ports": [{ "name": "a", "number": 1, "weight": 5 }] }),
    );
    let new = &converted("shop.example.com/v1", &[old])[0];
    assert_eq!(new["spec"]["future"], json!({ "a": 1 }));
    assert_eq!(new["spec"]["ports"][0]["weight"], 5);
}

#[test]
fn fields_that_only_the_target_knows_are_not_taken_for_its_own() {
    // Unchecked by the old version's schema, `paused` and `replicas` would mean something in the new one.
    let old = shop(
        "v1beta1",
        "a",
        &json!({ "size": 1, "paused": true, "replicas": "many", "future": 1 }),
    );
    let new = &converted("shop.example.com/v1", &[old])[0];
    assert_eq!(new["spec"]["paused"], false);
    assert_eq!(new["spec"]["replicas"], 1);
    // Nor do values of the wrong type there harm the rest.
    let old = shop("v1beta1", "a", &json!({ "size": 1, "paused": "yes" }));
    assert_eq!(converted("shop.example.com/v1", &[old])[0]["spec"]["paused"], false);
}

#[test]
fn one_object_that_cannot_be_converted_fails_the_review_with_its_name_and_reason() {
    let none = json!({});
    let bad = shop("v1beta1", "b", &json!({ "size": "large" }));
    assert_eq!(
        refusal("shop.example.com/v1", &bad),
        "Shop default/b: spec.size: invalid type: string \"large\", expected i64"
    );
    let bad = shop("v1beta1", "b", &json!({ "size": 1, "timeout": "soon" }));
    assert_eq!(
        refusal("shop.example.com/v1", &bad),
        "Shop default/b: spec.timeout: \"soon\" is not a number of seconds, as 5s"
    );
    assert_eq!(
        refusal("shop.example.com/v1alpha1", &bad),
        "Shop default/b: failed to convert spoke shop.example.com/v1beta1, Kind=Shop to hub shop.example.com/v1, Kind=Shop : \
         spec.timeout: \"soon\" is not a number of seconds, as 5s"
    );
    let unknown = shop("v9", "b", &none);
    assert_eq!(
        refusal("shop.example.com/v1", &unknown),
        "Shop default/b: no kind \"Shop\" is registered for version \"shop.example.com/v9\""
    );
    let mut other = shop("v1", "b", &none);
    other["kind"] = "Stall".into();
    assert_eq!(
        refusal("shop.example.com/v1", &other),
        "Stall default/b: no kind \"Stall\" is registered for version \"shop.example.com/v1\""
    );
    assert_eq!(
        refusal(
            "shop.example.com/v1",
            &json!({ "apiVersion": "shop.example.com/v1beta1" })
        ),
        "object without a name: Object 'Kind' is missing"
    );
    assert_eq!(
        refusal(
            "shop.example.com/v1",
            &json!({ "kind": "Shop", "metadata": { "name": "x" } })
        ),
        "Shop x: Object 'apiVersion' is missing"
    );
    assert_eq!(
        refusal("shop.example.com/v1", &json!(null)),
        "object without a name: Object 'Kind' is missing"
    );
}

#[test]
fn a_version_nobody_knows_cannot_be_desired() {
    for desired in [
        "shop.example.com/v9",
        "other.example.com/v1",
        "v1",
        "",
        "shop.example.com/v1/x",
    ] {
        let object = shop("v1", "a", &json!({ "replicas": 1 }));
        let said = answer(&forgetful(), &review(desired, &[object]));
        let message = &said["response"]["result"]["message"];
        assert_eq!(
            *message,
            format!("Shop default/a: no kind \"Shop\" is registered for version {desired:?}")
        );
    }
}

#[test]
fn the_review_s_own_version_and_uid_are_given_back() {
    let objects = [shop("v1beta1", "a", &json!({ "size": 1 }))];
    let mut asked = review("shop.example.com/v1", &objects);
    asked["apiVersion"] = "apiextensions.k8s.io/v1beta1".into();
    asked["response"] = json!({ "uid": "", "convertedObjects": null, "result": { "metadata": {} } });
    let said = answer(&forgetful(), &asked);
    assert_eq!(said["apiVersion"], "apiextensions.k8s.io/v1beta1");
    assert_eq!(said["kind"], "ConversionReview");
    assert_eq!(said["response"]["uid"], "705ab4f5");
    assert_eq!(
        said["response"]["result"],
        json!({ "metadata": {}, "status": "Success" })
    );
    assert_eq!(said.get("request"), None);
}

#[test]
fn what_is_no_review_is_answered_with_400_and_nothing_else() {
    let conversions = forgetful();
    for body in [
        "",
        "{",
        "null",
        "[]",
        "{}",
        r#"{"request":null}"#,
        r#"{"request":{"uid":7}}"#,
        r#"{"request":["uid","shop.example.com/v1",[]]}"#,
        r#"{"kind":1,"request":{}}"#,
        r#"{"request":{"objects":{}}}"#,
        "\u{0}",
    ] {
        assert_eq!(ask(&conversions, body.as_bytes()), (400, Vec::new()), "{body}");
    }
    // Deeper than any object.
    let deep = format!("{}{}", r#"{"request":{"objects":["#, "[".repeat(100_000));
    assert_eq!(ask(&conversions, deep.as_bytes()).0, 400);
    // A review without objects is one.
    assert_eq!(ask(&conversions, br#"{"request":{}} behind"#).0, 200);
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "shop.example.com", version = "v1", kind = "Stall", root = "HubStall")]
pub(crate) struct HubStallSpec {
    what: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "shop.example.com", version = "v1beta1", kind = "Stall", root = "OldStall")]
pub(crate) struct OldStallSpec {
    what: String,
}

impl TryFrom<OldStall> for HubStall {
    type Error = String;

    fn try_from(old: OldStall) -> Result<Self, String> {
        let mut new = HubStall::new("", HubStallSpec { what: old.spec.what });
        new.metadata = old.metadata;
        match new.spec.what.as_str() {
            "rename" => new.metadata.name = Some("other".to_owned()),
            "move" => new.metadata.namespace = Some("elsewhere".to_owned()),
            "uid" => new.metadata.uid = None,
            "label" => {
                new.metadata
                    .labels
                    .get_or_insert_default()
                    .insert("a".to_owned(), "b".to_owned());
                new.metadata.annotations = None;
            }
            "forget" => new.metadata = kube::core::ObjectMeta::default(),
            "panic" => panic!("on purpose"),
            "refuse" => return Err("not today".to_owned()),
            _ => {}
        }
        Ok(new)
    }
}

impl From<HubStall> for OldStall {
    fn from(new: HubStall) -> Self {
        let mut old = OldStall::new("", OldStallSpec { what: new.spec.what });
        old.metadata = new.metadata;
        old
    }
}

/// Converts, but is something else.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "shop.example.com", version = "v1beta1", kind = "Stray")]
pub(crate) struct StraySpec {}

impl From<HubStall> for Stray {
    fn from(_: HubStall) -> Self {
        Stray::new("", StraySpec {})
    }
}

impl From<Stray> for HubStall {
    fn from(_: Stray) -> Self {
        HubStall::new("", HubStallSpec { what: String::new() })
    }
}

fn stalls() -> Conversions {
    let stalls = Conversion::hub::<HubStall>().spoke::<OldStall>();
    Conversions::new().with(stalls).unwrap()
}

fn stall(what: &str) -> Value {
    json!({
        "apiVersion": "shop.example.com/v1beta1", "kind": "Stall", "spec": { "what": what },
        "metadata": { "name": "s", "uid": "u", "annotations": { "x": "y" }, "generation": 2 },
    })
}

#[test]
fn conversions_may_change_labels_and_annotations_and_nothing_else_of_metadata() {
    let convert = |what: &str| stalls().convert(&stall(what), "shop.example.com/v1");
    assert_eq!(
        convert("label").unwrap()["metadata"],
        json!({ "name": "s", "uid": "u", "generation": 2, "labels": { "a": "b" } })
    );
    // One that builds its target from nothing but the content forgets nothing.
    assert_eq!(convert("forget").unwrap()["metadata"], stall("")["metadata"]);
    assert_eq!(
        convert("rename").unwrap_err(),
        "Stall s: must have the same name: s != other"
    );
    assert_eq!(
        convert("move").unwrap_err(),
        "Stall s: must have the same namespace:  != elsewhere"
    );
    assert_eq!(convert("uid").unwrap_err(), "Stall s: must have the same UID: u != ");
    assert_eq!(convert("refuse").unwrap_err(), "Stall s: not today");
}

#[test]
fn a_conversion_that_panics_is_a_counted_failure() {
    let registry = Registry::new();
    let metrics = RuntimeMetrics::register(&registry).unwrap();
    let stalls = stalls().with_metrics(&metrics);
    let said = answer(&stalls, &review("shop.example.com/v1", &[stall("panic")]));
    assert_eq!(
        said["response"]["result"],
        json!({ "metadata": {}, "status": "Failure", "message": "internal error occurred during conversion" })
    );
    assert_eq!(said["response"]["uid"], "705ab4f5");
    let text = registry.render();
    assert!(
        text.contains("controller_runtime_conversion_webhook_panics_total 1\n"),
        "{text}"
    );
    // And it goes on.
    let said = answer(&stalls, &review("shop.example.com/v1", &[stall("fine")]));
    assert_eq!(said["response"]["result"]["status"], "Success");
}

#[test]
fn versions_that_do_not_belong_together_are_said_before_anything_runs() {
    let twice = Conversions::new().with(shops().spoke::<v1beta1::Shop>());
    assert_eq!(
        twice.unwrap_err().to_string(),
        "conversion of Shop.shop.example.com: version v1beta1 is given twice"
    );
    let twice = forgetful().with(shops());
    assert!(matches!(twice, Err(ConversionError::DuplicateKind { .. })));
    let other = Conversions::new().with(Conversion::hub::<HubStall>().spoke::<Stray>());
    assert_eq!(
        other.unwrap_err().to_string(),
        "conversion of Stall.shop.example.com: the spoke Stray.shop.example.com is another group and kind; all versions of a \
         kind share them"
    );
    let itself = Conversions::new().with(Conversion::hub::<v1::Shop>().spoke::<v1::Shop>());
    assert!(matches!(itself, Err(ConversionError::DuplicateVersion { .. })));
    let lone = Conversions::new().with(Conversion::hub::<ConfigMap>()).unwrap();
    assert_eq!(lone.kinds().next().unwrap().versions().collect::<Vec<_>>(), ["v1"]);
}

#[test]
fn what_is_served_can_be_listed() {
    let all = forgetful();
    let kind = all.kinds().next().unwrap();
    assert_eq!(kind.kind().to_string(), "Shop.shop.example.com");
    assert_eq!(kind.versions().collect::<Vec<_>>(), ["v1", "v1beta1", "v1alpha1"]);
    assert_eq!(kind.annotation(), None);
}

/// When an object is applied in another version than before, the API server asks for what is left of it without the former applier's
/// fields: neither metadata nor spec.
#[test]
fn what_is_left_of_an_object_is_converted_too() {
    let left = json!({ "apiVersion": "shop.example.com/v1beta1", "kind": "Shop" });
    let came = converted("shop.example.com/v1", std::slice::from_ref(&left));
    assert_eq!(
        came,
        [json!({ "apiVersion": "shop.example.com/v1", "kind": "Shop", "metadata": {} })]
    );
}
