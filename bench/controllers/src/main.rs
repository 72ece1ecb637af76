//! Measures the standard controllers on the embedded server: what they cost to start, and how long they take to bring up, replace
//! and delete a number of Pods. `cargo run --profile dist -p kubewright-bench-controllers`.

mod cluster;
mod follow;
mod process;
mod report;
mod scale;
mod start;

use std::process::{Command, ExitCode, Stdio};

use clap::Parser;

/// Any error.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures the controllers.
#[derive(Parser)]
struct Arguments {
    /// How many Pods, one row each.
    #[arg(long, value_delimiter = ',', default_value = "500,5000,20000")]
    pods: Vec<usize>,
    /// Pods of each Deployment.
    #[arg(long, default_value_t = 10)]
    replicas: usize,
    /// A Service for each Deployment.
    #[arg(long)]
    services: bool,
    /// How many clusters are started one after another, and how many at once; 0 leaves it out.
    #[arg(long, default_value_t = 50)]
    starts: usize,
    /// Measure one thing in this process and print it as JSON: `start`, or a number of Pods.
    #[arg(long, hide = true)]
    only: Option<String>,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.replicas == 0 {
        return Err("--replicas is 0: a Deployment needs a Pod to be measured by".into());
    }
    match arguments.only.as_deref() {
        None => all(arguments),
        Some("start") => {
            println!("{}", serde_json::to_string(&start::measure(arguments.starts)?)?);
            Ok(())
        }
        Some(pods) => {
            let size = scale::Size {
                deployments: pods.parse::<usize>()?.div_ceil(arguments.replicas),
                replicas: arguments.replicas,
                services: arguments.services,
            };
            println!("{}", serde_json::to_string(&scale::measure(size)?)?);
            Ok(())
        }
    }
}

/// Runs each measurement in a process of its own, so that none is affected by the memory of the one before.
fn all(arguments: &Arguments) -> Result<(), Failure> {
    println!("{}", report::head());
    if arguments.starts > 0 {
        let starts: Vec<start::Start> = serde_json::from_str(&child(arguments, "start")?)?;
        print!("{}", report::starts(&starts));
    }
    let mut rows: Vec<scale::Row> = Vec::new();
    for pods in &arguments.pods {
        eprintln!("{pods} Pods");
        let measured: Vec<scale::Row> = serde_json::from_str(&child(arguments, &pods.to_string())?)?;
        rows.extend(measured);
    }
    print!("{}", report::rows(&rows));
    Ok(())
}

fn child(arguments: &Arguments, only: &str) -> Result<String, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--only", only]);
    command.args(["--replicas", &arguments.replicas.to_string()]);
    command.args(["--starts", &arguments.starts.to_string()]);
    if arguments.services {
        command.arg("--services");
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the measurement of {only} ended: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
