//! What reaches the server of an aggregated API, and what comes back.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Options, User};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::{
    API_SERVICES, ROOT, aggregating, api_service, ask, available, full, json_answer, register, serve,
};

#[tokio::test(start_paused = true)]
async fn requests_reach_the_server_of_their_group_with_their_user() {
    let server = aggregating(|request: Request<Incoming>| async move {
        let header = |name: &str| {
            let values = request.headers().get_all(name).iter();
            values
                .map(|value| value.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let seen = json!({
            "user": header("x-remote-user"), "groups": header("x-remote-group"), "authorization": header("authorization"),
            "for": header("x-forwarded-for"),
        });
        json_answer(&seen)
    });
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets"))
        .header("Authorization", "Bearer secret")
        .header("X-Remote-User", "root");
    let master = User::new("jane", ["system:masters"]);
    let response = server
        .handle_as(Some(&master), request.body(Bytes::new()).unwrap())
        .await;
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let seen: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        seen,
        json!({
            "user": ["jane"], "groups": ["system:masters", "system:authenticated"], "authorization": [], "for": ["127.0.0.1"],
        })
    );
    let event = server.audit().user("jane").events();
    assert_eq!((event[0].attributes.resource.as_ref(), event[0].code), ("widgets", 200));
}

#[tokio::test(start_paused = true)]
async fn what_a_client_says_about_itself_is_replaced() {
    let server = ApiServer::new(Options::new().token("open-sesame", User::new("jane", ["system:masters"])));
    serve(&server, |request: Request<Incoming>| async move {
        let mut seen: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .filter(|line| {
                !line.starts_with("audit-id") && !line.starts_with("host") && !line.starts_with("x-forwarded-")
            })
            .collect();
        seen.sort();
        json_answer(&json!(seen))
    });
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets"))
        .header("Authorization", "Bearer open-sesame")
        .header("Connection", "X-Gone, keep-alive")
        .header("Content-Length", "7")
        .header("Impersonate-User", "bob")
        .header("Impersonate-Group", "system:masters")
        .header("X-Gone", "1")
        .header("X-Kept", "1")
        .header("X-Remote-Extra-Scopes", "all")
        .header("X-Remote-Group", "admins")
        .header("X-Remote-User", "root");
    let response = server.handle_as(None, request.body(Bytes::new()).unwrap()).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let seen: Vec<String> = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        seen,
        [
            "x-kept: 1",
            "x-remote-group: system:authenticated",
            "x-remote-group: system:masters",
            "x-remote-user: bob"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_among_the_protocols_of_a_websocket_stays_here() {
    let server = ApiServer::new(Options::new().token("open-sesame", User::new("jane", ["system:masters"])));
    serve(&server, |request: Request<Incoming>| async move {
        let seen = format!(
            "{:?}",
            request
                .headers()
                .get_all("sec-websocket-protocol")
                .iter()
                .collect::<Vec<_>>()
        );
        super::support::text_answer(403, &seen)
    });
    register(&server).await;
    let token = "base64url.bearer.authorization.k8s.io.b3Blbi1zZXNhbWU";
    let request = Request::get(format!("{ROOT}/widgets/a/talk"))
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
        .header("Sec-WebSocket-Protocol", format!("{token}, own.example.com"));
    let response = server.handle_as(None, request.body(Bytes::new()).unwrap()).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, r#"["own.example.com"]"#);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_is_refused_before_the_other_server_is_asked() {
    let server = aggregating(|_| async { panic!("asked") });
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets")).body(Bytes::new()).unwrap();
    let response = server.handle_as(Some(&User::new("jane", ["staff"])), request).await;
    assert_eq!(response.status(), 403);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_streamed_both_ways() {
    let server = aggregating(|request: Request<Incoming>| async move {
        Response::new(request.into_body().map_err(io::Error::other).boxed_unsync())
    });
    register(&server).await;
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
    let pieces = stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((Ok::<_, io::Error>(Frame::data(piece)), receiver))
    });
    let request = Request::post(format!("{ROOT}/widgets"))
        .body(StreamBody::new(Box::pin(pieces)))
        .unwrap();
    let response = tower::Service::call(&mut server.service(), request);
    sender.send(Bytes::from_static(b"first")).await.unwrap();
    let mut body = response.await.unwrap().into_body();
    // The answer to the first piece is there before the second is sent.
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "first");
    sender.send(Bytes::from_static(b"second")).await.unwrap();
    drop(sender);
    assert_eq!(body.collect().await.unwrap().to_bytes(), "second");
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_while_others_are_answered() {
    let server = aggregating(|request: Request<Incoming>| async move {
        if request.uri().query() != Some("watch=1") {
            return json_answer(&json!({"kind": "WidgetList"}));
        }
        let frame = Ok(Frame::data(Bytes::from_static(b"{\"type\":\"ADDED\"}\n")));
        let frames = futures_util::StreamExt::chain(stream::iter([frame]), stream::pending());
        Response::new(StreamBody::new(frames).boxed_unsync())
    });
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets?watch=1"))
        .body(Bytes::new())
        .unwrap();
    let mut watch = server.handle(request).await.into_body();
    let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(frame, "{\"type\":\"ADDED\"}\n");
    assert_eq!(ask(&server, "GET", &format!("{ROOT}/widgets"), "").await.0, 200);
    // A watch has no deadline.
    let silent = tokio::time::timeout(Duration::from_hours(1), watch.frame()).await;
    assert!(silent.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_upgraded_connection_passes_bytes_on() {
    let server = aggregating(|mut request: Request<Incoming>| async move {
        let connection = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut connection = TokioIo::new(connection.await.unwrap());
            let mut heard = [0; 5];
            connection.read_exact(&mut heard).await.unwrap();
            connection.write_all(&heard).await.unwrap();
            connection.shutdown().await.unwrap();
        });
        Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header("Connection", "Upgrade")
            .header("Upgrade", "echo")
            .body(full(String::new()))
            .unwrap()
    });
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets/a/talk"))
        .header("Connection", "Upgrade")
        .header("Upgrade", "echo");
    let response = server.handle(request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), 101);
    assert_eq!(response.headers()["upgrade"], "echo");
    assert!(!response.headers().contains_key("audit-id"));
    let mut connection = response.into_body().into_connection().unwrap();
    connection.write_all(b"hello").await.unwrap();
    let mut heard = Vec::new();
    connection.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"hello");
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_has_a_minute() {
    let server = aggregating(|_| async { std::future::pending().await });
    register(&server).await;
    let began = tokio::time::Instant::now();
    let (code, body) = ask(&server, "GET", &format!("{ROOT}/widgets"), "").await;
    assert_eq!((code.as_u16(), began.elapsed().as_secs()), (504, 60), "{body}");
    let began = tokio::time::Instant::now();
    let (code, body) = ask(&server, "GET", ROOT, "").await;
    assert_eq!((code.as_u16(), began.elapsed().as_secs()), (503, 5));
    assert_eq!(body, "error trying to reach service: context deadline exceeded\n");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_is_noticed_and_one_that_comes_too() {
    let server = aggregating(|_| async { json_answer(&json!({})) });
    register(&server).await;
    server.forget_service("default", "widgets", 443);
    let condition = available(&server, "False").await;
    assert_eq!(condition["reason"], "ServiceNotFound");
    assert_eq!(condition["message"], r#"service/widgets in "default" is not present"#);
    let (code, body) = ask(&server, "GET", &format!("{ROOT}/widgets"), "").await;
    assert_eq!((code.as_u16(), body.as_str()), (503, "service unavailable\n"));
    serve(&server, |_| async { json_answer(&json!({})) });
    assert_eq!(available(&server, "True").await["reason"], "Passed");
    assert_eq!(ask(&server, "GET", &format!("{ROOT}/widgets"), "").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_the_aggregated_apis_of_its_server() {
    let server = aggregating(|_| async { json_answer(&json!({"kind": "Widget"})) });
    register(&server).await;
    let fork = server.fork();
    let gone = format!("{API_SERVICES}/v1.widgets.example.com");
    assert_eq!(ask(&server, "DELETE", &gone, "").await.0, 200);
    assert_eq!(ask(&server, "GET", &format!("{ROOT}/widgets/a"), "").await.0, 404);
    assert_eq!(ask(&fork, "GET", &format!("{ROOT}/widgets/a"), "").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn the_resources_of_another_server_are_discovered() {
    let server = aggregating(|request: Request<Incoming>| async move {
        match request.uri().path() {
            "/openapi/v3" => json_answer(
                &json!({"paths": {"apis/widgets.example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/widgets.example.com/v1?hash=1"}}}),
            ),
            "/openapi/v3/apis/widgets.example.com/v1" => json_answer(&json!({"openapi": "3.0.0"})),
            "/openapi/v2" => json_answer(&json!({
                "swagger": "2.0",
                "paths": {"/apis/widgets.example.com/v1/widgets": {"get": {"schema": {"$ref": "#/definitions/Widget"}}}, "/other": {}},
                "definitions": {"Widget": {"type": "object"}},
            })),
            _ => super::support::text_answer(404, "404 page not found"),
        }
    });
    register(&server).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (_, groups) = ask(&server, "GET", "/apis", "").await;
    assert!(groups.contains(r#""name":"widgets.example.com""#));
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
    let items = document["items"].as_array().unwrap();
    let group = items
        .iter()
        .find(|item| item["metadata"]["name"] == "widgets.example.com")
        .unwrap();
    assert_eq!(group["versions"][0]["freshness"], "Current");
    assert_eq!(group["versions"][0]["resources"][0]["resource"], "widgets");
    let (_, index) = ask(&server, "GET", "/openapi/v3", "").await;
    assert!(index.contains("/openapi/v3/apis/widgets.example.com/v1?hash=1"));
    let (code, document) = ask(&server, "GET", "/openapi/v3/apis/widgets.example.com/v1?hash=1", "").await;
    assert_eq!((code.as_u16(), document.as_str()), (200, r#"{"openapi":"3.0.0"}"#));
    let (_, swagger) = ask(&server, "GET", "/openapi/v2", "").await;
    let swagger: Value = serde_json::from_str(&swagger).unwrap();
    assert_eq!(swagger["definitions"]["Widget"]["type"], "object");
    assert!(
        swagger["paths"].get("/apis/widgets.example.com/v1/widgets").is_some()
            && swagger["paths"].get("/other").is_none()
    );
}

#[tokio::test]
async fn groups_come_in_the_order_of_their_priorities() {
    let server = ApiServer::new(Options::new());
    for (group, priority) in [("low.example.com", 1), ("high.example.com", 19_000)] {
        let mut service = api_service(group);
        service["spec"]["groupPriorityMinimum"] = priority.into();
        assert_eq!(ask(&server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    }
    let (_, groups) = ask(&server, "GET", "/apis", "").await;
    let groups: Value = serde_json::from_str(&groups).unwrap();
    let names: Vec<&str> = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|group| group["name"].as_str())
        .collect();
    assert_eq!(names[0], "apiregistration.k8s.io");
    assert_eq!(names[1], "high.example.com");
    assert_eq!(names.last(), Some(&"low.example.com"));
}
