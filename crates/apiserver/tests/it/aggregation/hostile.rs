//! Aggregated API servers made to hurt: the rest is served, and memory stays bounded.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use serde_json::{Value, json};

use super::support::{
    API_SERVICES, ROOT, aggregating, api_service, ask, json_answer, register, resources, text_answer,
};

/// A body without end, and how many bytes of it were taken.
fn endless(taken: Arc<AtomicUsize>) -> super::support::Answer {
    static PIECE: &[u8] = &[b' '; 64 * 1024];
    let pieces = stream::repeat_with(move || {
        taken.fetch_add(PIECE.len(), Ordering::Relaxed);
        Ok::<_, io::Error>(Frame::data(Bytes::from_static(PIECE)))
    });
    let response = Response::builder().header("content-type", "application/json");
    response.body(StreamBody::new(pieces).boxed_unsync()).unwrap()
}

async fn the_rest_is_served(server: &kubewright_apiserver::ApiServer) {
    for path in [
        "/api/v1/namespaces/default",
        "/apis",
        "/apis/apps",
        "/openapi/v3",
        "/readyz",
        "/version",
    ] {
        assert_eq!(ask(server, "GET", path, "").await.0, 200, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn endless_documents_are_given_up() {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let server = aggregating(move |_: Request<Incoming>| {
        let counted = Arc::clone(&counted);
        async move { endless(counted) }
    });
    register(&server).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    the_rest_is_served(&server).await;
    // Discovery, its fallback and both kinds of OpenAPI were each tried a few times, and cut at their limits.
    let taken = taken.load(Ordering::Relaxed);
    assert!(taken > 16 << 20 && taken < 400 << 20, "{taken} bytes were taken");
    let (_, groups) = ask(&server, "GET", "/apis/widgets.example.com", "").await;
    assert!(groups.contains("widgets.example.com/v1"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_stops_the_other_server() {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let server = aggregating(move |request: Request<Incoming>| {
        let counted = Arc::clone(&counted);
        async move {
            match request.uri().path() {
                "/apis/widgets.example.com/v1/widgets" => endless(counted),
                _ => text_answer(404, ""),
            }
        }
    });
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets")).body(Bytes::new()).unwrap();
    let mut body = server.handle(request).await.into_body();
    for _ in 0..10 {
        body.frame().await.unwrap().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let held = taken.load(Ordering::Relaxed);
    assert!(
        held < 8 << 20,
        "{held} bytes are on their way to a client that does not read"
    );
    drop(body);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let after = taken.load(Ordering::Relaxed);
    assert!(after - held < 1 << 20, "the other server goes on for nobody");
    the_rest_is_served(&server).await;
}

#[tokio::test(start_paused = true)]
async fn a_response_that_breaks_off_is_no_whole_response() {
    let server = aggregating(|_| async {
        let begun = stream::iter([Ok(Frame::data(Bytes::from_static(b"{\"kind\":")))]);
        let gone = stream::once(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err(io::Error::other("gone"))
        });
        let pieces = futures_util::StreamExt::chain(begun, gone);
        Response::new(StreamBody::new(pieces).boxed_unsync())
    });
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets")).body(Bytes::new()).unwrap();
    let response = server.handle(request).await;
    assert_eq!(response.status(), 200);
    assert!(response.into_body().collect().await.is_err());
    the_rest_is_served(&server).await;
}

#[tokio::test(start_paused = true)]
async fn discovery_that_lies_stays_within_its_own_version() {
    let server = aggregating(|request: Request<Incoming>| async move {
        match request.uri().path() {
            "/apis" => {
                let lie = json!({
                    "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
                    "items": [
                        {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [{"resource": "stolen", "scope": "Cluster", "verbs": ["get"]}]}]},
                        {"metadata": {"name": "widgets.example.com"}, "versions": [{"version": "v1", "resources": [{"resource": "widgets", "scope": "Namespaced", "verbs": ["get"], "evil": {"a": 1}}]}]},
                    ],
                });
                let mut response = json_answer(&lie);
                let media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
                response.headers_mut().insert("content-type", media.parse().unwrap());
                response
            }
            "/openapi/v3" => json_answer(&json!({"paths": {"apis/apps/v1": {"serverRelativeURL": "/stolen"}}})),
            "/openapi/v3/apis/apps/v1" => text_answer(200, "stolen"),
            "/openapi/v2" => json_answer(
                &json!({"paths": {"/apis/apps/v1/deployments": {"stolen": true}}, "definitions": {"io.k8s.api.apps.v1.Deployment": {}}}),
            ),
            _ => text_answer(404, ""),
        }
    });
    register(&server).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = Request::get("/apis")
        .header("Accept", accept)
        .body(Bytes::new())
        .unwrap();
    let body = server
        .handle(request)
        .await
        .into_body()
        .collect()
        .await
        .unwrap()
        .to_bytes();
    let text = String::from_utf8_lossy(&body);
    assert!(!text.contains("stolen") && !text.contains("evil") && text.contains(r#""resource":"widgets""#));
    let (_, index) = ask(&server, "GET", "/openapi/v3", "").await;
    assert!(!index.contains("stolen"), "{index}");
    let (_, document) = ask(&server, "GET", "/openapi/v3/apis/apps/v1", "").await;
    assert!(document.contains("io.k8s.api.apps.v1.Deployment"));
    let (_, swagger) = ask(&server, "GET", "/openapi/v2", "").await;
    assert!(!swagger.contains("stolen"));
    the_rest_is_served(&server).await;
}

#[tokio::test(start_paused = true)]
async fn the_documents_of_a_version_are_those_of_its_own_server() {
    let server = aggregating(|request: Request<Incoming>| async move {
        match request.uri().path() {
            "/openapi/v3" => json_answer(&json!({"paths": {
                "apis/widgets.example.com/v1": {"serverRelativeURL": "/its-own"},
                "apis/widgets.example.com": {"serverRelativeURL": "/its-own"},
            }})),
            path if path.starts_with("/openapi/v3/") => text_answer(200, "its own"),
            _ => text_answer(404, ""),
        }
    });
    let lying = tower::service_fn(|request: Request<Incoming>| async move {
        let stolen = json!({"serverRelativeURL": "/stolen"});
        Ok::<_, Infallible>(match request.uri().path() {
            "/openapi/v3" => json_answer(&json!({"paths": {
                "apis/widgets.example.com/v1": stolen, "apis/widgets.example.com": stolen,
                "apis/silent.example.com/v1": stolen, "apis/nobodys.example.com/v1": {"serverRelativeURL": "/of-nobody"},
            }})),
            "/openapi/v3/apis/nobodys.example.com/v1" => text_answer(200, "of nobody"),
            path if path.starts_with("/openapi/v3/") => text_answer(200, "stolen"),
            path if path.starts_with("/apis/") => resources(),
            _ => text_answer(404, ""),
        })
    });
    server.serve_service_with("default", "lying", 443, lying);
    // It has no document of its own.
    let silent = tower::service_fn(|request: Request<Incoming>| async move {
        let is_version = request.uri().path() == "/apis/silent.example.com/v1";
        Ok::<_, Infallible>(if is_version { resources() } else { text_answer(404, "") })
    });
    server.serve_service_with("default", "silent", 443, silent);
    // Before and behind the honest one, whatever the order.
    for (group, name) in [
        ("a.example.com", "lying"),
        ("b.example.com", "lying"),
        ("c.example.com", "lying"),
        ("silent.example.com", "silent"),
        ("y.example.com", "lying"),
        ("z.example.com", "lying"),
    ] {
        let mut service = api_service(group);
        service["spec"]["service"]["name"] = name.into();
        assert_eq!(ask(&server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    }
    register(&server).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (_, index) = ask(&server, "GET", "/openapi/v3", "").await;
    let index: Value = serde_json::from_str(&index).unwrap();
    let listed = |name: &str| index["paths"][name]["serverRelativeURL"].clone();
    for name in ["apis/widgets.example.com/v1", "apis/widgets.example.com"] {
        assert_eq!(listed(name), "/its-own", "{name}");
        let (_, document) = ask(&server, "GET", &format!("/openapi/v3/{name}"), "").await;
        assert_eq!(document, "its own", "{name}");
    }
    let silent = "apis/silent.example.com/v1";
    assert_eq!(listed(silent), Value::Null);
    assert_eq!(ask(&server, "GET", &format!("/openapi/v3/{silent}"), "").await.0, 404);
    // What nobody owns, anybody may describe.
    let nobodys = "apis/nobodys.example.com/v1";
    assert_eq!(listed(nobodys), "/of-nobody");
    assert_eq!(
        ask(&server, "GET", &format!("/openapi/v3/{nobodys}"), "").await.1,
        "of nobody"
    );
    the_rest_is_served(&server).await;
}

#[tokio::test(start_paused = true)]
async fn redirects_in_a_circle_are_not_followed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let server = aggregating(move |request: Request<Incoming>| {
        if request.uri().path().starts_with(ROOT) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        async move {
            let mut response = text_answer(302, "");
            let here = request.uri().path().parse().unwrap();
            response.headers_mut().insert("location", here);
            response
        }
    });
    register(&server).await;
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(ask(&server, "GET", &format!("{ROOT}/widgets"), "").await.0, 502);
    assert_eq!(asked.load(Ordering::Relaxed) - before, 1);
    the_rest_is_served(&server).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_server_in_this_process_is_its_own() {
    let server = aggregating(|request: Request<Incoming>| async move {
        assert!(!request.uri().path().ends_with("/widgets"), "boom");
        text_answer(404, "")
    });
    register(&server).await;
    let (code, body) = ask(&server, "GET", &format!("{ROOT}/widgets"), "").await;
    assert_eq!(
        (code.as_u16(), body.as_str()),
        (503, "error trying to reach service: EOF\n")
    );
    the_rest_is_served(&server).await;
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_broken_groups_leave_discovery_whole() {
    let server = aggregating(|_| async { std::future::pending().await });
    for number in 0..100 {
        let mut service = api_service(&format!("broken-{number}.example.com"));
        service["spec"]["service"]["name"] = "nowhere".into();
        assert_eq!(ask(&server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
    the_rest_is_served(&server).await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = Request::get("/apis")
        .header("Accept", accept)
        .body(Bytes::new())
        .unwrap();
    let body = server
        .handle(request)
        .await
        .into_body()
        .collect()
        .await
        .unwrap()
        .to_bytes();
    let document: Value = serde_json::from_slice(&body).unwrap();
    let stale = document["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["versions"][0]["freshness"] == "Stale");
    assert_eq!(stale.count(), 100);
}
