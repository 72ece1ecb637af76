//! Clients that hold connections to Pods and do not behave: what they hold is bounded, and ends.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, ExecEnd, ListenOptions, Options};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::websocket::connect;

/// Longer than any step takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);
const POD: &str = "/api/v1/namespaces/default/pods/web";

async fn create(server: &ApiServer, path: &str, object: Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let response = server.handle(request.body(object.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
}

/// A server with a Pod whose commands write without end if they are called `yes`, and nothing otherwise; and what ends when no command
/// runs any more.
async fn server() -> (ApiServer, mpsc::Receiver<()>) {
    let server = ApiServer::new(Options::new());
    create(&server, "/api/v1/nodes", json!({ "metadata": { "name": "n" } })).await;
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i" }] },
    });
    create(&server, "/api/v1/namespaces/default/pods", pod).await;
    let (running, ended) = mpsc::channel(1);
    server.on_exec("default", "web", move |command, streams| {
        let running = running.clone();
        async move {
            // All of the streams are held, also those that are not used.
            let (_running, mut streams) = (running, streams);
            while command.command[0] == "yes" && streams.stdout.write_all(&[b'y'; 4096]).await.is_ok() {}
            std::future::pending().await
        }
    });
    (server, ended)
}

/// Waits until no command runs any more. Nobody answers commands afterwards.
async fn end(server: &ApiServer, ended: mpsc::Receiver<()>) {
    end_within(PATIENCE, server, ended).await;
}

async fn end_within(patience: Duration, server: &ApiServer, mut ended: mpsc::Receiver<()>) {
    server.on_exec("default", "web", |_, _| async { ExecEnd::Exited(0) });
    assert_eq!(timeout(patience, ended.recv()).await.expect("the command ends"), None);
}

fn exec(command: &str) -> String {
    format!("{POD}/exec?command={command}&stdin=true&stdout=true")
}

async fn open(server: &ApiServer, command: &str) -> DuplexStream {
    let request = Request::get(exec(command))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", "v5.channel.k8s.io");
    let response = server.handle(request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    response.into_body().into_connection().expect("a connection")
}

#[tokio::test]
async fn commands_end_with_their_listener() {
    let (server, ended) = server().await;
    let listener = server.listen(ListenOptions::default()).await.unwrap();
    let mut connection = connect(&listener, &exec("sleep")).await;
    assert_eq!(connection.read_u8().await.unwrap(), 0x82);
    timeout(PATIENCE, listener.shutdown())
        .await
        .expect("no command keeps the listener");
    end(&server, ended).await;
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, connection.read_to_end(&mut rest))
        .await
        .expect("an end");
}

#[tokio::test]
async fn a_client_that_stops_reading_is_disconnected_and_its_command_ends() {
    let (server, ended) = server().await;
    let patience = Duration::from_millis(100);
    let listener = server
        .listen(ListenOptions::default().write_timeout(patience))
        .await
        .unwrap();
    let unread = connect(&listener, &exec("yes")).await;
    // Sooner than a ping, which is written every 30 seconds, finds out.
    end_within(PATIENCE / 3, &server, ended).await;
    drop(unread);
}

#[tokio::test]
async fn a_client_that_stops_reading_its_watch_is_disconnected() {
    const WATCHES: &str = "scope=\"namespace\",subresource=\"\",verb=\"WATCH\",version=\"v1\"}";
    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let server = ApiServer::new(Options::new());
    let patience = Duration::from_millis(100);
    let listener = server
        .listen(ListenOptions::default().write_timeout(patience))
        .await
        .unwrap();
    let unread = connect(&listener, &format!("{CONFIG_MAPS}?watch=true")).await;
    let has = async |count: u32| {
        let request = Request::get("/metrics").body(Bytes::new()).unwrap();
        let metrics = server.handle(request).await.into_body().collect().await.unwrap();
        let metrics = String::from_utf8(metrics.to_bytes().to_vec()).unwrap();
        metrics.contains(&format!("{WATCHES} {count}\n"))
    };
    assert!(has(1).await, "the watch is not counted");
    let disconnected = async {
        let mut number = 0;
        while !has(0).await {
            // More than any socket buffers, but not without end.
            if number < 40 {
                let object =
                    json!({ "metadata": { "name": format!("c{number}") }, "data": { "k": "x".repeat(1_000_000) } });
                create(&server, CONFIG_MAPS, object).await;
                number += 1;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, disconnected).await.expect("the watch goes on");
    drop(unread);
}

#[tokio::test]
async fn a_command_whose_client_is_gone_ends() {
    let (server, ended) = server().await;
    let listener = server.listen(ListenOptions::default()).await.unwrap();
    for command in ["yes", "sleep"] {
        drop(connect(&listener, &exec(command)).await);
        drop(open(&server, command).await);
    }
    end(&server, ended).await;
}

#[tokio::test]
async fn a_frame_that_is_too_large_ends_the_connection_before_it_is_read() {
    let (server, ended) = server().await;
    let mut connection = open(&server, "sleep").await;
    let head = [&[0x82, 0xff][..], &(1_u64 << 40).to_be_bytes(), &[0; 4]].concat();
    connection.write_all(&head).await.unwrap();
    let mut rest = Vec::new();
    timeout(PATIENCE, connection.read_to_end(&mut rest))
        .await
        .expect("an end")
        .unwrap();
    assert!(rest.len() < 16, "{rest:?}");
    end(&server, ended).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_command_does_not_read_makes_its_client_wait() {
    let (server, ended) = server().await;
    let mut connection = open(&server, "sleep").await;
    let mut frame = vec![0x82, 0xfe, 0x40, 0x01, 0, 0, 0, 0, 0];
    frame.extend_from_slice(&[b'x'; 0x4000]);
    let mut sent = 0;
    while timeout(Duration::from_secs(1), connection.write_all(&frame))
        .await
        .is_ok()
    {
        sent += frame.len();
        assert!(sent < 1 << 20, "a megabyte is held for a command that reads nothing");
    }
    drop(connection);
    end(&server, ended).await;
}

/// Bytes of any kind are no reason for more than an end.
#[tokio::test]
async fn what_is_no_protocol_ends_the_connection() {
    let (server, _ended) = server().await;
    for (upgrade, path) in [
        ("SPDY/3.1", "exec?command=sleep&stdout=true"),
        ("websocket", "exec?command=sleep&stdout=true"),
    ] {
        let request = Request::get(format!("{POD}/{path}"))
            .header("connection", "Upgrade")
            .header("upgrade", upgrade)
            .header("x-stream-protocol-version", "v4.channel.k8s.io")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let response = server.handle(request.body(Bytes::new()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        let mut connection = response.into_body().into_connection().expect("a connection");
        let garbage: Vec<u8> = (0..100_000_u32)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8 | 0x80)
            .collect();
        // It may end before all was written.
        let _ = timeout(PATIENCE, connection.write_all(&garbage))
            .await
            .expect("nothing waits");
        let _ = connection.shutdown().await;
        let mut rest = Vec::new();
        let _ = timeout(PATIENCE, connection.read_to_end(&mut rest))
            .await
            .expect("an end");
    }
}

#[tokio::test]
async fn thousands_of_idle_commands_are_held_beside_each_other() {
    let (server, ended) = server().await;
    let mut connections = Vec::new();
    for _ in 0..2_000 {
        let mut connection = open(&server, "sleep").await;
        // The message that says that the connection stands.
        let mut first = [0; 3];
        connection.read_exact(&mut first).await.unwrap();
        assert_eq!(first, [0x82, 1, 1]);
        connections.push(connection);
    }
    let deletion = Request::delete(format!("{POD}?gracePeriodSeconds=0"))
        .body(Bytes::new())
        .unwrap();
    assert_eq!(server.handle(deletion).await.status(), StatusCode::OK);
    for connection in &mut connections {
        let mut status = vec![0; 2];
        timeout(PATIENCE, connection.read_exact(&mut status))
            .await
            .expect("an end")
            .unwrap();
        assert_eq!(status[0], 0x82);
    }
    end(&server, ended).await;
}
