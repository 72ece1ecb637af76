//! Kinds in the memory of the server: the whole pipeline, and nothing of Kubernetes itself.

use http::{Method, StatusCode};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use kubewright_extension::{ApiServer, ExtensionServer};
use serde_json::{Value, json};

use crate::kinds::{Book, BookSpec};
use crate::support::{ask, get, send};

const BOOKS: &str = "/apis/library.example.com/v1/namespaces/anywhere/books";

async fn library() -> ApiServer {
    ExtensionServer::new().stored::<Book>().local_server().await.unwrap()
}

fn book(name: &str, pages: u32) -> Value {
    json!({
        "apiVersion": "library.example.com/v1", "kind": "Book",
        "metadata": { "name": name }, "spec": { "pages": pages },
    })
}

#[tokio::test]
async fn only_the_kinds_of_the_server_are_discovered() {
    let server = library().await;
    let (_, groups) = get(&server, "/apis").await;
    let names: Vec<&Value> = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| &group["name"])
        .collect();
    assert_eq!(names, ["library.example.com"]);
    let accept = [(
        "accept",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    )];
    let (_, aggregated) = send(&server, Method::GET, "/apis", &accept, Value::Null).await;
    assert_eq!(aggregated["items"].as_array().unwrap().len(), 1, "{aggregated}");
    assert_eq!(
        aggregated["items"][0]["versions"][0]["resources"][0]["shortNames"],
        json!(["bk"])
    );
    let (_, list) = get(&server, "/apis/library.example.com/v1").await;
    let resources = list["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 2, "{list}"); // the books, and their status
    for path in [
        "/api",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/apis/apiextensions.k8s.io/v1",
    ] {
        assert_eq!(get(&server, path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let (_, root) = get(&server, "/").await;
    let paths = root["paths"].to_string();
    assert!(paths.contains("/apis/library.example.com/v1") && !paths.contains("apps") && !paths.contains("\"/api\""));
}

#[tokio::test]
async fn nothing_of_kubernetes_itself_is_served() {
    let server = library().await;
    for path in [
        "/api/v1/namespaces",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/default/secrets",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/apiregistration.k8s.io/v1/apiservices",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ] {
        assert_eq!(get(&server, path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let review = json!({ "spec": { "token": "x" } });
    let (status, _) = ask(
        &server,
        Method::POST,
        "/apis/authentication.k8s.io/v1/tokenreviews",
        review,
    )
    .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_documents_describe_the_kinds_and_what_they_refer_to() {
    let server = library().await;
    let (_, index) = get(&server, "/openapi/v3").await;
    let names: Vec<&String> = index["paths"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["apis/library.example.com/v1"]);
    let (_, document) = get(&server, "/openapi/v3/apis/library.example.com/v1").await;
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(schemas.contains_key("com.example.library.v1.Book"));
    let (_, swagger) = get(&server, "/openapi/v2").await;
    assert!(swagger["definitions"]["com.example.library.v1.Book"].is_object());
    let paths = swagger["paths"].as_object().unwrap();
    assert!(
        paths.keys().all(|path| path.starts_with("/apis/library.example.com/")),
        "{paths:?}"
    );
    // Every reference leads somewhere.
    let text = swagger.to_string();
    for part in text.split("\"#/definitions/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(swagger["definitions"][name].is_object(), "{name}");
    }
    for part in text.split("\"#/parameters/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(swagger["parameters"][name].is_object(), "{name}");
    }
}

#[tokio::test]
async fn objects_are_defaulted_validated_and_in_any_namespace() {
    let server = library().await;
    let (status, made) = ask(&server, Method::POST, BOOKS, book("emma", 400)).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    assert_eq!(made["spec"]["shelf"], "new");
    assert_eq!(made["metadata"]["namespace"], "anywhere");
    let (status, refused) = ask(&server, Method::POST, BOOKS, book("empty", 0)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.pages", "{refused}");
    let (status, again) = ask(&server, Method::POST, BOOKS, book("emma", 400)).await;
    assert_eq!(
        (status, &again["reason"]),
        (StatusCode::CONFLICT, &json!("AlreadyExists"))
    );
}

#[tokio::test]
async fn apply_owns_fields_and_status_is_a_part_of_its_own() {
    let server = library().await;
    let path = format!("{BOOKS}/emma?fieldManager=me");
    let (status, applied) = ask(&server, Method::PATCH, &path, book("emma", 400)).await;
    assert_eq!(status, StatusCode::CREATED, "{applied}");
    assert_eq!(applied["metadata"]["managedFields"][0]["manager"], "me");
    let other = format!("{BOOKS}/emma?fieldManager=you");
    let (status, conflict) = ask(&server, Method::PATCH, &other, book("emma", 401)).await;
    assert_eq!(status, StatusCode::CONFLICT, "{conflict}");
    let lent = json!({ "status": { "reader": "jane" }, "spec": { "pages": 1 } });
    let (status, lent) = ask(&server, Method::PATCH, &format!("{BOOKS}/emma/status"), lent).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&lent["status"]["reader"], &lent["spec"]["pages"]),
        (&json!("jane"), &json!(400))
    );
}

#[tokio::test]
async fn kubectl_gets_a_table() {
    let server = library().await;
    ask(&server, Method::POST, BOOKS, book("emma", 400)).await;
    let accept = [(
        "accept",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    )];
    let (_, table) = send(&server, Method::GET, BOOKS, &accept, Value::Null).await;
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["columnDefinitions"][1]["name"], "Pages");
    assert_eq!(table["rows"][0]["cells"][0], "emma");
    assert_eq!(table["rows"][0]["cells"][1], 400);
}

#[tokio::test]
async fn a_typed_client_lists_and_deletes() {
    let server = library().await;
    let books: Api<Book> = Api::namespaced(server.client(), "anywhere");
    let mut emma = Book::new(
        "emma",
        BookSpec {
            pages: 400,
            shelf: "classics".to_owned(),
        },
    );
    emma.metadata = ObjectMeta {
        name: Some("emma".to_owned()),
        ..ObjectMeta::default()
    };
    books.create(&PostParams::default(), &emma).await.unwrap();
    let listed = books.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items[0].spec.shelf, "classics");
    books.delete("emma", &DeleteParams::default()).await.unwrap();
    assert!(books.get_opt("emma").await.unwrap().is_none());
}

#[tokio::test]
async fn a_client_of_an_earlier_server_is_told_to_list_anew() {
    let before = library().await;
    let (_, list) = get(&before, BOOKS).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    // Resource versions are microseconds: the later server begins behind the earlier one.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let after = library().await;
    let path = format!("{BOOKS}?watch=true&timeoutSeconds=1&resourceVersion={version}");
    let (_, event) = get(&after, &path).await;
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410)),
        "{event}"
    );
}
