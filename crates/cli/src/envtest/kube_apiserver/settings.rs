//! From flags to the options of the embedded server.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use kubewright_apimachinery::duration;
use kubewright_apimachinery::go::quote;
use kubewright_apiserver::{FrontProxyHeaders, ListenOptions, Options, ServiceAccountTokens, TokenKeyError};
use kubewright_cluster::with_sources;

use super::super::flags::{Given, Table};
use super::treatment::{self, Treatment};
use super::{admission, admission_file, audit, authorization, feature_gates, serving};
use crate::token_file;

/// The only ranges that there are here: those of envtest.
const SERVICE_ADDRESSES: [&str; 2] = ["", "10.0.0.0/24"];
const NODE_PORTS: [&str; 2] = ["", "30000-32767"];
const DEFAULT_PORT: &str = "6443";

/// What the program is told to be.
pub(super) struct Settings {
    pub(super) options: Options,
    pub(super) listen: ListenOptions,
    /// How long it goes on serving once it is asked to stop.
    pub(super) shutdown_delay: Duration,
    /// The APIs that shall be served or not, as `group/version`.
    pub(super) apis: Vec<(String, bool)>,
}

impl Settings {
    /// Reads what flags say. The errors are in kube-apiserver's words where it has some, and in its order: it looks at files once
    /// nothing else is wrong.
    pub(super) fn of(table: &Table, given: &Given) -> Result<Settings, Vec<String>> {
        feature_gates::check(given).map_err(|why| vec![why])?;
        let refused = refused(table, given);
        if !refused.is_empty() {
            return Err(refused);
        }
        let mut problems = Vec::new();
        if given.items("etcd-servers").is_empty() {
            problems.push("--etcd-servers must be specified".to_owned());
        }
        let port = port(given, &mut problems);
        check_front_proxies(given, &mut problems);
        check_service_accounts(given, &mut problems);
        audit::check(given, &mut problems);
        let authorization = authorization::authorizers(given, &mut problems);
        let options = admission::apply(given, Options::new(), &mut problems);
        let apis = apis(given, &mut problems);
        check_token_request(given, &mut problems);
        check_ranges(given, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        Self::with_files(given, port, options.authorization_modes(authorization), apis).map_err(|why| vec![why])
    }

    fn with_files(given: &Given, port: u16, mut options: Options, apis: Vec<(String, bool)>) -> Result<Self, String> {
        if let Some(path) = given.text("token-auth-file") {
            let tokens = token_file::read(Path::new(path));
            for (token, user) in tokens.map_err(|error| format!("--token-auth-file: {}", with_sources(&error)))? {
                options = options.token(token, user);
            }
        }
        options = admission_file::apply(given.text("admission-control-config-file"), options, |plugin| {
            admission::is_on(given, plugin.name())
        })?;
        options = front_proxy(given, audit::apply(given, options)?)?;
        if let Some(timeout) = time(given, "request-timeout").filter(|timeout| !timeout.is_zero()) {
            options = options.request_timeout(timeout);
        }
        if let Some(seconds) = given
            .text("min-request-timeout")
            .and_then(|text| text.parse::<u64>().ok())
        {
            // Without a time, only clients end watches.
            let least = if seconds == 0 {
                Duration::MAX
            } else {
                Duration::from_secs(seconds)
            };
            options = options.watch_timeout(least);
        }
        Ok(Settings {
            options: options
                .anonymous(is_anonymous(given))
                .privileged_containers(given.is_on("allow-privileged", false))
                .flags(given.flags().map(|(name, values)| (name.to_owned(), values.join(","))))
                .service_account_tokens(service_account_tokens(given)?),
            listen: listening(given, port)?,
            shutdown_delay: time(given, "shutdown-delay-duration").unwrap_or_default(),
            apis,
        })
    }
}

/// Nobody is anonymous where everybody is allowed everything, as upstream has it.
fn is_anonymous(given: &Given) -> bool {
    !authorization::allows_everything(given) && given.is_on("anonymous-auth", true)
}

/// Flags with another than their default value that would change what this server does not have.
fn refused(table: &Table, given: &Given) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, values) in given.flags() {
        let Some(Treatment::Refused(why)) = treatment::of(name) else {
            continue;
        };
        let default = table.get(name).map_or("", |flag| flag.default);
        // The default of a list is written in brackets.
        let default = default.trim_start_matches('[').trim_end_matches(']');
        let is_default = |value: &String| value == default;
        if !values.iter().all(is_default) {
            problems.push(format!("--{name} is not possible here: {why}"));
        }
    }
    problems
}

fn time(given: &Given, name: &str) -> Option<Duration> {
    duration::parse_unsigned(given.text(name)?)
}

fn address(given: &Given, name: &str) -> Option<IpAddr> {
    given.text(name)?.trim().parse().ok()
}

fn port(given: &Given, problems: &mut Vec<String>) -> u16 {
    let text = given.last("secure-port").unwrap_or(DEFAULT_PORT);
    text.parse().ok().filter(|port| *port != 0).unwrap_or_else(|| {
        problems.push(format!(
            "--secure-port {text} must be between 1 and 65535, inclusive. It cannot be turned off with 0"
        ));
        0
    })
}

fn listening(given: &Given, port: u16) -> Result<ListenOptions, String> {
    let bind = address(given, "bind-address").unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let mut listen = ListenOptions::from(SocketAddr::new(bind, port))
        // Nobody waits for answers of a test that is over.
        .drain(Duration::from_secs(1));
    let advertised = address(given, "advertise-address").filter(|address| !address.is_unspecified());
    listen = match advertised {
        Some(address) => listen.advertise(address),
        None if bind.is_loopback() || bind.is_unspecified() => listen.advertise_default_route(),
        None => listen,
    };
    if let Some(host) = given.text("external-hostname") {
        listen = listen.external_host(host);
    }
    listen = listen.publish_endpoints(given.text("endpoint-reconciler-type") != Some("none"));
    match given.text("tls-min-version") {
        // There is nothing older than 1.2 here.
        None | Some("VersionTLS10" | "VersionTLS11" | "VersionTLS12") => {}
        Some("VersionTLS13") => listen = listen.only_tls13(true),
        Some(other) => return Err(format!("unknown tls version {}", quote(other))),
    }
    if let Some((chain, key)) = serving::certificate(given, bind, advertised)? {
        listen = listen.serving_certificate(chain, key);
    }
    if let Some(path) = given.text("client-ca-file") {
        listen = listen.client_authorities(read("client-ca-file", path)?);
    }
    front_proxies(given, listen)
}

/// The file of a flag.
pub(super) fn read(flag: &str, path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("--{flag}: cannot read {path}: {error}"))
}

fn check_service_accounts(given: &Given, problems: &mut Vec<String>) {
    if given.all("service-account-issuer").iter().all(String::is_empty) {
        problems.push("service-account-issuer is a required flag".to_owned());
    }
    if given.all("service-account-key-file").is_empty() {
        problems
            .push("either `--service-account-key-file` or `--service-account-signing-endpoint` must be set".to_owned());
    }
    if let Some(uri) = given.text("service-account-jwks-uri") {
        let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
        if !scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) {
            problems.push(format!(
                "service-account-jwks-uri requires https scheme, parsed as: {uri}"
            ));
        }
    }
    if let Some(longest) = longest_token(given)
        && (longest < Duration::from_hours(1) || longest.as_secs() > 1 << 32)
    {
        problems.push("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds".to_owned());
    }
}

fn longest_token(given: &Given) -> Option<Duration> {
    time(given, "service-account-max-token-expiration").filter(|longest| !longest.is_zero())
}

fn service_account_tokens(given: &Given) -> Result<ServiceAccountTokens, String> {
    let issuers = given.all("service-account-issuer").iter();
    let mut tokens = ServiceAccountTokens::new()
        .issuers(issuers.filter(|issuer| !issuer.is_empty()))
        .audiences(given.items("api-audiences"))
        .extend(given.is_on("service-account-extend-token-expiration", true));
    if let Some(longest) = longest_token(given) {
        tokens = tokens.longest(longest);
    }
    if let Some(uri) = given.text("service-account-jwks-uri") {
        tokens = tokens.key_set_uri(uri);
    }
    let unusable = |flag: &str, path: &str, error: TokenKeyError| format!("--{flag}: {path} cannot be used: {error}");
    for path in given.all("service-account-key-file") {
        let flag = "service-account-key-file";
        tokens = tokens
            .verification_keys(&read(flag, path)?)
            .map_err(|error| unusable(flag, path, error))?;
    }
    if let Some(path) = given.text("service-account-signing-key-file") {
        let flag = "service-account-signing-key-file";
        tokens = tokens
            .signing_key(&read(flag, path)?)
            .map_err(|error| unusable(flag, path, error))?;
    }
    Ok(tokens)
}

/// Upstream checks once more, at the end, whether tokens can be issued.
fn check_token_request(given: &Given, problems: &mut Vec<String>) {
    if given.text("service-account-signing-key-file").is_some() {
        return;
    }
    let has_issuer = given
        .all("service-account-issuer")
        .first()
        .is_some_and(|issuer| !issuer.is_empty());
    let why = if has_issuer || !given.items("api-audiences").is_empty() {
        "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified together"
    } else {
        "--service-account-signing-key-file and --service-account-issuer are required flags"
    };
    problems.push(why.to_owned());
}

/// By what servers of aggregated APIs recognize this one. As upstream has it, one of the two flags alone says nothing.
fn front_proxy(given: &Given, options: Options) -> Result<Options, String> {
    let (Some(certificate), Some(key)) = (
        given.text("proxy-client-cert-file"),
        given.text("proxy-client-key-file"),
    ) else {
        return Ok(options);
    };
    let chain = read("proxy-client-cert-file", certificate)?;
    let key = read("proxy-client-key-file", key)?;
    let told = options.front_proxy_certificate(&chain, &key);
    told.map_err(|error| format!("--proxy-client-cert-file: {}", with_sources(&error)))
}

/// The proxies that may say whom a request is of.
fn front_proxies(given: &Given, listen: ListenOptions) -> Result<ListenOptions, String> {
    let Some(path) = given.text("requestheader-client-ca-file") else {
        return Ok(listen);
    };
    let items = |part: &str| given.items(&format!("requestheader-{part}"));
    let headers = FrontProxyHeaders {
        users: items("username-headers"),
        uids: items("uid-headers"),
        groups: items("group-headers"),
        extra_prefixes: items("extra-headers-prefix"),
    };
    let authorities = read("requestheader-client-ca-file", path)?;
    Ok(listen.front_proxies(authorities, items("allowed-names"), headers))
}

fn check_front_proxies(given: &Given, problems: &mut Vec<String>) {
    for part in [
        "username-headers",
        "group-headers",
        "extra-headers-prefix",
        "allowed-names",
    ] {
        let flag = format!("requestheader-{part}");
        if given.items(&flag).iter().any(|item| item.trim().is_empty()) {
            problems.push(format!("empty value in {}", quote(&flag)));
        }
    }
}

/// `--runtime-config`; whether an API is served is known once there is a server.
fn apis(given: &Given, problems: &mut Vec<String>) -> Vec<(String, bool)> {
    let mut apis = Vec::new();
    let pairs = given.all("runtime-config").iter().flat_map(|value| value.split(','));
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        let value = value.trim();
        match (name.trim(), value) {
            (name, _) if !name.contains('/') && name != "v1" => {
                problems.push(format!("runtime-config invalid key {name}"));
            }
            (name, "" | "true") => apis.push((name.to_owned(), true)),
            (name, "false") => apis.push((name.to_owned(), false)),
            (name, other) => problems.push(format!("invalid value of {name}={other}")),
        }
    }
    apis
}

fn check_ranges(given: &Given, problems: &mut Vec<String>) {
    for (flag, possible) in [
        ("service-cluster-ip-range", SERVICE_ADDRESSES),
        ("service-node-port-range", NODE_PORTS),
    ] {
        let value = given.last(flag).unwrap_or_default();
        if !possible.contains(&value) {
            let [_, only] = possible;
            problems.push(format!("--{flag}={value} is not possible here: this server has {only}"));
        }
    }
}

/// What is wrong, as one text: a list if there is more than one.
pub(crate) fn aggregate(mut problems: Vec<String>) -> String {
    let mut known = Vec::new();
    problems.retain(|problem| {
        let is_new = !known.contains(problem);
        known.push(problem.clone());
        is_new
    });
    match problems.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}
