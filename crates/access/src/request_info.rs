//! What the method and the path of a request say, read once: upstream's `RequestInfo`. Authorization decides by it, and an
//! API server finds what it serves by the same reading, so that nobody is allowed one thing and gets another.

use crate::attributes::{Attributes, ListQuery};

/// What the method and the path of a request say, whatever is served there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestInfo<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path, without escapes.
    pub path: &'a str,
    /// What a path below `/api/VERSION/` or `/apis/GROUP/VERSION/` names; `None` for all other paths.
    pub resource: Option<ResourceInfo<'a>>,
}

/// What a path below a group and version names. Empty texts mean "not there".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceInfo<'a> {
    /// A deprecated first segment that is a verb.
    pub prefix: Option<Prefix>,
    /// The API group; empty is the core.
    pub group: &'a str,
    /// The version of the group.
    pub version: &'a str,
    /// The namespace. A Namespace is in itself.
    pub namespace: &'a str,
    /// Whether the path has a place for a namespace, and nothing in it: `/namespaces//pods`.
    pub has_empty_namespace: bool,
    /// The resource's plural name.
    pub resource: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// The subresource.
    pub subresource: &'a str,
    /// What follows the subresource, with its slash.
    pub rest: &'a str,
    /// Whether the path names a Namespace, or a subresource of one, by itself.
    pub is_namespace: bool,
    /// The path from the resource on.
    tail: &'a str,
}

/// A deprecated first segment of a path that is a verb: `/api/v1/watch/pods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// `watch`
    Watch,
    /// `proxy`
    Proxy,
}

impl<'a> RequestInfo<'a> {
    /// Reads a request. `path` is without escapes.
    pub fn parse(method: &'a str, path: &'a str) -> Self {
        RequestInfo {
            method,
            path,
            resource: ResourceInfo::parse(path.trim_matches('/')),
        }
    }

    /// The path without final slashes, which mean nothing.
    pub fn trimmed_path(&self) -> &'a str {
        match self.path.trim_end_matches('/') {
            "" => "/",
            path => path,
        }
    }

    /// What authorization decides about; the query may say more about lists.
    pub fn attributes(&self, query: &dyn ListQuery) -> Attributes<'a> {
        let Some(resource) = self.resource else {
            return Attributes::path(self.method.to_ascii_lowercase(), self.path);
        };
        let verb = resource.verb(self.method, || query.is_watch());
        let mut attributes = Attributes {
            verb: verb.into(),
            is_resource: true,
            group: resource.group.into(),
            version: resource.version.into(),
            resource: resource.resource.into(),
            subresource: resource.subresource.into(),
            namespace: resource.namespace.into(),
            name: resource.name.into(),
            path: self.path.into(),
            ..Attributes::default()
        };
        if resource.prefix.is_none() {
            if resource.name.is_empty() && matches!(verb, "list" | "watch") {
                attributes.name = query.exact_name().map(Into::into).unwrap_or_default();
            }
            if matches!(verb, "list" | "watch" | "deletecollection") {
                attributes.field_selector = query.field_selector().map(Into::into).unwrap_or_default();
                attributes.label_selector = query.label_selector().map(Into::into).unwrap_or_default();
            }
        }
        attributes
    }
}

impl<'a> ResourceInfo<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        let (root, rest) = path.split_once('/')?;
        let (group, rest) = match root {
            "api" => ("", rest),
            "apis" => rest.split_once('/')?,
            _ => return None,
        };
        let (version, mut tail) = rest.split_once('/')?;
        let prefix = match segment(tail) {
            ("watch", _) => Some(Prefix::Watch),
            ("proxy", _) => Some(Prefix::Proxy),
            _ => None,
        };
        if prefix.is_some() {
            tail = segment(tail).1.unwrap_or_default();
        }
        let (mut namespace, mut is_namespace, mut has_empty_namespace) = ("", false, false);
        if let ("namespaces", Some(rest)) = segment(tail) {
            let (named, after) = segment(rest);
            namespace = named;
            // `/namespaces/NS` and `/namespaces/NS/status` are about the Namespace itself.
            match after {
                Some(after) if !matches!(segment(after).0, "status" | "finalize") => {
                    has_empty_namespace = named.is_empty();
                    tail = after;
                }
                _ => is_namespace = true,
            }
        }
        let (resource, after) = segment(tail);
        let (name, after) = after.map_or(("", None), segment);
        let (subresource, _) = after.map_or(("", None), segment);
        let rest = after.map_or("", |after| &after[subresource.len()..]);
        Some(ResourceInfo {
            prefix,
            group,
            version,
            namespace,
            has_empty_namespace,
            resource,
            name,
            subresource: if prefix == Some(Prefix::Proxy) { "" } else { subresource },
            rest,
            is_namespace,
            tail,
        })
    }

    /// The verb by which authorization knows what is asked; `""` for a method that has none. `watches` tells whether the
    /// query of a list asks for a watch.
    pub fn verb(&self, method: &str, watches: impl FnOnce() -> bool) -> &'static str {
        match (self.prefix, method, self.name.is_empty()) {
            (Some(Prefix::Watch), ..) => "watch",
            (Some(Prefix::Proxy), ..) => "proxy",
            (None, "GET" | "HEAD", true) => {
                if watches() {
                    "watch"
                } else {
                    "list"
                }
            }
            (None, "GET" | "HEAD", false) => "get",
            (None, "POST", _) => "create",
            (None, "PUT", _) => "update",
            (None, "PATCH", _) => "patch",
            (None, "DELETE", true) => "deletecollection",
            (None, "DELETE", false) => "delete",
            _ => "",
        }
    }

    /// Whether the path says how to access something, but not what: `/api/v1/watch`. Upstream cannot read such a request.
    pub fn names_nothing(&self) -> bool {
        self.prefix.is_some() && self.tail.is_empty()
    }

    /// Whether two slashes follow each other behind the resource's beginning; no router knows such a path, but for what follows a
    /// `proxy`, which is passed on.
    pub fn has_empty_segments(&self) -> bool {
        let passed_on = if self.subresource == "proxy" {
            self.rest.len()
        } else {
            0
        };
        let routed = &self.tail[..self.tail.len() - passed_on];
        routed.split('/').any(str::is_empty)
    }
}

/// The first segment of a path, and what follows its slash if it has one.
fn segment(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> ResourceInfo<'_> {
        RequestInfo::parse("GET", path).resource.unwrap()
    }

    #[test]
    fn what_follows_a_subresource_is_kept_with_its_slash() {
        let proxied = resource("/api/v1/namespaces/n/pods/p/proxy/a/b");
        assert_eq!((proxied.subresource, proxied.rest), ("proxy", "/a/b"));
        assert_eq!(resource("/api/v1/namespaces/n/pods/p/log").rest, "");
        assert_eq!(resource("/api/v1/namespaces/n/pods/p").rest, "");
    }

    #[test]
    fn a_prefix_alone_names_nothing() {
        assert!(resource("/api/v1/watch").names_nothing());
        assert!(resource("/apis/apps/v1/proxy/").names_nothing());
        assert!(!resource("/api/v1/watch/pods").names_nothing());
        assert!(!resource("/api/v1/pods/watch").names_nothing());
    }

    #[test]
    fn doubled_slashes_are_seen() {
        assert!(resource("/api/v1/namespaces//status").has_empty_segments());
        assert!(resource("/api/v1//pods").has_empty_segments());
        assert!(!resource("/api/v1/namespaces//pods").has_empty_segments());
        assert!(!resource("/api/v1/namespaces/n/pods/").has_empty_segments());
    }

    #[test]
    fn final_slashes_mean_nothing() {
        assert_eq!(RequestInfo::parse("GET", "/version//").trimmed_path(), "/version");
        assert_eq!(RequestInfo::parse("GET", "/").trimmed_path(), "/");
    }
}
