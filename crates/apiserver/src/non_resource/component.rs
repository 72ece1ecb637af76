//! Pages that every component of Kubernetes has about itself: `/statusz`, `/flagz` and `/metrics/slis` (H13).

use std::fmt::Write as _;

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use kubewright_system::prometheus;
use serde_json::{Value, json};

use super::health;
use crate::server::Server;
use crate::wire::body::Body;
use crate::wire::negotiate::{self, Encoding, Output, PageForm};
use crate::wire::respond::{self, Reply};
use crate::wire::status::Status;

/// The level that is served, as the page about it writes it.
const VERSION: &str = "1.36.3";
const EMULATED: &str = "1.36";
/// What the page says is served, as upstream's does.
const PATHS: [&str; 7] = [
    "/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version",
];

const NOT_FOR_MACHINES: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility \
                                guarantees and is for debugging purposes only.";
/// The types that these pages come in.
const TYPES: &str = "application/json, application/yaml, text/plain";

/// Answers a page about this component; `None` for any other path.
pub(super) fn answer(server: &Server, method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    Some(match path {
        "/statusz" => page(headers, "Statusz", status_text(server), || status(server)),
        "/flagz" => page(
            headers,
            "Flagz",
            flags_text(server),
            || json!({ "flags": server.flags.iter().cloned().collect::<std::collections::BTreeMap<_, _>>() }),
        ),
        "/metrics/slis" => indicators(server, method),
        _ => return None,
    })
}

/// A page as text for people, or as an object in a version that the client names.
fn page(headers: &HeaderMap, kind: &str, text: String, object: impl FnOnce() -> Value) -> Response<Body> {
    let form = match negotiate::page(headers, kind) {
        Ok(form) => form,
        Err(output) => return respond::refuse(&Status::not_acceptable(TYPES), output, &[]),
    };
    let PageForm::Object { encoding, version } = form else {
        let mut response = respond::text(StatusCode::OK, text);
        response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
        return response;
    };
    let mut object = object();
    object["kind"] = kind.into();
    object["apiVersion"] = format!("config.k8s.io/{version}").into();
    object["metadata"] = json!({ "name": "apiserver" });
    let output = Output {
        encoding,
        ..Output::JSON
    };
    let name = kind.to_lowercase();
    let warnings: Vec<String> = (version == "v1alpha1")
        .then(|| format!("This version of the {name} endpoint is deprecated. Please use a newer version."))
        .into_iter()
        .collect();
    let mut response = respond::respond(
        Reply::value(StatusCode::OK, &object),
        output,
        &HeaderMap::new(),
        &warnings,
    );
    let media_type = match encoding {
        Encoding::Yaml => "application/yaml",
        Encoding::Json | Encoding::Protobuf => "application/json",
    };
    let content_type = format!("{media_type};g=config.k8s.io;v={version};as={kind}");
    if let Ok(content_type) = HeaderValue::from_str(&content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response
}

fn up_seconds(server: &Server) -> i64 {
    server.clock.now().as_second() - server.started.as_second()
}

fn status(server: &Server) -> Value {
    json!({
        "startTime": kubewright_system::clock::stamp(server.started),
        "uptimeSeconds": up_seconds(server),
        "goVersion": "none",
        "binaryVersion": VERSION,
        "emulationVersion": EMULATED,
        "paths": PATHS,
    })
}

fn status_text(server: &Server) -> String {
    let up = up_seconds(server);
    let started = server.started.strftime("%a %b %e %H:%M:%S UTC %Y");
    // Upstream changes what stands between a name and its value with every answer, lest programs read it.
    format!(
        "\napiserver statusz\n{NOT_FOR_MACHINES}\n\nStarted: {started}\nUp: {} hr {:02} min {:02} sec\nGo version: none\nBinary \
         version: {VERSION}\nEmulation version: {EMULATED}\nPaths: {}\n",
        up / 3600,
        up / 60 % 60,
        up % 60,
        PATHS.join(" "),
    )
}

fn flags_text(server: &Server) -> String {
    let mut text = format!("\napiserver flagz\n{NOT_FOR_MACHINES}\n");
    for (name, value) in &*server.flags {
        let _ = writeln!(text, "{name}:{value}");
    }
    text
}

/// The results of the health checks as metrics. A check of a server that answers has succeeded.
fn indicators(server: &Server, method: &Method) -> Response<Body> {
    if method == Method::DELETE {
        let mut response = respond::text(StatusCode::OK, "metrics reset\n");
        response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
        return response;
    }
    let mut checks = health::readiness();
    checks.sort_unstable();
    let mut text = String::new();
    let families = [
        (
            "kubernetes_healthcheck",
            "gauge",
            "[STABLE] This metric records the result of a single healthcheck.",
        ),
        (
            "kubernetes_healthchecks_total",
            "counter",
            "[STABLE] This metric records the results of all healthcheck.",
        ),
    ];
    for (name, kind, help) in families {
        prometheus::family(&mut text, name, kind, help);
        for check in &checks {
            let mut labels = String::new();
            prometheus::label(&mut labels, "name", check);
            if kind == "counter" {
                prometheus::label(&mut labels, "status", "success");
            }
            prometheus::label(&mut labels, "type", "readyz");
            prometheus::sample(&mut text, name, &labels, 1.0);
        }
    }
    let help = "[ALPHA] Start time of the process since unix epoch in seconds.";
    prometheus::family(&mut text, "process_start_time_seconds", "gauge", help);
    let started = server.started.as_duration().as_secs_f64();
    prometheus::sample(&mut text, "process_start_time_seconds", "", started);
    let mut response = super::metrics_text(text);
    let started = server.started.as_second();
    response
        .headers_mut()
        .insert("process-start-time-unix", HeaderValue::from(started));
    response
}
