//! `pods/log`: the text a test has set for a container.

use http::StatusCode;
use kubewright_schema::field::{Error, Errors, Path};
use serde_json::Value;

use crate::call::{Call, record_value};
use crate::object::meta_text;
use crate::server::Answer;
use crate::status::{Result, Status};
use crate::wire::respond;

pub(super) fn get(call: &Call<'_>) -> Result<Answer> {
    let record = call.existing()?;
    let pod = record_value(call.resource(), &record, record.revision);
    check_options(call)?;
    let container = container(&pod, call.query.text("container"))?;
    let text = call
        .server
        .logs
        .get(&call.target.namespace, &call.target.name, &container);
    // Nobody runs the pod yet, so that there is nobody to ask.
    let is_scheduled = pod
        .pointer("/spec/nodeName")
        .and_then(Value::as_str)
        .is_some_and(|node| !node.is_empty());
    if text.is_none() && !is_scheduled {
        let mut response = respond::text(StatusCode::NO_CONTENT, String::new());
        for header in [http::header::X_CONTENT_TYPE_OPTIONS, http::header::CONTENT_TYPE] {
            response.headers_mut().remove(header);
        }
        return Ok(Answer::Response(response));
    }
    let text = text.unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    if let Some(tail) = call
        .query
        .integer("tailLines")?
        .and_then(|tail| usize::try_from(tail).ok())
    {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    let mut shown: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    if let Some(limit) = call
        .query
        .integer("limitBytes")?
        .and_then(|limit| usize::try_from(limit).ok())
    {
        let mut end = limit.min(shown.len());
        while !shown.is_char_boundary(end) {
            end -= 1;
        }
        shown.truncate(end);
    }
    let mut response = respond::text(StatusCode::OK, shown);
    response.headers_mut().remove(http::header::X_CONTENT_TYPE_OPTIONS);
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain"));
    Ok(Answer::Response(response))
}

/// The container that is meant: the one asked for, or the only one.
fn container(pod: &Value, asked: &str) -> Result<String> {
    let names = |list: &str| -> Vec<&str> {
        let containers = pod.pointer(&format!("/spec/{list}")).and_then(Value::as_array);
        containers
            .into_iter()
            .flatten()
            .filter_map(|container| container["name"].as_str())
            .collect()
    };
    let (containers, init) = (names("containers"), names("initContainers"));
    let pod_name = meta_text(pod, "name");
    if asked.is_empty() {
        return if let [only] = containers.as_slice() {
            Ok((*only).to_owned())
        } else {
            let others = match init.as_slice() {
                [] => String::new(),
                init => format!(" or one of the init containers: [{}]", init.join(" ")),
            };
            let choice = containers.join(" ");
            Err(Status::bad_request(format!(
                "a container name must be specified for pod {pod_name}, choose one of: [{choice}]{others}"
            )))
        };
    }
    if containers.contains(&asked) || init.contains(&asked) || names("ephemeralContainers").contains(&asked) {
        return Ok(asked.to_owned());
    }
    Err(Status::bad_request(format!(
        "container {asked} is not valid for pod {pod_name}"
    )))
}

fn check_options(call: &Call<'_>) -> Result<()> {
    let mut errors = Errors::new();
    let (tail, limit) = (call.query.integer("tailLines")?, call.query.integer("limitBytes")?);
    let since = call.query.integer("sinceSeconds")?;
    if let Some(tail) = tail.filter(|tail| *tail < 0) {
        let words = "must be greater than or equal to 0";
        errors.push(Error::invalid(&Path::root("tailLines"), tail, words));
    }
    let mut require_positive = |field: &str, value: i64| {
        if value < 1 {
            errors.push(Error::invalid(&Path::root(field), value, "must be greater than 0"));
        }
    };
    if let Some(limit) = limit {
        require_positive("limitBytes", limit);
    }
    match (since, call.query.get("sinceTime")) {
        (Some(_), Some(_)) => {
            let words = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            errors.push(Error::forbidden(&Path::root("[]"), words));
        }
        (Some(since), None) => require_positive("sinceSeconds", since),
        (None, _) => {}
    }
    if call.query.get("stream").is_some() {
        errors.push(Error::forbidden(&Path::root("stream"), "may not be specified"));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid("", "PodLogOptions", &call.target.name, &errors))
}
