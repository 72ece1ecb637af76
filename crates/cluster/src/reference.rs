//! Which object is meant, written as kubectl writes it.

use std::fmt;

use serde_json::Value;

/// Which object is meant. Shown as `deployment.apps/shop-controller-manager`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The group and version, as in `apps/v1`.
    pub api_version: String,
    /// The kind, as in `Deployment`.
    pub kind: String,
    /// The namespace, if it names one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Reference {
    /// The object of this name.
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Reference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// That of an object; `None` if it does not say what it is.
    pub fn of(object: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Reference {
            api_version: text(&object["apiVersion"])?,
            kind: text(&object["kind"])?,
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&object["metadata"]["name"])?,
        })
    }

    /// The group, empty for the core's, and the version.
    pub(crate) fn group_version(&self) -> (&str, &str) {
        self.api_version
            .split_once('/')
            .unwrap_or(("", self.api_version.as_str()))
    }

    /// Whether it is of this kind, in any version.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group_version().0 == group && self.kind == kind
    }

    /// Whether it is a `CustomResourceDefinition`.
    pub(crate) fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Whether it is a Namespace.
    pub fn is_namespace(&self) -> bool {
        self.is("", "Namespace")
    }

    /// Whether it is an `APIService`.
    pub fn is_api_service(&self) -> bool {
        self.is("apiregistration.k8s.io", "APIService")
    }

    /// Whether it is an admission policy, or binds one.
    pub fn is_policy(&self) -> bool {
        self.group_version().0 == "admissionregistration.k8s.io"
            && matches!(
                self.kind.as_str(),
                "MutatingAdmissionPolicy"
                    | "MutatingAdmissionPolicyBinding"
                    | "ValidatingAdmissionPolicy"
                    | "ValidatingAdmissionPolicyBinding"
            )
    }

    /// Whether it is a webhook configuration.
    pub fn is_webhooks(&self) -> bool {
        let kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
        kinds.iter().any(|kind| self.is("admissionregistration.k8s.io", kind))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.to_lowercase();
        match self.group_version().0 {
            "" => write!(f, "{kind}/{}", self.name),
            group => write!(f, "{kind}.{group}/{}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_is_written_as_kubectl_does() {
        let shown = |api_version: &str, kind: &str| {
            let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x" } });
            Reference::of(&object).unwrap().to_string()
        };
        assert_eq!(shown("v1", "Service"), "service/x");
        assert_eq!(shown("apps/v1", "Deployment"), "deployment.apps/x");
        assert_eq!(
            shown("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            "customresourcedefinition.apiextensions.k8s.io/x"
        );
    }

    #[test]
    fn what_does_not_say_what_it_is_has_no_reference() {
        for object in [
            json!({}),
            json!([]),
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": {} }),
        ] {
            assert_eq!(Reference::of(&object), None);
        }
    }
}
