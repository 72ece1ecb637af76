//! The parse stage: what the head of a request says, read once for authorization, for routing and for the audit trail.

use http::request::Parts;
use http::{HeaderMap, Method};
use kubewright_access::{Attributes, ListQuery, RequestInfo, ResourceInfo};
use kubewright_apimachinery::{fields, labels::Selector};

use crate::registry::{Subresource, Verb};
use crate::request::timeout;
use crate::wire::negotiate::{self, Output};
use crate::wire::query::Query;

/// The head of a request: everything but its body.
pub(crate) struct RequestHead<'a> {
    pub(crate) parts: &'a Parts,
    /// What method and path say.
    pub(crate) info: RequestInfo<'a>,
    pub(crate) query: Query,
}

impl<'a> RequestHead<'a> {
    /// Reads a head. `path` is its path without escapes: an escaped slash parts segments too.
    pub(crate) fn parse(parts: &'a Parts, path: &'a str) -> Self {
        RequestHead {
            info: RequestInfo::parse(parts.method.as_str(), path),
            query: Query::parse(parts.uri.query()),
            parts,
        }
    }

    pub(crate) fn method(&self) -> &'a Method {
        &self.parts.method
    }

    pub(crate) fn headers(&self) -> &'a HeaderMap {
        &self.parts.headers
    }

    /// What authorization decides about.
    pub(crate) fn attributes(&self) -> Attributes<'a> {
        self.info.attributes(&self.query)
    }

    /// The verb that authorization decides about; `None` for what has no handler under any name.
    pub(super) fn verb(&self, resource: &ResourceInfo<'_>) -> Option<Verb> {
        Verb::parse(resource.verb(self.info.method, || self.query.is_watch()))
    }

    /// Whether the request is passed on to a Pod, with a body that nobody reads here.
    pub(crate) fn is_proxied(&self) -> bool {
        let resource = self.info.resource.filter(|resource| resource.group.is_empty());
        resource.is_some_and(|resource| {
            resource.subresource == "proxy" && matches!(resource.resource, "pods" | "services" | "nodes")
        })
    }

    /// How errors are written before it is known what is asked for.
    pub(crate) fn error_output(&self) -> Output {
        negotiate::fallback(&self.parts.headers, self.query.flag("pretty"))
    }

    /// What is wrong with the `timeout` of a request that has a deadline, in Go's words.
    pub(crate) fn bad_timeout(&self) -> Option<String> {
        let text = self.query.get("timeout")?;
        let is_long = self.info.resource.is_some_and(|resource| {
            matches!(
                resource.verb(self.info.method, || self.query.is_watch()),
                "watch" | "proxy"
            ) || Subresource::parse(resource.subresource).is_some_and(Subresource::is_long_running)
        });
        timeout::check(Some(text), Verb::Get).err().filter(|_| !is_long)
    }
}

/// What a request asks for, by its method and its address.
pub(crate) fn attributes_of(method: &str, uri: &str) -> Attributes<'static> {
    let (path, query) = match uri.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (uri, None),
    };
    let path = crate::wire::query::percent_decode(path);
    let query = Query::parse(query);
    RequestInfo::parse(method, &path).attributes(&query).into_owned()
}

impl ListQuery for Query {
    fn is_watch(&self) -> bool {
        self.flag("watch") == Some(true)
    }

    fn exact_name(&self) -> Option<String> {
        let mut requirements = fields::parse(self.get("fieldSelector")?).ok()?.into_iter();
        let name = requirements.find(|requirement| requirement.field == "metadata.name" && requirement.is_equal)?;
        let name = name.value;
        let is_fit = !matches!(name.as_str(), "." | "..") && !name.contains(['/', '%']);
        (is_fit && has_readable_list_options(self)).then_some(name)
    }

    fn field_selector(&self) -> Option<String> {
        self.get("fieldSelector").map(str::to_owned)
    }

    fn label_selector(&self) -> Option<String> {
        self.get("labelSelector").map(str::to_owned)
    }
}

/// Whether every option of a list can be read; upstream forgets all of them otherwise.
fn has_readable_list_options(query: &Query) -> bool {
    let is_number = |key: &str| query.get(key).is_none_or(|text| text.parse::<i64>().is_ok());
    is_number("limit")
        && is_number("timeoutSeconds")
        && query
            .get("labelSelector")
            .is_none_or(|text| text.parse::<Selector>().is_ok())
}
