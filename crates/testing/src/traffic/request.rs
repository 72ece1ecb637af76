//! A request in the terms of RBAC: verb, resource, namespace and name.

use std::fmt;

use kubewright_access::{Attributes, ListQuery};
use kubewright_apimachinery::fields;
use kubewright_apimachinery::url::{query_pairs, unescape_valid};

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ApiRequest {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// The resource with its subresource, as `deployments/status`. Empty for a non-resource path.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The path, for a non-resource request.
    pub(crate) url: String,
    /// Whether nothing is to be changed.
    pub(crate) dry_run: bool,
}

struct Query<'a>(&'a str);

impl Query<'_> {
    fn value(&self, name: &str) -> Option<String> {
        let mut pairs = query_pairs(self.0);
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

impl ListQuery for Query<'_> {
    fn is_watch(&self) -> bool {
        self.value("watch")
            .is_some_and(|value| matches!(value.as_str(), "1" | "true"))
    }

    fn exact_name(&self) -> Option<String> {
        let selector = self.value("fieldSelector")?;
        let mut requirements = fields::parse(&selector).ok()?.into_iter();
        let name = requirements.find(|requirement| requirement.field == "metadata.name" && requirement.is_equal)?;
        Some(name.value)
    }

    fn field_selector(&self) -> Option<String> {
        self.value("fieldSelector")
    }

    fn label_selector(&self) -> Option<String> {
        self.value("labelSelector")
    }
}

impl ApiRequest {
    pub(crate) fn of(method: &http::Method, uri: &http::Uri) -> Self {
        let path = unescape_valid(uri.path()).into_owned();
        let query = Query(uri.query().unwrap_or_default());
        let attributes = Attributes::of_request(method.as_str(), &path, &query);
        let is_resource = attributes.is_resource;
        let resource = if is_resource {
            attributes.combined_resource().into_owned()
        } else {
            String::new()
        };
        ApiRequest {
            verb: attributes.verb.clone().into_owned(),
            group: attributes.group.clone().into_owned(),
            resource,
            namespace: attributes.namespace.clone().into_owned(),
            name: attributes.name.clone().into_owned(),
            url: if is_resource { String::new() } else { path.clone() },
            dry_run: query.value("dryRun").is_some(),
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        let verb = self.verb.as_str();
        matches!(verb, "create" | "update" | "patch" | "delete" | "deletecollection")
            && !self.dry_run
            && !self.is_review()
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.verb == "watch"
    }

    /// What is posted but stores nothing.
    fn is_review(&self) -> bool {
        matches!(self.group.as_str(), "authorization.k8s.io" | "authentication.k8s.io")
            || self.resource.ends_with("/token")
    }

    /// Whether it writes an event or a lease, which managers go on writing while nothing changes.
    pub(crate) fn is_event_or_lease(&self) -> bool {
        self.resource == "events" || (self.group == "coordination.k8s.io" && self.resource == "leases")
    }

    /// The attribute that allows it.
    pub(crate) fn rbac(&self) -> String {
        let verb = &self.verb;
        if self.url.is_empty() {
            format!(
                "#[rbac(groups = {:?}, resources = {:?}, verbs = {verb:?})]",
                self.group, self.resource
            )
        } else {
            format!("#[rbac(urls = {:?}, verbs = {verb:?})]", self.url)
        }
    }

    /// The resource without its subresource, with its group: `deployments.apps`.
    pub(crate) fn resource_with_group(&self) -> String {
        let resource = self.resource.split('/').next().unwrap_or_default();
        if self.group.is_empty() {
            resource.to_owned()
        } else {
            format!("{resource}.{}", self.group)
        }
    }

    /// The object: `deployments.apps shop/web`.
    pub(crate) fn object(&self) -> String {
        let text = self.resource_with_group();
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => text,
            ("", name) => format!("{text} {name}"),
            (namespace, "") => format!("{text} in {namespace}"),
            (namespace, name) => format!("{text} {namespace}/{name}"),
        }
    }
}

/// `patch deployments.apps/status shop/web`
impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.url.is_empty() {
            return write!(f, "{} {}", self.verb, self.url);
        }
        write!(f, "{} {}", self.verb, self.object())?;
        match self.resource.split_once('/') {
            Some((_, part)) => write!(f, " ({part})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_request(method: &str, uri: &str) -> ApiRequest {
        ApiRequest::of(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    #[test]
    fn a_request_says_which_attribute_allows_it() {
        let patch = api_request(
            "PATCH",
            "/apis/apps/v1/namespaces/shop/deployments/web/status?force=true",
        );
        assert_eq!(
            patch.rbac(),
            r#"#[rbac(groups = "apps", resources = "deployments/status", verbs = "patch")]"#
        );
        assert_eq!(patch.to_string(), "patch deployments.apps shop/web (status)");
        assert!(patch.is_write());
        assert_eq!(
            api_request("GET", "/metrics").rbac(),
            r#"#[rbac(urls = "/metrics", verbs = "get")]"#
        );
    }

    #[test]
    fn lists_and_watches_are_told_apart_by_their_query() {
        assert_eq!(api_request("GET", "/api/v1/pods").verb, "list");
        assert_eq!(
            api_request("GET", "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Da").verb,
            "watch"
        );
        assert_eq!(
            api_request("DELETE", "/api/v1/namespaces/a/pods").verb,
            "deletecollection"
        );
    }

    #[test]
    fn questions_and_chatter_are_no_changes() {
        assert!(!api_request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews").is_write());
        assert!(api_request("POST", "/apis/events.k8s.io/v1/namespaces/a/events").is_event_or_lease());
        assert!(!api_request("POST", "/api/v1/namespaces/a/configmaps").is_event_or_lease());
    }
}
