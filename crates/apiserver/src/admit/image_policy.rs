//! `ImagePolicyWebhook`: a webhook outside the cluster says whether Pods may have their images.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use kubewright_admission::{GroupVersionKind, document};
use kubewright_apimachinery::go::value::json_kind;
use kubewright_apimachinery::names::is_qualified_name;
use serde_json::{Map, Value, json};

use super::{AdmissionPlugin, Attributes, Operation};
use crate::registry::{BuiltInId, Registry, Subresource, api_version};
use crate::webhook::answers::AnswerCache;
use crate::webhook::call::kubeconfig;
use crate::webhook::call::{CallError, Caller};
use crate::webhook::dispatch::denied;
use crate::webhook::too_late;
use crate::wire::status::{Result, Status};

const GROUP: &str = "imagepolicy.k8s.io";
const VERSION: &str = "v1alpha1";
const KIND: &str = "ImageReview";
/// What keys of annotations have in them that the webhook gets.
const OWN_ANNOTATIONS: &str = ".image-policy.k8s.io/";
/// What stands before the webhook's annotations in the audit log.
const AUDIT_PREFIX: &str = "imagepolicywebhook.image-policy.k8s.io/";
/// The annotation by which plugins that come later know that nobody could be asked. It is not stored.
const FAILED_OPEN: &str = "alpha.image-policy.k8s.io/failed-open";
/// How many answers are kept, and how long one may take, as upstream.
const MOST_ANSWERS: usize = 1024;
const TIMEOUT: Duration = Duration::from_secs(30);

/// The webhook, and how it is asked.
pub(crate) struct ImagePolicy {
    caller: Caller,
    allowed: Duration,
    refused: Duration,
    pause: Duration,
    allows_on_error: bool,
    answers: AnswerCache<Verdict>,
}

/// What the webhook says.
#[derive(Clone, Debug, Default)]
struct Verdict {
    allowed: bool,
    reason: String,
    annotations: Vec<(String, String)>,
}

/// Why nothing is known of images.
enum Failure {
    /// The webhook refused to be asked, with this status.
    Forbidden(Value),
    Other(String),
    /// The request has to end.
    TooLate(Box<Status>),
}

/// Asks about the images of a Pod, if the plugin is on. Returns what plugins that come later are to see.
pub(super) async fn validate<'o>(attributes: &Attributes<'_>, object: &'o Value) -> Result<Cow<'o, Value>> {
    let settings = &attributes.server.admission;
    if !settings.has(AdmissionPlugin::ImagePolicyWebhook) || !is_about(attributes) {
        return Ok(Cow::Borrowed(object));
    }
    let Some(policy) = &settings.image_policy else {
        // Nobody can be asked, and a cluster that wants to ask must not be told that all is well.
        return Err(attributes.forbidden("the admission plugin ImagePolicyWebhook has no configuration"));
    };
    let spec = question(attributes, object);
    let key = spec.to_string();
    let verdict = match policy.answers.known(&key) {
        Some(known) => known,
        None => match policy.ask(attributes, &spec).await {
            Ok(verdict) => {
                let time = if verdict.allowed {
                    policy.allowed
                } else {
                    policy.refused
                };
                policy.answers.keep(key, verdict.clone(), time);
                verdict
            }
            Err(Failure::TooLate(status)) => return Err(status),
            Err(_) if policy.allows_on_error => return Ok(Cow::Owned(failed_open(attributes, object))),
            Err(Failure::Forbidden(status)) => return Err(denied(&status)),
            Err(Failure::Other(why)) => return Err(attributes.forbidden(&why)),
        },
    };
    for (key, value) in &verdict.annotations {
        let key = format!("{AUDIT_PREFIX}{key}");
        if is_qualified_name(&key) {
            attributes.annotations.add(key, value.as_str());
        }
    }
    match (verdict.allowed, verdict.reason.as_str()) {
        (true, _) => Ok(Cow::Borrowed(object)),
        (false, "") => Err(attributes.forbidden("one or more images rejected by webhook backend")),
        (false, reason) => Err(attributes.forbidden(&format!(
            "image policy webhook backend denied one or more images: {reason}"
        ))),
    }
}

fn is_about(attributes: &Attributes<'_>) -> bool {
    attributes.resource.is(BuiltInId::Pods)
        && matches!(attributes.operation, Operation::Create | Operation::Update)
        && matches!(attributes.subresource, None | Some(Subresource::EphemeralContainers))
}

/// The `spec` of the review of a Pod.
fn question(attributes: &Attributes<'_>, pod: &Value) -> Value {
    let lists: &[&str] = match attributes.subresource {
        None => &["containers", "initContainers"],
        Some(_) => &["ephemeralContainers"],
    };
    let containers = lists
        .iter()
        .flat_map(|list| pod["spec"][*list].as_array().into_iter().flatten());
    let image = |container: &Value| match container["image"].as_str() {
        None | Some("") => json!({}),
        Some(image) => json!({ "image": image }),
    };
    let containers: Vec<Value> = containers.map(image).collect();
    let annotations = pod["metadata"]["annotations"].as_object().into_iter().flatten();
    let annotations = annotations.filter(|(key, _)| key.contains(OWN_ANNOTATIONS));
    let annotations: Map<String, Value> = annotations.map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut spec = Map::new();
    if !containers.is_empty() {
        spec.insert("containers".into(), containers.into());
    }
    if !annotations.is_empty() {
        spec.insert("annotations".into(), annotations.into());
    }
    spec.insert("namespace".into(), attributes.namespace.into());
    spec.into()
}

/// The Pod as plugins that come later see it, where the webhook was asked in vain.
fn failed_open(attributes: &Attributes<'_>, pod: &Value) -> Value {
    attributes.annotations.add(format!("{AUDIT_PREFIX}failed-open"), "true");
    let mut pod = pod.clone();
    pod["metadata"]["annotations"][FAILED_OPEN] = "true".into();
    pod
}

impl ImagePolicy {
    /// Reads a configuration, and the kubeconfig that it names. What is wrong with the configuration is told in upstream's words.
    pub(super) fn read(configuration: &Value) -> std::result::Result<ImagePolicy, String> {
        let policy = member(configuration, "imagePolicy");
        if !policy.is_null() && !policy.is_object() {
            return Err(format!(
                "json: cannot unmarshal {} into Go struct field AdmissionConfig.imagePolicy of type imagepolicy.imagePolicyWebhookConfig",
                json_kind(policy)
            ));
        }
        let allows_on_error = match member(policy, "defaultAllow") {
            Value::Null => false,
            Value::Bool(allows) => *allows,
            other => return Err(other_type(other, "defaultAllow", "bool")),
        };
        let file = match member(policy, "kubeConfigFile") {
            Value::String(path) => path.clone(),
            Value::Null => String::new(),
            // What is no text is written as one, as by upstream's reader of YAML.
            other => other.to_string(),
        };
        let [pause, allowed, refused] = [
            ("retryBackoff", &PAUSES),
            ("allowTTL", &TIMES_OF_ALLOWED),
            ("denyTTL", &TIMES_OF_REFUSED),
        ]
        .map(|(name, range)| number(policy, name).map(|number| (number, range)));
        // All are read before one is judged.
        let (pause, allowed, refused) = (pause?, allowed?, refused?);
        let judged = |(number, range): (i64, &Range)| range.time(number);
        Ok(ImagePolicy {
            pause: judged(pause)?,
            allowed: judged(allowed)?,
            refused: judged(refused)?,
            allows_on_error,
            caller: caller(&file)?,
            answers: AnswerCache::of(MOST_ANSWERS),
        })
    }

    async fn ask(&self, attributes: &Attributes<'_>, spec: &Value) -> std::result::Result<Verdict, Failure> {
        let review = json!({
            "kind": KIND, "apiVersion": format!("{GROUP}/{VERSION}"), "metadata": {}, "spec": spec, "status": { "allowed": false },
        });
        let document = review.to_string().into_bytes();
        let deadline = attributes.deadline();
        let posted = self
            .caller
            .post_repeatedly(attributes.server, &document, TIMEOUT, self.pause);
        let posted = tokio::time::timeout_at(deadline.at, posted)
            .await
            .map_err(|_| Failure::TooLate(too_late(deadline)))?;
        let body = posted.map_err(|error| match error {
            CallError::Forbidden(status) => Failure::Forbidden(status),
            other => Failure::Other(other.to_string()),
        })?;
        verdict(&body).map_err(Failure::Other)
    }
}

/// Who posts to the webhook of this kubeconfig.
fn caller(file: &str) -> std::result::Result<Caller, String> {
    if file.is_empty() {
        return Err(
            "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
                .to_owned(),
        );
    }
    let text = std::fs::read_to_string(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("stat {file}: no such file or directory"),
        _ => format!("{file}: {error}"),
    })?;
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    kubeconfig::caller(&text, folder).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{file}: {error}{}", source.unwrap_or_default())
    })
}

/// What the review says that came back, or upstream's words for what it is instead.
fn verdict(body: &[u8]) -> std::result::Result<Verdict, String> {
    let sent = GroupVersionKind::new(GROUP, VERSION, KIND);
    let (review, _) = document::read(&sent, &[VERSION], body).map_err(|why| unknown_conversion(body).unwrap_or(why))?;
    let status = &review["status"];
    let wrong = |value: &Value, field: &str, of: &str| {
        Err(format!(
            "json: cannot unmarshal {} into Go struct field ImageReviewStatus.status.{field} of type {of}",
            json_kind(value)
        ))
    };
    let mut verdict = Verdict::default();
    match &status["allowed"] {
        Value::Null => {}
        Value::Bool(allowed) => verdict.allowed = *allowed,
        other => return wrong(other, "allowed", "bool"),
    }
    match &status["reason"] {
        Value::Null => {}
        Value::String(reason) => verdict.reason.clone_from(reason),
        other => return wrong(other, "reason", "string"),
    }
    for (key, value) in status["auditAnnotations"].as_object().into_iter().flatten() {
        match value.as_str() {
            Some(text) => verdict.annotations.push((key.clone(), text.to_owned())),
            None => return wrong(value, "auditAnnotations", "string"),
        }
    }
    Ok(verdict)
}

/// What is wrong with an answer that is another kind of Kubernetes.
fn unknown_conversion(body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let (given, kind) = (answer["apiVersion"].as_str()?, answer["kind"].as_str()?);
    let mut all = Registry::builtin().iter();
    all.find(|known| known.kind == kind && api_version(&known.group, &known.version) == given)
        .map(|known| {
            format!(
                "converting ({}.{kind}) to ({VERSION}.{KIND}): unknown conversion",
                known.version
            )
        })
}

/// A member of an object; as in Go, the case of its name does not matter.
fn member<'v>(object: &'v Value, name: &str) -> &'v Value {
    let mut members = object.as_object().into_iter().flatten();
    let found = members.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map_or(&Value::Null, |(_, value)| value)
}

fn number(policy: &Value, name: &str) -> std::result::Result<i64, String> {
    match member(policy, name) {
        Value::Null => Ok(0),
        given => given.as_i64().ok_or_else(|| other_type(given, name, "time.Duration")),
    }
}

fn other_type(given: &Value, name: &str, of: &str) -> String {
    let kind = match given {
        Value::Number(number) => format!("number {number}"),
        other => json_kind(other).to_owned(),
    };
    format!(
        "json: cannot unmarshal {kind} into Go struct field imagePolicyWebhookConfig.imagePolicy.{name} of type {of}"
    )
}

/// Which times a number of a configuration may mean.
struct Range {
    unit: Duration,
    default: Duration,
    most: Duration,
    /// As upstream prints them.
    bounds: &'static str,
}

const PAUSES: Range = Range {
    unit: Duration::from_millis(1),
    default: Duration::from_millis(500),
    most: Duration::from_mins(5),
    bounds: "1ns and 5m0s",
};
const TIMES_OF_ALLOWED: Range = Range {
    unit: Duration::from_secs(1),
    default: Duration::from_mins(5),
    most: Duration::from_mins(30),
    bounds: "1s and 30m0s",
};
const TIMES_OF_REFUSED: Range = Range {
    default: Duration::from_secs(30),
    ..TIMES_OF_ALLOWED
};

impl Range {
    /// The time that a number means: 0 is the default, -1 none at all.
    fn time(&self, number: i64) -> std::result::Result<Duration, String> {
        let count = u32::try_from(number.unsigned_abs()).unwrap_or(u32::MAX);
        let time = self.unit.saturating_mul(count);
        match number {
            0 => Ok(self.default),
            -1 => Ok(Duration::ZERO),
            1.. if time <= self.most => Ok(time),
            _ => {
                let sign = if number < 0 { "-" } else { "" };
                let bounds = self.bounds;
                Err(format!("valid value is between {bounds}, got {sign}{}", go_text(time)))
            }
        }
    }
}

/// A time of whole milliseconds as Go prints it.
fn go_text(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.subsec_millis());
    if seconds == 0 {
        return format!("{millis}ms");
    }
    let mut text = String::new();
    if seconds >= 3600 {
        text = format!("{}h", seconds / 3600);
    }
    if seconds >= 60 {
        text = format!("{text}{}m", seconds / 60 % 60);
    }
    let fraction = format!("{millis:03}");
    match fraction.trim_end_matches('0') {
        "" => format!("{text}{}s", seconds % 60),
        fraction => format!("{text}{}.{fraction}s", seconds % 60),
    }
}

impl fmt::Debug for ImagePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImagePolicy").finish_non_exhaustive()
    }
}
