//! Cases on an API server: each has a fork of its own, in which everything but its request is there before the policies are.

use kubewright_apiserver::{AuthorizationMode, Options};
use kubewright_codec::yaml;
use kubewright_scaffold::diff;
use serde_json::{Value, json};

use super::case::{Case, Operation, Verdict};
use super::difference::projection;
use super::folder::{Folder, is_role, text};
use crate::documents::Document;
use crate::trial_server::{Answer, Created, Resource, TrialServer};

/// What every refusal of a policy says, and no other.
const DENIED: &str = "denied request: ";

/// A server with everything that is there in all cases, and the policies.
pub(super) struct Base<'f> {
    server: TrialServer,
    policies: &'f [Document],
}

/// The server does not take an object of the folder.
#[derive(Debug, thiserror::Error)]
pub(super) enum InstallError {
    #[error("the API server refuses {document}:\n{}", .problems.join("\n"))]
    Refused { document: String, problems: Vec<String> },
    #[error(
        "{document}: the API server does not know {version} {kind}; if a CustomResourceDefinition defines it, it must be in the folder"
    )]
    UnknownKind {
        document: String,
        version: String,
        kind: String,
    },
}

/// What became of a case.
pub(super) struct CaseResult<'c> {
    pub(super) case: &'c Case,
    /// What policies said; the error says why they were not asked.
    pub(super) verdict: Result<Verdict, String>,
    /// The message of a refusal.
    pub(super) message: Option<String>,
    pub(super) warnings: Vec<String>,
    /// What is not as it was expected.
    pub(super) failures: Vec<String>,
}

impl CaseResult<'_> {
    pub(super) fn is_passed(&self) -> bool {
        self.failures.is_empty()
    }
}

impl<'f> Base<'f> {
    /// Installs the objects of a folder, and tries whether its policies can be.
    pub(super) async fn install(folder: &'f Folder) -> Result<Base<'f>, InstallError> {
        let has_roles = folder.objects.iter().any(|document| is_role(&document.value));
        let mode = if has_roles {
            AuthorizationMode::Rbac
        } else {
            AuthorizationMode::AlwaysAllow
        };
        let options = Options::new().authorization(mode).aggregated_roles(true);
        let mut server = TrialServer::new(options);
        for document in &folder.objects {
            create(&mut server, document).await?;
        }
        let policies = &folder.policies;
        let mut trial = server.fork();
        for document in policies {
            create(&mut trial, document).await?;
        }
        Ok(Base { server, policies })
    }

    /// Runs a case.
    pub(super) async fn run<'c>(&self, case: &'c Case) -> CaseResult<'c> {
        match self.request(case).await {
            Ok(answered) => judge(case, answered),
            Err(why) => CaseResult {
                case,
                failures: vec![why.clone()],
                verdict: Err(why),
                message: None,
                warnings: Vec::new(),
            },
        }
    }

    /// Prepares a server and sends the request.
    async fn request(&self, case: &Case) -> Result<Answered, String> {
        let mut server = self.server.fork();
        let (version, kind) = (text(&case.object, "/apiVersion"), text(&case.object, "/kind"));
        let Some(resource) = server.resource(version, kind).await else {
            return Err(format!("the API server does not know {version} {kind}"));
        };
        let namespace = namespace_of(case);
        prepare_namespace(&mut server, case, &resource, &namespace).await;
        for object in &case.params {
            let mut object = object.clone();
            if text(&object, "/metadata/namespace").is_empty() {
                let known = server
                    .resource(text(&object, "/apiVersion"), text(&object, "/kind"))
                    .await;
                if known.is_some_and(|known| known.is_namespaced) {
                    object["metadata"]["namespace"] = namespace.as_str().into();
                }
            }
            stored(&mut server, &object)
                .await
                .map_err(|why| format!("params: {why}"))?;
        }
        let mut object = case.object.clone();
        if resource.is_namespaced {
            object["metadata"]["namespace"] = namespace.as_str().into();
        }
        let path = resource.path(&namespace);
        let named = format!("{path}/{}", text(&object, "/metadata/name"));
        if let Some(old) = &case.old {
            let mut old = old.clone();
            if resource.is_namespaced {
                old["metadata"]["namespace"] = namespace.as_str().into();
            }
            let live = store_old(&mut server, &named, &old)
                .await
                .map_err(|why| format!("oldObject: {why}"))?;
            if text(&object, "/metadata/resourceVersion").is_empty() {
                object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
            }
        }
        for document in self.policies {
            create(&mut server, document).await.map_err(|error| error.to_string())?;
        }
        let subresource = case.subresource_path();
        let (method, path, body) = match case.operation {
            Operation::Create if subresource.is_empty() => ("POST", path, object.to_string()),
            Operation::Create => ("POST", format!("{named}{subresource}"), object.to_string()),
            Operation::Update => ("PUT", format!("{named}{subresource}"), object.to_string()),
            Operation::Delete => ("DELETE", named, String::new()),
        };
        let answer = server.send_as(case.user.as_ref(), method, &path, body).await;
        Ok(Answered::of(&server, answer))
    }
}

/// The namespace of a case's request.
fn namespace_of(case: &Case) -> String {
    let own = text(&case.object, "/metadata/namespace");
    let named = case
        .namespace
        .as_ref()
        .and_then(|namespace| namespace.get("name")?.as_str());
    let found = if own.is_empty() { named } else { Some(own) };
    found.unwrap_or("default").to_owned()
}

/// Makes the namespace that a case has, or gives the one that is there its labels, and the one of its request if it is another one.
async fn prepare_namespace(server: &mut TrialServer, case: &Case, resource: &Resource, namespace: &str) {
    if let Some(metadata) = &case.namespace {
        let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
        server.ensure_namespace(name).await;
        let path = format!("/api/v1/namespaces/{name}");
        let mut live = server.send("GET", &path, String::new()).await.body;
        for field in ["labels", "annotations"] {
            for (key, value) in metadata.get(field).and_then(Value::as_object).into_iter().flatten() {
                live["metadata"][field][key] = value.clone();
            }
        }
        server.send("PUT", &path, live.to_string()).await;
    }
    if resource.is_namespaced {
        server.ensure_namespace(namespace).await;
    }
}

/// Stores what is there before, with its status, and returns it as it is stored.
async fn store_old(server: &mut TrialServer, path: &str, old: &Value) -> Result<Value, String> {
    stored(server, old).await?;
    let mut live = server.send("GET", path, String::new()).await.body;
    if let Some(status) = old.get("status") {
        live["status"] = status.clone();
        let answer = server.send("PUT", &format!("{path}/status"), live.to_string()).await;
        if answer.code.is_success() {
            return Ok(answer.body);
        }
    }
    Ok(live)
}

/// Creates an object that has to be there.
async fn stored(server: &mut TrialServer, object: &Value) -> Result<(), String> {
    match server.create(object).await {
        Created::Stored => Ok(()),
        Created::Refused(status) => Err(format!("the API server refuses it: {}", text(&status, "/message"))),
        Created::UnknownKind => {
            let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
            Err(format!("the API server does not know {version} {kind}"))
        }
    }
}

/// Creates an object of the folder.
async fn create(server: &mut TrialServer, document: &Document) -> Result<(), InstallError> {
    match server.create(&document.value).await {
        Created::Stored => Ok(()),
        Created::UnknownKind => Err(InstallError::UnknownKind {
            document: document.name.clone(),
            version: text(&document.value, "/apiVersion").to_owned(),
            kind: text(&document.value, "/kind").to_owned(),
        }),
        Created::Refused(status) => {
            let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
            let cause = |cause: &Value| format!("{}: {}", text(cause, "/field"), text(cause, "/message"));
            let problems = if causes.is_empty() {
                vec![text(&status, "/message").to_owned()]
            } else {
                causes.iter().map(cause).collect()
            };
            Err(InstallError::Refused {
                document: document.name.clone(),
                problems,
            })
        }
    }
}

/// What the client and the audit trail were told.
struct Answered {
    is_success: bool,
    body: Value,
    warnings: Vec<String>,
    annotations: Vec<(String, String)>,
}

impl Answered {
    fn of(server: &TrialServer, answer: Answer) -> Answered {
        let warnings = answer.headers.get_all("warning").iter();
        let warnings = warnings.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok());
        let id = answer.headers.get("audit-id").and_then(|id| id.to_str().ok());
        let events = server
            .server()
            .audit()
            .filter(|event| Some(event.id.as_str()) == id)
            .events();
        Answered {
            is_success: answer.code.is_success(),
            body: answer.body,
            warnings: warnings.map(warning_text).collect(),
            annotations: events
                .into_iter()
                .next_back()
                .map(|event| event.annotations)
                .unwrap_or_default(),
        }
    }
}

/// The text of `299 - "text"`.
fn warning_text(header: &str) -> String {
    let quoted = header.split_once('"').map_or(header, |(_, rest)| rest);
    let text = quoted.strip_suffix('"').unwrap_or(quoted);
    text.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// Compares what happened with what was expected.
fn judge(case: &Case, answered: Answered) -> CaseResult<'_> {
    let message = (!answered.is_success).then(|| text(&answered.body, "/message").to_owned());
    let verdict = match &message {
        None => Ok(Verdict::Allow),
        Some(message) if message.contains(DENIED) => Ok(Verdict::Deny),
        Some(message) => Err(format!("no policy refused it, but the API server itself: {message}")),
    };
    let mut failures = Vec::new();
    let expected = &case.expected;
    match &verdict {
        Err(why) => failures.push(why.clone()),
        Ok(found) if *found != expected.verdict => {
            let said = match &message {
                Some(message) => format!(": {message}"),
                None => String::new(),
            };
            failures.push(format!(
                "verdict: expected {}, got {}{said}",
                expected.verdict.name(),
                found.name()
            ));
        }
        Ok(_) => compare(case, &answered, message.as_deref(), &mut failures),
    }
    CaseResult {
        case,
        verdict,
        message,
        warnings: answered.warnings,
        failures,
    }
}

/// What is not as expected besides the verdict.
fn compare(case: &Case, answered: &Answered, message: Option<&str>, failures: &mut Vec<String>) {
    let expected = &case.expected;
    if let Some(wanted) = &expected.message
        && !message.unwrap_or_default().contains(wanted)
    {
        let message = message.unwrap_or_default();
        failures.push(format!("message: expected {wanted:?} in it, got: {message}"));
    }
    if let Some(wanted) = &expected.warnings {
        let is_met = |wanted: &String| answered.warnings.iter().any(|warning| warning.contains(wanted));
        if wanted.is_empty() && !answered.warnings.is_empty() || !wanted.iter().all(is_met) {
            let (wanted, found) = (json!(wanted), json!(answered.warnings));
            failures.push(format!("warnings: expected {wanted}, got {found}"));
        }
    }
    for (key, wanted) in &expected.annotations {
        let found = answered.annotations.iter().find(|(known, _)| known == key);
        match found {
            Some((_, value)) if value == wanted => {}
            Some((_, value)) => failures.push(format!("auditAnnotations: expected {key}: {wanted:?}, got {value:?}")),
            None => failures.push(format!("auditAnnotations: expected {key}: {wanted:?}, got none")),
        }
    }
    if let Some(wanted) = &expected.object {
        let found = projection(&answered.body, wanted);
        if found != *wanted {
            let (wanted, found) = (yaml::encode(wanted), yaml::encode(&found));
            let difference = diff::unified("object", Some(&wanted), Some(&found));
            let lines: Vec<&str> = difference.lines().skip(2).collect();
            failures.push(format!("object: - expected, + stored\n{}", lines.join("\n")));
        }
    }
}
