//! The Pod in which an operator runs, and how its debug endpoint is reached there.

use std::fmt;
use std::str::FromStr;

use kubewright_cluster::{Cluster, Error as ClusterError, Reference};
use kubewright_runtime::object::Kind;
use serde_json::Value;

/// Where an operator has its debug endpoint unless it is told otherwise.
const DEFAULT_PORT: u16 = 8082;

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Deployment(String),
    Pod(String),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "write deploy/NAME or pod/NAME";
        let (kind, name) = text.split_once('/').ok_or(wanted)?;
        if name.is_empty() || name.contains('/') {
            return Err(wanted.to_owned());
        }
        match kind {
            "deploy" | "deployment" | "deployments" | "deployment.apps" | "deployments.apps" => {
                Ok(Target::Deployment(name.to_owned()))
            }
            "pod" | "pods" | "po" => Ok(Target::Pod(name.to_owned())),
            other => Err(format!("an operator runs in no {other}: {wanted}")),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Deployment(name) => write!(f, "deploy/{name}"),
            Target::Pod(name) => write!(f, "pod/{name}"),
        }
    }
}

/// Why an operator is not found.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkloadError {
    #[error("there is no {0} in namespace {1}")]
    Missing(Reference, String),
    #[error("no Pod of deployment.apps/{0} runs")]
    NoPod(String),
    #[error("the cluster does not say how the operator runs")]
    Cluster(#[from] ClusterError),
}

/// How an operator runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Workload {
    /// Its service account.
    pub(super) account: String,
    /// The port of its debug endpoint.
    pub(super) port: u16,
    /// Whether it records what happens.
    pub(super) has_trace: bool,
}

impl Workload {
    pub(super) async fn find(cluster: &Cluster, target: &Target, namespace: &str) -> Result<Self, WorkloadError> {
        let (reference, spec) = match target {
            Target::Deployment(name) => (
                Reference::new("apps/v1", "Deployment", Some(namespace), name),
                "/spec/template/spec",
            ),
            Target::Pod(name) => (Reference::new("v1", "Pod", Some(namespace), name), "/spec"),
        };
        let object = cluster.get(&reference).await?;
        let object = object.ok_or_else(|| WorkloadError::Missing(reference, namespace.to_owned()))?;
        Ok(Self::of(object.pointer(spec).unwrap_or(&Value::Null)))
    }

    /// By what the specification of a Pod says.
    fn of(spec: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let containers = spec["containers"].as_array().into_iter().flatten();
        let words: Vec<String> = containers
            .flat_map(|container| [&container["command"], &container["args"]])
            .flat_map(|words| words.as_array().into_iter().flatten())
            .map(text)
            .collect();
        let address = value_of(&words, "debug-bind-address");
        let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
        let bytes = value_of(&words, "debug-trace-bytes");
        let account = text(&spec["serviceAccountName"]);
        Workload {
            account: if account.is_empty() {
                "default".to_owned()
            } else {
                account
            },
            port: port.unwrap_or(DEFAULT_PORT),
            // Without a value it is on.
            has_trace: bytes.is_some_and(|bytes| bytes != "0")
                || words
                    .iter()
                    .any(|word| word.trim_start_matches('-') == "debug-trace-bytes"),
        }
    }
}

/// The value of a flag, with one dash or two, behind `=` or as the next word.
fn value_of<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        let word = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        match word.split_once('=') {
            Some((flag, value)) => (flag == name).then_some(value),
            None => (word == name).then(|| words.get(at + 1).map(String::as_str))?,
        }
    })
}

/// The Pod to look into: the one that leads, or the first that is ready.
pub(super) async fn pod(cluster: &Cluster, target: &Target, namespace: &str) -> Result<String, WorkloadError> {
    let name = match target {
        Target::Pod(name) => return Ok(name.clone()),
        Target::Deployment(name) => name,
    };
    let reference = Reference::new("apps/v1", "Deployment", Some(namespace), name);
    let deployment = cluster.get(&reference).await?;
    let deployment = deployment.ok_or_else(|| WorkloadError::Missing(reference, namespace.to_owned()))?;
    let pods = Kind::named("", "v1", "Pod", "pods", true);
    let pods = cluster.list(&pods, Some(namespace), &selector(&deployment)).await?;
    // Who may not read leases looks into the first Pod.
    let leases = Kind::named("coordination.k8s.io", "v1", "Lease", "leases", true);
    let leases = cluster.list(&leases, Some(namespace), "").await.unwrap_or_default();
    choose(&pods, &leases).ok_or_else(|| WorkloadError::NoPod(name.clone()))
}

fn selector(deployment: &Value) -> String {
    let labels = deployment["spec"]["selector"]["matchLabels"].as_object();
    let pairs = labels.into_iter().flatten();
    let pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.join(",")
}

fn choose(pods: &[Value], leases: &[Value]) -> Option<String> {
    let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let runs = |pod: &&Value| pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null();
    // A holder is called as its Pod, with something behind it that no other has.
    let leads = |pod: &&Value| {
        let holders = leases
            .iter()
            .filter_map(|lease| lease["spec"]["holderIdentity"].as_str());
        let pod = name(pod);
        holders
            .into_iter()
            .any(|holder| holder == pod || holder.strip_prefix(&*pod).is_some_and(|rest| rest.starts_with('_')))
    };
    let is_ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .into_iter()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    let running = || pods.iter().filter(runs);
    let found = running()
        .find(leads)
        .or_else(|| running().find(is_ready))
        .or_else(|| running().next());
    found.map(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operator_is_named_as_kubectl_names_it() {
        let target = |text: &str| text.parse::<Target>();
        for text in ["deploy/shop", "deployment/shop", "deployment.apps/shop"] {
            assert_eq!(target(text), Ok(Target::Deployment("shop".to_owned())));
        }
        assert_eq!(target("pod/shop-1"), Ok(Target::Pod("shop-1".to_owned())));
        for text in ["shop", "deploy/", "deploy/a/b"] {
            assert_eq!(target(text).unwrap_err(), "write deploy/NAME or pod/NAME");
        }
        assert_eq!(
            target("job/x").unwrap_err(),
            "an operator runs in no job: write deploy/NAME or pod/NAME"
        );
    }

    #[test]
    fn how_it_runs_is_in_its_arguments() {
        let spec = |arguments: &[&str]| json!({ "serviceAccountName": "shop", "containers": [{ "command": ["/manager"], "args": arguments }] });
        let workload = Workload::of(&spec(&["--leader-elect"]));
        assert_eq!(
            (&*workload.account, workload.port, workload.has_trace),
            ("shop", 8082, false)
        );
        let workload = Workload::of(&spec(&[
            "-debug-bind-address",
            "127.0.0.1:7000",
            "--debug-trace-bytes=8388608",
        ]));
        assert_eq!((workload.port, workload.has_trace), (7000, true));
        assert!(!Workload::of(&spec(&["--debug-trace-bytes=0"])).has_trace);
        assert!(Workload::of(&spec(&["--debug-trace-bytes"])).has_trace);
        assert_eq!(Workload::of(&json!(null)).account, "default");
    }

    #[test]
    fn the_pod_that_leads_is_looked_into() {
        let pod = |name: &str, phase: &str, ready: &str| {
            json!({
                "metadata": { "name": name },
                "status": { "phase": phase, "conditions": [{ "type": "Ready", "status": ready }] },
            })
        };
        let lease = |holder: &str| json!({ "spec": { "holderIdentity": holder } });
        let pods = [
            pod("a", "Pending", "False"),
            pod("b", "Running", "False"),
            pod("c", "Running", "True"),
            pod("cc", "Running", "True"),
        ];
        assert_eq!(choose(&pods, &[lease("cc_4711")]).as_deref(), Some("cc"));
        assert_eq!(choose(&pods, &[lease("somebody")]).as_deref(), Some("c"));
        assert_eq!(choose(&pods[..2], &[]).as_deref(), Some("b"));
        assert_eq!(choose(&pods[..1], &[]), None);
    }
}
