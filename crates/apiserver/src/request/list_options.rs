//! The query parameters of list, watch and deletecollection, checked as upstream checks them (R2, R8, V7).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::labels::SelectorError;
use kubewright_store::Revision;

use crate::registry::Resource;
use crate::request::route::Target;
use crate::request::select::{Selection, fields};
use crate::wire::query::Query;
use crate::wire::status::{Result, Status};

/// What a client asked a collection for.
#[derive(Clone, Debug)]
pub(crate) struct ListOptions {
    pub(crate) selection: Selection,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) resource_version: String,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout_seconds: Option<u64>,
}

/// How the resourceVersion of a list is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

impl ListOptions {
    pub(crate) fn parse(query: &Query, target: &Target<'_>, watch: bool) -> Result<ListOptions> {
        let resource = &target.resource;
        // In the order in which upstream reads them: of two that are wrong, the first is named.
        let timeout = query.integer("timeoutSeconds")?;
        let limit = query.integer("limit")?.unwrap_or(0);
        let labels = query.text("labelSelector").parse();
        let labels = labels.map_err(|error: SelectorError| Status::bad_request(error.to_string()))?;
        // A selector must be readable before the options are checked; whether it names fields that exist is asked last.
        let fields = match named_fields(query.text("fieldSelector"), resource, target.name) {
            Err(status) if status.message.starts_with("invalid selector") => return Err(status),
            fields => fields,
        };
        let mut options = ListOptions {
            selection: Selection {
                labels,
                fields: fields::Selector::default(),
            },
            limit: usize::try_from(limit).unwrap_or(0),
            continue_token: query.text("continue").to_owned(),
            resource_version: query.text("resourceVersion").to_owned(),
            version_match: None,
            watch,
            bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: query.flag("sendInitialEvents"),
            timeout_seconds: timeout.and_then(|seconds| u64::try_from(seconds).ok()),
        };
        let mut version_match = query.text("resourceVersionMatch").to_owned();
        // A watch from no or any version has always begun with the present state: the same as asking for it.
        if watch
            && options.send_initial_events.is_none()
            && version_match.is_empty()
            && matches!(options.resource_version.as_str(), "" | "0")
        {
            options.send_initial_events = Some(true);
            version_match.push_str("NotOlderThan");
        }
        let errors = options.check(&version_match);
        if !errors.is_empty() {
            return Err(Status::invalid_options("ListOptions", &errors));
        }
        options.version_match = match version_match.as_str() {
            "Exact" => Some(VersionMatch::Exact),
            "NotOlderThan" => Some(VersionMatch::NotOlderThan),
            _ => None,
        };
        options.selection.fields = fields?;
        Ok(options)
    }

    fn check(&self, version_match: &str) -> Errors {
        let mut errors = Errors::new();
        let path = PathRef::root("resourceVersionMatch");
        let after_continue = "resourceVersionMatch is forbidden when continue is provided";
        if self.watch {
            if self.send_initial_events.is_some() && version_match != "NotOlderThan" {
                let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                errors.push(FieldError::forbidden(&path, detail));
            }
            if !version_match.is_empty() {
                if self.send_initial_events.is_none() {
                    let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                    errors.push(FieldError::forbidden(&path, detail));
                }
                if version_match != "NotOlderThan" {
                    errors.push(FieldError::not_supported(&path, version_match, ["NotOlderThan"]));
                }
                if !self.continue_token.is_empty() {
                    errors.push(FieldError::forbidden(&path, after_continue));
                }
            }
            return errors;
        }
        if !version_match.is_empty() {
            if self.resource_version.is_empty() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(FieldError::forbidden(&path, detail));
            }
            if !self.continue_token.is_empty() {
                errors.push(FieldError::forbidden(&path, after_continue));
            }
            if !matches!(version_match, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(
                    &path,
                    version_match,
                    ["Exact", "NotOlderThan", ""],
                ));
            }
            if version_match == "Exact" && self.resource_version == "0" {
                let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(FieldError::forbidden(&path, detail));
            }
        }
        if self.send_initial_events.is_some() {
            errors.push(FieldError::forbidden(
                &PathRef::root("sendInitialEvents"),
                "sendInitialEvents is forbidden for list",
            ));
        }
        errors
    }

    /// The requested revision: `None` when unset or "0".
    pub(crate) fn revision(&self) -> Result<Option<Revision>> {
        let revision = match parse_revision(&self.resource_version) {
            // A list says so itself, a watch leaves it to the storage.
            Err(status) if !self.watch => {
                return Err(Status::bad_request(format!(
                    "invalid resource version: {}",
                    status.message
                )));
            }
            other => other?,
        };
        Ok(revision.filter(|revision| revision.0 > 0))
    }
}

/// A resourceVersion of a query.
pub(crate) fn parse_revision(text: &str) -> Result<Option<Revision>> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(number) = text.parse() {
        Ok(Some(Revision(number)))
    } else {
        let why = if text.bytes().all(|byte| byte.is_ascii_digit()) {
            "value out of range"
        } else {
            "invalid syntax"
        };
        let quoted = kubewright_apimachinery::go::quote(text);
        let detail = format!("strconv.ParseUint: parsing {quoted}: {why}");
        let error = FieldError::invalid(&PathRef::root("resourceVersion"), text, detail);
        Err(Status::new(
            http::StatusCode::INTERNAL_SERVER_ERROR,
            "",
            error.to_string(),
        ))
    }
}

/// The field selector of a request; a name in the path is a selector too, and the two must agree (R9).
fn named_fields(selector: &str, resource: &Resource, name: &str) -> Result<fields::Selector> {
    let fields = fields::Selector::parse(selector, resource).map_err(Status::bad_request)?;
    match name {
        "" => Ok(fields),
        name if fields.is_empty() => Ok(fields::Selector::named(name)),
        name if fields.exact_name() == Some(name) => Ok(fields),
        _ => Err(Status::bad_request(
            "fieldSelector metadata.name doesn't match requested name",
        )),
    }
}
