//! `etcd`: answers what Go's envtest and probes ask of etcd, and keeps its ports. It stores nothing: objects are in the memory of the
//! `kube-apiserver` beside it.

mod answer;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto;
use kubewright_cluster::with_sources;
use kubewright_system::listen::{self, Limits};
use kubewright_system::signals::Signals;
use kubewright_system::stop::{Stop, Stopper};
use tokio::net::{TcpListener, TcpStream};

use super::flags::{Flag, Given, Table};
use crate::output;

/// Flags of the real one.
const FACTS: &str = include_str!("../../../facts/etcd.flags");

/// The version that it says it is: the one that Kubernetes is recorded with.
const VERSION: &str = "3.7.3";

const ABOUT: &str = "\
etcd of Kubewright: answers health and version requests for Go's envtest, and stores nothing. The objects are in the memory of the
kube-apiserver beside it.

Usage:
  etcd [flags]
";

/// Flags that are obeyed.
const OBEYED: [&str; 4] = [
    "listen-client-urls",
    "listen-client-http-urls",
    "listen-peer-urls",
    "listen-metrics-urls",
];

/// Flags that would make it serve TLS.
const TLS: [&str; 8] = [
    "cert-file",
    "key-file",
    "client-cert-auth",
    "auto-tls",
    "peer-cert-file",
    "peer-key-file",
    "peer-client-cert-auth",
    "peer-auto-tls",
];

/// Runs the program with what stands behind its name on the command line.
pub(super) fn run(arguments: &[String]) -> ExitCode {
    let mut table = Table::read(FACTS);
    for (name, kind) in [
        ("version", "bool"),
        ("help", "bool"),
        ("h", "bool"),
        ("config-file", "string"),
    ] {
        table.add(name, kind);
    }
    let given = match Given::by_go(&table, arguments) {
        Ok(given) => given,
        Err(why) => {
            output::complain(&format!("{why}\nUsage:\n\n  etcd [flags]\n    see etcd --help"));
            return ExitCode::from(2);
        }
    };
    let done = if given.is_on("help", false) || given.is_on("h", false) {
        output::write(&help(&table)).map_err(|error| with_sources(&error))
    } else if given.is_on("version", false) {
        let text = format!(
            "etcd Version: {VERSION}\nGit SHA: kubewright-{}\n",
            env!("CARGO_PKG_VERSION")
        );
        output::write(&text).map_err(|error| with_sources(&error))
    } else {
        start(&given)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            output::complain(&format!("etcd: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn help(table: &Table) -> String {
    let mut text = ABOUT.to_owned();
    let (obeyed, others): (Vec<&Flag>, Vec<&Flag>) = table.flags().iter().partition(|flag| OBEYED.contains(&flag.name));
    for (title, flags) in [
        ("Flags that have their meaning here:", obeyed),
        ("Flags that are accepted, and change nothing here:", others),
    ] {
        let _ = write!(text, "\n{title}\n\n");
        for flag in flags {
            let _ = writeln!(text, "  --{} '{}'", flag.name, flag.default);
        }
    }
    text
}

fn start(given: &Given) -> Result<(), String> {
    if let Some(argument) = given.arguments.first() {
        return Err(format!("{argument:?} is not a valid flag"));
    }
    if given.text("config-file").is_some() {
        return Err("--config-file is not possible here: give flags instead".to_owned());
    }
    if let Some(flag) = TLS
        .into_iter()
        .find(|flag| given.text(flag).is_some_and(|value| value != "false"))
    {
        return Err(format!("--{flag} is not possible here: this etcd serves plain HTTP"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(serve(given))
}

/// The addresses of a URL's host.
async fn addresses(flag: &str, url: &str) -> Result<Vec<SocketAddr>, String> {
    let wrong = |why: &str| format!("--{flag}={url} is not possible here: {why}");
    let uri: http::Uri = url.trim().parse().map_err(|_| wrong("it is no URL"))?;
    if uri.scheme_str() != Some("http") {
        return Err(wrong("this etcd serves plain HTTP (http://HOST:PORT)"));
    }
    let port = uri.port_u16().ok_or_else(|| wrong("it has no port"))?;
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']');
    let found = tokio::net::lookup_host((host, port)).await;
    let found = found.map_err(|error| wrong(&format!("{host} cannot be found: {error}")))?;
    Ok(found.collect())
}

async fn serve(given: &Given) -> Result<(), String> {
    let mut signals = Signals::listen().map_err(|error| error.to_string())?;
    let mut listeners = Vec::new();
    for (flag, default) in [
        ("listen-client-urls", "http://localhost:2379"),
        ("listen-client-http-urls", ""),
        ("listen-peer-urls", "http://localhost:2380"),
        ("listen-metrics-urls", ""),
    ] {
        let urls = given.last(flag).unwrap_or(default);
        for url in urls.split(',').filter(|url| !url.is_empty()) {
            let addresses = addresses(flag, url).await?;
            let listener = TcpListener::bind(addresses.as_slice()).await;
            listeners.push(listener.map_err(|error| format!("cannot listen on {url} (--{flag}): {error}"))?);
        }
    }
    output::complain(&format!(
        "etcd of Kubewright {}: ready to serve client requests; it stores nothing, objects are in kube-apiserver's memory",
        env!("CARGO_PKG_VERSION")
    ));
    let (stopper, stop) = Stopper::new();
    let limits = Limits {
        connections: None,
        drain: Duration::from_secs(1),
    };
    let serving: Vec<_> = listeners
        .into_iter()
        .map(|listener| tokio::spawn(listen::accept(listener, limits, stop.clone(), connection)))
        .collect();
    signals.more_than(0).await;
    stopper.stop();
    for serving in serving {
        let _ = serving.await;
    }
    Ok(())
}

async fn connection(socket: TcpStream, stop: Stop) {
    let http = auto::Builder::new(TokioExecutor::new());
    let service = service_fn(|request| async move { Ok::<_, std::convert::Infallible>(answer::answer(&request)) });
    // What goes wrong on a connection concerns only its peer, which knows.
    let _ = listen::serve_http(&http, socket, service, &stop).await;
}
