//! What the real kube-apiserver does with flags that a client notices: scripts of requests whose answers and audit logs were recorded
//! from it, and are the same from ours.
//!
//! `conformance/upstream/drop-in` records: it plays these on the programs of `$KUBEWRIGHT_UPSTREAM_BIN`.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright_system::certificates::{Leaf, Signer};
use kubewright_system::kubeconfig::Credentials;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::folder::made_folder;
use super::setup::{Authorities, Programs, Setup};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/envtest/recorded");
/// Set by who records.
const RECORD: &str = "KUBEWRIGHT_RECORD";

#[tokio::test(flavor = "multi_thread")]
async fn kubelets_have_what_belongs_to_their_node() {
    compare("node").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn front_proxies_say_whom_a_request_is_of() {
    compare("front-proxy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_what_the_policy_says() {
    compare("audit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_says_what_users_may_do() {
    compare("authorization-webhook").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_says_which_images_pods_may_have() {
    compare("image-policy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_allowed_while_their_webhook_fails_if_it_may() {
    compare("image-policy-that-fails-open").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn authorizers_come_from_a_file() {
    compare("authorization-config").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_change_what_pods_may_be_and_what_clients_are_told() {
    compare("unprivileged").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_says_where_the_server_is_reached_is_made_again() {
    compare("own-service").await;
}

fn is_recording() -> bool {
    std::env::var_os(RECORD).is_some()
}

/// Plays a script, and compares with what was recorded; or records.
async fn compare(name: &str) {
    let script = fs::read(format!("{FOLDER}/{name}.yaml")).unwrap();
    let script = kubewright_codec::yaml::decode(&script).unwrap().value;
    let file = PathBuf::from(format!("{FOLDER}/{name}.recorded.json"));
    let programs = if is_recording() {
        Programs::Real(std::env::var_os("KUBEWRIGHT_UPSTREAM_BIN").unwrap().into())
    } else {
        Programs::Ours(made_folder())
    };
    let played = play(&Setup::with(programs), &script).await;
    if is_recording() {
        fs::write(&file, format!("{played:#}\n")).unwrap();
        return;
    }
    let recorded: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut differ = Vec::new();
    for part in ["answers", "audit"] {
        let (theirs, ours) = (list(&recorded[part]), list(&played[part]));
        for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
            differences(&format!("{part} {at}"), theirs, ours, &mut differ);
        }
        if theirs.len() != ours.len() {
            differ.push(format!(
                "{part}: {} of the real one, {} of ours",
                theirs.len(),
                ours.len()
            ));
        }
    }
    assert!(differ.is_empty(), "{name}:\n{}", differ.join("\n"));
}

/// Where two values differ.
fn differences(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
            for key in keys {
                let of = |members: &Map<String, Value>| members.get(key).cloned().unwrap_or(Value::Null);
                differences(&format!("{path}.{key}"), &of(theirs), &of(ours), found);
            }
        }
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => found.push(format!("{path}\n  the real one: {theirs}\n  ours:         {ours}")),
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// The answers to the requests of a script, and the audit log.
async fn play(setup: &Setup, script: &Value) -> Value {
    let folder = setup.folder.path().display().to_string();
    let webhook = Webhook::start(&script["webhook"]).await;
    let address = webhook.address.clone();
    let fill = |text: &str| text.replace("${dir}", &folder).replace("${webhook}", &address);
    let proxies = Authorities::new("front-proxy-ca");
    fs::write(
        setup.folder.path().join("front-proxy-ca.crt"),
        proxies.certificate.certificate_pem(),
    )
    .unwrap();
    for (name, text) in script["files"].as_object().into_iter().flatten() {
        let text = text.as_str().map_or_else(|| text.to_string(), fill);
        fs::write(setup.folder.path().join(name), text).unwrap();
    }
    let _etcd = setup.etcd();
    let has_authorizers = script["webhook"].is_null() || script["authorizers"] == true;
    let mut command = if has_authorizers {
        setup.kube_apiserver()
    } else {
        setup.kube_apiserver_without_authorizers()
    };
    for flag in list(&script["flags"]) {
        command.arg(fill(flag.as_str().unwrap()));
    }
    let (mut server, _admin) = setup.started(&mut command).await;
    let mut placeholders = Placeholders {
        port: setup.port,
        ..Placeholders::default()
    };
    let mut answers = Vec::new();
    for step in list(&script["steps"]) {
        let signer = if step["proxy"].is_string() {
            &proxies.signer
        } else {
            &setup.clients.signer
        };
        let mut parts = if script["webhook"].is_null() {
            PARTS[..PARTS.len() - DECISIONS].to_vec()
        } else {
            PARTS.to_vec()
        };
        let further = list(&script["parts"]);
        parts.extend(further.iter().filter_map(Value::as_str));
        let mut answer = ask(setup, signer, &step, &parts, &mut placeholders).await;
        if is_recording() && step["settle"] == true {
            // The real server obeys a new policy a little later.
            tokio::time::sleep(Duration::from_secs(4)).await;
        }
        let reviews = webhook.received(&mut placeholders);
        if !reviews.is_empty() {
            answer["reviews"] = reviews.into();
        }
        if let Some(text) = answer["/message"].as_str() {
            answer["/message"] = text.replace(&address, "${webhook}").into();
        }
        if step["quiet"] != true {
            answers.push(json!({ "request": step["request"], "answer": answer }));
        }
    }
    let log = setup.folder.path().join("audit.log");
    let mut audit = Vec::new();
    if log.exists() {
        // The log of the real one is complete once it has ended.
        server.stop("TERM");
        for line in fs::read_to_string(log).unwrap().lines() {
            let Ok(mut event) = serde_json::from_str::<Value>(line) else {
                audit.push(line.into());
                continue;
            };
            if event["userAgent"] == "conformance/1" {
                placeholders.replace(&mut event);
                audit.push(event);
            }
        }
    }
    json!({ "answers": answers, "audit": audit })
}

/// What is shown of an answer: what an object looks like is recorded elsewhere, here it counts who may have it.
const PARTS: &[&str] = &[
    "/message",
    "/status/userInfo",
    "/status/reason",
    "/status/incomplete",
    "/status/evaluationError",
    "/data",
    "/status/allowed",
    "/status/denied",
];
/// How many of these, the last ones, only scripts about decisions show.
const DECISIONS: usize = 2;

async fn ask(setup: &Setup, signer: &Signer, step: &Value, parts: &[&str], placeholders: &mut Placeholders) -> Value {
    let groups: Vec<String> = list(&step["groups"])
        .iter()
        .map(|group| group.as_str().unwrap().to_owned())
        .collect();
    let name = step["proxy"].as_str().or(step["user"].as_str());
    let client = match (name, step["token"].as_str()) {
        (_, Some(token)) => setup.client_with(Credentials::Token(token)).await,
        (name, None) => {
            let groups = if name.is_some() {
                groups
            } else {
                vec!["system:masters".to_owned()]
            };
            let made = signer.sign(&Leaf::client(name.unwrap_or("admin"), &groups)).unwrap();
            let (certificate, key) = (made.certificate_pem(), made.key_pem());
            let (certificate, key) = (certificate.as_str(), key.as_str());
            setup.client_with(Credentials::Certificate { certificate, key }).await
        }
    };
    let (method, path) = step["request"].as_str().unwrap().split_once(' ').unwrap();
    let mut request = http::Request::builder().method(method).uri(path);
    let mut headers: BTreeMap<&str, &str> = BTreeMap::from([("user-agent", "conformance/1")]);
    headers.insert("content-type", "application/json");
    for (name, value) in step["headers"].as_object().into_iter().flatten() {
        headers.insert(name, value.as_str().unwrap());
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let body = if step["body"].is_null() {
        Vec::new()
    } else {
        step["body"].to_string().into_bytes()
    };
    let response = client.send(request.body(body.into()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let body = if path.contains("watch=") {
        first_frame(response).await
    } else {
        response.into_body().collect().await.unwrap().to_bytes().to_vec()
    };
    let mut body: Value =
        serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into());
    placeholders.replace(&mut body);
    let mut shown = Map::from_iter([("code".to_owned(), code.into())]);
    if let Value::String(text) = &body
        && parts.len() >= PARTS.len()
        && code >= 400
    {
        shown.insert("/message".to_owned(), text.clone().into());
    }
    for part in parts {
        if let Some(found) = body.pointer(part) {
            shown.insert((*part).to_owned(), found.clone());
        }
    }
    Value::Object(shown)
}

/// The first frame of a watch: the object if it is there, or else the next that is made.
async fn first_frame<B: Body<Data = Bytes, Error: std::fmt::Debug> + Unpin>(response: http::Response<B>) -> Vec<u8> {
    let mut body = response.into_body();
    let mut read = Vec::new();
    while !read.ends_with(b"\n")
        && let Some(frame) = body.frame().await
    {
        read.extend_from_slice(frame.unwrap().data_ref().map_or(&[], |data| &data[..]));
    }
    read
}

/// The webhook that a script may have: it answers about each user or image as the script says, and keeps what it was asked.
struct Webhook {
    address: String,
    received: Arc<Mutex<Vec<Value>>>,
    serving: JoinHandle<()>,
}

impl Webhook {
    async fn start(answers: &Value) -> Webhook {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (kept, answers) = (Arc::clone(&received), Arc::new(answers.clone()));
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (kept, answers) = (Arc::clone(&kept), Arc::clone(&answers));
                let service = service_fn(move |request| review(request, Arc::clone(&kept), Arc::clone(&answers)));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
            }
        });
        Webhook {
            address,
            received,
            serving,
        }
    }

    /// What it was asked since the last call.
    fn received(&self, placeholders: &mut Placeholders) -> Vec<Value> {
        let mut received = std::mem::take(&mut *self.received.lock().unwrap());
        for review in &mut received {
            placeholders.replace(review);
        }
        received
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn review(
    request: http::Request<Incoming>,
    kept: Arc<Mutex<Vec<Value>>>,
    answers: Arc<Value>,
) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let head = format!("{} {}", request.method(), request.uri());
    let token = request.headers().get("authorization").cloned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let mut review: Value = serde_json::from_slice(&body).unwrap();
    let mut asked = json!({ "request": head, "review": review });
    if let Some(token) = token {
        asked["authorization"] = token.to_str().unwrap().into();
    }
    kept.lock().unwrap().push(asked);
    let answer = &answers[subject(&review["spec"])];
    let mut response = http::Response::builder()
        .status(answer["code"].as_u64().map_or(200, |code| u16::try_from(code).unwrap()))
        .header("content-type", "application/json");
    if answer["body"].is_string() {
        response = response.header("content-type", "text/plain");
    }
    let text = if answer["body"].is_null() {
        review["status"] = answer
            .get("status")
            .cloned()
            .unwrap_or_else(|| json!({ "allowed": false }));
        review.to_string()
    } else {
        answer["body"]
            .as_str()
            .map_or_else(|| answer["body"].to_string(), str::to_owned)
    };
    Ok(response.body(Full::new(Bytes::from(text))).unwrap())
}

/// What a review is about: a user, or the image of the first container.
fn subject(spec: &Value) -> &str {
    let image = spec.pointer("/containers/0/image");
    image.unwrap_or(&spec["user"]).as_str().unwrap_or_default()
}

/// What a server makes up, by the order in which it is met, and the port that it was given.
#[derive(Default)]
struct Placeholders {
    met: BTreeMap<&'static str, Vec<String>>,
    port: u16,
}

impl Placeholders {
    fn replace(&mut self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            Value::Object(members) => {
                for (key, value) in members {
                    let kind = match key.as_str() {
                        "auditID" => Some("audit-id"),
                        "uid" => Some("uid"),
                        // Others write to the real server, too.
                        "resourceVersion" => Some("version"),
                        "requestReceivedTimestamp" | "stageTimestamp" | "creationTimestamp" | "time" => Some("time"),
                        "authentication.kubernetes.io/credential-id" => Some("credential"),
                        _ => None,
                    };
                    match (kind, &mut *value) {
                        (Some(kind @ ("time" | "version")), Value::String(text)) => *text = format!("<{kind}>"),
                        (Some("credential"), value) => *value = "<credential>".into(),
                        (Some(kind), Value::String(text)) if !text.is_empty() && text.len() < 60 => {
                            let known = self.met.entry(kind).or_default();
                            let at = known.iter().position(|known| known == text).unwrap_or_else(|| {
                                known.push(text.clone());
                                known.len() - 1
                            });
                            *text = format!("<{kind}-{}>", at + 1);
                        }
                        (_, value) => self.replace(value),
                    }
                }
            }
            Value::Number(number) if number.as_u64() == Some(self.port.into()) => *value = "<port>".into(),
            Value::String(text) if text.contains("BEGIN CERTIFICATE") => "<certificates>".clone_into(text),
            _ => {}
        }
    }
}
