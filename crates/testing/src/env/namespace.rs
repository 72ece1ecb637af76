//! Namespaces that limit what is in them: by the labels of Pod security, and by quotas.

use std::collections::BTreeMap;
use std::panic::Location;
use std::pin::Pin;

use k8s_openapi::api::core::v1::{Namespace, ResourceQuota, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::object::ObjectKey;
use serde_json::{Map, Value, json};

use super::{DefaultAccount, TestEnv};
use crate::Error;
use crate::fail::{CallSite, or_fail};

/// The name of the quota of a namespace.
const QUOTA: &str = "quota";

/// A level of [the Pod Security Standards](https://kubernetes.io/docs/concepts/security/pod-security-standards/).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PodSecurity {
    /// Pods may do everything.
    Privileged,
    /// Pods may do nothing that is known to escalate privileges.
    Baseline,
    /// Pods are hardened.
    Restricted,
}

impl PodSecurity {
    fn name(self) -> &'static str {
        match self {
            PodSecurity::Privileged => "privileged",
            PodSecurity::Baseline => "baseline",
            PodSecurity::Restricted => "restricted",
        }
    }
}

/// What a namespace has besides its name.
#[derive(Clone, Debug, Default)]
pub(super) struct NamespaceLimits {
    labels: BTreeMap<String, String>,
    quota: BTreeMap<String, String>,
}

impl NamespaceLimits {
    pub(super) fn label(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.labels.insert(key.into(), value.into());
    }

    pub(super) fn pod_security(&mut self, level: PodSecurity) {
        for mode in ["enforce", "warn", "audit"] {
            self.label(format!("pod-security.kubernetes.io/{mode}"), level.name());
        }
    }

    pub(super) fn quota<R: Into<String>, Q: Into<String>>(&mut self, hard: impl IntoIterator<Item = (R, Q)>) {
        let hard = hard
            .into_iter()
            .map(|(resource, quantity)| (resource.into(), quantity.into()));
        self.quota.extend(hard);
    }

    /// The namespace, with a name or with the beginning of one.
    pub(super) fn object(&self, field: &str, name: &str) -> Value {
        let mut metadata = Map::from_iter([(field.to_owned(), name.into())]);
        if !self.labels.is_empty() {
            metadata.insert("labels".to_owned(), json!(self.labels));
        }
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })
    }

    /// Makes the quota. A quota without a status limits nothing, so it gets that of an empty namespace at once, whether a controller
    /// counts or not.
    pub(super) async fn limit(&self, client: &Client, namespace: &str) -> Result<(), Error> {
        if self.quota.is_empty() {
            return Ok(());
        }
        let quota = json!({
            "metadata": { "name": QUOTA, "namespace": namespace },
            "spec": { "hard": self.quota },
        });
        let quota: ResourceQuota = serde_json::from_value(quota).map_err(|error| Error::Manifest {
            place: format!("ResourceQuota {QUOTA}"),
            problem: error.to_string(),
        })?;
        client.create(&quota).await.map_err(Error::client)?;
        let used: BTreeMap<&str, &str> = self.quota.keys().map(|resource| (resource.as_str(), "0")).collect();
        let status = Patch::Merge(json!({ "status": { "hard": self.quota, "used": used } }));
        let key = ObjectKey::namespaced(namespace, QUOTA);
        let counted = client.patch_status::<ResourceQuota>(&key, &status).await;
        counted.map(drop).map_err(Error::client)
    }
}

/// Makes the account `default` of a namespace, unless a controller was faster.
pub(super) async fn give_account(client: &Client, namespace: &str) -> Result<(), Error> {
    let account = ServiceAccount {
        metadata: ObjectMeta {
            name: Some("default".to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        ..ServiceAccount::default()
    };
    match client.create(&account).await {
        Err(error) if !error.is_already_exists() => Err(Error::client(error)),
        _ => Ok(()),
    }
}

/// A namespace that is made when this is awaited, which gives its name: see [`TestEnv::create_namespace`].
#[must_use = "a namespace is made when this is awaited"]
pub struct NewNamespace<'e> {
    env: &'e TestEnv,
    limits: NamespaceLimits,
    at: CallSite,
}

impl<'e> NewNamespace<'e> {
    #[track_caller]
    pub(super) fn new(env: &'e TestEnv) -> Self {
        NewNamespace {
            env,
            limits: NamespaceLimits::default(),
            at: Location::caller(),
        }
    }

    /// With a label.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.limits.label(key, value);
        self
    }

    /// Pods in it keep to this level; workloads whose Pods would not are warned of.
    pub fn pod_security(mut self, level: PodSecurity) -> Self {
        self.limits.pod_security(level);
        self
    }

    /// With a `ResourceQuota` named `quota`, which is in effect from the beginning: limits by resource, as `("pods", "4")`.
    pub fn quota<R: Into<String>, Q: Into<String>>(mut self, hard: impl IntoIterator<Item = (R, Q)>) -> Self {
        self.limits.quota(hard);
        self
    }

    async fn create(self) -> Result<String, Error> {
        let prefix = format!("{}-", self.env.namespace());
        let object = self.limits.object("generateName", &prefix);
        let object: Namespace = serde_json::from_value(object).map_err(|error| Error::Manifest {
            place: "the new Namespace".to_owned(),
            problem: error.to_string(),
        })?;
        let created = self.env.client.create(&object).await.map_err(Error::client)?;
        let name = created.metadata.name.unwrap_or_default();
        self.limits.limit(&self.env.client, &name).await?;
        if self.env.settings.default_account == DefaultAccount::AtOnce {
            give_account(&self.env.client, &name).await?;
        }
        Ok(name)
    }
}

impl<'e> IntoFuture for NewNamespace<'e> {
    type Output = String;
    type IntoFuture = Pin<Box<dyn Future<Output = String> + Send + 'e>>;

    fn into_future(self) -> Self::IntoFuture {
        let at = self.at;
        Box::pin(or_fail(at, self.create()))
    }
}
