//! Compares the embedded API server with the real kube-apiserver and etcd: the same client and machine in one run, with ratios.
//!
//! `cargo run --profile dist -p kubewright-bench-apiserver` needs the real binaries (`conformance/upstream/build`) and a build of
//! `kubewright` with the same profile; `--only-ours` leaves the real pair out.

mod client;
mod custom;
mod endpoint;
mod peer;
mod policy;
mod report;
mod scale;
mod webhook;
mod work;

use std::process::ExitCode;

use clap::Parser;

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
    /// Custom resources alone, in this process: what to put under a profiler
    #[arg(long)]
    only_custom: bool,
    /// Also fill a server with 1 000, 10 000 and 100 000 `ConfigMaps`
    #[arg(long)]
    scale: bool,
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
    if arguments.only_custom {
        println!(
            "{}",
            work::custom_in_process(arguments.objects, arguments.clients).await?
        );
        return Ok(());
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
