//! Records, replays and reports the conformance corpus.

use std::error::Error;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use clap::{Args, Parser, Subcommand};
use futures_util::{StreamExt as _, stream};
use kubewright_conformance::case::CaseFile;
use kubewright_conformance::corpus::{Corpus, home};
use kubewright_conformance::decisions;
use kubewright_conformance::embedded::replay_embedded;
use kubewright_conformance::fuzz::campaign;
use kubewright_conformance::fuzz::tally::by_frequency;
use kubewright_conformance::fuzz::weights::Class;
use kubewright_conformance::kubectl;
use kubewright_conformance::operators;
use kubewright_conformance::print;
use kubewright_conformance::record::{record, server_version};
use kubewright_conformance::remote::{Remote, RemoteSettings};
use kubewright_conformance::replay::{Comparison, Outcome, Settings, replay};
use kubewright_conformance::report::Report;
use kubewright_conformance::target::Target;
use kubewright_conformance::transcript::Recording;

/// The conformance corpus: record it from the real kube-apiserver, replay it on the embedded one.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Record cases from a running real server (conformance/upstream/record builds, starts and stops one)
    Record {
        /// Only files whose id contains this, or that cover this behaviour id
        filter: Option<String>,
        /// Only files without a recording of their present text
        #[arg(long)]
        missing: bool,
        /// Only files with `plugins: every`, from a server that was started so; without it, only the others
        #[arg(long)]
        every_plugin: bool,
        /// How many files are recorded at once
        #[arg(long, default_value_t = 1)]
        at_once: usize,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Replay cases and show what differs
    Replay {
        /// Only files whose id contains this, or that cover this behaviour id
        filter: Option<String>,
        /// Only say which cases differ
        #[arg(long)]
        brief: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Record what kubectl ($KUBECTL) prints on a running real server
    RecordKubectl {
        /// Only scripts whose name contains this
        filter: Option<String>,
        /// The folder that conformance/upstream/start was given
        #[arg(long)]
        run_dir: PathBuf,
    },
    /// Replay the scripts of kubectl ($KUBECTL) and show what differs
    ReplayKubectl {
        /// Only scripts whose name contains this
        filter: Option<String>,
        /// The folder that conformance/upstream/start was given; without it, the embedded server
        #[arg(long)]
        run_dir: Option<PathBuf>,
    },
    /// Record how a running real server treats definitions like those of large operators
    RecordOperators {
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Send generated requests to a running real server and to the embedded one, and count what differs
    Fuzz {
        #[command(flatten)]
        server: ServerArguments,
        /// The seed of the run: equal seeds send equal requests
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// After how many requests the run ends
        #[arg(long, default_value_t = 5000)]
        requests: usize,
        /// Only cases of this class: lifecycle, create, update, patch, apply, definition, value, options, subresource,
        /// http, or corpus (needs Go)
        #[arg(long)]
        class: Option<String>,
        /// How many cases are played at once
        #[arg(long, default_value_t = 16)]
        at_once: usize,
        /// How many of the differences are made small and written
        #[arg(long, default_value_t = 20)]
        shrunk: usize,
        /// The folder for the small cases
        #[arg(long)]
        out: Option<PathBuf>,
        /// Fail if more of 1000 pairs differ
        #[arg(long)]
        at_most: Option<f64>,
        /// Print the cases instead of sending them
        #[arg(long)]
        print: bool,
    },
    /// Replay everything and print behaviours × cases × equal
    Report,
}

/// The address and the files of a server behind TLS; conformance/upstream/start writes the files into its folder.
#[derive(Args)]
struct ServerArguments {
    /// The folder that conformance/upstream/start was given
    #[arg(long)]
    run_dir: Option<PathBuf>,
    /// Address of the server
    #[arg(long)]
    server: Option<String>,
    /// Address of its etcd, for the cases that expire history; by default the port after the server's
    #[arg(long)]
    etcd: Option<String>,
    /// File with the administrator's bearer token
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// File with the certificates to trust
    #[arg(long)]
    ca_file: Option<PathBuf>,
}

impl ServerArguments {
    fn given(&self) -> bool {
        self.run_dir.is_some() || self.server.is_some()
    }

    fn settings(self) -> RemoteSettings {
        let folder = self.run_dir.unwrap_or_else(|| home().join("../target/upstream/run"));
        RemoteSettings {
            server: self.server.unwrap_or_else(|| "https://127.0.0.1:16443".to_owned()),
            etcd: self.etcd,
            token_file: self.token_file.unwrap_or_else(|| folder.join("token")),
            ca_file: self.ca_file.unwrap_or_else(|| folder.join("certs/apiserver.crt")),
        }
    }
}

fn main() -> ExitCode {
    let done = match Command::parse().action {
        Action::Record {
            filter,
            missing,
            every_plugin,
            at_once,
            server,
        } => record_all(filter.as_deref(), missing, every_plugin, at_once, server),
        Action::Replay { filter, brief, server } => replay_all(filter.as_deref(), brief, server),
        Action::RecordKubectl { filter, run_dir } => record_kubectl(filter.as_deref(), &run_dir),
        Action::ReplayKubectl { filter, run_dir } => replay_kubectl(filter.as_deref(), run_dir.as_deref()),
        Action::RecordOperators { server } => record_operators(server),
        Action::Fuzz {
            server,
            seed,
            requests,
            class,
            at_once,
            shrunk,
            out,
            at_most,
            print,
        } => named_class(class.as_deref()).and_then(|class| {
            let out = out.unwrap_or_else(|| home().join("../target/fuzz"));
            let settings = campaign::Settings {
                seed,
                requests,
                class,
                at_once,
                shrunk,
                out,
            };
            fuzz(server, &settings, at_most, print)
        }),
        Action::Report => report(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("kubewright-conformance: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

fn chain(error: &dyn Error) -> String {
    let mut parts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        parts.push(cause.to_string());
        source = cause.source();
    }
    parts.join(": ")
}

fn record_all(
    filter: Option<&str>,
    missing: bool,
    every_plugin: bool,
    at_once: usize,
    server: ServerArguments,
) -> Result<ExitCode, Box<dyn Error>> {
    let mut corpus = Corpus::load()?.filtered(filter).with_every_plugin(every_plugin);
    if missing {
        corpus.files.retain(|file| Recording::load(file).is_err());
    }
    let target = Remote::new(&server.settings())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let version = server_version(&target).await?;
        let mut failed = 0;
        let (target, version_text) = (&target, version.as_str());
        let recorded = |file: Arc<CaseFile>| async move {
            let result = record(target, version_text, &file).await;
            (file, result)
        };
        let mut recorded = stream::iter(corpus.files.iter().cloned().map(recorded)).buffer_unordered(at_once.max(1));
        while let Some((file, result)) = recorded.next().await {
            match result {
                Ok(()) => println!("recorded {} ({})", file.id, file.variants.len()),
                Err(error) => {
                    failed += 1;
                    println!("FAILED   {}", chain(&error));
                }
            }
        }
        println!(
            "{} cases of {} files from {version}, {failed} files failed",
            corpus.cases(),
            corpus.files.len()
        );
        Ok(if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    })
}

fn replay_all(filter: Option<&str>, brief: bool, server: ServerArguments) -> Result<ExitCode, Box<dyn Error>> {
    let outcome = if server.given() {
        let target: Arc<dyn Target> = Arc::new(Remote::new(&server.settings())?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let corpus = Corpus::load()?.filtered(filter).with_every_plugin(false);
        let now = SystemTime::UNIX_EPOCH.elapsed()?.as_nanos();
        let settings = Settings {
            run: now.to_string(),
            at_once: 4,
        };
        let cases = runtime.block_on(replay(|| Arc::clone(&target), &corpus, &settings));
        Outcome::of(cases, &decisions::load()?, filter.is_none())
    } else {
        embedded(filter)?
    };
    for case in &outcome.cases {
        if !matches!(case.comparison, Comparison::Equal) {
            let text = case.to_string();
            println!(
                "{}",
                coloured(if brief {
                    text.lines().next().unwrap_or_default()
                } else {
                    &text
                })
            );
        }
    }
    for decision in &outcome.idle_decisions {
        println!(
            "idle decision: {} step {} {}: remove it from differences.yaml",
            decision.case, decision.step, decision.at
        );
    }
    println!("{} cases, {} equal", outcome.cases.len(), outcome.equal());
    Ok(if outcome.passes() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn kubectl_binary() -> Result<PathBuf, String> {
    kubectl::binary().ok_or_else(|| "$KUBECTL does not name a kubectl".to_owned())
}

fn record_kubectl(filter: Option<&str>, folder: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let upstream = kubectl::upstream(folder, kubectl_binary()?)?;
    let (mut commands, mut failed) = (0, 0);
    for script in kubectl::scripts(filter)? {
        match kubectl::record(&script, &upstream) {
            Ok(count) => {
                println!("recorded {} ({count})", script.name);
                commands += count;
            }
            Err(error) => {
                println!("FAILED   {}", chain(&error));
                failed += 1;
            }
        }
    }
    println!("{commands} commands, {failed} scripts failed");
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn replay_kubectl(filter: Option<&str>, folder: Option<&Path>) -> Result<ExitCode, Box<dyn Error>> {
    let (binary, scripts) = (kubectl_binary()?, kubectl::scripts(filter)?);
    let outcomes = match folder {
        None => kubectl::replay_embedded(&scripts, &binary)?,
        Some(folder) => {
            let upstream = kubectl::upstream(folder, binary)?;
            let played = scripts.iter().map(|script| kubectl::replay(script, &upstream));
            played.collect::<Result<_, _>>()?
        }
    };
    let differ: usize = outcomes.iter().map(|outcome| outcome.differences.len()).sum();
    for outcome in &outcomes {
        println!("{}", coloured(&outcome.to_string()));
    }
    let commands: usize = outcomes.iter().map(|outcome| outcome.commands).sum();
    println!("{commands} commands, {} equal", commands - differ);
    Ok(if differ == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn record_operators(server: ServerArguments) -> Result<ExitCode, Box<dyn Error>> {
    let target = Remote::new(&server.settings())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let facts = runtime.block_on(operators::play(&target))?;
    fs::write(operators::recording(), print::readable(&facts) + "\n")?;
    println!("{} answers", facts.as_array().map_or(0, Vec::len));
    Ok(ExitCode::SUCCESS)
}

fn named_class(name: Option<&str>) -> Result<Option<Class>, Box<dyn Error>> {
    match name {
        None => Ok(None),
        Some(name) => match Class::named(name) {
            Some(class) => Ok(Some(class)),
            None => Err(format!("--class {name}: there is no such class; see --help").into()),
        },
    }
}

fn fuzz(
    server: ServerArguments,
    settings: &campaign::Settings,
    at_most: Option<f64>,
    print: bool,
) -> Result<ExitCode, Box<dyn Error>> {
    if print {
        for case in campaign::cases(settings) {
            println!("# {}\n{}", case.name(), case.text());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let target: Arc<dyn Target> = Arc::new(Remote::new(&server.settings())?.reusing_connections());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tally = runtime.block_on(campaign::run(target, settings))?;
    for (signature, count) in tally.by_frequency() {
        println!("{count:5}  {}", signature.text);
    }
    for (signature, count) in by_frequency(&tally.varied) {
        println!("{count:5}  {} (the real server varies)", signature.text);
    }
    println!("\n{tally}");
    println!("small cases are in {}", settings.out.display());
    let total = tally.total();
    let per_thousand = total.different as f64 * 1000.0 / total.pairs.max(1) as f64;
    println!("{per_thousand:.2} of 1000 pairs differ");
    Ok(if at_most.is_some_and(|most| per_thousand > most) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn report() -> Result<ExitCode, Box<dyn Error>> {
    let cases = embedded(None)?;
    let kubectl = match kubectl::binary() {
        Some(binary) => kubectl::replay_embedded(&kubectl::scripts(None)?, &binary)?,
        None => Vec::new(),
    };
    println!(
        "{}",
        Report {
            cases: &cases,
            kubectl: &kubectl
        }
    );
    Ok(ExitCode::SUCCESS)
}

fn embedded(filter: Option<&str>) -> Result<Outcome, Box<dyn Error>> {
    let corpus = Corpus::load()?.filtered(filter);
    Ok(replay_embedded(&corpus, &decisions::load()?, filter.is_none())?)
}

/// On a terminal, the real server's side in red and ours in green.
fn coloured(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    let paint = |line: &str| match line.trim_start() {
        expected if expected.starts_with("- ") => format!("\x1b[31m{line}\x1b[0m"),
        actual if actual.starts_with("+ ") => format!("\x1b[32m{line}\x1b[0m"),
        head if head == line => format!("\x1b[1m{line}\x1b[0m"),
        place => format!("\x1b[2m{}{place}\x1b[0m", &line[..line.len() - place.len()]),
    };
    text.lines().map(paint).collect::<Vec<_>>().join("\n")
}
