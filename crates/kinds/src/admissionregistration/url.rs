//! Where a webhook is reached: a URL, or a path of a Service (A5).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_apimachinery::url::Url;
use serde_json::Value;

use crate::rules::access::{int_at, opt_str_at, str_at};

const FORM: &str = "; desired format: https://host[/path]";

/// Everything wrong with a webhook's URL.
pub fn validate_url(text: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(problem) => {
            let detail = format!("url must be a valid URL: {problem}{FORM}");
            errors.push(FieldError::required(path, detail));
            return;
        }
    };
    if url.scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, url.scheme.as_str(), detail));
    }
    if url.host.is_empty() {
        errors.push(FieldError::invalid(path, "", format!("host must be specified{FORM}")));
    }
    if let Some(user) = url.user {
        errors.push(FieldError::invalid(
            path,
            user,
            "user information is not permitted in the URL",
        ));
    }
    if !url.fragment.is_empty() {
        errors.push(FieldError::invalid(
            path,
            url.fragment,
            "fragments are not permitted in the URL",
        ));
    }
    if !url.query.is_empty() {
        errors.push(FieldError::invalid(
            path,
            url.query,
            "query parameters are not permitted in the URL",
        ));
    }
}

/// Everything wrong with the Service behind a webhook.
pub fn validate_service(service: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    // Upstream passes name and namespace in the wrong order, so that each is reported missing under the other's name.
    for (missing, field) in [("namespace", "name"), ("name", "namespace")] {
        if str_at(service, &[missing]).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    let port = int_at(service, &["port"]);
    let complaints = names::port_number(port);
    if !complaints.is_empty() {
        let detail = format!("port is not valid: {}", complaints.join(", "));
        errors.push(FieldError::invalid(&path.child("port"), port, detail));
    }
    let Some(text) = opt_str_at(service, &["path"]).filter(|text| !matches!(*text, "" | "/")) else {
        return;
    };
    let path = path.child("path");
    if text == "//" {
        errors.push(FieldError::invalid(&path, text, "segment[0] may not be empty"));
        return;
    }
    if !text.starts_with('/') {
        errors.push(FieldError::invalid(&path, text, "must start with a '/'"));
    }
    // The first character is skipped whatever it is.
    let rest = text.char_indices().nth(1).map_or("", |(start, _)| &text[start..]);
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (index, segment) in rest.split('/').enumerate() {
        if segment.is_empty() {
            errors.push(FieldError::invalid(
                &path,
                text,
                format!("segment[{index}] may not be empty"),
            ));
            continue;
        }
        for complaint in names::dns1123_subdomain(segment) {
            errors.push(FieldError::invalid(
                &path,
                text,
                format!("segment[{index}]: {complaint}"),
            ));
        }
    }
}
