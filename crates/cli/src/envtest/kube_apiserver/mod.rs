//! `kube-apiserver`: the embedded API server under the name and with the flags of the real one.
//!
//! Nothing is served here that `kubewright_apiserver` does not serve: flags become its options.

pub(crate) mod admission;
pub(crate) mod admission_file;
mod audit;
mod authorization;
mod feature_gates;
mod help;
mod serving;
pub(crate) mod settings;
mod treatment;

use std::error::Error;
use std::process::ExitCode;

use futures_util::future::OptionFuture;
use http_body_util::BodyExt as _;
use kubewright_apimachinery::go::quote::quote_list;
use kubewright_apiserver::ApiServer;
use kubewright_cluster::with_sources;
use kubewright_controllers::{Controllers, SigningAuthority};
use kubewright_runtime::stop::Stopper;
use kubewright_system::signals::Signals;
use serde_json::Value;

use self::settings::{Settings, aggregate};
use super::KUBERNETES;
use super::flags::{Given, Table};
use crate::{output, unused_memory};

/// Flags, feature gates and admission plugins of the real one.
const FACTS: &str = include_str!("../../../facts/kube-apiserver.flags");

/// The standard controllers that run beside the server: `all`, or as `kubewright apiserver --controllers` takes them.
const CONTROLLERS: &str = "KUBEWRIGHT_CONTROLLERS";

/// Threads beyond these would only take memory: a test asks little at a time.
const THREADS: usize = 4;

/// Runs the program with what stands behind its name on the command line.
pub(super) fn run(arguments: &[String]) -> ExitCode {
    let table = Table::read(FACTS);
    match start(&table, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            output::complain(&format!("Error: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn start(table: &Table, arguments: &[String]) -> Result<(), String> {
    let given = Given::by_pflag(table, arguments)?;
    let print = |text: &str| output::write(text).map_err(|error| with_sources(&error));
    if given.is_on("help", false) {
        return print(&help::text(table));
    }
    if given.arguments.iter().any(|argument| !argument.is_empty()) {
        let got = quote_list(&given.arguments);
        return Err(format!("\"kube-apiserver\" does not take any arguments, got {got}"));
    }
    if given.last("version").is_some_and(|version| version != "false") {
        return print(&format!("Kubernetes v{KUBERNETES}\n"));
    }
    let settings = Settings::of(table, &given).map_err(aggregate)?;
    let controllers = match std::env::var(CONTROLLERS) {
        Ok(list) => Controllers::parse(&list).map_err(|error| format!("{CONTROLLERS}: {error}"))?,
        Err(_) => Controllers::none(),
    };
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS));
    let runtime = unused_memory::runtime(threads);
    let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
    let served = runtime.block_on(serve(settings, controllers));
    // What still runs in the background is of no use to anybody.
    runtime.shutdown_background();
    served.map_err(|error| with_sources(&*error))
}

async fn serve(settings: Settings, controllers: Controllers) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::listen()?;
    tokio::spawn(unused_memory::give_back());
    let server = ApiServer::new(settings.options.aggregated_roles(!controllers.is_empty()));
    check_apis(&server, &settings.apis).await?;
    let listener = server.listen(settings.listen).await?;
    let (stopper, stop) = Stopper::new();
    let (certificate, key) = listener.authority_pem();
    let controllers = controllers
        .root_ca(listener.ca_pem())
        .signing_authority(SigningAuthority::new(certificate, key)?);
    let mut controlling = (!controllers.is_empty()).then(|| tokio::spawn(controllers.run(server.client(), stop)));
    output::complain(&format!(
        "kube-apiserver of Kubewright {}, Kubernetes v{KUBERNETES}: serving securely on {}",
        env!("CARGO_PKG_VERSION"),
        listener.local_addr()
    ));
    let failed = tokio::select! {
        _ = signals.more_than(0) => None,
        Some(Ok(Err(error))) = OptionFuture::from(controlling.as_mut()) => Some(error),
    };
    if let Some(error) = failed {
        return Err(error.into());
    }
    let known = signals.count();
    tokio::select! {
        () = async {
            tokio::time::sleep(settings.shutdown_delay).await;
            stopper.stop();
            listener.shutdown().await;
        } => {}
        // The second signal ends it at once.
        _ = signals.more_than(known) => {}
    }
    Ok(())
}

/// Refuses `--runtime-config` where it asks for other APIs than there are.
async fn check_apis(server: &ApiServer, wanted: &[(String, bool)]) -> Result<(), String> {
    if wanted.is_empty() {
        return Ok(());
    }
    let versions = served_versions(server).await;
    for (name, is_wanted) in wanted {
        let version = name.strip_prefix("api/v1").map_or_else(
            || name.split('/').take(2).collect::<Vec<_>>().join("/"),
            |_| "v1".to_owned(),
        );
        let is_served = match name.as_str() {
            // What is served by default is what these leave on, or off.
            "api/ga" | "api/legacy" => true,
            "api/alpha" | "api/beta" => false,
            "api/all" => !is_wanted,
            _ => versions.contains(&version),
        };
        if is_served != *is_wanted {
            let why = if *is_wanted {
                "does not have it"
            } else {
                "cannot leave it out"
            };
            return Err(format!(
                "--runtime-config={name}={is_wanted} is not possible here: this server {why}"
            ));
        }
    }
    Ok(())
}

/// The versions that discovery names, as `v1` and `apps/v1`.
async fn served_versions(server: &ApiServer) -> Vec<String> {
    let request = http::Request::get("/apis").body(bytes::Bytes::new());
    let Ok(request) = request else {
        return Vec::new();
    };
    let body = server.handle(request).await.into_body().collect().await;
    let text = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let groups: Value = serde_json::from_slice(&text).unwrap_or_default();
    let groups = groups["groups"].as_array().cloned().unwrap_or_default();
    let versions = groups.iter().filter_map(|group| group["versions"].as_array()).flatten();
    let mut names: Vec<String> = versions
        .filter_map(|version| Some(version["groupVersion"].as_str()?.to_owned()))
        .collect();
    names.push("v1".to_owned());
    names
}

#[cfg(test)]
mod tests {
    use super::treatment::Treatment;
    use super::*;

    #[test]
    fn every_flag_of_the_real_one_is_treated() {
        let table = Table::read(FACTS);
        assert!(table.flags().len() > 170);
        for flag in table.flags() {
            assert!(treatment::of(flag.name).is_some(), "--{}", flag.name);
        }
    }

    #[test]
    fn the_help_has_every_flag_at_the_beginning_of_a_line() {
        let table = Table::read(FACTS);
        let help = help::text(&table);
        for flag in table.flags() {
            let begin = format!("--{}", flag.name);
            let is_there = help.lines().any(|line| {
                let line = line.trim_start().strip_prefix(&begin);
                line.is_some_and(|rest| !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric()))
            });
            assert!(is_there, "{begin}");
        }
        assert!(!help.contains("--insecure-port"), "envtest would set it");
    }

    #[test]
    fn a_flag_that_is_refused_may_have_its_default() {
        let table = Table::read(FACTS);
        let of = |arguments: &[String]| {
            let given = Given::by_pflag(&table, arguments).unwrap();
            Settings::of(&table, &given).err().map(aggregate).unwrap_or_default()
        };
        for flag in table.flags() {
            let Some(Treatment::Refused(why)) = treatment::of(flag.name) else {
                continue;
            };
            let refusal = format!("--{} is not possible here: {why}", flag.name);
            let default = flag.default.trim_start_matches('[').trim_end_matches(']');
            assert!(
                !of(&[format!("--{}={default}", flag.name)]).contains(&refusal),
                "{}",
                flag.name
            );
            let other = match flag.kind {
                "bool" if flag.default == "true" => "false",
                "bool" => "true",
                "int" => "7",
                "duration" => "7s",
                _ => "a=b",
            };
            assert!(
                of(&[format!("--{}={other}", flag.name)]).contains(&refusal),
                "{}",
                flag.name
            );
        }
    }
}
