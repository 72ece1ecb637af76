//! The attributes of a request that authorization decides on: read from method and path alone, whatever is served
//! there (Z4).

use std::borrow::Cow;

use crate::request_info::RequestInfo;

/// The attributes of a request. An empty string means that an attribute is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection` or any other word; of a path,
    /// the method in lower case.
    pub verb: Cow<'a, str>,
    /// Whether this is a resource request. Otherwise only the verb and the path are set.
    pub is_resource: bool,
    /// The API group; empty is the core.
    pub group: Cow<'a, str>,
    /// The version of the group.
    pub version: Cow<'a, str>,
    /// The resource's plural name.
    pub resource: Cow<'a, str>,
    /// The subresource.
    pub subresource: Cow<'a, str>,
    /// The namespace; empty for all namespaces and for cluster-scoped resources.
    pub namespace: Cow<'a, str>,
    /// The object's name.
    pub name: Cow<'a, str>,
    /// The path of the request.
    pub path: Cow<'a, str>,
    /// The field selector of a list, a watch or a deletion of a collection, as it was sent.
    pub field_selector: Cow<'a, str>,
    /// The label selector of a list, a watch or a deletion of a collection, as it was sent.
    pub label_selector: Cow<'a, str>,
}

/// What authorization reads of the query, for lists and deletions of collections only.
pub trait ListQuery {
    /// Whether the list is to be watched.
    fn is_watch(&self) -> bool;
    /// The name that the field selector requires, if it requires one and a path can have it.
    fn exact_name(&self) -> Option<String>;
    /// The first `fieldSelector`, as it was sent.
    fn field_selector(&self) -> Option<String>;
    /// The first `labelSelector`, as it was sent.
    fn label_selector(&self) -> Option<String>;
}

impl<'a> Attributes<'a> {
    /// A verb on a resource of the whole cluster. Set the other fields as needed.
    pub fn resource(
        verb: impl Into<Cow<'a, str>>,
        group: impl Into<Cow<'a, str>>,
        resource: impl Into<Cow<'a, str>>,
    ) -> Self {
        Attributes {
            verb: verb.into(),
            is_resource: true,
            group: group.into(),
            resource: resource.into(),
            ..Attributes::default()
        }
    }

    /// A verb on a path.
    pub fn path(verb: impl Into<Cow<'a, str>>, path: impl Into<Cow<'a, str>>) -> Self {
        Attributes {
            verb: verb.into(),
            path: path.into(),
            ..Attributes::default()
        }
    }

    /// Within a namespace.
    pub fn in_namespace(mut self, namespace: impl Into<Cow<'a, str>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Of one object.
    pub fn named(mut self, name: impl Into<Cow<'a, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Of a subresource.
    pub fn part(mut self, subresource: impl Into<Cow<'a, str>>) -> Self {
        self.subresource = subresource.into();
        self
    }

    /// Reads a request. `path` is without escapes.
    pub fn of_request(method: &'a str, path: &'a str, query: &dyn ListQuery) -> Attributes<'a> {
        RequestInfo::parse(method, path).attributes(query)
    }

    /// `pods`, or `pods/log`.
    pub fn combined_resource(&self) -> Cow<'_, str> {
        if self.subresource.is_empty() {
            Cow::Borrowed(&self.resource)
        } else {
            Cow::Owned(format!("{}/{}", self.resource, self.subresource))
        }
    }

    /// The same, on its own.
    pub fn into_owned(self) -> Attributes<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Attributes {
            verb: own(self.verb),
            is_resource: self.is_resource,
            group: own(self.group),
            version: own(self.version),
            resource: own(self.resource),
            subresource: own(self.subresource),
            namespace: own(self.namespace),
            name: own(self.name),
            path: own(self.path),
            field_selector: own(self.field_selector),
            label_selector: own(self.label_selector),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl ListQuery for Plain {
        fn is_watch(&self) -> bool {
            false
        }
        fn exact_name(&self) -> Option<String> {
            None
        }
        fn field_selector(&self) -> Option<String> {
            None
        }
        fn label_selector(&self) -> Option<String> {
            None
        }
    }

    struct One;

    impl ListQuery for One {
        fn is_watch(&self) -> bool {
            true
        }
        fn exact_name(&self) -> Option<String> {
            Some("a".into())
        }
        fn field_selector(&self) -> Option<String> {
            Some("metadata.name=a".into())
        }
        fn label_selector(&self) -> Option<String> {
            None
        }
    }

    fn read(method: &str, path: &str) -> String {
        let a = Attributes::of_request(method, path, &Plain);
        if !a.is_resource {
            return format!("{} {}", a.verb, a.path);
        }
        format!(
            "{} {}|{} {}|{} {}",
            a.verb,
            a.group,
            a.namespace,
            a.combined_resource(),
            a.name,
            a.version
        )
    }

    #[test]
    fn paths_are_read_as_upstream_reads_them() {
        assert_eq!(read("GET", "/api/v1/namespaces/n/pods"), "list |n pods| v1");
        assert_eq!(read("HEAD", "/api/v1/namespaces/n/pods/p"), "get |n pods|p v1");
        assert_eq!(
            read("POST", "/api/v1/namespaces/n/pods/p/eviction"),
            "create |n pods/eviction|p v1"
        );
        assert_eq!(
            read("DELETE", "/apis/apps/v1/deployments"),
            "deletecollection apps| deployments| v1"
        );
        assert_eq!(read("GET", "/api/v1/namespaces/n"), "get |n namespaces|n v1");
        assert_eq!(
            read("PUT", "/api/v1/namespaces/n/status"),
            "update |n namespaces/status|n v1"
        );
        assert_eq!(
            read("PUT", "/api/v1/namespaces/n/finalize/x"),
            "update |n namespaces/finalize|n v1"
        );
        assert_eq!(read("GET", "/api/v1/namespaces"), "list | namespaces| v1");
        assert_eq!(read("GET", "/api/v1/watch/namespaces/n/pods/p"), "watch |n pods|p v1");
        assert_eq!(read("GET", "/api/v1/proxy/namespaces/n/pods/p/x"), "proxy |n pods|p v1");
        assert_eq!(read("GET", "/api/v1/namespaces//pods/p"), "get | pods|p v1");
        assert_eq!(
            read("GET", "/apis/g/v1/watch/namespaces/n/r/x/y/z"),
            "watch g|n r/y|x v1"
        );
        assert_eq!(read("OPTIONS", "/api/v1/pods"), " | pods| v1");
    }

    #[test]
    fn everything_else_is_a_path() {
        assert_eq!(read("GET", "/"), "get /");
        assert_eq!(read("GET", "/api/v1"), "get /api/v1");
        assert_eq!(read("GET", "/apis/apps/v1/"), "get /apis/apps/v1/");
        assert_eq!(read("POST", "/healthz/x/y/z"), "post /healthz/x/y/z");
        assert_eq!(read("BREW", "/pot"), "brew /pot");
    }

    #[test]
    fn a_list_of_one_name_is_about_that_name() {
        let attributes = Attributes::of_request("GET", "/api/v1/pods", &One);
        assert_eq!(
            (&*attributes.verb, &*attributes.name, &*attributes.field_selector),
            ("watch", "a", "metadata.name=a")
        );
    }
}
