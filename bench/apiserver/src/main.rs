//! Compares the embedded API server with the real kube-apiserver and etcd: the same client and machine in one run, with ratios.
//!
//! `cargo run --profile dist -p kubewright-bench-apiserver` needs the real binaries (`conformance/upstream/build`) and a build of
//! `kubewright` with the same profile; `--only-ours` leaves the real pair out, `--only policies` everything but admission policies.
//! `--only watches` and `--only bursts` measure memory under load, and take some minutes.

mod bursts;
mod client;
mod custom;
mod endpoint;
mod peer;
mod policy;
mod report;
mod scale;
mod watches;
mod webhook;
mod work;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use kubewright_apiserver::{ApiServer, Options};

use crate::endpoint::Endpoint;
use crate::report::Figures;

/// Measures the embedded API server against the real one.
#[derive(Parser)]
struct Arguments {
    /// How many objects each step works on
    #[arg(long, default_value_t = 2000)]
    objects: usize,
    /// How many clients work at once
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Leave the real server out
    #[arg(long)]
    only_ours: bool,
    /// One part alone
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Also fill a server with 1 000, 10 000 and 100 000 `ConfigMaps`
    #[arg(long)]
    scale: bool,
    /// How many idle watches `--only watches` opens
    #[arg(long, default_value_t = 10_000)]
    idle_watches: usize,
    /// How many unread watches `--only watches` opens
    #[arg(long, default_value_t = 2000)]
    unread_watches: usize,
}

/// What can be measured alone.
#[derive(Clone, Copy, ValueEnum)]
enum Part {
    /// Custom resources, in this process: what to put under a profiler
    Custom,
    /// Creates without and with ten admission policies
    Policies,
    /// Idle and unread watches: memory, and writes beside them
    Watches,
    /// The memory before, during and after large definitions are created and deleted
    Bursts,
}

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("bench: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(&Arguments::parse())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    match arguments.only {
        Some(Part::Custom) => {
            let figures = work::custom_in_process(arguments.objects, arguments.clients).await?;
            println!("{figures}");
            return Ok(());
        }
        Some(Part::Policies) => return only_policies(arguments).await,
        Some(part @ (Part::Watches | Part::Bursts)) => return only_memory(arguments, part).await,
        None => {}
    }
    let mut figures: Vec<(&str, Figures)> = Vec::new();
    if !arguments.only_ours {
        eprintln!("bench: the real kube-apiserver and etcd …");
        let peer = peer::upstream().await?;
        figures.push((
            "kube-apiserver + etcd",
            work::over_tls(&peer, arguments.objects, arguments.clients).await?,
        ));
    }
    eprintln!("bench: ours over TLS …");
    let peer = peer::ours().await?;
    figures.push((
        "ours over TLS",
        work::over_tls(&peer, arguments.objects, arguments.clients).await?,
    ));
    drop(peer);
    eprintln!("bench: ours in-process …");
    figures.push((
        "ours in-process",
        work::in_process(arguments.objects, arguments.clients).await?,
    ));
    figures.push((
        "ours through `kube::Client`",
        work::through_kube(arguments.objects, arguments.clients).await?,
    ));
    println!("{}", report::table(&figures, arguments.objects, arguments.clients));
    if arguments.scale {
        eprintln!("bench: growing …");
        println!("{}", scale::table().await?);
    }
    Ok(())
}

/// What admission policies cost the real pair and ours, which all run at the same time and take turns.
async fn only_policies(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut peers = Vec::new();
    if !arguments.only_ours {
        peers.push(("kube-apiserver + etcd", peer::upstream().await?));
    }
    peers.push(("ours over TLS", peer::ours().await?));
    let over_tls = |(name, peer): &(&'static str, peer::Peer)| (*name, Endpoint::Tls(peer.credentials.clone()));
    let mut servers: Vec<(&str, Endpoint)> = peers.iter().map(over_tls).collect();
    servers.push(("ours in-process", Endpoint::InProcess(ApiServer::new(Options::new()))));
    let before = load();
    println!(
        "{}",
        policy::table(&servers, arguments.objects, arguments.clients).await?
    );
    println!(
        "\n{} objects, {} clients; load before: {}, after: {}",
        arguments.objects,
        arguments.clients,
        before.trim(),
        load().trim()
    );
    Ok(())
}

/// The memory of the real pair and of ours under load, one after another.
async fn only_memory(arguments: &Arguments, part: Part) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut peers = Vec::new();
    if !arguments.only_ours {
        peers.push(("kube-apiserver + etcd", peer::upstream().await?));
    }
    peers.push(("ours over TLS", peer::ours().await?));
    let servers: Vec<(&str, &peer::Peer)> = peers.iter().map(|(name, peer)| (*name, peer)).collect();
    let before = load();
    let table = match part {
        Part::Bursts => bursts::table(&servers).await?,
        _ => watches::table(&servers, arguments.idle_watches, arguments.unread_watches).await?,
    };
    println!("{table}\n\nload before: {}, after: {}", before.trim(), load().trim());
    Ok(())
}

/// How busy the machine is, as Linux tells it.
fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default()
}
