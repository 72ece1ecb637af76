//! What an operator needs in a cluster: its definitions, its account with its role, its webhooks.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::core::DynamicObject;
use kubewright_manifests::bundle::Bundle;
use kubewright_manifests::definitions::DefinitionOptions;
use kubewright_manifests::install::{RenderedManifests, Settings};
use kubewright_runtime::client::Client;
use kubewright_runtime::object::Kind;
use kubewright_runtime::operator::{Description, Operator};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::{Error, deadline};

/// The image of the manager's Deployment, which is not installed.
const IMAGE: &str = "controller:latest";
/// The port of an operator's Services, which webhook configurations and `APIServices` name.
pub(crate) const SERVICE_PORT: u16 = 443;

/// What is installed for an operator, in the order in which a cluster takes it.
#[derive(Clone)]
pub(crate) struct Installation {
    pub(crate) objects: Arc<Vec<Value>>,
    pub(crate) namespace: String,
    pub(crate) account: String,
    pub(crate) webhook_service: String,
    pub(crate) extension_service: String,
}

impl Installation {
    /// The installation in the namespace that belongs to the operator.
    pub(crate) fn of(operator: &Operator) -> Result<Self, Error> {
        Self::new(operator, &Settings::new(operator.name(), IMAGE), rendered)
    }

    /// The installation in a namespace of the test. On a cluster that others use, the operator's own may be theirs, or still be
    /// going away after the last test.
    pub(crate) fn within(operator: &Operator, namespace: &str) -> Result<Self, Error> {
        let settings = Settings {
            namespace: namespace.to_owned(),
            ..Settings::new(operator.name(), IMAGE)
        };
        Self::new(operator, &settings, |description, settings| {
            render(description, settings).map(Arc::new)
        })
    }

    fn new(
        operator: &Operator,
        settings: &Settings,
        render: impl Fn(&Description, &Settings) -> Result<Arc<Vec<Value>>, Error>,
    ) -> Result<Self, Error> {
        let name = operator.name();
        Ok(Installation {
            objects: render(&operator.describe(), settings)?,
            namespace: settings.namespace.clone(),
            account: format!("{name}-controller-manager"),
            webhook_service: format!("{name}-webhook-service"),
            extension_service: format!("{name}-extension-service"),
        })
    }
}

/// Rendering takes longer than installing, so every operator is rendered once per process.
fn rendered(description: &Description, settings: &Settings) -> Result<Arc<Vec<Value>>, Error> {
    static RENDERED: OnceLock<Mutex<HashMap<String, Arc<Vec<Value>>>>> = OnceLock::new();
    let key = serde_json::to_string(description).map_err(|error| Error::Definitions(error.to_string()))?;
    let rendered = RENDERED.get_or_init(Mutex::default);
    if let Some(objects) = rendered.lock().get(&key) {
        return Ok(Arc::clone(objects));
    }
    let objects = Arc::new(render(description, settings)?);
    rendered.lock().insert(key, Arc::clone(&objects));
    Ok(objects)
}

fn render(description: &Description, settings: &Settings) -> Result<Vec<Value>, Error> {
    let manifests = RenderedManifests::render(description, &DefinitionOptions::default(), settings)
        .map_err(|problems| Error::Definitions(problems.to_string()))?;
    let bundle = Bundle::of(&manifests, &|_| None).map_err(|error| Error::Definitions(error.to_string()))?;
    let objects = bundle.all().filter(|object| is_needed(object)).cloned();
    Ok(objects.collect())
}

/// Whether a manager that runs in the test needs the object: not its Deployment, nor a role for those who read its
/// metrics.
fn is_needed(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    let about_people = object["metadata"]["name"]
        .as_str()
        .is_some_and(|name| name.ends_with("-metrics-reader"));
    let kinds = [
        "Namespace",
        // Installed once the API is served.
        "APIService",
        "CustomResourceDefinition",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ];
    kinds.contains(&kind) && !about_people
}

/// The kind of an object that is installed, with its resource.
pub(crate) fn kind_of(object: &Value) -> Option<Kind> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    const ADMISSION: &str = "admissionregistration.k8s.io";
    let (group, plural, namespaced) = match object["kind"].as_str()? {
        "Namespace" => ("", "namespaces", false),
        "ServiceAccount" => ("", "serviceaccounts", true),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "customresourcedefinitions", false),
        "Role" => (RBAC, "roles", true),
        "ClusterRole" => (RBAC, "clusterroles", false),
        "RoleBinding" => (RBAC, "rolebindings", true),
        "ClusterRoleBinding" => (RBAC, "clusterrolebindings", false),
        "MutatingWebhookConfiguration" => (ADMISSION, "mutatingwebhookconfigurations", false),
        "ValidatingWebhookConfiguration" => (ADMISSION, "validatingwebhookconfigurations", false),
        "MutatingAdmissionPolicy" => (ADMISSION, "mutatingadmissionpolicies", false),
        "MutatingAdmissionPolicyBinding" => (ADMISSION, "mutatingadmissionpolicybindings", false),
        "ValidatingAdmissionPolicy" => (ADMISSION, "validatingadmissionpolicies", false),
        "ValidatingAdmissionPolicyBinding" => (ADMISSION, "validatingadmissionpolicybindings", false),
        _ => return None,
    };
    Some(Kind::named(group, "v1", object["kind"].as_str()?, plural, namespaced))
}

/// Puts objects into the cluster; where others may have put them already, theirs are overwritten.
pub(crate) async fn install(objects: &[Value], client: &Client, is_shared: bool) -> Result<(), Error> {
    for object in objects {
        let Some(kind) = kind_of(object) else { continue };
        let what = format!(
            "{} {}",
            kind.kind(),
            object["metadata"]["name"].as_str().unwrap_or_default()
        );
        let wanted: DynamicObject = serde_json::from_value(object.clone()).map_err(|error| Error::Manifest {
            place: what.clone(),
            problem: error.to_string(),
        })?;
        let target = client.dynamic(kind);
        let done = if is_shared {
            target.apply(&wanted).await.map(drop)
        } else {
            target.create(&wanted).await.map(drop)
        };
        done.map_err(|source| Error::Install {
            what,
            source: Box::new(source),
        })?;
    }
    Ok(())
}

/// Waits until the kinds that were installed are served, and discovery tells of them. The embedded server has both at once; others need
/// a moment for each and do not say when it is over.
pub(crate) async fn served(objects: &[Value], client: &Client) -> Result<(), Error> {
    let patience = deadline::of_starts();
    let deadline = Instant::now() + patience;
    for definition in objects
        .iter()
        .filter(|object| object["kind"] == "CustomResourceDefinition")
    {
        let spec = &definition["spec"];
        let (group, plural) = (
            spec["group"].as_str().unwrap_or_default(),
            spec["names"]["plural"].as_str().unwrap_or_default(),
        );
        let versions = spec["versions"].as_array().into_iter().flatten();
        for version in versions.filter(|version| version["served"] == true) {
            let path = format!("/apis/{group}/{}", version["name"].as_str().unwrap_or_default());
            while !(answers(client, &format!("{path}/{plural}?limit=1")).await
                && discovered(client, &path, plural).await)
            {
                if Instant::now() > deadline {
                    return Err(Error::ControlPlane(format!(
                        "{path}/{plural} is not served after {patience:?}"
                    )));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    Ok(())
}

/// Waits until the webhook configurations have the address of this process.
pub(crate) async fn webhooks_known(objects: &[Value], admin: &kube::Client) -> Result<(), Error> {
    let patience = deadline::of_starts();
    let deadline = Instant::now() + patience;
    let calls = |object: &&Value| {
        let kind = object["kind"].as_str().unwrap_or_default();
        kind.ends_with("WebhookConfiguration") || object["spec"]["conversion"]["strategy"] == "Webhook"
    };
    for object in objects.iter().filter(calls) {
        let (Some(kind), Some(name)) = (kind_of(object), object["metadata"]["name"].as_str()) else {
            continue;
        };
        let path = format!("{}/{name}", kind.path(None));
        loop {
            let request = http::Request::get(&path).body(Vec::new());
            let request = request.map_err(|error| Error::ControlPlane(error.to_string()))?;
            let found: Value = admin
                .request(request)
                .await
                .map_err(|error| Error::kube(&path, error))?;
            let webhooks = found["webhooks"].as_array().into_iter().flatten();
            let conversion = Some(&found["spec"]["conversion"]["webhook"]).filter(|webhook| webhook.is_object());
            if webhooks
                .chain(conversion)
                .all(|webhook| webhook["clientConfig"]["url"].is_string())
            {
                break;
            }
            if Instant::now() > deadline {
                return Err(Error::ControlPlane(format!(
                    "the server was not told of the webhooks of {name} after {patience:?}"
                )));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    Ok(())
}

async fn answers(client: &Client, path: &str) -> bool {
    let Ok(request) = http::Request::get(path).body(Vec::new()) else {
        return true;
    };
    match client.kube().request_text(request).await {
        Err(kube::Error::Api(status)) => status.code != 404,
        _ => true,
    }
}

/// Whether a group version lists a resource.
async fn discovered(client: &Client, path: &str, plural: &str) -> bool {
    let Ok(request) = http::Request::get(path).body(Vec::new()) else {
        return true;
    };
    let listed: Result<Value, _> = client.kube().request(request).await;
    let listed = listed.unwrap_or_default();
    let mut resources = listed["resources"].as_array().into_iter().flatten();
    resources.any(|resource| resource["name"] == plural)
}
