//! Runs the scenarios and adds their figures to the report.

use std::time::Duration;

use clap::{Args, ValueEnum};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;

use crate::child::{Child, Peer, Start};
use crate::cluster;
use crate::goals::Goal;
use crate::report::{Metric, Table, micro_table, number};
use crate::server::Server;
use crate::statistics::percentile;
use kubewright_bench_runtime::Failure;
use kubewright_bench_runtime::objects::{config_map, pod};

/// How long the work of one child may take.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long the benchmark waits after a scenario, so that its last work does not count in the next one.
const SETTLING: Duration = Duration::from_secs(2);
/// How often an object is patched while latency is measured.
const PACE: Duration = Duration::from_millis(8);
/// How many objects are patched in turn.
const PATCHED: usize = 50;
/// How many patches are sent before latency is measured, to warm up connections.
const WARM_UP: usize = 50;
const MEGABYTE: f64 = 1e6;

/// A scenario of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    Micro,
    Idle,
    Owners,
    Latency,
    Noop,
    Pods,
}

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Small numbers and one round: shows that everything runs, not how fast
    #[arg(long)]
    quick: bool,
    /// Only these scenarios
    #[arg(long, value_delimiter = ',')]
    only: Vec<Scenario>,
    /// Only these peers
    #[arg(long, value_delimiter = ',', default_values_t = [Peer::ControllerRuntime, Peer::Kube, Peer::Ours])]
    peers: Vec<Peer>,
    /// Measure ours with its trace on, too, and tell what the trace costs
    #[arg(long)]
    trace: bool,
    /// How often each scenario is run; the median of all rounds counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The API server's port; the next two are used as well
    #[arg(long, default_value_t = 27443)]
    port: u16,
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

impl Plan {
    /// The plan with all peers that it asks for.
    pub(crate) fn completed(mut self) -> Self {
        for peer in [Peer::Ours, Peer::OursTraced] {
            if self.trace && !self.peers.contains(&peer) {
                self.peers.push(peer);
            }
        }
        self
    }

    fn wants(&self, scenario: Scenario) -> bool {
        self.only.is_empty() || self.only.contains(&scenario)
    }

    fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds.max(1) }
    }

    fn sizes(&self) -> &'static [usize] {
        if self.quick { &[500] } else { &[2_000, 20_000] }
    }

    fn owners(&self) -> usize {
        if self.quick { 100 } else { 500 }
    }

    fn patches(&self) -> usize {
        WARM_UP + if self.quick { 150 } else { 1_000 }
    }
}

/// Runs the scenarios of a plan and prints the tables.
pub(crate) async fn run(plan: &Plan) -> Result<(), Failure> {
    for peer in &plan.peers {
        eprintln!("bench: building {} …", peer.name());
        peer.build().await?;
    }
    eprintln!("bench: starting the API server …");
    let server = Server::start(plan.port).await?;
    let heading = heading(plan, &server.client).await?;
    let mut run = Run {
        plan,
        server: &server,
        table: Table::default(),
        next_number: 1,
    };
    let mut micro = None;
    if plan.wants(Scenario::Micro) {
        micro = Some(run.micro().await?);
    }
    let rounds = plan.rounds();
    if plan.wants(Scenario::Idle) {
        for _ in 0..rounds {
            for &peer in &plan.peers {
                run.idle(peer).await?;
            }
        }
    }
    if plan.wants(Scenario::Owners) {
        for _ in 0..rounds {
            for &peer in &plan.peers {
                run.owners(peer, plan.owners()).await?;
            }
        }
    }
    if plan.wants(Scenario::Latency) {
        cluster::create(&server.client, "latency", 0..PATCHED, config_map).await?;
        for _ in 0..rounds {
            for &peer in &plan.peers {
                run.latency(peer, plan.patches()).await?;
            }
        }
        cluster::remove::<ConfigMap>(&server.client, "latency").await?;
    }
    if plan.wants(Scenario::Noop) {
        let mut present = 0;
        for &count in plan.sizes() {
            eprintln!("bench: creating {} ConfigMaps …", number(count as f64));
            cluster::create(&server.client, "noop", present..count, config_map).await?;
            present = count;
            tokio::time::sleep(SETTLING).await;
            for _ in 0..rounds {
                for &peer in &plan.peers {
                    run.noop(peer, count).await?;
                }
            }
        }
        cluster::remove::<ConfigMap>(&server.client, "noop").await?;
    }
    if plan.wants(Scenario::Pods) {
        let mut present = 0;
        for &count in plan.sizes() {
            eprintln!("bench: creating {} Pods …", number(count as f64));
            cluster::create(&server.client, "pods", present..count, pod).await?;
            present = count;
            tokio::time::sleep(SETTLING).await;
            for _ in 0..rounds {
                for &peer in &plan.peers {
                    run.pods(peer, count).await?;
                }
            }
            for &peer in &plan.peers {
                run.heap(peer, count).await?;
            }
        }
        println!("{}\n", cluster::describe_pod(&server.client, "pods", "pod-0").await?);
    }
    println!("{heading}\n\n{}", run.table.render(&plan.peers));
    if plan.trace {
        println!("\n{}", run.table.render_trace("CPU"));
    }
    if let Some(micro) = micro {
        println!("\n{micro}");
    }
    Ok(())
}

/// Describes the machine and the versions. The figures of a machine that is busy with other work are not reliable, so the heading
/// has its load.
async fn heading(plan: &Plan, client: &Client) -> Result<String, Failure> {
    let version = include_str!("../go/go.mod").lines().find_map(|line| {
        line.trim_start_matches("require ")
            .trim()
            .strip_prefix("sigs.k8s.io/controller-runtime ")
    });
    Ok(format!(
        "kube-apiserver {}, controller-runtime {}, kube 5, {} cores, load before {}, {} rounds",
        client.apiserver_version().await?.git_version,
        version.unwrap_or("?"),
        std::thread::available_parallelism()?,
        kubewright_system::process::load_average().as_deref().unwrap_or("?"),
        plan.rounds(),
    ))
}

struct Run<'a> {
    plan: &'a Plan,
    server: &'a Server,
    table: Table,
    /// The next number to be written into an object; none is written twice.
    next_number: usize,
}

impl Run<'_> {
    fn client(&self) -> &Client {
        &self.server.client
    }

    fn start(&self, peer: Peer, scenario: &str, namespace: &str, count: usize, heap: bool) -> Result<Child, Failure> {
        eprintln!("bench: {scenario}: {} …", peer.name());
        Child::start(&Start {
            peer,
            scenario,
            count,
            namespace,
            heap,
            kubeconfig: &self.server.kubeconfig,
            folder: self.server.folder(),
        })
    }

    async fn micro(&mut self) -> Result<String, Failure> {
        let mut figures = Vec::new();
        for peer in [Peer::ControllerRuntime, Peer::Ours] {
            if self.plan.peers.contains(&peer) {
                let mut child = self.start(peer, "micro", "", 0, false)?;
                figures.push(child.wait_for("micro", PATIENCE).await?.figures);
            } else {
                figures.push(Vec::new());
            }
        }
        Ok(micro_table(&figures[0], &figures[1]))
    }

    async fn idle(&mut self, peer: Peer) -> Result<(), Failure> {
        const BUILT: Metric = Metric {
            name: "resident before the start",
            unit: "MB",
            goal: Goal::AtMost(0.25),
        };
        const IDLE: Metric = Metric {
            name: "resident, started, nothing to do",
            unit: "MB",
            goal: Goal::AtMost(0.25),
        };
        const ANONYMOUS: Metric = Metric {
            name: "the part of it that is heap and stacks",
            unit: "MB",
            goal: Goal::None,
        };
        const CPU: Metric = Metric {
            name: "CPU to start",
            unit: "s",
            goal: Goal::AtMost(0.5),
        };
        let mut child = self.start(peer, "idle", "none", 0, false)?;
        let built = child.wait_for("built", PATIENCE).await?;
        child.wait_for("done", PATIENCE).await?;
        tokio::time::sleep(SETTLING).await;
        let idle = child.ask("sample").await?;
        child.end().await?;
        let group = "one controller of ConfigMaps, no objects";
        self.table.note(group, BUILT, peer, built.resident as f64 / MEGABYTE);
        self.table.note(group, IDLE, peer, idle.resident as f64 / MEGABYTE);
        self.table
            .note(group, ANONYMOUS, peer, idle.anonymous as f64 / MEGABYTE);
        self.table.note(group, CPU, peer, idle.cpu as f64 / 1e6);
        Ok(())
    }

    async fn noop(&mut self, peer: Peer, count: usize) -> Result<(), Failure> {
        const TIME: Metric = Metric {
            name: "from process start to all reconciled",
            unit: "s",
            goal: Goal::None,
        };
        const RATE: Metric = Metric {
            name: "reconciles per second, from process start",
            unit: "/s",
            goal: Goal::AtLeast(2.0),
        };
        const CPU: Metric = Metric {
            name: "CPU",
            unit: "s",
            goal: Goal::AtMost(0.5),
        };
        const RESIDENT: Metric = Metric {
            name: "resident after sync",
            unit: "MB",
            goal: Goal::None,
        };
        let mut child = self.start(peer, "noop", "noop", count, false)?;
        let done = child.wait_for("done", PATIENCE).await?;
        let seconds = (done.at - child.started) as f64 / 1e9;
        tokio::time::sleep(SETTLING).await;
        let settled = child.ask("sample").await?;
        child.end().await?;
        let group = format!("no-op reconcile of {} ConfigMaps", number(count as f64));
        self.table.note(&group, TIME, peer, seconds);
        self.table.note(&group, RATE, peer, count as f64 / seconds);
        self.table.note(&group, CPU, peer, done.cpu as f64 / 1e6);
        self.table
            .note(&group, RESIDENT, peer, settled.resident as f64 / MEGABYTE);
        Ok(())
    }

    async fn owners(&mut self, peer: Peer, count: usize) -> Result<(), Failure> {
        const RATE: Metric = Metric {
            name: "owners per second, from process start",
            unit: "/s",
            goal: Goal::AtLeast(1.0),
        };
        const EXISTS: Metric = Metric {
            name: "errors: already exists",
            unit: "",
            goal: Goal::Zero,
        };
        const ERRORS: Metric = Metric {
            name: "errors: all",
            unit: "",
            goal: Goal::Zero,
        };
        const RECONCILES: Metric = Metric {
            name: "reconciles",
            unit: "",
            goal: Goal::None,
        };
        const REQUESTS: Metric = Metric {
            name: "requests (by the server's count)",
            unit: "",
            goal: Goal::None,
        };
        const CPU: Metric = Metric {
            name: "CPU",
            unit: "s",
            goal: Goal::AtMost(0.5),
        };
        let namespace = "owners";
        cluster::create(self.client(), namespace, 0..count, config_map).await?;
        tokio::time::sleep(SETTLING).await;
        let before = cluster::requests(self.client()).await?;
        let mut child = self.start(peer, "owners", namespace, count, false)?;
        let done = child.wait_for("done", PATIENCE).await?;
        let seconds = (done.at - child.started) as f64 / 1e9;
        tokio::time::sleep(SETTLING).await;
        let settled = child.ask("sample").await?;
        child.end().await?;
        let requests = cluster::since(&before, &cluster::requests(self.client()).await?);
        eprintln!("bench:   {requests:?}");
        let provided = cluster::annotated::<ConfigMap>(self.client(), namespace, "provided").await?;
        let children = cluster::count::<Secret>(self.client(), namespace).await?;
        if (provided, children) != (count, count) {
            return Err(format!(
                "{} left {provided} owners and {children} children of {count}",
                peer.name()
            )
            .into());
        }
        cluster::remove::<ConfigMap>(self.client(), namespace).await?;
        cluster::remove::<Secret>(self.client(), namespace).await?;
        let group = format!("owner → child, {} ConfigMaps", number(count as f64));
        self.table.note(&group, RATE, peer, count as f64 / seconds);
        self.table.note(&group, EXISTS, peer, settled.exists as f64);
        self.table.note(&group, ERRORS, peer, settled.errors as f64);
        self.table.note(&group, RECONCILES, peer, settled.reconciles as f64);
        self.table
            .note(&group, REQUESTS, peer, requests.values().sum::<u64>() as f64);
        self.table.note(&group, CPU, peer, done.cpu as f64 / 1e6);
        Ok(())
    }

    async fn latency(&mut self, peer: Peer, patches: usize) -> Result<(), Failure> {
        const MEDIAN: Metric = Metric {
            name: "p50",
            unit: "ms",
            goal: Goal::None,
        };
        const HIGH: Metric = Metric {
            name: "p99",
            unit: "ms",
            goal: Goal::AtMost(1.0),
        };
        const CPU: Metric = Metric {
            name: "CPU",
            unit: "s",
            goal: Goal::AtMost(0.5),
        };
        let mut child = self.start(peer, "latency", "latency", PATCHED, false)?;
        child.wait_for("done", PATIENCE).await?;
        tokio::time::sleep(SETTLING).await;
        let before = child.ask("sample").await?;
        let numbers = self.next_number..self.next_number + patches;
        self.next_number = numbers.end;
        let sent = cluster::patch_at_a_pace(self.client(), "latency", PATCHED, numbers, PACE).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let after = child.ask("seen").await?;
        child.end().await?;
        let taken: Vec<f64> = sent
            .iter()
            .skip(WARM_UP)
            .filter_map(|(number, sent)| {
                let seen = after.seen.iter().find(|(seen, _)| seen == number)?.1;
                Some((seen - sent) as f64 / 1e6)
            })
            .collect();
        // A peer does not see a patch if the next one of the same object overtakes it. At this rate that should not happen.
        if taken.len() + WARM_UP < patches {
            return Err(format!("{} saw {} of {patches} patches", peer.name(), taken.len() + WARM_UP).into());
        }
        let group = format!(
            "patch → reconcile, {} patches, one every {PACE:?}",
            number(taken.len() as f64)
        );
        for (metric, percent) in [(MEDIAN, 50.0), (HIGH, 99.0)] {
            if let Some(value) = percentile(&taken, percent) {
                self.table.note(&group, metric, peer, value);
            }
        }
        self.table
            .note(&group, CPU, peer, (after.cpu - before.cpu) as f64 / 1e6);
        Ok(())
    }

    async fn pods(&mut self, peer: Peer, count: usize) -> Result<(), Failure> {
        const TIME: Metric = Metric {
            name: "from process start to all cached",
            unit: "s",
            goal: Goal::None,
        };
        const CPU: Metric = Metric {
            name: "CPU",
            unit: "s",
            goal: Goal::AtMost(0.5),
        };
        const RESIDENT: Metric = Metric {
            name: "resident after sync",
            unit: "MB",
            goal: Goal::None,
        };
        const PEAK: Metric = Metric {
            name: "resident at most",
            unit: "MB",
            goal: Goal::None,
        };
        const EACH: Metric = Metric {
            name: "resident per Pod",
            unit: "B",
            goal: Goal::AtMostAiming(0.5, 1.0 / 3.0),
        };
        let mut child = self.start(peer, "pods", "pods", count, false)?;
        let built = child.wait_for("built", PATIENCE).await?;
        let done = child.wait_for("done", PATIENCE).await?;
        let seconds = (done.at - child.started) as f64 / 1e9;
        complete(peer, done.objects, count)?;
        tokio::time::sleep(SETTLING).await;
        let settled = child.ask("sample").await?;
        child.end().await?;
        let group = pods_group(count);
        let each = settled.resident.saturating_sub(built.resident) as f64 / count as f64;
        self.table.note(&group, TIME, peer, seconds);
        self.table.note(&group, CPU, peer, done.cpu as f64 / 1e6);
        self.table
            .note(&group, RESIDENT, peer, settled.resident as f64 / MEGABYTE);
        self.table.note(&group, PEAK, peer, settled.peak as f64 / MEGABYTE);
        self.table.note(&group, EACH, peer, each);
        Ok(())
    }

    async fn heap(&mut self, peer: Peer, count: usize) -> Result<(), Failure> {
        const EACH: Metric = Metric {
            name: "heap per Pod",
            unit: "B",
            goal: Goal::AtMostAiming(0.5, 1.0 / 3.0),
        };
        let mut child = self.start(peer, "pods", "pods", count, true)?;
        let built = child.wait_for("built", PATIENCE).await?;
        let done = child.wait_for("done", PATIENCE).await?;
        complete(peer, done.objects, count)?;
        // The peers in Rust count allocations until nothing is left to do, and report that without being asked.
        let settled = if peer == Peer::ControllerRuntime {
            tokio::time::sleep(SETTLING).await;
            child.ask("heap").await?
        } else {
            child.wait_for("heap", PATIENCE).await?
        };
        let each = settled.heap.saturating_sub(built.heap) as f64 / count as f64;
        self.table.note(&pods_group(count), EACH, peer, each);
        Ok(())
    }
}

fn pods_group(count: usize) -> String {
    format!("{} Pods in the cache", number(count as f64))
}

fn complete(peer: Peer, objects: usize, count: usize) -> Result<(), Failure> {
    if objects == count {
        return Ok(());
    }
    Err(format!("{} has {objects} of {count} objects in its cache", peer.name()).into())
}
