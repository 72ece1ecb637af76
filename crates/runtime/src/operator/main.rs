//! An operator as a program: flags, cluster, logs, signals, exit code.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kubewright_apimachinery::errors::with_sources;
use kubewright_system::signals::stop_on_signals;

use super::{Operator, cluster_warning};
use crate::flags::{ConfigError, Environment, Flags, parse_words};
use crate::manager::{Manager, ManagerError};
use crate::policy::PolicyDescription;
use crate::serve::CertificateError;
use crate::stop::Stop;
#[cfg(feature = "otlp")]
use crate::stop::Stopper;
use crate::trace::Trace;

/// Why an operator's program failed.
#[derive(Debug, thiserror::Error)]
pub enum MainError {
    /// The log flags make no sense.
    #[cfg(feature = "log")]
    #[error(transparent)]
    Logs(#[from] crate::flags::LogError),
    /// There is no cluster.
    #[error(transparent)]
    Cluster(#[from] ConfigError),
    /// The certificates of the metrics cannot be used.
    #[error("the metrics have no certificate")]
    Certificates(
        #[source]
        #[from]
        CertificateError,
    ),
    /// The manager failed.
    #[error(transparent)]
    Manager(#[from] ManagerError),
    /// The system refused threads or signal handlers.
    #[error("cannot run")]
    System(
        #[source]
        #[from]
        io::Error,
    ),
}

/// The flags, and the word that tools say instead.
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print what this operator is, as JSON, and exit.
    #[command(hide = true)]
    Describe,
}

impl Operator {
    /// The whole program: parses [`Flags`], sets up logs, finds the cluster and runs until SIGINT or SIGTERM, then stops in good
    /// order; a second signal exits at once. What fails is one line on standard error.
    ///
    /// ```no_run
    /// use kubewright_runtime::operator::Operator;
    ///
    /// fn main() -> std::process::ExitCode {
    ///     Operator::new("shop").main()
    /// }
    /// ```
    pub fn main(&self) -> ExitCode {
        self.main_from(std::env::args_os())
    }

    /// The same with another command line; the first word is the program's name.
    pub fn main_from(&self, words: impl IntoIterator<Item = impl Into<OsString>>) -> ExitCode {
        let line = match parse_words::<CommandLine>(words) {
            Ok(line) => line,
            Err(error) => {
                // Asking for help is not a failure. An error of writing cannot be reported anywhere else, so it is ignored.
                let _ = error.print();
                return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
            }
        };
        let done = match line.command {
            Some(Command::Describe) => self.print_description().map_err(MainError::from),
            None => self.run_process(&line.flags),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(io::stderr(), "error: {}", one_line(&error));
                ExitCode::FAILURE
            }
        }
    }

    /// Runs as the flags say until asked to stop: the cluster, leader election, addresses and `WATCH_NAMESPACE`.
    pub async fn run_with(&self, flags: &Flags, environment: &Environment, stop: Stop) -> Result<(), MainError> {
        let manager = self.manager_with(flags, environment)?;
        #[cfg(feature = "otlp")]
        let (manager, exporting) = {
            let (manager, exporter) = manager.exported(environment, &self.name);
            // What the manager does until its end is exported, too.
            let (stopper, stop) = Stopper::new();
            let exporting = exporter.map(|exporter| (stopper, tokio::spawn(exporter.run(stop))));
            (manager, exporting)
        };
        let done = run_manager(manager, &self.policies, flags, environment, stop).await;
        #[cfg(feature = "otlp")]
        if let Some((stopper, exporting)) = exporting {
            stopper.stop();
            // One that failed has nothing more to send.
            let _ = exporting.await;
        }
        done
    }

    /// A manager of all that, configured as the flags say.
    pub fn manager_with(&self, flags: &Flags, environment: &Environment) -> Result<Manager, MainError> {
        let mut manager = self
            .manager()?
            .metrics_address(flags.metrics_bind_address.clone())
            .probe_address(flags.health_probe_bind_address.clone())
            .debug_address(flags.debug_bind_address.clone());
        if flags.debug_trace_bytes > 0 {
            manager = manager.trace(Trace::bounded(flags.debug_trace_bytes).without_cache_events());
        }
        // Without a metrics server no certificate is made, and none is required, unless the debug page needs one.
        let is_served = !matches!(flags.metrics_bind_address, crate::serve::BindAddress::Off);
        if (is_served || !flags.debug_bind_address.is_loopback())
            && let Some(certificates) = flags.metrics_certificates()?
        {
            manager = manager.secure_metrics(certificates, flags.enable_http2);
        }
        manager = self.serve_webhooks(manager, flags, environment)?;
        manager = self.serve_extension(manager, flags, environment)?;
        if let Some(election) = flags.election(self.lease.as_deref().unwrap_or(&self.name), environment) {
            manager = manager.leader_election(election);
        }
        let namespaces = environment.watch_namespaces();
        if !namespaces.is_empty() {
            manager.declarations().namespaces(namespaces);
        }
        Ok(manager)
    }

    fn run_process(&self, flags: &Flags) -> Result<(), MainError> {
        #[cfg(feature = "log")]
        match flags.init_logs() {
            // A subscriber that the program has set up before stays.
            Ok(()) | Err(crate::flags::LogError::Taken(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(async {
            let stop = stop_on_signals()?;
            self.run_with(flags, &Environment::system(), stop).await
        });
        // Threads that are still blocked are not waited for: the graceful shutdown is over.
        runtime.shutdown_background();
        done
    }

    fn print_description(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &self.describe())?;
        writeln!(out)?;
        out.flush()
    }
}

/// An error and its sources, in one line.
fn one_line(error: &dyn Error) -> String {
    with_sources(error).replace('\n', " ")
}

/// Runs a manager in the cluster that the flags name.
async fn run_manager(
    manager: Manager,
    policies: &[PolicyDescription],
    flags: &Flags,
    environment: &Environment,
    stop: Stop,
) -> Result<(), MainError> {
    let config = flags.config(environment).await?;
    let host = config.cluster_url.authority().map(ToString::to_string);
    let kube = kube::Client::try_from(config).map_err(|error| ConfigError::Client(Box::new(error)))?;
    let manager = manager.api_server(host.unwrap_or_default());
    // A cluster that is slow to say its version holds nothing up.
    let warn = {
        let kube = kube.clone();
        async move {
            if let Some(warning) = cluster_warning(&kube, policies).await {
                tracing::warn!("{warning}");
            }
        }
    };
    let running = manager.run(kube, stop);
    let mut running = std::pin::pin!(running);
    tokio::select! {
        biased;
        ended = &mut running => return Ok(ended?),
        () = warn => {}
    }
    Ok(running.await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<CommandLine, clap::Error> {
        parse_words(std::iter::once("shop").chain(words.iter().copied()))
    }

    #[test]
    fn describe_is_a_word_that_help_does_not_tell_of() {
        assert!(matches!(parse(&["describe"]).unwrap().command, Some(Command::Describe)));
        let help = parse(&["--help"]).unwrap_err().to_string();
        assert!(help.contains("--leader-elect") && !help.contains("describe"), "{help}");
        assert!(!help.contains("COMMAND"), "{help}");
    }

    #[test]
    fn flags_are_written_as_go_writes_them_here_too() {
        let line = parse(&["-leader-elect", "--health-probe-bind-address=0"]).unwrap();
        assert!(line.flags.leader_elect && line.command.is_none());
        assert!(parse(&["prescribe"]).is_err());
    }

    #[test]
    fn an_error_is_one_line_with_its_sources() {
        let error = MainError::Manager(ManagerError::Runnable {
            name: "ticker".to_owned(),
            source: "no more\nticks".into(),
        });
        assert_eq!(one_line(&error), "ticker failed: no more ticks");
    }

    #[test]
    fn a_namespace_to_watch_and_an_election_follow_from_environment_and_flags() {
        let flags = parse(&["--leader-elect", "--leader-election-namespace=shop"])
            .unwrap()
            .flags;
        let environment = Environment::of([("WATCH_NAMESPACE", "harbour")]);
        let mut manager = Operator::new("boats").manager_with(&flags, &environment).unwrap();
        let election = format!("{manager:?}");
        assert!(election.contains("namespace: \"shop\", name: \"boats\""), "{election}");
        let declarations = format!("{:?}", manager.declarations());
        assert!(declarations.contains("harbour"), "{declarations}");
        let boats = Operator::new("boats").leader_election_id("3ca5b296.example.com");
        let named = |flags| format!("{:?}", boats.manager_with(flags, &environment).unwrap());
        assert!(named(&flags).contains("name: \"3ca5b296.example.com\""));
        let flags = parse(&[
            "--leader-elect",
            "--leader-election-namespace=shop",
            "--leader-election-id=fleet",
        ]);
        assert!(named(&flags.unwrap().flags).contains("name: \"fleet\""));
    }
}
