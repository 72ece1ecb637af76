//! The environment variables of a container's process: those of its Pod and of its Services, none of this process.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvFromSource, EnvVar, EnvVarSource, Pod, Secret};
use kubewright_apimachinery::go::quote;
use kubewright_runtime::client::Client;
use kubewright_runtime::object::ObjectKey;

use super::error::StartError;
use super::{expansion, fields};

/// Variables that Pods may not set, by how they begin: the dynamic loader, the C library or OpenSSL would load arbitrary libraries into the
/// process.
const LOADER: [&str; 7] = [
    "LD_",
    "DYLD_",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "GETCONF_DIR",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
];

/// What the variables of a container may refer to.
pub(super) struct Sources<'a> {
    pub(super) client: &'a Client,
    pub(super) pod: &'a Pod,
    pub(super) allocatable: &'a BTreeMap<String, String>,
}

impl Sources<'_> {
    fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(self.pod.metadata.namespace.as_deref().unwrap_or_default(), name)
    }

    /// The data of a `ConfigMap`, if it is there.
    pub(super) async fn config_map(&self, name: &str) -> Result<Option<ConfigMap>, String> {
        let found = self.client.live().get_opt::<ConfigMap>(&self.key(name)).await;
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.map(kubewright_runtime::object::View::into_owned))
    }

    pub(super) async fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        let found = self.client.live().get_opt::<Secret>(&self.key(name)).await;
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.map(kubewright_runtime::object::View::into_owned))
    }

    /// The variables of a container: `given` ones first, which the Pod's own may replace and refer to.
    pub(super) async fn variables(
        &self,
        container: &Container,
        given: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, StartError> {
        let mut all = given;
        for source in container.env_from.iter().flatten() {
            all.extend(self.every(source).await.map_err(StartError::Config)?);
        }
        for variable in container.env.iter().flatten() {
            if let Some(value) = self.value(container, variable, &all).await? {
                all.insert(variable.name.clone(), value);
            }
        }
        match all
            .keys()
            .find(|name| LOADER.iter().any(|prefix| name.starts_with(prefix)))
        {
            Some(name) => Err(StartError::Config(format!(
                "the variable {name} is not given to processes: it would load code that is no image's"
            ))),
            None => Ok(all),
        }
    }

    async fn value(
        &self,
        container: &Container,
        variable: &EnvVar,
        known: &BTreeMap<String, String>,
    ) -> Result<Option<String>, StartError> {
        match &variable.value_from {
            Some(source) => self.from(container, source).await.map_err(StartError::Config),
            None => Ok(Some(expansion::expanded(
                variable.value.as_deref().unwrap_or_default(),
                known,
            ))),
        }
    }

    async fn from(&self, container: &Container, source: &EnvVarSource) -> Result<Option<String>, String> {
        let namespace = self.pod.metadata.namespace.as_deref().unwrap_or_default();
        if let Some(field) = &source.field_ref {
            return fields::field(self.pod, field).map(Some);
        }
        if let Some(resource) = &source.resource_field_ref {
            return fields::resource(self.pod, Some(container), self.allocatable, resource).map(Some);
        }
        if let Some(wanted) = &source.config_map_key_ref {
            let optional = wanted.optional == Some(true);
            let Some(found) = self.config_map(&wanted.name).await? else {
                return missing(optional, || format!("configmap {} not found", quote(&wanted.name)));
            };
            return match found.data.and_then(|mut data| data.remove(&wanted.key)) {
                Some(value) => Ok(Some(value)),
                None => missing(optional, || {
                    format!(
                        "couldn't find key {} in ConfigMap {namespace}/{}",
                        wanted.key, wanted.name
                    )
                }),
            };
        }
        if let Some(wanted) = &source.secret_key_ref {
            let optional = wanted.optional == Some(true);
            let Some(found) = self.secret(&wanted.name).await? else {
                return missing(optional, || format!("secret {} not found", quote(&wanted.name)));
            };
            return match found.data.and_then(|mut data| data.remove(&wanted.key)) {
                Some(value) => Ok(Some(String::from_utf8_lossy(&value.0).into_owned())),
                None => missing(optional, || {
                    format!("couldn't find key {} in Secret {namespace}/{}", wanted.key, wanted.name)
                }),
            };
        }
        Err("a variable's valueFrom is of a sort that processes do not have".to_owned())
    }

    /// All variables of a source, under its prefix. What cannot be a name is left out, as nodes do.
    async fn every(&self, source: &EnvFromSource) -> Result<BTreeMap<String, String>, String> {
        let mut found = BTreeMap::new();
        if let Some(wanted) = &source.config_map_ref {
            match self.config_map(&wanted.name).await? {
                Some(map) => found.extend(map.data.unwrap_or_default()),
                None if wanted.optional == Some(true) => {}
                None => return Err(format!("configmap {} not found", quote(&wanted.name))),
            }
        }
        if let Some(wanted) = &source.secret_ref {
            match self.secret(&wanted.name).await? {
                Some(secret) => {
                    let data = secret.data.unwrap_or_default().into_iter();
                    found.extend(data.map(|(key, value)| (key, String::from_utf8_lossy(&value.0).into_owned())));
                }
                None if wanted.optional == Some(true) => {}
                None => return Err(format!("secret {} not found", quote(&wanted.name))),
            }
        }
        let prefix = source.prefix.as_deref().unwrap_or_default();
        let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        let named = found.into_iter().map(|(key, value)| (format!("{prefix}{key}"), value));
        Ok(named.filter(|(name, _)| is_name(name)).collect())
    }
}

fn missing(optional: bool, why: impl Fn() -> String) -> Result<Option<String>, String> {
    if optional { Ok(None) } else { Err(why()) }
}
