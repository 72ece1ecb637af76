//! Where spans are sent, by the variables that OpenTelemetry has for it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;

use super::protocol::Protocol;
use super::span::Attribute;
use crate::flags::Environment;
use crate::trace::Sampler;

const SERVICE_NAME: &str = "service.name";

/// Where spans are sent, and how many at once.
#[derive(Clone)]
pub struct ExportSettings {
    /// Scheme, host and port of the collector.
    pub(super) collector: Uri,
    /// The path of the request.
    pub(super) path: String,
    pub(super) protocol: Protocol,
    pub(super) headers: Vec<(String, String)>,
    tls: TlsFiles,
    service: String,
    attributes: Vec<(String, String)>,
    /// Which reconciles are exported.
    pub(super) sampler: Sampler,
    /// How long spans wait for others to be sent with.
    pub(super) delay: Duration,
    /// How long a request may take.
    pub(super) timeout: Duration,
    /// How many spans wait at most; more are dropped.
    pub(super) queue: usize,
    /// How many are sent at once.
    pub(super) batch: usize,
}

/// Files in PEM for a collector behind TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TlsFiles {
    /// Whom to trust, instead of whom this machine trusts.
    authorities: Option<PathBuf>,
    certificate: Option<String>,
    key: Option<String>,
}

/// Without the headers, which may hold a token.
impl fmt::Debug for ExportSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportSettings")
            .field("collector", &self.collector)
            .field("path", &self.path)
            .field("protocol", &self.protocol)
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
        "OTEL_EXPORTER_OTLP_PROTOCOL is {0:?}, but spans are exported as http/protobuf or http/json: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL \
         to one of them, and the endpoint to the collector's port for HTTP (4318)"
    )]
    Protocol(String),
    /// The certificates of whom to trust cannot be read.
    #[error("the certificates of OTEL_EXPORTER_OTLP_CERTIFICATE cannot be read: {path}", path = path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: std::io::Error,
    },
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
            protocol: Protocol::HttpProtobuf,
            headers: Vec::new(),
            tls: TlsFiles::default(),
            service: service.to_owned(),
            attributes: Vec::new(),
            sampler: Sampler::ALL,
            delay: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            queue: 2048,
            batch: 512,
        })
    }

    /// The settings of the environment, for an operator with this name; `None` if it names no endpoint or switches exports off.
    ///
    /// Read are `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER`, `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`, `OTEL_SERVICE_NAME`,
    /// `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_BSP_SCHEDULE_DELAY`, `OTEL_BSP_MAX_QUEUE_SIZE`, `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` and, with
    /// `OTEL_EXPORTER_OTLP_TRACES_` before the others, `OTEL_EXPORTER_OTLP_ENDPOINT`, `…_PROTOCOL`, `…_HEADERS`, `…_TIMEOUT`, `…_CERTIFICATE`,
    /// `…_CLIENT_CERTIFICATE` and `…_CLIENT_KEY`.
    pub fn from_environment(environment: &Environment, service: &str) -> Result<Option<Self>, ExportError> {
        let of = |name: &str| {
            environment
                .variable(name)
                .map(str::trim)
                .filter(|value| !value.is_empty())
        };
        let of_traces = |name: &str| of(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"));
        let of_all = |name: &str| of(&format!("OTEL_EXPORTER_OTLP_{name}"));
        let of_exporter = |name: &str| of_traces(name).or_else(|| of_all(name));
        let sampler = sampler(of("OTEL_TRACES_SAMPLER"), of("OTEL_TRACES_SAMPLER_ARG"));
        let is_off = of("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || of("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none")
            || sampler.is_off();
        // An endpoint for traces is taken as it is; one for all signals has a path for each.
        let mut settings = match (of_traces("ENDPOINT"), of_all("ENDPOINT")) {
            _ if is_off => return Ok(None),
            (Some(endpoint), _) => Self::at(endpoint, service)?,
            (None, Some(endpoint)) => Self::new(endpoint, service)?,
            (None, None) => return Ok(None),
        };
        if let Some(protocol) = of_exporter("PROTOCOL") {
            settings.protocol = protocol
                .parse()
                .map_err(|()| ExportError::Protocol(protocol.to_owned()))?;
        }
        settings.sampler = sampler;
        settings.headers = of_exporter("HEADERS").map(pairs).unwrap_or_default();
        settings.tls = TlsFiles {
            authorities: of_exporter("CERTIFICATE").map(PathBuf::from),
            certificate: of_exporter("CLIENT_CERTIFICATE").map(str::to_owned),
            key: of_exporter("CLIENT_KEY").map(str::to_owned),
        };
        if let Some(compression) = of_exporter("COMPRESSION").filter(|compression| *compression != "none") {
            tracing::warn!(compression, "spans are exported without compression");
        }
        settings.attributes = of("OTEL_RESOURCE_ATTRIBUTES").map(pairs).unwrap_or_default();
        // The name that is said for the service alone counts before the one among the attributes.
        let (names, attributes) = std::mem::take(&mut settings.attributes)
            .into_iter()
            .partition(|(name, _): &(String, String)| name == SERVICE_NAME);
        settings.attributes = attributes;
        let among_attributes = names.into_iter().next_back().map(|(_, name)| name);
        if let Some(name) = of("OTEL_SERVICE_NAME").map(str::to_owned).or(among_attributes) {
            settings.service = name;
        }
        let number = |value: Option<&str>| value.and_then(|value| value.parse::<u64>().ok());
        if let Some(timeout) = number(of_exporter("TIMEOUT")) {
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

    /// A client of the collector, with the trust of this machine unless other authorities are named, and no credentials of the cluster.
    pub(super) fn client(&self) -> Result<kube::Client, ExportError> {
        let mut config = kube::Config::new(self.collector.clone());
        if let Some(path) = &self.tls.authorities {
            let text = std::fs::read(path).map_err(|source| ExportError::Certificate {
                path: path.clone(),
                source,
            })?;
            config.root_cert = Some(kubewright_x509::pem::blocks(&text).map(|block| block.bytes).collect());
        }
        config.auth_info.client_certificate.clone_from(&self.tls.certificate);
        config.auth_info.client_key.clone_from(&self.tls.key);
        kube::Client::try_from(config).map_err(|error| ExportError::Client(Box::new(error)))
    }

    /// Who it is that speaks.
    pub(super) fn resource(&self) -> Vec<Attribute> {
        let own = [
            (SERVICE_NAME, &*self.service),
            ("telemetry.sdk.name", "kubewright"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        ];
        let given = self.attributes.iter().map(|(name, value)| (&**name, &**value));
        let given = given.filter(|(name, _)| own.iter().all(|(own, _)| own != name));
        let all = own.into_iter().chain(given);
        all.map(|(name, value)| Attribute::text(name, value)).collect()
    }
}

/// The sampler that `OTEL_TRACES_SAMPLER` names. No reconcile has a parent, so that those which look at one decide as the others do. One that is
/// not known is told and counts as none, as the specification wants it.
fn sampler(name: Option<&str>, argument: Option<&str>) -> Sampler {
    let (off, all) = (Sampler::of(0.0).unwrap_or(Sampler::ALL), Sampler::ALL);
    match name.map(|name| name.strip_prefix("parentbased_").unwrap_or(name)) {
        None | Some("always_on") => all,
        Some("always_off") => off,
        Some("traceidratio") => {
            let share = argument.map(|argument| argument.parse().ok().and_then(Sampler::of));
            share.unwrap_or(Some(all)).unwrap_or_else(|| {
                tracing::warn!(
                    argument,
                    "OTEL_TRACES_SAMPLER_ARG has to be a number from 0 to 1: all spans are exported"
                );
                all
            })
        }
        Some(_) => {
            tracing::warn!(
                sampler = name,
                "OTEL_TRACES_SAMPLER has to be always_on, always_off or traceidratio, with or without parentbased_ before it: all spans are \
                 exported"
            );
            all
        }
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
        assert_eq!((found.protocol, found.sampler), (Protocol::HttpProtobuf, Sampler::ALL));
        let resource = found.resource();
        assert_eq!(resource[0], Attribute::text("service.name", "other"));
        assert_eq!(
            resource.last(),
            Some(&Attribute::text("deployment.environment", "test"))
        );
        let one = settings(&[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/custom"),
            ("OTEL_SERVICE_NAME", "own"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key.pem"),
        ]);
        let one = one.unwrap().unwrap();
        assert_eq!(
            (&*one.path, &*one.service, one.protocol),
            ("/custom", "own", Protocol::HttpJson)
        );
        assert_eq!((one.attributes.len(), one.tls.key.as_deref()), (0, Some("/key.pem")));
    }

    #[test]
    fn without_an_endpoint_nothing_is_exported_and_mistakes_are_named() {
        assert!(settings(&[]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        let sampler = |name| ("OTEL_TRACES_SAMPLER", name);
        for off in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
            sampler("always_off"),
            sampler("parentbased_always_off"),
        ] {
            assert!(settings(&[endpoint, off]).unwrap().is_none());
        }
        let error = settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")]).unwrap_err();
        assert!(error.to_string().contains("has to be a URL"), "{error}");
        let error = settings(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
        assert!(
            error.to_string().contains("http/protobuf") && error.to_string().contains("4318"),
            "{error}"
        );
        let missing = settings(&[endpoint, ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/none/ca.pem")]).unwrap();
        let error = missing.unwrap().client().err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|error| error.contains("/none/ca.pem")),
            "{error:?}"
        );
    }

    #[test]
    fn a_sampler_takes_the_share_that_it_is_told_and_one_that_makes_no_sense_takes_all() {
        assert_eq!(sampler(Some("traceidratio"), Some("0.25")), Sampler::of(0.25).unwrap());
        assert_eq!(
            sampler(Some("parentbased_traceidratio"), Some("0.5")),
            Sampler::of(0.5).unwrap()
        );
        for (name, argument) in [
            (None, Some("0.5")),
            (Some("always_on"), None),
            (Some("traceidratio"), None),
            (Some("traceidratio"), Some("7")),
            (Some("traceidratio"), Some("half")),
            (Some("jaeger_remote"), None),
        ] {
            assert_eq!(sampler(name, argument), Sampler::ALL, "{name:?} {argument:?}");
        }
    }
}
