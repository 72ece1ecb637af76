//! Commands in containers, over WebSocket: what clients send and read, how commands end, and who may run them.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Body, ExecEnd, Options, User};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tower::Service as _;

use crate::kubectl::Kubectl;

/// Longer than any step takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);
const POD: &str = "/api/v1/namespaces/default/pods/web";

async fn create(server: &ApiServer, path: &str, object: Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let response = server.handle(request.body(object.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
}

/// A server with a Pod on a node, in which three programs can be run.
async fn server() -> ApiServer {
    server_with(Options::new()).await
}

async fn server_with(options: Options) -> ApiServer {
    let server = ApiServer::new(options);
    create(&server, "/api/v1/nodes", json!({ "metadata": { "name": "n" } })).await;
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i", "stdin": true }] },
    });
    create(&server, "/api/v1/namespaces/default/pods", pod).await;
    server.on_exec("default", "web", |command, mut streams| async move {
        match command.command[0].as_str() {
            "cat" => {
                let _ = tokio::io::copy(&mut streams.stdin, &mut streams.stdout).await;
                ExecEnd::Exited(0)
            }
            "fail" => {
                let _ = streams.stdout.write_all(b"so far so good").await;
                let _ = streams.stderr.write_all(b"oh no").await;
                ExecEnd::Exited(3)
            }
            "sleep" => std::future::pending().await,
            program => ExecEnd::Failed(format!("{}: {program} is not there", command.container)),
        }
    });
    server.on_attach("default", "web", |target, mut streams| async move {
        let _ = streams
            .stdout
            .write_all(format!("{}: ", target.container).as_bytes())
            .await;
        let _ = tokio::io::copy(&mut streams.stdin, &mut streams.stdout).await;
        ExecEnd::Exited(0)
    });
    server
}

fn asking(query: &str, protocol: &str) -> Request<Bytes> {
    let request = Request::get(format!("{POD}/exec?{query}"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", protocol);
    request.body(Bytes::new()).unwrap()
}

/// A message of the server: its channel and what it carries; the code of its end; `None` where the connection ends without one.
async fn message(connection: &mut (impl AsyncRead + Unpin)) -> Option<(u8, Vec<u8>)> {
    timeout(PATIENCE, message_or_ping(connection))
        .await
        .expect("a message in time")
}

/// The same, without a limit of time; a ping is a message of channel 254.
async fn message_or_ping(connection: &mut (impl AsyncRead + Unpin)) -> Option<(u8, Vec<u8>)> {
    let opcode = connection.read_u8().await.ok()? & 0x0f;
    let length = match connection.read_u8().await.ok()? {
        126 => u64::from(connection.read_u16().await.ok()?),
        127 => connection.read_u64().await.ok()?,
        length => u64::from(length),
    };
    let mut payload = vec![0; usize::try_from(length).ok()?];
    connection.read_exact(&mut payload).await.ok()?;
    match opcode {
        8 => Some((255, payload)),
        9 => Some((254, payload)),
        // An answer to a ping says nothing.
        10 => Box::pin(message_or_ping(connection)).await,
        _ => Some((payload.remove(0), payload)),
    }
}

fn client_frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x82, 0x80 | u8::try_from(payload.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(payload);
    frame
}

/// All messages up to the end, the streams joined.
async fn all(connection: &mut (impl AsyncRead + Unpin)) -> (String, String, Value) {
    let (mut stdout, mut stderr, mut status) = (Vec::new(), Vec::new(), Value::Null);
    loop {
        match message(connection).await.expect("an end in order") {
            (1, text) => stdout.extend(text),
            (2, text) => stderr.extend(text),
            (3, text) => status = serde_json::from_slice(&text).unwrap(),
            (255, code) => {
                assert_eq!(code, 1000_u16.to_be_bytes());
                let text = |bytes| String::from_utf8(bytes).unwrap();
                return (text(stdout), text(stderr), status);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_command_reads_what_the_client_sends_until_that_is_closed() {
    let server = server().await;
    let response = server
        .handle(asking("command=cat&stdin=true&stdout=true", "v5.channel.k8s.io"))
        .await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut connection = response.into_body().into_connection().expect("a connection");
    assert_eq!(message(&mut connection).await, Some((1, Vec::new())));
    connection.write_all(&client_frame(b"\0hello")).await.unwrap();
    assert_eq!(message(&mut connection).await, Some((1, b"hello".to_vec())));
    connection.write_all(&client_frame(&[255, 0])).await.unwrap();
    let (stdout, stderr, status) = all(&mut connection).await;
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""));
    assert_eq!(status, json!({ "metadata": {}, "status": "Success" }));
}

#[tokio::test(start_paused = true)]
async fn a_connection_over_which_only_pings_go_for_hours_is_closed() {
    let server = server().await;
    let begun = tokio::time::Instant::now();
    let response = server
        .handle(asking("command=cat&stdin=true&stdout=true", "v4.channel.k8s.io"))
        .await;
    let mut connection = response.into_body().into_connection().expect("a connection");
    assert_eq!(message(&mut connection).await, Some((1, Vec::new())));
    tokio::time::sleep(Duration::from_hours(1)).await;
    connection.write_all(&client_frame(b"\0hello")).await.unwrap();
    let mut heard = Vec::new();
    loop {
        match message(&mut connection).await.expect("an end in order") {
            // A ping of the server is answered, and the client sends its own.
            (254, _) => {
                let pong_and_ping = [0x8a, 0x80, 0, 0, 0, 0, 0x89, 0x80, 0, 0, 0, 0];
                connection.write_all(&pong_and_ping).await.unwrap();
            }
            (1, text) => heard.extend(text),
            (255, code) => {
                assert_eq!(code, 1000_u16.to_be_bytes());
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard, b"hello");
    // Virtual time: nothing was said since the end of the first hour.
    assert_eq!(begun.elapsed().as_secs() / 60, 5 * 60);
}

#[tokio::test]
async fn how_a_command_ends_is_told_in_a_status() {
    let server = server().await;
    let run = async |query: &str| {
        let response = server.handle(asking(query, "v4.channel.k8s.io")).await;
        let mut connection = response.into_body().into_connection().expect("a connection");
        all(&mut connection).await
    };
    let (stdout, stderr, status) = run("command=fail&stdout=true&stderr=true").await;
    assert_eq!((stdout.as_str(), stderr.as_str()), ("so far so good", "oh no"));
    assert_eq!(status["reason"], "NonZeroExitCode");
    assert_eq!(
        status["details"]["causes"],
        json!([{ "reason": "ExitCode", "message": "3" }])
    );
    // What was not asked for is not sent.
    let (stdout, stderr, _) = run("command=fail&stderr=true").await;
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", "oh no"));
    let (_, _, status) = run("command=nothing&stdout=true").await;
    assert_eq!(
        status["message"],
        "Internal error occurred: error executing command in container: app: nothing is not there"
    );
}

#[tokio::test]
async fn a_command_ends_with_its_pod() {
    let server = server().await;
    let response = server
        .handle(asking("command=sleep&stdout=true", "v5.channel.k8s.io"))
        .await;
    let mut connection = response.into_body().into_connection().expect("a connection");
    assert_eq!(message(&mut connection).await, Some((1, Vec::new())));
    let deletion = Request::delete(format!("{POD}?gracePeriodSeconds=0"))
        .body(Bytes::new())
        .unwrap();
    assert_eq!(server.handle(deletion).await.status(), StatusCode::OK);
    let (_, _, status) = all(&mut connection).await;
    assert_eq!(status["status"], "Failure");
}

/// What happened meanwhile is not in the history, which keeps nothing here.
#[tokio::test]
async fn a_command_ends_with_its_pod_although_nobody_remembers_the_end() {
    let server = server_with(Options::new().history_bytes(0)).await;
    let asked = "command=sleep&stdout=true";
    let response = server.handle(asking(asked, "v5.channel.k8s.io")).await;
    let mut connection = response.into_body().into_connection().expect("a connection");
    assert_eq!(message(&mut connection).await, Some((1, Vec::new())));
    let deletion = Request::delete(format!("{POD}?gracePeriodSeconds=0"));
    let deletion = server.handle(deletion.body(Bytes::new()).unwrap());
    assert_eq!(deletion.await.status(), StatusCode::OK);
    for number in 0..100 {
        let pod = json!({
            "metadata": { "name": format!("other-{number}") },
            "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i" }] },
        });
        create(&server, "/api/v1/namespaces/default/pods", pod).await;
    }
    let (_, _, status) = all(&mut connection).await;
    assert_eq!(status["status"], "Failure");
}

async fn refusal(response: Response<Body>) -> (u16, String) {
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    (code, status["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_get_takes_the_right_to_create_and_a_pod_without_programs_says_so() {
    let server = server().await;
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"] }],
    });
    create(&server, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "robot" }],
    });
    create(
        &server,
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        binding,
    )
    .await;
    let robot = User::service_account("default", "robot");
    let response = server
        .handle_as(Some(&robot), asking("command=cat&stdout=true", "v5.channel.k8s.io"))
        .await;
    assert_eq!(refusal(response).await, (403, "pods \"web\" is forbidden: ".to_owned()));

    let fork = ApiServer::new(Options::new());
    create(&fork, "/api/v1/nodes", json!({ "metadata": { "name": "n" } })).await;
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i" }] },
    });
    create(&fork, "/api/v1/namespaces/default/pods", pod).await;
    let response = fork
        .handle(asking("command=cat&stdout=true", "v5.channel.k8s.io"))
        .await;
    let (code, message) = refusal(response).await;
    assert_eq!(code, 501);
    assert!(
        message.contains("are simulated") && message.contains("on_exec"),
        "{message}"
    );
}

/// As `kube::Api::exec` finds the connection.
#[tokio::test]
async fn clients_of_the_tower_service_upgrade_as_over_a_socket() {
    let server = server().await;
    let request = asking("command=fail&stdout=true&stderr=true", "v4.channel.k8s.io");
    let mut response = server.service().call(request.map(Body::from)).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut connection = TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
    let (stdout, stderr, status) = all(&mut connection).await;
    assert_eq!((stdout.as_str(), stderr.as_str()), ("so far so good", "oh no"));
    assert_eq!(status["reason"], "NonZeroExitCode");

    let mut plain = asking("command=fail&stdout=true", "v4.channel.k8s.io");
    *plain.uri_mut() = format!("{POD}-none/exec").parse().unwrap();
    let response = server.service().call(plain.map(Body::from)).await.unwrap();
    assert_eq!(refusal(response).await.0, 404);
}

#[tokio::test]
async fn kubectl_runs_commands() {
    let Some(kubectl) = Kubectl::of(&server().await).await else {
        return;
    };
    for kubectl in [kubectl.with(&[]), kubectl.over_spdy()] {
        let piped = kubectl.run(&["exec", "-i", "web", "--", "cat"], "hello\n").await;
        assert_eq!(piped, (Some(0), "hello\n".to_owned(), String::new()));
        let (code, stdout, stderr) = kubectl.run(&["exec", "web", "-c", "app", "--", "fail"], "").await;
        assert_eq!((code, stdout.as_str()), (Some(3), "so far so good"));
        assert_eq!(stderr, "oh nocommand terminated with exit code 3\n");
        let (code, _, stderr) = kubectl.run(&["exec", "web", "--", "nothing"], "").await;
        assert_eq!(code, Some(1));
        assert!(
            stderr.contains("error executing command in container: app: nothing is not there"),
            "{stderr}"
        );
    }
}

/// What an older kubectl says, which knows no WebSocket: `$KUBECTL_SPDY` names one before 1.31.
#[tokio::test]
async fn an_old_kubectl_runs_commands() {
    let Some(old) = std::env::var_os("KUBECTL_SPDY") else {
        kubewright_test_support::skip("KUBECTL_SPDY names no kubectl before 1.31");
        return;
    };
    let kubectl = Kubectl::named(old.into(), &server().await).await;
    let piped = kubectl.run(&["exec", "-i", "web", "--", "cat"], "hello\n").await;
    assert_eq!(piped, (Some(0), "hello\n".to_owned(), String::new()));
    let (code, stdout, stderr) = kubectl.run(&["exec", "web", "--", "fail"], "").await;
    assert_eq!((code, stdout.as_str()), (Some(3), "so far so good"));
    assert_eq!(stderr, "oh nocommand terminated with exit code 3\n");
    let attached = kubectl.run(&["attach", "-i", "web"], "hello\n").await;
    assert_eq!(
        (attached.0, attached.1.as_str()),
        (Some(0), "app: hello\n"),
        "{}",
        attached.2
    );
}

#[tokio::test]
async fn kubectl_attaches_to_a_process() {
    let Some(kubectl) = Kubectl::of(&server().await).await else {
        return;
    };
    for kubectl in [kubectl.with(&[]), kubectl.over_spdy()] {
        let (code, stdout, stderr) = kubectl.run(&["attach", "-i", "web"], "hello\n").await;
        assert_eq!((code, stdout.as_str()), (Some(0), "app: hello\n"), "{stderr}");
    }
}

/// With a terminal of its own, which `script` (of util-linux) makes.
#[tokio::test]
async fn kubectl_has_a_terminal() {
    let server = server().await;
    server.on_exec("default", "web", |command, mut streams| async move {
        let size = streams.resize.next().await;
        let text = format!("{} {size:?}\r\n", command.tty);
        let _ = streams.stdout.write_all(text.as_bytes()).await;
        ExecEnd::Exited(0)
    });
    let Some(kubectl) = Kubectl::of(&server).await else {
        return;
    };
    if tokio::process::Command::new("script")
        .arg("--version")
        .output()
        .await
        .is_err()
    {
        kubewright_test_support::skip("there is no `script` to make a terminal with");
        return;
    }
    for kubectl in [kubectl.with(&[]), kubectl.over_spdy()] {
        let (code, stdout, _) = kubectl.run_in_terminal("exec -it web -- size", 100, 30).await;
        assert_eq!(code, Some(0), "{stdout}");
        let expected = "true Some(TerminalSize { width: 100, height: 30 })";
        assert!(stdout.contains(expected), "{stdout}");
    }
}

#[tokio::test]
async fn a_terminal_has_sizes_and_one_stream_of_output() {
    let server = server().await;
    server.on_exec("default", "web", |_, mut streams| async move {
        let _ = streams.stderr.write_all(b"thrown away").await;
        while let Some(size) = streams.resize.next().await {
            let text = format!("{}x{}", size.width, size.height);
            let _ = streams.stdout.write_all(text.as_bytes()).await;
        }
        ExecEnd::Exited(0)
    });
    let query = "command=sizes&stdin=true&stdout=true&stderr=true&tty=true";
    let response = server.handle(asking(query, "v5.channel.k8s.io")).await;
    let mut connection = response.into_body().into_connection().expect("a connection");
    assert_eq!(message(&mut connection).await, Some((1, Vec::new())));
    for (sent, told) in [
        (&br#"{"Width":80,"Height":24}"#[..], "80x24"),
        (br#"{"Width":100,"Height":30}"#, "100x30"),
    ] {
        connection
            .write_all(&client_frame(&[b"\x04", sent].concat()))
            .await
            .unwrap();
        assert_eq!(message(&mut connection).await, Some((1, told.into())));
    }
    connection.write_all(&client_frame(&[255, 4])).await.unwrap();
    let (stdout, stderr, status) = all(&mut connection).await;
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""));
    assert_eq!(status["status"], "Success");
}

#[tokio::test]
async fn a_client_attaches_over_websocket() {
    let server = server().await;
    let mut request = asking("stdin=true&stdout=true", "v5.channel.k8s.io");
    *request.uri_mut() = format!("{POD}/attach?stdin=true&stdout=true").parse().unwrap();
    let response = server.handle(request).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut connection = response.into_body().into_connection().expect("a connection");
    connection.write_all(&client_frame(b"\0hello")).await.unwrap();
    connection.write_all(&client_frame(&[255, 0])).await.unwrap();
    let (stdout, _, status) = all(&mut connection).await;
    assert_eq!(
        (stdout.as_str(), status["status"].as_str()),
        ("app: hello", Some("Success"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_command_ends_when_the_token_of_its_client_expires() {
    let server = server().await;
    let account = json!({ "metadata": { "name": "robot" } });
    create(&server, "/api/v1/namespaces/default/serviceaccounts", account).await;
    let binding = json!({
        "metadata": { "name": "robot" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "robot" }],
    });
    create(
        &server,
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        binding,
    )
    .await;
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 600 },
    });
    let request = Request::post("/api/v1/namespaces/default/serviceaccounts/robot/token")
        .header("content-type", "application/json")
        .body(review.to_string().into())
        .unwrap();
    let body = server
        .handle(request)
        .await
        .into_body()
        .collect()
        .await
        .unwrap()
        .to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let token = review["status"]["token"].as_str().unwrap();
    let mut request = asking("command=sleep&stdout=true", "v5.channel.k8s.io");
    let bearer = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert("authorization", bearer);
    let begin = tokio::time::Instant::now();
    let response = server.handle_as(None, request).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut connection = response.into_body().into_connection().expect("a connection");
    // Pings come meanwhile, which a client answers or not.
    let status = loop {
        match message_or_ping(&mut connection).await {
            Some((3, status)) => break serde_json::from_slice::<Value>(&status).unwrap(),
            Some(_) => {}
            None => panic!("no end in order"),
        }
    };
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("the token of the client has expired")
    );
    let took = begin.elapsed();
    assert!(
        Duration::from_mins(9) < took && took < Duration::from_mins(11),
        "{took:?}"
    );
}
