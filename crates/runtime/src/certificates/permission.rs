//! What keeping certificates needs to be allowed, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::target::Target;

/// Rights on named objects: a rule of a Role where it has a namespace, of a `ClusterRole` where it has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// Where; everywhere, or for what is in no namespace, `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespace: Option<String>,
    /// The API group; the core group is empty.
    pub api_group: String,
    /// The resource.
    pub resource: String,
    /// The names of the objects.
    pub resource_names: Vec<String>,
    /// The verbs.
    pub verbs: Vec<String>,
}

impl Permission {
    fn new(namespace: Option<&str>, group: &str, resource: &str, name: &str, verbs: &[&str]) -> Self {
        Permission {
            namespace: namespace.map(str::to_owned),
            api_group: group.to_owned(),
            resource: resource.to_owned(),
            resource_names: vec![name.to_owned()],
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        }
    }

    /// On the Secret. A `create` with a name covers creation by apply, which names what it creates; a POST it does not.
    pub(super) fn on_secret(namespace: &str, name: &str) -> Self {
        let verbs = ["get", "list", "watch", "create", "update", "patch"];
        Self::new(Some(namespace), "", "secrets", name, &verbs)
    }

    /// On what holds a caBundle: one rule per resource.
    pub(super) fn on_targets(targets: &[Target], verbs: &[&str]) -> Vec<Self> {
        let mut permissions: Vec<Self> = Vec::new();
        for target in targets {
            let resource = target.kind.resource();
            match permissions
                .iter_mut()
                .find(|permission| permission.resource == resource)
            {
                Some(permission) if permission.resource_names.contains(&target.name) => {}
                Some(permission) => permission.resource_names.push(target.name.clone()),
                None => permissions.push(Self::new(None, target.kind.group(), resource, &target.name, verbs)),
            }
        }
        permissions
    }
}

/// As a rule is written in YAML.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |texts: &[String]| serde_json::to_string(texts).unwrap_or_default();
        write!(
            f,
            "{{apiGroups: [{:?}], resources: [{:?}], resourceNames: {}, verbs: {}}}",
            self.api_group,
            self.resource,
            list(&self.resource_names),
            list(&self.verbs)
        )?;
        match &self.namespace {
            Some(namespace) => write!(f, " in a Role of namespace {namespace}"),
            None => f.write_str(" in a ClusterRole"),
        }
    }
}
