//! What the trace costs: the processor time of an operator with its trace off and on.
//!
//! `cargo run --profile dist -p kubewright-bench-runtime --bin trace-cost` needs no server: this process answers its own requests, as cheaply as
//! it can, so that what is left is the operator's own work and the share of the trace is, if anything, larger than in a cluster. Every round is two
//! new processes, one with the trace and one without, in turn; what counts is the median of the rounds. Each sets up logs as an operator's `main`
//! does; the rows without logs are programs that have no subscriber, whose lines the trace records with one of its own.
//!
//! `--instructions` counts instructions under callgrind instead, once each, which is the same however busy the machine is.

use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use clap::{Parser, ValueEnum};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kubewright_bench_runtime::Failure;
use kubewright_bench_runtime::objects::config_map;
use kubewright_bench_runtime::protocol::Report;
use kubewright_runtime::client::Patch;
use kubewright_runtime::controller::{Action, Controller, Request};
use kubewright_runtime::flags::Flags;
use kubewright_runtime::manager::Manager;
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::trace::Trace;
use serde_json::{Value, json};

type Answer = http::Response<UnsyncBoxBody<Bytes, Failure>>;

/// What an operator keeps by default once the trace is on.
const TRACE_BYTES: usize = 8 << 20;
/// The trace may cost so much, in percent.
const GOAL: f64 = 3.0;

/// Measures what the trace costs.
#[derive(Parser)]
struct Arguments {
    /// How often each is measured
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// How many objects there are
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// Count instructions under valgrind, which has to be installed; with --work: it runs under valgrind
    #[arg(long)]
    instructions: bool,
    /// What to measure, in a process of its own
    #[arg(long)]
    work: Option<Work>,
    /// With the trace
    #[arg(long)]
    traced: bool,
    /// Without a subscriber for log lines
    #[arg(long)]
    without_logs: bool,
}

/// What each object gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Work {
    /// It is read from the cache.
    Read,
    /// It is read from the cache and patched.
    Write,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.work {
        Some(work) => child(&arguments, work),
        None => compare(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trace-cost: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is measured: what each object gets, and whether the program sets up logs.
#[derive(Clone, Copy)]
struct Measured {
    work: Work,
    without_logs: bool,
    name: &'static str,
}

const MEASURED: [Measured; 4] = [
    Measured {
        work: Work::Read,
        without_logs: false,
        name: "read from the cache",
    },
    Measured {
        work: Work::Write,
        without_logs: false,
        name: "read, and patch",
    },
    Measured {
        work: Work::Read,
        without_logs: true,
        name: "read from the cache, without logs",
    },
    Measured {
        work: Work::Write,
        without_logs: true,
        name: "read, and patch, without logs",
    },
];

/// Runs rounds of children and prints the table.
fn compare(arguments: &Arguments) -> Result<(), Failure> {
    let load = kubewright_system::process::load_average();
    let rounds = if arguments.instructions { 1 } else { arguments.rounds };
    println!(
        "{} ConfigMaps, {rounds} rounds, load before {}\n",
        arguments.count,
        load.as_deref().unwrap_or("?")
    );
    println!("| | off | on | more | goal |\n|---|---:|---:|---:|---|");
    // Microseconds to milliseconds, or instructions to millions of them.
    let (unit, parts) = if arguments.instructions {
        ("M instructions", 1e6)
    } else {
        ("ms", 1e3)
    };
    for measured in MEASURED {
        let mut costs = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (is_traced, costs) in [false, true].into_iter().zip(&mut costs) {
                costs.push(cost(arguments, measured, is_traced)?);
            }
        }
        let [off, on] = costs.map(|mut costs| {
            costs.sort_unstable();
            costs[costs.len() / 2] as f64 / parts
        });
        let more = (on / off - 1.0) * 100.0;
        let verdict = if more < GOAL { "met" } else { "missed" };
        println!(
            "| {} | {off:.0} {unit} | {on:.0} {unit} | {more:.1} % | under {GOAL} %: {verdict} |",
            measured.name
        );
    }
    Ok(())
}

/// The processor time of a child in microseconds, or how many instructions it ran.
fn cost(arguments: &Arguments, measured: Measured, is_traced: bool) -> Result<u64, Failure> {
    let name = measured.work.to_possible_value().ok_or("it has a name")?;
    let program = std::env::current_exe()?;
    let mut command = if arguments.instructions {
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .arg("--instructions");
        command
    } else {
        Command::new(program)
    };
    command.args(["--count", &arguments.count.to_string(), "--work", name.get_name()]);
    command.args(is_traced.then_some("--traced"));
    command.args(measured.without_logs.then_some("--without-logs"));
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("the child ended with {}: {said}", output.status).into());
    }
    let report: Report = serde_json::from_slice(&output.stdout)?;
    if report.objects < arguments.count {
        return Err(format!("only {} of {} objects were reconciled", report.objects, arguments.count).into());
    }
    if !arguments.instructions {
        return Ok(report.cpu);
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    let (_, count) = collected.ok_or("callgrind says how many instructions it collected")?;
    Ok(count.trim().parse()?)
}

/// An operator that reconciles every object once, or twice if its own write wakes it.
fn child(arguments: &Arguments, work: Work) -> Result<(), Failure> {
    let trace_bytes = if arguments.traced { TRACE_BYTES } else { 0 };
    if !arguments.without_logs {
        let words = ["trace-cost".to_owned(), format!("--debug-trace-bytes={trace_bytes}")];
        Flags::try_parse_from(words)?.init_logs()?;
    }
    let server = Arc::new(Server::new(arguments.count)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let done = Arc::new(AtomicUsize::new(0));
    let (stopper, stop) = Stopper::new();
    let stopper = Arc::new(stopper);
    let (counted, all, count) = (Arc::clone(&done), Arc::clone(&stopper), arguments.count);
    let controller = Controller::of::<ConfigMap>()
        .max_concurrent_reconciles(8)
        .reconcile_with(move |context| {
            let (client, counted, all) = (context.client(), Arc::clone(&counted), Arc::clone(&all));
            move |request: Request| {
                let (client, counted, all) = (client.clone(), Arc::clone(&counted), Arc::clone(&all));
                async move {
                    if client.get_opt::<ConfigMap>(&request).await?.is_some() && work == Work::Write {
                        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "provided": "yes" } } }));
                        client.patch::<ConfigMap>(&request, &patch).await?;
                    }
                    if counted.fetch_add(1, Ordering::Relaxed) + 1 == count {
                        all.stop();
                    }
                    Ok(Action::done())
                }
            }
        });
    let mut manager = Manager::new().controller(controller);
    if arguments.traced {
        manager = manager.trace(Trace::bounded(trace_bytes).without_cache_events());
    }
    // A client begins a task when it is made.
    runtime.block_on(async { manager.run(server.client(), stop).await })?;
    let report = Report {
        event: "done".to_owned(),
        objects: done.load(Ordering::Relaxed),
        ..Report::default()
    };
    if arguments.instructions {
        // Under valgrind a process cannot be asked for its processor time: it has no vDSO.
        println!("{}", serde_json::to_string(&report)?);
    } else {
        report.say();
    }
    Ok(())
}

/// As little of an API server as the operator needs: a list, a watch on which nothing happens, and patches that change an annotation.
struct Server {
    list: Vec<u8>,
    revision: AtomicU64,
    /// An object as it is after its patch, with marks for its name and revision.
    patched: String,
}

impl Server {
    fn new(count: usize) -> Result<Self, Failure> {
        let object = |i: usize| -> Result<Value, Failure> {
            let mut object = serde_json::to_value(config_map(i)?)?;
            object["metadata"]["namespace"] = "bench".into();
            object["metadata"]["resourceVersion"] = (i + 1).to_string().into();
            object["metadata"]["uid"] = format!("00000000-0000-0000-0000-{i:012}").into();
            Ok(object)
        };
        let items: Vec<Value> = (0..count).map(object).collect::<Result<_, _>>()?;
        let list = json!({
            "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": (count + 1).to_string() }, "items": items,
        });
        let mut patched = object(0)?;
        patched["kind"] = "ConfigMap".into();
        patched["apiVersion"] = "v1".into();
        patched["metadata"]["name"] = "NAME".into();
        patched["metadata"]["resourceVersion"] = "REVISION".into();
        patched["metadata"]["annotations"] = json!({ "provided": "yes" });
        Ok(Server {
            list: list.to_string().into_bytes(),
            revision: AtomicU64::new(count as u64 + 1),
            patched: patched.to_string(),
        })
    }

    fn client(self: Arc<Self>) -> kube::Client {
        let answer = move |request: http::Request<Body>| {
            let server = Arc::clone(&self);
            async move { Ok::<_, Failure>(server.answer(request).await) }
        };
        kube::Client::new(tower::service_fn(answer), "bench")
    }

    async fn answer(&self, request: http::Request<Body>) -> Answer {
        let (head, body) = request.into_parts();
        let query = head.uri.query().unwrap_or_default();
        let whole = |text: Vec<u8>| Full::new(Bytes::from(text)).map_err(Failure::from).boxed_unsync();
        let body = if head.method == http::Method::PATCH {
            let _ = body.collect().await;
            let name = head.uri.path().rsplit('/').next().unwrap_or_default();
            let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
            let object = self.patched.replacen("NAME", name, 1);
            whole(object.replacen("REVISION", &revision.to_string(), 1).into_bytes())
        } else if query.contains("watch=") {
            let nothing = futures_util::stream::pending::<Result<Frame<Bytes>, Failure>>();
            StreamBody::new(nothing).boxed_unsync()
        } else {
            whole(self.list.clone())
        };
        let mut response = http::Response::new(body);
        let json = http::HeaderValue::from_static("application/json");
        response.headers_mut().insert(http::header::CONTENT_TYPE, json);
        response
    }
}
