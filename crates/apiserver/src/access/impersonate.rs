//! The headers by which a request says as whom it wants to act (Z3).

use http::HeaderMap;

use super::User;
use crate::wire::query::percent_decode;
use crate::wire::status::{Result, Status};

const EXTRA: &str = "impersonate-extra-";

/// The user to impersonate; `None` if the headers name none.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Option<User>> {
    let is_about_it = |name: &http::HeaderName| name.as_str().starts_with("impersonate-");
    if !headers.keys().any(is_about_it) {
        return Ok(None);
    }
    let mut user = User {
        name: first(headers, "impersonate-user"),
        uid: first(headers, "impersonate-uid"),
        ..User::default()
    };
    user.groups = headers.get_all("impersonate-group").iter().map(text).collect();
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(EXTRA) else {
            continue;
        };
        user.extra
            .entry(percent_decode(key).into_owned())
            .or_default()
            .push(text(value));
    }
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user.uid.is_empty() && user.groups.is_empty() && user.extra.is_empty() {
        return Ok(None);
    }
    let message = format!("requested {} without impersonating a user name", user.go_syntax());
    Err(Status::bad_request(message))
}

fn first(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).map(text).unwrap_or_default()
}

fn text(value: &http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}
