//! Every error the server answers: a `v1.Status` with the code, reason, message and details of upstream (E1–E7).

use http::StatusCode;
use kubewright_apimachinery::field::{self, Errors};
use kubewright_apimachinery::go::quote;
use serde_json::{Map, Value, json};

/// The result of a step of the pipeline.
pub(crate) type Result<T> = std::result::Result<T, Box<Status>>;

/// The optimistic lock's words, on which clients match (E5).
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// A refused request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Status {
    /// The HTTP status code.
    pub(crate) code: StatusCode,
    /// The machine-readable reason; empty for a status that has none.
    pub(crate) reason: &'static str,
    /// The sentence for people.
    pub(crate) message: String,
    /// What the refusal is about.
    pub(crate) details: Option<Details>,
    /// A token with which an expired list may go on (R5).
    pub(crate) continue_token: Option<String>,
    /// A body that replaces all of this.
    pub(crate) verbatim: Option<Verbatim>,
}

/// A status in other words than the server's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verbatim {
    /// Of a webhook that denies a request.
    Denial(Value),
    /// Of a filter that knows no formats.
    Text(String),
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Details {
    /// The name of the object.
    pub(crate) name: String,
    /// The API group.
    pub(crate) group: String,
    /// The resource (or, for validation, the kind).
    pub(crate) kind: String,
    /// The uid of the object.
    pub(crate) uid: String,
    /// The single complaints.
    pub(crate) causes: Vec<Cause>,
    /// When to try again.
    pub(crate) retry_after_seconds: u32,
}

/// One complaint.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cause {
    /// The machine-readable reason.
    pub(crate) reason: String,
    /// The sentence for people.
    pub(crate) message: String,
    /// The field it is about.
    pub(crate) field: String,
}

/// The group and plural name of a resource, or group and kind: what an error is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupResource<'a> {
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
}

impl GroupResource<'_> {
    /// `deployments.apps`, or `pods` in the core group.
    fn qualified(self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    fn details(self, name: &str) -> Details {
        Details {
            name: name.into(),
            group: self.group.into(),
            kind: self.resource.into(),
            ..Details::default()
        }
    }
}

impl Status {
    pub(crate) fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Status {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
            verbatim: None,
        })
    }

    pub(crate) fn with_details(mut self: Box<Self>, details: Details) -> Box<Self> {
        self.details = Some(details);
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The refusal of what needs a namespace, where the path leaves it empty.
    pub(crate) fn namespace_required() -> Box<Self> {
        Self::bad_request("Namespace parameter required.")
    }

    pub(crate) fn unauthorized() -> Box<Self> {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(about: GroupResource<'_>, name: &str, why: &str) -> Box<Self> {
        let subject = if name.is_empty() {
            about.qualified()
        } else {
            format!("{} {}", about.qualified(), quote(name))
        };
        Self::new(
            StatusCode::FORBIDDEN,
            "Forbidden",
            format!("{subject} is forbidden: {why}"),
        )
        .with_details(about.details(name))
    }

    pub(crate) fn not_found(about: GroupResource<'_>, name: &str) -> Box<Self> {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("{} {} not found", about.qualified(), quote(name)),
        )
        .with_details(about.details(name))
    }

    pub(crate) fn too_many_requests(why: &str) -> Box<Self> {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            format!("Too many requests: {why}"),
        )
    }

    /// The path names nothing the server has.
    pub(crate) fn no_such_path() -> Box<Self> {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_details(Details::default())
    }

    pub(crate) fn method_not_allowed() -> Box<Self> {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with_details(Details::default())
    }

    /// A verb that a custom resource or a part of it does not have.
    pub(crate) fn method_not_supported(about: GroupResource<'_>, verb: &str) -> Box<Self> {
        let message = format!(
            "{verb} is not supported on resources of kind {}",
            quote(&about.qualified())
        );
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(about.details(""))
    }

    pub(crate) fn already_exists(about: GroupResource<'_>, name: &str) -> Box<Self> {
        Self::new(
            StatusCode::CONFLICT,
            "AlreadyExists",
            format!("{} {} already exists", about.qualified(), quote(name)),
        )
        .with_details(about.details(name))
    }

    /// The generated name was taken, eight times over (E7).
    pub(crate) fn generated_name_exists(about: GroupResource<'_>, name: &str) -> Box<Self> {
        let mut details = about.details(name);
        details.retry_after_seconds = 1;
        Self::new(
            StatusCode::CONFLICT,
            "AlreadyExists",
            format!(
                "{} {} already exists, the server was not able to generate a unique name for the object",
                about.qualified(),
                quote(name)
            ),
        )
        .with_details(details)
    }

    pub(crate) fn conflict(about: GroupResource<'_>, name: &str, why: &str) -> Box<Self> {
        Self::new(
            StatusCode::CONFLICT,
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {} {}: {why}",
                about.qualified(),
                quote(name)
            ),
        )
        .with_details(about.details(name))
    }

    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &Errors) -> Box<Self> {
        let about = GroupResource { group, resource: kind };
        let mut details = about.details(name);
        details.causes = errors
            .iter()
            .map(|error| Cause {
                reason: error.kind.reason().into(),
                message: error.body(),
                field: error.field.clone(),
            })
            .collect();
        let subject = format!("{} {}", about.qualified(), quote(name));
        let message = match field::aggregate(errors) {
            None => format!("{subject} is invalid"),
            Some(complaints) => format!("{subject} is invalid: {complaints}"),
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(details)
    }

    /// Query parameters that cannot be (`CreateOptions`, `ListOptions` …).
    pub(crate) fn invalid_options(kind: &str, errors: &Errors) -> Box<Self> {
        Self::invalid("meta.k8s.io", kind, "", errors)
    }

    pub(crate) fn not_acceptable(available: &str) -> Box<Self> {
        Self::new(
            StatusCode::NOT_ACCEPTABLE,
            "NotAcceptable",
            format!("only the following media types are accepted: {available}"),
        )
    }

    /// The router's refusal of a path that comes in these types only.
    pub(crate) fn only_represented_as(types: &str) -> Box<Self> {
        Self::new(
            StatusCode::NOT_ACCEPTABLE,
            "NotAcceptable",
            format!("406: Not Acceptable\n\nAvailable representations: {types}"),
        )
        .with_details(Details::default())
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Box<Self> {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}"),
        )
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// The revision was compacted (R6, V3).
    pub(crate) fn expired(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The revision lies in the future (E6).
    pub(crate) fn too_large_resource_version(wanted: u64, current: u64) -> Box<Self> {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            format!("Timeout: Too large resource version: {wanted}, current: {current}"),
        )
        .with_details(Details {
            causes: vec![Cause {
                reason: "ResourceVersionTooLarge".into(),
                message: "Too large resource version".into(),
                field: String::new(),
            }],
            retry_after_seconds: 1,
            ..Details::default()
        })
    }

    pub(crate) fn internal(why: &str) -> Box<Self> {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {why}"),
        )
        .with_details(Details {
            causes: vec![Cause {
                reason: String::new(),
                message: why.into(),
                field: String::new(),
            }],
            ..Details::default()
        })
    }

    /// The JSON form.
    pub(crate) fn to_value(&self) -> Value {
        if let Some(Verbatim::Denial(status)) = &self.verbatim {
            return status.clone();
        }
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".into(), token.as_str().into());
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "code": self.code.as_u16(),
        });
        if !self.message.is_empty() {
            status["message"] = self.message.as_str().into();
        }
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_value();
        }
        status
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, text: &str| {
            if !text.is_empty() {
                map.insert(key.into(), text.into());
            }
        };
        put("name", &self.name);
        put("group", &self.group);
        put("kind", &self.kind);
        put("uid", &self.uid);
        if !self.causes.is_empty() {
            map.insert("causes".into(), self.causes.iter().map(Cause::to_value).collect());
        }
        if self.retry_after_seconds > 0 {
            map.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(map)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !text.is_empty() {
                map.insert(key.into(), text.as_str().into());
            }
        }
        Value::Object(map)
    }
}
