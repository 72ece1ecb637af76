//! Which representation a client wants (H5, H8) and in which one its body came.

use http::{HeaderMap, header};

use crate::wire::status::{Result, Status};

/// How a response is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) encoding: Encoding,
    pub(crate) view: View,
    pub(crate) pretty: bool,
}

/// What objects are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

/// The whole object, its metadata only, or what people read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Whole,
    Metadata {
        version: &'static str,
    },
    MetadataList {
        version: &'static str,
    },
    /// Rows and columns (H7).
    Table {
        version: &'static str,
    },
}

impl Output {
    pub(crate) const JSON: Output = Output {
        encoding: Encoding::Json,
        view: View::Whole,
        pretty: false,
    };
}

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";
pub(crate) const OBJECT_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
pub(crate) const STREAM_TYPES: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// The forms of a response that a path offers in addition to JSON, YAML and metadata only.
#[derive(Clone, Copy)]
pub(crate) struct OfferedForms<'a> {
    /// Whether it serves watches; then an error lists the media types of streams.
    pub(crate) watches: bool,
    /// Whether it serves Tables. This is called only for a client that asks for one.
    pub(crate) tables: &'a dyn Fn() -> bool,
    /// Whether it is of a custom resource, which has no form in protobuf. Upstream serves those without a router, which would
    /// refuse what no path of it has in words of its own.
    pub(crate) custom: bool,
}

/// Reads the `Accept` header; a clause that asks for what is not offered does not count.
pub(crate) fn output(headers: &HeaderMap, query_pretty: Option<bool>, offer: OfferedForms<'_>) -> Result<Output> {
    let refusal = match (offer.custom, offer.watches) {
        (true, _) => Unroutable::OfObjects,
        (false, true) => Unroutable::ByRouterWithStreams,
        (false, false) => Unroutable::ByRouter,
    };
    choose(headers, query_pretty, refusal, |clause, pretty| {
        clause.output(pretty).filter(|output| match output.view {
            // Rows have no form in protobuf.
            View::Table { .. } => output.encoding != Encoding::Protobuf && (offer.tables)(),
            View::Whole => !offer.custom || output.encoding != Encoding::Protobuf,
            View::Metadata { .. } | View::MetadataList { .. } => true,
        })
    })
}

/// Reads the `Accept` header for an answer that has no other view: clauses that ask for one do not count.
pub(crate) fn unchanged(headers: &HeaderMap, query_pretty: Option<bool>) -> Result<Output> {
    without_views(headers, query_pretty, Unroutable::ByRouter)
}

/// Like [`unchanged`], for a path that upstream serves without its router: the lists of groups and of their versions.
pub(crate) fn unrouted(headers: &HeaderMap, query_pretty: Option<bool>) -> Result<Output> {
    without_views(headers, query_pretty, Unroutable::OfObjects)
}

fn without_views(headers: &HeaderMap, query_pretty: Option<bool>, unroutable: Unroutable) -> Result<Output> {
    choose(headers, query_pretty, unroutable, |clause, pretty| {
        let clause = match (clause.kind, clause.subkind) {
            ("application", "*") if unroutable == Unroutable::OfObjects => &Clause {
                subkind: "json",
                ..clause.clone()
            },
            _ => clause,
        };
        (!clause.asks_for_a_view()).then(|| clause.output(pretty)).flatten()
    })
}

/// How a request is refused that accepts no type that any path has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unroutable {
    /// By the router, which lists the types of the path.
    ByRouter,
    /// By the router, for a path that streams too.
    ByRouterWithStreams,
    /// Like one that accepts none of the types of an object.
    OfObjects,
}

fn choose(
    headers: &HeaderMap,
    query_pretty: Option<bool>,
    unroutable: Unroutable,
    offered: impl Fn(&Clause<'_>, bool) -> Option<Output>,
) -> Result<Output> {
    let accept = joined(headers, header::ACCEPT);
    let pretty = query_pretty.unwrap_or_else(|| asks_from_a_terminal(headers));
    if accept.trim().is_empty() {
        return Ok(Output { pretty, ..Output::JSON });
    }
    let clauses = clauses(&accept);
    if unroutable != Unroutable::OfObjects && !clauses.iter().any(Clause::routable) {
        let streams = match unroutable {
            Unroutable::ByRouterWithStreams => format!(", {STREAM_TYPES}"),
            Unroutable::ByRouter | Unroutable::OfObjects => String::new(),
        };
        return Err(Status::only_represented_as(&format!("{OBJECT_TYPES}{streams}")));
    }
    clauses
        .iter()
        .find_map(|clause| offered(clause, pretty))
        .ok_or_else(|| Status::not_acceptable(OBJECT_TYPES))
}

/// How a request is refused: in a type that it accepts for what has no views, or in JSON for people to read.
pub(crate) fn fallback(headers: &HeaderMap, query_pretty: Option<bool>) -> Output {
    unchanged(headers, query_pretty).unwrap_or(Output {
        pretty: true,
        ..Output::JSON
    })
}

/// The form of a page that a component has about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageForm {
    /// Text for people.
    Text,
    /// An object in a version.
    Object { encoding: Encoding, version: &'static str },
}

/// Reads the `Accept` header for such a page of a kind; the error is how to write that nothing fits.
pub(crate) fn page(headers: &HeaderMap, kind: &str) -> std::result::Result<PageForm, Output> {
    let accept = joined(headers, header::ACCEPT);
    if accept.trim().is_empty() {
        return Ok(PageForm::Text);
    }
    let form = |clause: &Clause<'_>| {
        let parameter = |name: &str| {
            clause
                .parameters
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value)
        };
        let encoding = match (clause.kind, clause.subkind) {
            ("*", "*") | ("text", "plain" | "*") => return Some(PageForm::Text),
            ("application", "json") => Encoding::Json,
            ("application", "yaml") => Encoding::Yaml,
            _ => return None,
        };
        let version = match parameter("v") {
            Some("v1alpha1") => "v1alpha1",
            Some("v1beta1") => "v1beta1",
            _ => return None,
        };
        let is_kind = parameter("g") == Some("config.k8s.io") && parameter("as") == Some(kind);
        is_kind.then_some(PageForm::Object { encoding, version })
    };
    let found = clauses(&accept).iter().find_map(form);
    found.ok_or_else(|| fallback(headers, None))
}

/// Whether a type is among what a client accepts, as upstream's router decides for paths of one type.
pub(crate) fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    let accept = joined(headers, header::ACCEPT);
    let is_it = |clause: &str| matches!(media_type(clause), found if found == content_type || found == "*/*");
    accept.trim().is_empty() || accept.split(',').any(is_it)
}

/// Whether JSON is among what a client accepts, for answers that have no other form.
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    let accept = joined(headers, header::ACCEPT);
    accept.trim().is_empty()
        || clauses(&accept)
            .iter()
            .any(|clause| clause.encoding() == Some(Encoding::Json))
}

/// How a client wants a document of `OpenAPI`, whose protobuf has this version in its name; `None` when it takes neither form (O3).
pub(crate) fn openapi_encoding(headers: &HeaderMap, version: &str) -> Option<Encoding> {
    let accept = joined(headers, header::ACCEPT);
    if accept.trim().is_empty() {
        return Some(Encoding::Json);
    }
    let is_protobuf = |kind: &str| {
        let kind = kind.strip_prefix("com.github.proto-openapi.spec.");
        matches!(
            kind.and_then(|kind| kind.strip_prefix(version)),
            Some("@v1.0+protobuf" | ".v1.0+protobuf")
        )
    };
    clauses(&accept)
        .iter()
        .find_map(|clause| match (clause.kind, clause.subkind) {
            ("*", "*") | ("application", "json" | "*") => Some(Encoding::Json),
            ("application", kind) if is_protobuf(kind) => Some(Encoding::Protobuf),
            _ => None,
        })
}

/// The encoding of a request's body, from its `Content-Type`.
pub(crate) fn input(headers: &HeaderMap) -> Result<Encoding> {
    let content_type = joined(headers, header::CONTENT_TYPE);
    match media_type(&content_type) {
        "" | "application/json" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        PROTOBUF => Ok(Encoding::Protobuf),
        _ => Err(Status::unsupported_media_type(OBJECT_TYPES)),
    }
}

/// The media type of a header's value, without parameters.
pub(crate) fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

pub(crate) fn joined(headers: &HeaderMap, name: header::HeaderName) -> String {
    let values: Vec<&str> = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    values.join(",")
}

/// Browsers and curl get indented JSON, as upstream decides by the user agent.
pub(crate) fn asks_from_a_terminal(headers: &HeaderMap) -> bool {
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|known| agent.starts_with(known))
}

#[derive(Clone)]
struct Clause<'a> {
    kind: &'a str,
    subkind: &'a str,
    weight: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

/// The header's clauses, the most wanted first.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(clause).collect();
    clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| !media.is_empty())?;
    let (kind, subkind) = media
        .split_once('/')
        .unwrap_or((media, if media == "*" { "*" } else { "" }));
    let mut clause = Clause {
        kind,
        subkind,
        weight: 1.0,
        parameters: Vec::new(),
    };
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if name.trim() == "q" {
            clause.weight = value.trim().parse().unwrap_or(1.0);
        } else {
            clause.parameters.push((name.trim(), value.trim()));
        }
    }
    Some(clause)
}

impl Clause<'_> {
    /// Whether the router lets it through at all: any type that some handler of the route produces.
    fn routable(&self) -> bool {
        self.encoding().is_some()
    }

    fn asks_for_a_view(&self) -> bool {
        self.parameters.iter().any(|(key, _)| matches!(*key, "as" | "g" | "v"))
    }

    fn encoding(&self) -> Option<Encoding> {
        match (self.kind, self.subkind) {
            ("*", "*") | ("application", "json") => Some(Encoding::Json),
            ("application", "yaml") => Some(Encoding::Yaml),
            ("application", "vnd.kubernetes.protobuf") => Some(Encoding::Protobuf),
            _ => None,
        }
    }

    fn output(&self, pretty: bool) -> Option<Output> {
        let mut output = Output {
            encoding: self.encoding()?,
            view: View::Whole,
            pretty,
        };
        let parameter = |name: &str| {
            self.parameters
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value)
        };
        if parameter("stream").is_some_and(|stream| stream != "watch") {
            return None;
        }
        if let Some(value) = parameter("pretty") {
            output.pretty = value == "1";
        }
        if let Some(target) = parameter("as") {
            let version = match (parameter("g"), parameter("v")) {
                (Some("meta.k8s.io"), Some("v1")) => "v1",
                (Some("meta.k8s.io"), Some("v1beta1")) => "v1beta1",
                _ => return None,
            };
            output.view = match target {
                "PartialObjectMetadata" => View::Metadata { version },
                "PartialObjectMetadataList" => View::MetadataList { version },
                "Table" => View::Table { version },
                _ => return None,
            };
        }
        Some(output)
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn accepting(accept: &str) -> Result<Output> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().expect("header"));
        output(
            &headers,
            None,
            OfferedForms {
                watches: true,
                tables: &|| true,
                custom: false,
            },
        )
    }

    #[test]
    fn the_heaviest_clause_wins() {
        let output = accepting("application/json;q=0.2, application/yaml;q=0.9").expect("acceptable");
        assert_eq!(output.encoding, Encoding::Yaml);
    }

    #[test]
    fn a_view_we_do_not_have_falls_through_to_the_next_clause() {
        let output = accepting("application/json;as=Nothing;g=meta.k8s.io;v=v1,application/json").expect("acceptable");
        assert_eq!(output, Output::JSON);
    }

    #[test]
    fn protobuf_is_one_of_the_forms() {
        for accept in [
            "application/vnd.kubernetes.protobuf, */*",
            "application/vnd.kubernetes.protobuf,application/json",
            "application/json;q=0.9,application/vnd.kubernetes.protobuf",
            "application/vnd.kubernetes.protobuf;stream=watch",
        ] {
            assert_eq!(
                accepting(accept).expect("acceptable").encoding,
                Encoding::Protobuf,
                "{accept}"
            );
        }
        let output = accepting("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        assert_eq!(output.expect("acceptable").view, View::Metadata { version: "v1" });
        let output = accepting("application/vnd.kubernetes.protobuf;as=Nothing;g=meta.k8s.io;v=v1,application/json");
        assert_eq!(output.expect("acceptable").encoding, Encoding::Json);
    }

    #[test]
    fn an_unknown_type_is_refused() {
        assert_eq!(
            accepting("text/html").expect_err("refused").code,
            StatusCode::NOT_ACCEPTABLE
        );
    }
}
