//! Where spans are sent, by the variables that OpenTelemetry has for it.

use std::fmt;
use std::time::Duration;

use http::Uri;
use serde_json::{Value, json};

use crate::flags::Environment;

/// Where spans are sent, and how many at once.
#[derive(Clone)]
pub struct ExportSettings {
    /// Scheme, host and port of the collector.
    pub(super) collector: Uri,
    /// The path of the request.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    service: String,
    attributes: Vec<(String, String)>,
    /// How long spans wait for others to be sent with.
    pub(super) delay: Duration,
    /// How long a request may take.
    pub(super) timeout: Duration,
    /// How many spans wait at most; more are dropped.
    pub(super) queue: usize,
    /// How many are sent at once.
    pub(super) batch: usize,
}

/// Without the headers, which may hold a token.
impl fmt::Debug for ExportSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportSettings")
            .field("collector", &self.collector)
            .field("path", &self.path)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// Why nothing can be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The endpoint is no URL.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT has to be a URL as http://collector:4318, not {0:?}")]
    Endpoint(String),
    /// The protocol is none of ours.
    #[error(
        "OTEL_EXPORTER_OTLP_PROTOCOL is {0:?}, but http/json is what spans are exported as: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL to \
         that, and the endpoint to the collector's port for HTTP (4318)"
    )]
    Protocol(String),
    /// No connection can be prepared.
    #[error("the collector cannot be reached")]
    Client(#[source] Box<kube::Error>),
}

impl ExportSettings {
    /// The settings of an operator with this name for a collector at `http://host:4318`, with OpenTelemetry's defaults.
    pub fn new(endpoint: &str, service: &str) -> Result<Self, ExportError> {
        Self::at(&format!("{}/v1/traces", endpoint.trim_end_matches('/')), service)
    }

    fn at(url: &str, service: &str) -> Result<Self, ExportError> {
        let refused = || ExportError::Endpoint(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| refused())?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(refused());
        };
        let collector = format!("{scheme}://{authority}").parse().map_err(|_| refused())?;
        Ok(ExportSettings {
            collector,
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            headers: Vec::new(),
            service: service.to_owned(),
            attributes: Vec::new(),
            delay: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            queue: 2048,
            batch: 512,
        })
    }

    /// The settings of the environment, for an operator with this name; `None` if it names no endpoint or switches exports off.
    ///
    /// Read are `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_BSP_SCHEDULE_DELAY`,
    /// `OTEL_BSP_MAX_QUEUE_SIZE`, `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` and, with `OTEL_EXPORTER_OTLP_TRACES_` before the others,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, `…_HEADERS`, `…_TIMEOUT` and `…_PROTOCOL`.
    pub fn from_environment(environment: &Environment, service: &str) -> Result<Option<Self>, ExportError> {
        let of = |name: &str| {
            environment
                .variable(name)
                .map(str::trim)
                .filter(|value| !value.is_empty())
        };
        let of_traces = |name: &str| of(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"));
        let of_all = |name: &str| of(&format!("OTEL_EXPORTER_OTLP_{name}"));
        let is_off = of("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || of("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let service = of("OTEL_SERVICE_NAME").unwrap_or(service);
        // An endpoint for traces is taken as it is; one for all signals has a path for each.
        let mut settings = match (of_traces("ENDPOINT"), of_all("ENDPOINT")) {
            _ if is_off => return Ok(None),
            (Some(endpoint), _) => Self::at(endpoint, service)?,
            (None, Some(endpoint)) => Self::new(endpoint, service)?,
            (None, None) => return Ok(None),
        };
        if let Some(protocol) = of_traces("PROTOCOL").or_else(|| of_all("PROTOCOL"))
            && protocol != "http/json"
        {
            return Err(ExportError::Protocol(protocol.to_owned()));
        }
        let pairs = |text: Option<&str>| text.map(pairs).unwrap_or_default();
        settings.headers = pairs(of_traces("HEADERS").or_else(|| of_all("HEADERS")));
        settings.attributes = pairs(of("OTEL_RESOURCE_ATTRIBUTES"));
        let number = |value: Option<&str>| value.and_then(|value| value.parse::<u64>().ok());
        if let Some(timeout) = number(of_traces("TIMEOUT").or_else(|| of_all("TIMEOUT"))) {
            settings.timeout = Duration::from_millis(timeout);
        }
        if let Some(delay) = number(of("OTEL_BSP_SCHEDULE_DELAY")) {
            settings.delay = Duration::from_millis(delay);
        }
        let count = |name: &str| {
            number(of(name))
                .and_then(|count| usize::try_from(count).ok())
                .filter(|count| *count > 0)
        };
        if let Some(queue) = count("OTEL_BSP_MAX_QUEUE_SIZE") {
            settings.queue = queue;
        }
        if let Some(batch) = count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE") {
            settings.batch = batch;
        }
        settings.batch = settings.batch.min(settings.queue);
        Ok(Some(settings))
    }

    /// A client of the collector, with the trust of this machine and no credentials of the cluster.
    pub(super) fn client(&self) -> Result<kube::Client, ExportError> {
        let config = kube::Config::new(self.collector.clone());
        kube::Client::try_from(config).map_err(|error| ExportError::Client(Box::new(error)))
    }

    /// Who it is that speaks.
    pub(super) fn resource(&self) -> Vec<Value> {
        let own = [
            ("service.name", &*self.service),
            ("telemetry.sdk.name", "kubewright"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        ];
        let given = self.attributes.iter().map(|(name, value)| (&**name, &**value));
        let given = given.filter(|(name, _)| *name != "service.name");
        own.into_iter()
            .chain(given)
            .map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } }))
            .collect()
    }
}

/// `name=value,other=a%20b`, as W3C Baggage writes it.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), decoded(value.trim())))
        .collect()
}

/// A text without percent signs for bytes.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let hex = others.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &others[2..];
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Option<ExportSettings>, ExportError> {
        ExportSettings::from_environment(&Environment::of(variables.iter().copied()), "shop")
    }

    #[test]
    fn the_variables_of_opentelemetry_say_where_and_how() {
        let found = settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, team = shop"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=other,deployment.environment=test",
            ),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "10"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ]);
        let found = found.unwrap().unwrap();
        assert_eq!(
            (found.collector.to_string(), &*found.path),
            ("http://collector:4318/".to_owned(), "/v1/traces")
        );
        assert_eq!(
            found.headers,
            [
                ("authorization".to_owned(), "Bearer x".to_owned()),
                ("team".to_owned(), "shop".to_owned())
            ]
        );
        assert_eq!(
            (found.queue, found.batch, found.timeout),
            (10, 10, Duration::from_millis(250))
        );
        let resource = json!(found.resource()).to_string();
        assert!(
            resource.contains("shop") && !resource.contains("other") && resource.contains("deployment.environment"),
            "{resource}"
        );
        let one = settings(&[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/custom"),
            ("OTEL_SERVICE_NAME", "own"),
        ]);
        let one = one.unwrap().unwrap();
        assert_eq!((&*one.path, &*one.service), ("/custom", "own"));
    }

    #[test]
    fn without_an_endpoint_nothing_is_exported_and_mistakes_are_named() {
        assert!(settings(&[]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        for off in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert!(settings(&[endpoint, off]).unwrap().is_none());
        }
        let error = settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")]).unwrap_err();
        assert!(error.to_string().contains("has to be a URL"), "{error}");
        let error = settings(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
        assert!(error.to_string().contains("http/json"), "{error}");
    }
}
