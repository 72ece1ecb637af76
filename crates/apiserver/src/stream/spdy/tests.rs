//! Sessions as a client sees them.

mod recorded;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::timeout;

use super::frame::{Decoder, Received};
use super::headers::{Compressor, Headers};
use super::session::{self, Streams};
use crate::server::ApiServer;
use crate::server::options::Options;
use crate::stream::exec::ExecEnd;

/// Longer than any step takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);
const POD: &str = "/api/v1/namespaces/default/pods/web";

/// A client of SPDY.
struct Client {
    connection: DuplexStream,
    compressor: Compressor,
    decoder: Decoder,
    buffer: BytesMut,
    next: u32,
}

impl Client {
    fn new(connection: DuplexStream) -> Self {
        Client {
            connection,
            compressor: Compressor::new(),
            decoder: Decoder::new(),
            buffer: BytesMut::new(),
            next: 1,
        }
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.connection.write_all(bytes).await.unwrap();
    }

    async fn control(&mut self, kind: u8, flags: u8, payload: &[u8]) {
        let mut frame = vec![0x80, 3, 0, kind, flags, 0];
        frame.extend_from_slice(&(payload.len() as u16).to_be_bytes());
        frame.extend_from_slice(payload);
        self.write(&frame).await;
    }

    /// Opens a stream, and says its number.
    async fn open(&mut self, headers: &[(&str, &str)]) -> u32 {
        let stream = self.next;
        self.next += 2;
        self.open_as(stream, headers).await;
        stream
    }

    async fn open_as(&mut self, stream: u32, headers: &[(&str, &str)]) {
        let block = self.compressor.compress(&Headers::of(headers));
        let payload = [&stream.to_be_bytes()[..], &[0; 6], &block].concat();
        self.control(1, 0, &payload).await;
    }

    async fn send(&mut self, stream: u32, payload: &[u8], fin: bool) {
        let mut frame = stream.to_be_bytes().to_vec();
        frame.extend_from_slice(&(u32::from(fin) << 24 | payload.len() as u32).to_be_bytes());
        frame.extend_from_slice(payload);
        self.write(&frame).await;
    }

    /// The next frame that is no reply, or `None` where the connection ends.
    async fn receive(&mut self) -> Option<Received> {
        loop {
            let received = self.receive_any().await;
            if !matches!(received, Some(Received::SynReply(_))) {
                return received;
            }
        }
    }

    /// The next frame, or `None` where the connection ends.
    async fn receive_any(&mut self) -> Option<Received> {
        let receiving = async {
            loop {
                match self.decoder.decode(&mut self.buffer).unwrap() {
                    Some(Received::Ignored) => {}
                    Some(received) => return Some(received),
                    None => {
                        if self.connection.read_buf(&mut self.buffer).await.unwrap() == 0 {
                            return None;
                        }
                    }
                }
            }
        };
        timeout(PATIENCE, receiving).await.expect("a frame in time")
    }

    /// All that is said over streams up to the end, in their order.
    async fn rest(&mut self, streams: &[u32]) -> Vec<String> {
        let mut texts = vec![String::new(); streams.len()];
        loop {
            match self.receive().await {
                Some(Received::Data { stream, payload, fin }) => {
                    let index = streams.iter().position(|id| *id == stream).expect("one of the streams");
                    texts[index] += &String::from_utf8_lossy(&payload);
                    if fin {
                        texts[index] += "|";
                    }
                }
                Some(Received::RstStream(stream)) => {
                    let index = streams.iter().position(|id| *id == stream).expect("one of the streams");
                    texts[index] += "!";
                }
                Some(Received::GoAway) | None => return texts,
                Some(other) => panic!("{other:?}"),
            }
        }
    }
}

/// A session whose handler sends back what it receives.
fn echoing() -> Client {
    let (client, server) = tokio::io::duplex(1024);
    tokio::spawn(session::serve(server, |mut streams: Streams| async move {
        let mut echoes = tokio::task::JoinSet::new();
        while let Some(stream) = streams.next().await {
            stream.sender.accept().await.unwrap();
            echoes.spawn(async move {
                let _ = stream.sender.send_all(stream.reader).await;
                let _ = stream.sender.finish().await;
            });
        }
    }));
    Client::new(client)
}

#[tokio::test]
async fn streams_go_both_ways_and_each_way_ends_for_itself() {
    let mut client = echoing();
    let (one, two) = (client.open(&[]).await, client.open(&[]).await);
    client.send(two, b"world", false).await;
    let data = |stream, payload: &'static str, fin| {
        let payload = Bytes::from_static(payload.as_bytes());
        Some(Received::Data { stream, payload, fin })
    };
    assert_eq!(client.receive().await, data(two, "world", false));
    client.send(one, b"hello", true).await;
    assert_eq!(client.receive().await, data(one, "hello", false));
    assert_eq!(client.receive().await, data(one, "", true));
    client.send(two, b"!", true).await;
    assert_eq!(client.receive().await, data(two, "!", false));
    assert_eq!(client.receive().await, data(two, "", true));
}

#[tokio::test]
async fn pings_are_answered_and_what_a_session_need_not_mind_is_ignored() {
    let mut client = echoing();
    client.control(4, 0, &[0, 0, 0, 0]).await;
    client.control(9, 0, &[0, 0, 0, 0, 0, 1, 0, 0]).await;
    client.control(6, 0, &[0, 0, 0, 2]).await;
    client.send(77, b"to nobody", false).await;
    client.control(3, 0, &[0, 0, 0, 77, 0, 0, 0, 5]).await;
    client.control(6, 0, &[0, 0, 0, 1]).await;
    assert_eq!(client.receive().await, Some(Received::Ping(1)));
}

#[tokio::test]
async fn streams_have_odd_numbers_that_grow() {
    let mut client = echoing();
    for wrong in [2, 0] {
        client.open_as(wrong, &[]).await;
        assert_eq!(client.receive().await, Some(Received::RstStream(wrong)));
    }
    client.open_as(5, &[]).await;
    client.open_as(3, &[]).await;
    assert_eq!(client.receive().await, Some(Received::RstStream(3)));
    client.open_as(5, &[]).await;
    assert_eq!(client.receive().await, Some(Received::RstStream(5)));
}

#[tokio::test]
async fn what_is_no_spdy_ends_the_session() {
    let mut client = echoing();
    client.write(&[0x80, 2, 0, 1, 0, 0, 0, 0]).await;
    assert_eq!(client.receive().await, Some(Received::GoAway));
    assert_eq!(client.receive().await, None);
}

#[tokio::test]
async fn a_client_that_opens_too_many_streams_is_refused_more() {
    let (client, server) = tokio::io::duplex(1024);
    tokio::spawn(session::serve(server, |mut streams: Streams| async move {
        let mut held = Vec::new();
        while let Some(stream) = streams.next().await {
            held.push(stream);
        }
    }));
    let mut client = Client::new(client);
    for _ in 0..1024 {
        client.open(&[]).await;
    }
    let refused = client.open(&[]).await;
    assert_eq!(client.receive().await, Some(Received::RstStream(refused)));
    // One that ended makes room.
    client.send(1, b"", true).await;
    client.open(&[]).await;
    client.control(6, 0, &[0, 0, 0, 1]).await;
    assert_eq!(client.receive().await, Some(Received::Ping(1)));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_reads_makes_the_client_wait() {
    let (client, server) = tokio::io::duplex(1024);
    tokio::spawn(session::serve(server, |mut streams: Streams| async move {
        let _held = streams.next().await;
        std::future::pending::<()>().await;
    }));
    let mut client = Client::new(client);
    let stream = client.open(&[]).await;
    let mut sent = 0;
    let piece = [0; 16 * 1024];
    while timeout(Duration::from_secs(1), client.send(stream, &piece, false))
        .await
        .is_ok()
    {
        sent += piece.len();
        assert!(sent < 1 << 20, "the session holds a megabyte");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_written_to_now_and_then() {
    let mut client = echoing();
    client.open(&[]).await;
    assert!(matches!(client.receive().await, Some(Received::Ping(id)) if id % 2 == 0));
}

async fn create(server: &ApiServer, path: &str, object: Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let response = server.handle(request.body(object.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
}

/// A server with a Pod on a node, in which programs can be run.
async fn server() -> ApiServer {
    let server = ApiServer::new(Options::new());
    create(&server, "/api/v1/nodes", json!({ "metadata": { "name": "n" } })).await;
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i" }] },
    });
    create(&server, "/api/v1/namespaces/default/pods", pod).await;
    server.on_exec("default", "web", |command, mut streams| async move {
        match command.command[0].as_str() {
            "cat" => {
                assert!(command.stdin_ends);
                let _ = tokio::io::copy(&mut streams.stdin, &mut streams.stdout).await;
                ExecEnd::Exited(0)
            }
            "sizes" => {
                for _ in 0..2 {
                    let size = streams.resize.next().await.unwrap();
                    let text = format!("{}x{} ", size.width, size.height);
                    let _ = streams.stdout.write_all(text.as_bytes()).await;
                }
                ExecEnd::Exited(0)
            }
            "fail" => {
                let _ = streams.stdout.write_all(b"so far so good").await;
                let _ = streams.stderr.write_all(b"oh no").await;
                ExecEnd::Exited(3)
            }
            _ => std::future::pending().await,
        }
    });
    server.on_attach("default", "web", |target, mut streams| async move {
        let _ = streams.stdout.write_all(target.container.as_bytes()).await;
        let _ = tokio::io::copy(&mut streams.stdin, &mut streams.stdout).await;
        ExecEnd::Exited(7)
    });
    server.on_connect("default", "web", 80, |mut connection| async move {
        let mut asked = String::new();
        let _ = connection.read_to_string(&mut asked).await;
        let _ = connection.write_all(format!("you said {asked}").as_bytes()).await;
    });
    server
}

async fn ask(server: &ApiServer, path: &str, protocols: &[&str]) -> http::Response<crate::wire::body::Body> {
    let mut request = Request::post(format!("{POD}/{path}"))
        .header("connection", "Upgrade")
        .header("upgrade", "SPDY/3.1");
    for protocol in protocols {
        request = request.header("x-stream-protocol-version", *protocol);
    }
    server.handle(request.body(Bytes::new()).unwrap()).await
}

async fn connect(server: &ApiServer, path: &str, protocols: &[&str]) -> Client {
    let response = ask(server, path, protocols).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(
        response.headers()["x-stream-protocol-version"],
        *protocols.last().unwrap()
    );
    Client::new(response.into_body().into_connection().expect("a connection"))
}

const V4: &[&str] = &["v5.channel.k8s.io", "v4.channel.k8s.io"];

#[tokio::test]
async fn a_command_reads_until_the_client_ends_its_stream() {
    let server = server().await;
    let mut client = connect(&server, "exec?command=cat&stdin=true&stdout=true", V4).await;
    let error = client.open(&[("streamtype", "error")]).await;
    let stdin = client.open(&[("streamtype", "stdin")]).await;
    let stdout = client.open(&[("streamtype", "stdout")]).await;
    client.send(stdin, b"hello", true).await;
    let texts = client.rest(&[error, stdout]).await;
    assert_eq!(texts, [r#"{"status":"Success"}|"#, "hello|"]);
}

#[tokio::test]
async fn how_a_command_ends_is_told_as_the_version_of_the_protocol_wants_it() {
    let server = server().await;
    for (version, told) in [
        ("v4.channel.k8s.io", r#""reason":"NonZeroExitCode""#),
        ("v2.channel.k8s.io", "command terminated with exit code 3"),
        ("channel.k8s.io", "command terminated with exit code 3"),
    ] {
        let mut client = connect(&server, "exec?command=fail&stdout=true&stderr=true", &[version]).await;
        let stdout = client.open(&[("streamtype", "stdout")]).await;
        let stderr = client.open(&[("streamtype", "stderr")]).await;
        let error = client.open(&[("streamtype", "error")]).await;
        let texts = client.rest(&[stdout, stderr, error]).await;
        assert_eq!(texts[..2], ["so far so good|", "oh no|"]);
        assert!(texts[2].contains(told), "{version}: {}", texts[2]);
    }
}

#[tokio::test]
async fn a_terminal_has_sizes() {
    let server = server().await;
    let path = "exec?command=sizes&stdin=true&stdout=true&stderr=true&tty=true";
    let mut client = connect(&server, path, V4).await;
    let error = client.open(&[("streamtype", "error")]).await;
    client.open(&[("streamtype", "stdin")]).await;
    let stdout = client.open(&[("streamtype", "stdout")]).await;
    let resize = client.open(&[("streamtype", "resize")]).await;
    client.send(resize, br#"{"Width":80,"Hei"#, false).await;
    client.send(resize, br#"ght":24}"#, false).await;
    let first = client.receive().await;
    assert!(
        matches!(&first, Some(Received::Data { payload, .. }) if payload == "80x24 "),
        "{first:?}"
    );
    client.send(resize, br#"{"Width":100,"Height":30}"#, false).await;
    assert_eq!(client.rest(&[error, stdout]).await[1], "100x30 |");
}

#[tokio::test]
async fn a_client_attaches_to_a_process() {
    let server = server().await;
    let mut client = connect(&server, "attach?stdin=true&stdout=true", V4).await;
    let error = client.open(&[("streamtype", "error")]).await;
    let stdin = client.open(&[("streamtype", "stdin")]).await;
    let stdout = client.open(&[("streamtype", "stdout")]).await;
    client.send(stdin, b": hello", true).await;
    let texts = client.rest(&[error, stdout]).await;
    assert_eq!(texts, [r#"{"status":"Success"}|"#, "app: hello|"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_too_few_streams_is_not_waited_for() {
    let server = server().await;
    let mut client = connect(&server, "exec?command=cat&stdout=true", V4).await;
    client.open(&[("streamtype", "error")]).await;
    // The first ping may come before.
    let ended = async { while !matches!(client.receive().await, Some(Received::GoAway) | None) {} };
    assert!(timeout(PATIENCE, ended).await.is_ok());
}

#[tokio::test]
async fn a_command_ends_with_its_pod() {
    let server = server().await;
    let mut client = connect(&server, "exec?command=sleep&stdout=true", V4).await;
    let error = client.open(&[("streamtype", "error")]).await;
    let stdout = client.open(&[("streamtype", "stdout")]).await;
    client.control(6, 0, &[0, 0, 0, 1]).await;
    assert_eq!(client.receive().await, Some(Received::Ping(1)));
    let deletion = Request::delete(format!("{POD}?gracePeriodSeconds=0"))
        .body(Bytes::new())
        .unwrap();
    assert_eq!(server.handle(deletion).await.status(), StatusCode::OK);
    let texts = client.rest(&[error, stdout]).await;
    assert!(texts[0].contains("the Pod is gone"), "{texts:?}");
}

#[tokio::test]
async fn a_command_ends_when_its_client_goes() {
    let server = server().await;
    let (ended, mut end) = tokio::sync::mpsc::channel::<()>(1);
    server.on_exec("default", "web", move |_, _streams| {
        let held = ended.clone();
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let mut client = connect(&server, "exec?command=sleep&stdout=true", V4).await;
    client.open(&[("streamtype", "error")]).await;
    client.open(&[("streamtype", "stdout")]).await;
    client.control(6, 0, &[0, 0, 0, 1]).await;
    assert_eq!(client.receive().await, Some(Received::Ping(1)));
    drop(client);
    // Nobody but the command and what was registered holds the sender.
    server.on_exec("default", "web", |_, _| async { ExecEnd::Exited(0) });
    assert_eq!(timeout(PATIENCE, end.recv()).await.expect("the command ends"), None);
}

#[tokio::test]
async fn handshakes_are_refused_in_words() {
    let server = server().await;
    let query = "exec?command=cat&stdout=true";
    assert_eq!(ask(&server, query, &[]).await.status(), StatusCode::BAD_REQUEST);
    let refused = ask(&server, query, &["v9.channel.k8s.io"]).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let accepted: Vec<_> = refused
        .headers()
        .get_all("x-accepted-stream-protocol-versions")
        .iter()
        .collect();
    assert_eq!(accepted.len(), 4);
}

#[tokio::test]
async fn a_port_is_forwarded_with_each_pair_of_streams() {
    let server = server().await;
    let mut client = connect(&server, "portforward", &["portforward.k8s.io"]).await;
    let mut said = Vec::new();
    for (id, port) in [("0", "80"), ("1", "81"), ("2", "80")] {
        let headers = |kind| [("streamtype", kind), ("port", port), ("requestid", id)];
        let error = client.open(&headers("error")).await;
        let data = client.open(&headers("data")).await;
        client.send(error, b"", true).await;
        client.send(data, format!("hello {id}").as_bytes(), true).await;
        let (mut text, mut complaint, mut ends) = (String::new(), String::new(), 0);
        while ends < 2 {
            match client.receive().await.expect("a frame") {
                Received::Data { stream, payload, fin } => {
                    let payload = String::from_utf8_lossy(&payload).into_owned();
                    if stream == data {
                        text += &payload;
                    } else {
                        complaint += &payload;
                    }
                    ends += usize::from(fin);
                }
                Received::RstStream(_) => ends += 1,
                other => panic!("{other:?}"),
            }
        }
        said.push((text, complaint));
    }
    assert_eq!(said[0], ("you said hello 0".to_owned(), String::new()));
    assert_eq!(said[2].0, "you said hello 2");
    assert_eq!(said[1].0, "");
    assert!(
        said[1].1.starts_with("error forwarding port 81 to pod web, uid "),
        "{}",
        said[1].1
    );
    // A stream without a port is refused, and the session goes on.
    let nowhere = client.open(&[("streamtype", "data")]).await;
    assert_eq!(client.receive().await, Some(Received::RstStream(nowhere)));
}

#[tokio::test]
async fn forwarded_ports_end_with_their_pod() {
    let server = server().await;
    let mut client = connect(&server, "portforward", &["portforward.k8s.io"]).await;
    client.control(6, 0, &[0, 0, 0, 1]).await;
    assert_eq!(client.receive().await, Some(Received::Ping(1)));
    let deletion = Request::delete(format!("{POD}?gracePeriodSeconds=0"))
        .body(Bytes::new())
        .unwrap();
    assert_eq!(server.handle(deletion).await.status(), StatusCode::OK);
    assert_eq!(client.receive().await, Some(Received::GoAway));
}
