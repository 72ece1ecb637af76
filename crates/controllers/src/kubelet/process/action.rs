//! The actions of probes and lifecycle hooks: an HTTP request, a TCP connection, a command.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use http::{Request, Uri};
use k8s_openapi::api::core::v1::{Container, ExecAction, HTTPGetAction, LifecycleHandler, Probe, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright_apimachinery::go::quote;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use super::guard::GuardHandle;
use super::images::Image;
use super::spawn;

/// How much of a command's output is kept.
const MOST_TOLD: usize = 1024;

/// The longest status line of a response that is read.
const LONGEST_LINE: u64 = 8 * 1024;

/// How a process is started: that of a container, or of a probe or hook in it.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    /// What the program is told it was called by.
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
}

impl Launch {
    /// The command, in a group of its own and with no variables but its own.
    pub(super) fn command(&self) -> Command {
        let mut command = self.bare_command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        command
    }

    /// The command without a group and without streams.
    pub(super) fn bare_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(&self.variables)
            .current_dir(&self.folder)
            .kill_on_drop(true);
        #[cfg(unix)]
        command.arg0(&self.name);
        command
    }
}

/// What is done.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Get {
        url: String,
        headers: Vec<(String, String)>,
    },
    Connect(u16),
    Run(Launch),
    Sleep(Duration),
}

impl Action {
    /// What a probe does; the error says why it cannot.
    pub(super) fn of_probe(probe: &Probe, container: &Container, image: &Image, own: &Launch) -> Result<Self, String> {
        if probe.grpc.is_some() {
            return Err("grpc probes are not made to processes: use httpGet or tcpSocket".to_owned());
        }
        let parts = (probe.exec.as_ref(), probe.http_get.as_ref(), probe.tcp_socket.as_ref());
        Action::of(parts, container, image, own)
    }

    /// What a hook does.
    pub(super) fn of_hook(
        hook: &LifecycleHandler,
        container: &Container,
        image: &Image,
        own: &Launch,
    ) -> Result<Self, String> {
        if let Some(sleep) = &hook.sleep {
            return Ok(Action::Sleep(Duration::from_secs(sleep.seconds.max(0).unsigned_abs())));
        }
        let parts = (hook.exec.as_ref(), hook.http_get.as_ref(), hook.tcp_socket.as_ref());
        Action::of(parts, container, image, own)
    }

    fn of(
        parts: (Option<&ExecAction>, Option<&HTTPGetAction>, Option<&TCPSocketAction>),
        container: &Container,
        image: &Image,
        own: &Launch,
    ) -> Result<Self, String> {
        match parts {
            (Some(exec), _, _) => {
                let words = exec.command.as_deref().unwrap_or_default();
                let (program, arguments) = words.split_first().ok_or("an exec action has no command")?;
                // A command that is not a program of the image is refused: it would run one of this machine.
                Ok(Action::Run(Launch {
                    program: program_of(program, image)?,
                    name: program.clone(),
                    arguments: arguments.to_vec(),
                    ..own.clone()
                }))
            }
            (_, Some(get), _) => {
                let scheme = get.scheme.as_deref().unwrap_or("HTTP").to_ascii_lowercase();
                let path = get.path.as_deref().unwrap_or("/");
                let slash = if path.starts_with('/') { "" } else { "/" };
                let port = port(&get.port, container)?;
                let headers = get.http_headers.iter().flatten();
                let mut headers: Vec<_> = headers.map(|each| (each.name.clone(), each.value.clone())).collect();
                if let Some(host) = get.host.as_ref().filter(|host| !host.is_empty()) {
                    headers.push(("Host".to_owned(), host.clone()));
                }
                let url = format!("{scheme}://127.0.0.1:{port}{slash}{path}");
                Ok(Action::Get { url, headers })
            }
            (_, _, Some(socket)) => Ok(Action::Connect(port(&socket.port, container)?)),
            _ => Err("an action is of a sort that processes do not have".to_owned()),
        }
    }

    /// Performs the action. The error is the message of an event.
    pub(super) async fn perform(&self, within: Duration, guard: &GuardHandle) -> Result<(), String> {
        let done = match self {
            Action::Get { url, headers } => timeout(within, get(url, headers)).await,
            Action::Connect(port) => timeout(within, connect(*port)).await,
            Action::Run(launch) => return run(launch, within, guard).await,
            Action::Sleep(time) => {
                let _ = timeout(within, tokio::time::sleep(*time)).await;
                return Ok(());
            }
        };
        done.unwrap_or_else(|_| Err(format!("no answer within {within:?}")))
    }
}

/// The file behind the program that a command names, if the image holds it.
pub(super) fn program_of(program: &str, image: &Image) -> Result<PathBuf, String> {
    image.program(program).map_err(|instead| {
        format!(
            "exec: {program:?}: no such file in image {:?}, {instead}; load it with --entrypoint {program} if that is what it is called",
            image.name
        )
    })
}

fn port(port: &IntOrString, container: &Container) -> Result<u16, String> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let named = container
                .ports
                .iter()
                .flatten()
                .find(|port| port.name.as_ref() == Some(name));
            match named {
                Some(port) => port.container_port,
                None => name.parse().map_err(|_| format!("couldn't find port: {name}"))?,
            }
        }
    };
    u16::try_from(number).map_err(|_| format!("invalid port number: {number}"))
}

async fn connect(port: u16) -> Result<(), String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let connected = TcpStream::connect(address).await;
    connected
        .map(drop)
        .map_err(|error| format!("dial tcp {address}: {error}"))
}

/// Makes a request; only the code of its answer counts.
async fn get(url: &str, headers: &[(String, String)]) -> Result<(), String> {
    let failed = |why: &dyn fmt::Display| format!("Get {}: {why}", quote(url));
    let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| failed(&error))?;
    let mut request = Request::get(&uri)
        .header("User-Agent", "kube-probe/1.36")
        .header("Accept", "*/*");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(()).map_err(|error| failed(&error))?;
    let code = if uri.scheme_str() == Some("https") {
        get_secured(uri, request).await
    } else {
        get_plain(&uri, &request).await
    };
    match code.map_err(|why| failed(&why))? {
        200..400 => Ok(()),
        code => Err(format!("HTTP probe failed with statuscode: {code}")),
    }
}

/// An HTTP request written by hand: a probe of a local process needs no client.
async fn get_plain(uri: &Uri, request: &Request<()>) -> Result<u16, String> {
    let text = |error: io::Error| error.to_string();
    let address = uri.authority().map_or("", |authority| authority.as_str());
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n").into_bytes();
    if !request.headers().contains_key("host") {
        head.extend_from_slice(format!("Host: {address}\r\n").as_bytes());
    }
    for (name, value) in request.headers() {
        head.extend_from_slice(format!("{name}: ").as_bytes());
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let mut stream = TcpStream::connect(address).await.map_err(text)?;
    stream.write_all(&head).await.map_err(text)?;
    let mut line = String::new();
    let mut answer = BufReader::new(stream).take(LONGEST_LINE);
    answer.read_line(&mut line).await.map_err(text)?;
    let mut words = line.split_ascii_whitespace();
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let code = words.next().filter(|_| is_http).and_then(|code| code.parse().ok());
    code.ok_or_else(|| "what answers does not speak HTTP".to_owned())
}

/// An HTTPS request that verifies no certificate, as a kubelet's does not.
async fn get_secured(uri: Uri, request: Request<()>) -> Result<u16, String> {
    let last = |error: &dyn std::error::Error| {
        let causes = std::iter::successors(Some(error), |error| error.source());
        causes.last().map(ToString::to_string).unwrap_or_default()
    };
    let mut config = kube::Config::new(uri);
    config.accept_invalid_certs = true;
    let client = kube::Client::try_from(config).map_err(|error| last(&error))?;
    let request = request.map(|()| kube::client::Body::empty());
    let answer = client.send(request).await.map_err(|error| last(&error))?;
    Ok(answer.status().as_u16())
}

async fn run(launch: &Launch, within: Duration, guard: &GuardHandle) -> Result<(), String> {
    let spawned = spawn::undisturbed(|| launch.command().spawn());
    let mut child = spawned.map_err(|error| error.to_string())?;
    // The processes that it started end with it, also if the action was cancelled.
    let held = child.id().map(|group| guard.hold(group));
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let all = async { tokio::join!(beginning(out), beginning(err), child.wait()) };
    let ended = timeout(within, all).await;
    drop(held);
    let (out, err, status) = ended.map_err(|_| format!("command timed out after {within:?}"))?;
    if status.map_err(|error| error.to_string())?.success() {
        return Ok(());
    }
    let told = [out, err].concat();
    Err(String::from_utf8_lossy(&told).trim_end().to_owned())
}

/// Reads to the end, and keeps the beginning.
async fn beginning(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut told = Vec::new();
    let mut buffer = vec![0; 4096];
    let Some(mut from) = from else {
        return told;
    };
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let room = MOST_TOLD.saturating_sub(told.len());
        told.extend_from_slice(&buffer[..read.min(room)]);
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn image() -> Image {
        let image = json!({
            "name": "shop:dev", "entrypoint": "/manager", "id": "", "source": "", "loaded": "2026-01-01T00:00:00Z",
        });
        Image {
            binary: "/images/binary".into(),
            ..serde_json::from_value(image).unwrap()
        }
    }

    fn action(probe: Value) -> Result<Action, String> {
        let container = json!({ "name": "c", "ports": [{ "name": "health", "containerPort": 8081 }] });
        let launch = Launch {
            program: "/images/binary".into(),
            name: "/manager".to_owned(),
            arguments: vec!["--serve".to_owned()],
            variables: BTreeMap::new(),
            folder: "/".into(),
        };
        Action::of_probe(
            &serde_json::from_value(probe).unwrap(),
            &serde_json::from_value(container).unwrap(),
            &image(),
            &launch,
        )
    }

    #[test]
    fn ports_have_names_and_requests_stay_on_this_machine() {
        let get = action(json!({ "httpGet": { "path": "healthz", "port": "health", "host": "example.com" } })).unwrap();
        let Action::Get { url, headers } = get else {
            panic!("{get:?}");
        };
        assert_eq!(url, "http://127.0.0.1:8081/healthz");
        assert_eq!(headers, [("Host".to_owned(), "example.com".to_owned())]);
        assert!(matches!(
            action(json!({ "tcpSocket": { "port": 80 } })),
            Ok(Action::Connect(80))
        ));
        assert!(action(json!({ "tcpSocket": { "port": "none" } })).is_err());
        assert!(action(json!({ "tcpSocket": { "port": 70000 } })).is_err());
    }

    #[tokio::test]
    async fn the_code_of_an_answer_counts() {
        for (answer, wanted) in [
            ("HTTP/1.1 204 No Content\r\n\r\n", Ok(())),
            ("HTTP/1.0 302 Found\r\n\r\n", Ok(())),
            ("HTTP/1.1 500\r\n\r\n", Err("HTTP probe failed with statuscode: 500")),
            ("SSH-2.0\r\n", Err("what answers does not speak HTTP")),
        ] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/healthz?verbose", listener.local_addr().unwrap());
            let asking = async move {
                let headers = [("X-Probe".to_owned(), "yes".to_owned())];
                get(&url, &headers).await
            };
            let answering = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = vec![0; 1024];
                let read = stream.read(&mut asked).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
                String::from_utf8(asked[..read].to_vec()).unwrap()
            };
            let (got, asked) = tokio::join!(asking, answering);
            assert!(asked.starts_with("GET /healthz?verbose HTTP/1.1\r\n") && asked.contains("x-probe: yes\r\n"));
            match wanted {
                Ok(()) => assert_eq!(got, Ok(())),
                Err(words) => assert!(got.unwrap_err().contains(words)),
            }
        }
        let wrong = [("X-Probe".to_owned(), "a\r\nHost: b".to_owned())];
        assert!(get("http://127.0.0.1:1/", &wrong).await.is_err());
    }

    #[test]
    fn only_the_binary_of_the_image_is_run() {
        let run = action(json!({ "exec": { "command": ["/usr/bin/manager", "check"] } })).unwrap();
        let Action::Run(launch) = run else {
            panic!("{run:?}");
        };
        assert_eq!(launch.program, std::path::Path::new("/images/binary"));
        assert_eq!(launch.arguments, ["check"]);
        let error = action(json!({ "exec": { "command": ["/bin/sh", "-c", "id"] } })).unwrap_err();
        assert!(error.contains("no such file in image \"shop:dev\""), "{error}");
        assert!(action(json!({ "grpc": { "port": 80 } })).unwrap_err().contains("grpc"));
    }
}
