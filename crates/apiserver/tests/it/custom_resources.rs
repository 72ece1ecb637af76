//! Custom resources in the process of their user: a kind is there when its definition is created, and goes with it.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::{Api, Client};
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

fn start() -> (ApiServer, Client) {
    let server = ApiServer::new(Options::new());
    let client = server.client();
    (server, client)
}

fn definition(spec: &Value) -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": { "name": "boats.shop.example.com" },
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": { "plural": "boats", "kind": "Boat" },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "selectableFields": [{ "jsonPath": ".spec.color" }],
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": spec, "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                } },
            }],
        },
    }))
    .expect("a definition")
}

fn spec() -> Value {
    json!({
        "type": "object",
        "properties": {
            "color": { "type": "string", "default": "white" },
            "masts": { "type": "integer", "minimum": 0 },
        },
        "x-kubernetes-validations": [{ "rule": "!has(self.masts) || self.masts < 9", "message": "too many masts" }],
    })
}

fn boats(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("shop.example.com", "v1", "Boat");
    Api::default_namespaced_with(client, &ApiResource::from_gvk_with_plural(&kind, "boats"))
}

fn boat(name: &str, spec: &Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "shop.example.com/v1",
        "kind": "Boat",
        "metadata": { "name": name },
        "spec": spec,
    }))
    .expect("a boat")
}

async fn define(client: &Client, spec: &Value) -> Api<CustomResourceDefinition> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions
        .create(&PostParams::default(), &definition(spec))
        .await
        .expect("accepted");
    definitions
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("not an answer of the API: {other}"),
    }
}

#[tokio::test]
async fn a_kind_is_served_the_moment_its_definition_is_created() {
    let (_server, client) = start();
    define(&client, &spec()).await;
    let boats = boats(client);
    let made = boats
        .create(
            &PostParams::default(),
            &boat("sloop", &json!({ "masts": 1, "engine": true })),
        )
        .await
        .expect("served");
    assert_eq!(made.data["spec"], json!({ "color": "white", "masts": 1 }));
    assert_eq!(made.metadata.generation, Some(1));
}

#[tokio::test]
async fn schema_and_rules_refuse_what_they_forbid() {
    let (_server, client) = start();
    define(&client, &spec()).await;
    let boats = boats(client);
    for (spec, words) in [
        (json!({ "masts": -1 }), "should be greater than or equal to 0"),
        (json!({ "masts": 9 }), "too many masts"),
        (json!({ "color": 3 }), "must be of type string"),
    ] {
        let refused = boats.create(&PostParams::default(), &boat("wreck", &spec)).await;
        let refused = refused.expect_err("invalid");
        assert_eq!(code(&refused), 422);
        assert!(refused.to_string().contains(words), "{refused}");
    }
}

#[tokio::test]
async fn a_new_default_appears_in_what_was_stored_before() {
    let (server, client) = start();
    let definitions = define(&client, &spec()).await;
    let boats = boats(client);
    boats
        .create(&PostParams::default(), &boat("sloop", &json!({ "masts": 1 })))
        .await
        .expect("made");
    let before = boats.get("sloop").await.expect("there");
    let mut richer = spec();
    richer["properties"]["crew"] = json!({ "type": "integer", "default": 2 });
    let patch = json!({ "spec": definition(&richer).spec });
    definitions
        .patch("boats.shop.example.com", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("changed");
    let after = boats.get("sloop").await.expect("there");
    assert_eq!(after.data["spec"]["crew"], 2);
    // Nothing was written: it is shown otherwise.
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    let listed = boats.list(&ListParams::default()).await.expect("a list");
    assert_eq!(listed.items[0].data["spec"]["crew"], 2);
    // A fork has the definitions of the server it was made from.
    let forked = self::boats(server.fork().client()).get("sloop").await.expect("there");
    assert_eq!(forked.data["spec"]["crew"], 2);
}

#[tokio::test]
async fn selectable_fields_select_in_lists_and_watches() {
    let (_server, client) = start();
    define(&client, &spec()).await;
    let boats = boats(client);
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        boats
            .create(&PostParams::default(), &boat(name, &json!({ "color": color })))
            .await
            .expect("made");
    }
    let red = boats
        .list(&ListParams::default().fields("spec.color=red"))
        .await
        .expect("a list");
    let names: Vec<_> = red
        .items
        .iter()
        .filter_map(|item| item.metadata.name.as_deref())
        .collect();
    assert_eq!(names, ["a", "c"]);
    let unknown = boats.list(&ListParams::default().fields("spec.masts=1")).await;
    assert_eq!(code(&unknown.expect_err("not selectable")), 400);

    let since = red.metadata.resource_version.expect("a version");
    let blue = WatchParams::default().fields("spec.color=blue");
    let mut events = pin!(boats.watch(&blue, &since).await.expect("watched"));
    let patch = json!({ "spec": { "color": "blue" } });
    boats
        .patch("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("painted");
    let event = tokio::time::timeout(Duration::from_secs(30), events.next()).await;
    match event.expect("in time").expect("an event").expect("readable") {
        WatchEvent::Added(boat) => assert_eq!(boat.metadata.name.as_deref(), Some("a")),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_deleted_definition_takes_its_objects_along() {
    let (_server, client) = start();
    let definitions = define(&client, &spec()).await;
    let boats = boats(client.clone());
    boats
        .create(&PostParams::default(), &boat("sloop", &json!({})))
        .await
        .expect("made");
    definitions
        .delete("boats.shop.example.com", &DeleteParams::default())
        .await
        .expect("deleted");
    assert_eq!(code(&boats.get("sloop").await.expect_err("no such kind")), 404);
    assert_eq!(
        code(&definitions.get("boats.shop.example.com").await.expect_err("gone")),
        404
    );
    // Made anew, it begins empty.
    define(&client, &spec()).await;
    let listed = boats.list(&ListParams::default()).await.expect("a list");
    assert!(listed.items.is_empty());
}

/// The runtime has one thread: what does not pause is the only thing that runs.
#[tokio::test]
async fn others_are_served_while_many_objects_go_with_their_definition() {
    const BOATS: usize = 1500;
    let (server, client) = start();
    let definitions = define(&client, &spec()).await;
    for at in 0..BOATS {
        let body = json!({
            "apiVersion": "shop.example.com/v1", "kind": "Boat", "metadata": { "name": format!("boat-{at}") },
        });
        let path = "/apis/shop.example.com/v1/namespaces/default/boats";
        let request = http::Request::post(path)
            .body(body.to_string().into())
            .expect("a request");
        assert_eq!(server.handle(request).await.status(), 201);
    }
    let options = DeleteParams::default();
    let deleted = definitions.delete("boats.shop.example.com", &options).await;
    deleted.expect("a deletion that begins");
    let mut answers = 0;
    while definitions
        .get_opt("boats.shop.example.com")
        .await
        .expect("an answer")
        .is_some()
    {
        answers += 1;
        tokio::task::yield_now().await;
    }
    assert!(answers >= 3, "{answers} requests were answered meanwhile");
    assert_eq!(
        boats(client)
            .list(&ListParams::default())
            .await
            .map_err(|error| code(&error))
            .err(),
        Some(404)
    );
}

#[tokio::test]
async fn a_definition_waits_for_objects_with_finalizers() {
    let (_server, client) = start();
    let definitions = define(&client, &spec()).await;
    let boats = boats(client);
    let mut held = boat("sloop", &json!({}));
    held.metadata.finalizers = Some(vec!["shop.example.com/anchor".into()]);
    boats.create(&PostParams::default(), &held).await.expect("made");
    definitions
        .delete("boats.shop.example.com", &DeleteParams::default())
        .await
        .expect("marked");
    let waiting = definitions.get("boats.shop.example.com").await.expect("still there");
    assert!(waiting.metadata.deletion_timestamp.is_some());
    let late = boats.create(&PostParams::default(), &boat("late", &json!({}))).await;
    assert_eq!(code(&late.expect_err("too late")), 403);
    let patch = json!({ "metadata": { "finalizers": null } });
    boats
        .patch("sloop", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("let go");
    assert_eq!(
        code(&definitions.get("boats.shop.example.com").await.expect_err("gone")),
        404
    );
}

fn free_form() -> Value {
    json!({
        "type": "object",
        "properties": { "color": { "type": "string" } },
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

/// Once compared twice at every level, which took hours at this depth.
#[tokio::test]
async fn an_unchanged_deep_object_is_compared_once() {
    let (_server, client) = start();
    define(&client, &free_form()).await;
    let boats = boats(client);
    let deep = (0..100).fold(json!({ "end": 1 }), |inner, _| json!({ "a": inner }));
    boats
        .create(&PostParams::default(), &boat("deep", &deep))
        .await
        .expect("made");
    let same = json!({ "spec": deep });
    let patched = boats.patch("deep", &PatchParams::default(), &Patch::Merge(&same)).await;
    assert_eq!(patched.expect("unchanged").metadata.generation, Some(1));
}

#[tokio::test]
async fn a_freed_name_is_passed_on_down_the_line() {
    let (_server, client) = start();
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    let named = |plural: &str, short: &str| -> CustomResourceDefinition {
        let kind = format!("Kind{plural}");
        serde_json::from_value(json!({
            "metadata": { "name": format!("{plural}.line.example.com") },
            "spec": {
                "group": "line.example.com",
                "scope": "Namespaced",
                "names": { "plural": plural, "kind": kind, "shortNames": [short] },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        }))
        .expect("a definition")
    };
    for (plural, short) in [("firsts", "one"), ("seconds", "two")] {
        definitions
            .create(&PostParams::default(), &named(plural, short))
            .await
            .expect("made");
    }
    // The second wants the first's name and keeps its own meanwhile; the third wants the second's.
    let wish = json!({ "spec": { "names": { "shortNames": ["one"] } } });
    definitions
        .patch(
            "seconds.line.example.com",
            &PatchParams::default(),
            &Patch::Merge(&wish),
        )
        .await
        .expect("changed");
    definitions
        .create(&PostParams::default(), &named("thirds", "two"))
        .await
        .expect("made");
    definitions
        .delete("firsts.line.example.com", &DeleteParams::default())
        .await
        .expect("deleted");
    for (plural, short) in [("seconds", "one"), ("thirds", "two")] {
        let found = definitions
            .get(&format!("{plural}.line.example.com"))
            .await
            .expect("there");
        let given = found.status.and_then(|status| status.accepted_names).expect("names");
        assert_eq!(given.short_names.as_deref(), Some(&[short.to_owned()][..]), "{plural}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn objects_made_while_their_definition_goes_go_with_it() {
    let (_server, client) = start();
    for round in 0..20 {
        let definitions = define(&client, &spec()).await;
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let boats = boats(client.clone());
                tokio::spawn(async move {
                    for at in 0..20 {
                        // Refused once the definition is on its way out.
                        let _ = boats
                            .create(&PostParams::default(), &boat(&format!("b-{writer}-{at}"), &json!({})))
                            .await;
                    }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        definitions
            .delete("boats.shop.example.com", &DeleteParams::default())
            .await
            .expect("deleted");
        for writer in writers {
            writer.await.expect("no panic");
        }
        let left = definitions.get("boats.shop.example.com").await;
        assert_eq!(code(&left.expect_err("gone")), 404, "round {round}");
    }
}
