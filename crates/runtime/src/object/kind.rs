//! What an object is: group, version, kind, plural name and scope.

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;

use k8s_openapi::NamespaceResourceScope;
use kube::core::ApiResource;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A Rust type of a Kubernetes kind: those of `k8s-openapi` and those that `#[derive(CustomResource)]` makes.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube::CustomResource;
/// use kubewright_runtime::object::{Kind, Object};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
/// #[kube(group = "example.com", version = "v1", kind = "Tree", namespaced)]
/// struct TreeSpec {
///     height: u32,
/// }
///
/// fn path<K: Object>() -> String {
///     Kind::of::<K>().path(Some("forest"))
/// }
/// assert_eq!(path::<Tree>(), "/apis/example.com/v1/namespaces/forest/trees");
/// assert_eq!(path::<Pod>(), "/api/v1/namespaces/forest/pods");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    label = "expected a type of `k8s_openapi` or one made by `#[derive(CustomResource)]`",
    note = "for kinds known only at run time use `Kind` and `kube::core::DynamicObject`"
)]
pub trait Object:
    kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static
{
}

impl<K> Object for K where
    K: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static
{
}

/// Group, version, kind, plural name and scope of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    group: Cow<'static, str>,
    version: Cow<'static, str>,
    name: Cow<'static, str>,
    plural: Cow<'static, str>,
    namespaced: bool,
}

impl Kind {
    /// The kind of a Rust type.
    pub fn of<K: Object>() -> Self {
        Kind {
            group: K::group(&()),
            version: K::version(&()),
            name: K::kind(&()),
            plural: K::plural(&()),
            namespaced: TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>(),
        }
    }

    /// A kind known only at run time.
    pub fn dynamic(resource: &ApiResource, namespaced: bool) -> Self {
        Kind {
            group: resource.group.clone().into(),
            version: resource.version.clone().into(),
            name: resource.kind.clone().into(),
            plural: resource.plural.clone().into(),
            namespaced,
        }
    }

    /// A kind by its names.
    pub fn named(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Kind {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            name: kind.to_owned().into(),
            plural: plural.to_owned().into(),
            namespaced,
        }
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version within the group.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The kind's name, as `Deployment`.
    pub fn kind(&self) -> &str {
        &self.name
    }

    /// The resource's name in paths, as `deployments`.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Group and version as objects carry them: `apps/v1`, or `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The same, as `kube` calls it.
    pub fn api_resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_string(),
            version: self.version.to_string(),
            api_version: self.api_version(),
            kind: self.name.to_string(),
            plural: self.plural.to_string(),
        }
    }

    /// The path of its group version, where discovery says what is served.
    pub(crate) fn group_version_path(&self) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        format!("/{root}/{}", self.api_version())
    }

    /// The path of the collection, in one namespace or in all.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let (root, plural) = (self.group_version_path(), &self.plural);
        match namespace {
            Some(namespace) if self.namespaced => format!("{root}/namespaces/{namespace}/{plural}"),
            _ => format!("{root}/{plural}"),
        }
    }

    /// The opening of every record of this kind: an object with apiVersion and kind, not yet closed.
    pub(crate) fn type_meta(&self) -> String {
        let text = |value: &str| serde_json::Value::from(value).to_string();
        format!(
            r#"{{"apiVersion":{},"kind":{}"#,
            text(&self.api_version()),
            text(&self.name)
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}.{}", self.name, self.group)
        }
    }
}
