//! A Pod for the scripts of `conformance/clients`: it prints lines, knows some commands, and answers HTTP on a port.
//!
//! ```text
//! answering_pod serve KUBECONFIG         an API server with such a Pod, behind which is only this program
//! answering_pod listen PORT              the process of such a Pod, for a server that runs processes; 0 picks a free port
//! answering_pod cat|read-line|fail       a command in it
//! ```
//!
//! `serve` prints a line once it answers and the kubeconfig is written, and runs until its standard input ends. The Pod is `default/web`
//! with the container `app` and port 8080. It prints a line `tick N` ten times a second, and has the one program `app`: `app cat`, `app
//! read-line` (prints a line of its input) and `app fail` (prints something on both streams, and ends with 3).

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request};
use kubewright_apiserver::{ApiServer, ExecCommand, ExecEnd, ExecStreams, ListenOptions, Options};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, ReadBuf};
use tokio::net::TcpListener;

const NAMESPACE: &str = "default";
const POD: &str = "web";
const CONTAINER: &str = "app";
const PROGRAM: &str = "app";
const PORT: u16 = 8080;

const TICK: Duration = Duration::from_millis(100);
const USAGE: &str = "usage: answering_pod serve KUBECONFIG | listen PORT | cat | read-line | fail";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", kubeconfig] => serve(Path::new(kubeconfig)).await,
        ["listen", port] => listen(port.parse()?).await,
        [command] => {
            let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
            let code = run(command, Blocking(stdin), Blocking(stdout), Blocking(stderr)).await;
            std::process::exit(code.ok_or(USAGE)?)
        }
        _ => Err(USAGE.into()),
    }
}

/// An API server with the Pod.
async fn serve(kubeconfig: &Path) -> Result<(), Box<dyn Error>> {
    let server = ApiServer::new(Options::new());
    start_pod(&server).await?;
    server.on_exec(NAMESPACE, POD, exec);
    server.on_connect(NAMESPACE, POD, PORT, |connection| async move {
        // A client that goes away is none of the Pod's business.
        let _ = answer(connection).await;
    });
    tokio::spawn(tick(server.pod_log(NAMESPACE, POD, CONTAINER)));

    let listener = server.listen(ListenOptions::default()).await?;
    std::fs::write(kubeconfig, listener.kubeconfig())?;
    println!("Kubernetes API server on {}", listener.url());
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin().lock(), &mut io::sink())).await??;
    listener.shutdown().await;
    Ok(())
}

/// A node, and the Pod on it as a kubelet would report it.
async fn start_pod(server: &ApiServer) -> Result<(), Box<dyn Error>> {
    let node = json!({ "metadata": { "name": "node" } });
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let pod = json!({
        "metadata": { "name": POD },
        "spec": {
            "nodeName": "node",
            "containers": [{ "name": CONTAINER, "image": "app:1", "ports": [{ "containerPort": PORT }] }],
        },
    });
    let status = json!({
        "phase": "Running",
        "conditions": [{ "type": "Ready", "status": "True" }],
        "containerStatuses": [{
            "name": CONTAINER,
            "image": "app:1",
            "imageID": "app:1",
            "ready": true,
            "restartCount": 0,
            "state": { "running": {} },
        }],
    });
    send(server, Method::POST, "/api/v1/nodes", &node).await?;
    send(server, Method::POST, &pods, &pod).await?;
    let status = json!({ "status": status });
    send(server, Method::PATCH, &format!("{pods}/{POD}/status"), &status).await
}

async fn send(server: &ApiServer, method: Method, path: &str, body: &Value) -> Result<(), Box<dyn Error>> {
    let media_type = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header("content-type", media_type)
        .body(body.to_string().into())?;
    let response = server.handle(request).await;
    if response.status().is_success() {
        Ok(())
    } else {
        Err(format!("{path}: {}", response.status()).into())
    }
}

async fn exec(command: ExecCommand, streams: ExecStreams) -> ExecEnd {
    let ExecStreams {
        stdin, stdout, stderr, ..
    } = streams;
    let code = match command.command.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [PROGRAM, command] => run(command, stdin, stdout, stderr).await,
        _ => None,
    };
    code.map_or_else(
        || ExecEnd::Failed(format!("{:?} is not there", command.command)),
        ExecEnd::Exited,
    )
}

/// The process of the Pod.
async fn listen(port: u16) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on {}", listener.local_addr()?.port());
    tokio::spawn(tick(io::stdout()));
    loop {
        let (connection, _) = listener.accept().await?;
        tokio::spawn(async move {
            let _ = answer(connection).await;
        });
    }
}

/// Runs a command, and returns the code that it ends with; `None` if there is no such command.
async fn run(
    command: &str,
    mut stdin: impl AsyncRead + Unpin,
    mut stdout: impl AsyncWrite + Unpin,
    mut stderr: impl AsyncWrite + Unpin,
) -> Option<i32> {
    let done = match command {
        "cat" => tokio::io::copy(&mut stdin, &mut stdout).await.map(|_| 0),
        "read-line" => {
            let mut line = String::new();
            let read = BufReader::new(stdin).read_line(&mut line).await;
            read.and(stdout.write_all(line.as_bytes()).await).map(|()| 0)
        }
        "fail" => {
            let written = stdout.write_all(b"so far so good\n").await;
            written.and(stderr.write_all(b"oh no\n").await).map(|()| 3)
        }
        _ => return None,
    };
    let flushed = stdout.flush().await.and(stderr.flush().await);
    Some(done.and_then(|code| flushed.map(|()| code)).unwrap_or(1))
}

/// Answers one HTTP request, whatever it asks for.
async fn answer(connection: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    const BODY: &str = "hello from web\n";
    let mut connection = BufReader::new(connection);
    let mut line = String::new();
    // The head of a request ends with an empty line.
    while connection.read_line(&mut line).await? > 2 {
        line.clear();
    }
    let length = BODY.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    connection.write_all([head.as_str(), BODY].concat().as_bytes()).await?;
    connection.shutdown().await
}

async fn tick(mut log: impl Write) {
    for count in 1_u64.. {
        // Who does not read the log does not stop the Pod.
        let _ = writeln!(log, "tick {count}");
        tokio::time::sleep(TICK).await;
    }
}

/// A standard stream, for a program that does nothing else meanwhile.
struct Blocking<T>(T);

impl<T: io::Read + Unpin> AsyncRead for Blocking<T> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled())?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> AsyncWrite for Blocking<T> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.0.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
