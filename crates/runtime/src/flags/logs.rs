//! Log lines on standard error. The subscriber is the process's: call this from `main`, if you have none of your own.

use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt};

use super::environment::Environment;
use super::log_output::LogOutput;
use super::parse::{Flags, LogFormat};

/// The variables that name a collector of spans.
const COLLECTORS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Why nothing is logged.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The level is not one.
    #[error(
        "`{level}` is not a log level: write error, warn, info, debug or trace, also by module as in `info,kube=debug`"
    )]
    Level {
        /// What was given.
        level: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// Somebody else has set up logs before.
    #[error("logs are set up already")]
    Taken(#[source] tracing_subscriber::util::TryInitError),
}

impl Flags {
    /// Sets up logs for this process as `--log-format` and `--log-level` say.
    pub fn init_logs(&self) -> Result<(), LogError> {
        self.subscriber(std::io::stderr)?.try_init().map_err(LogError::Taken)
    }

    /// Lines of the chosen format and level, to somewhere.
    fn subscriber<W>(&self, writer: W) -> Result<impl tracing::Subscriber + Send + Sync + use<W>, LogError>
    where
        W: for<'w> fmt::MakeWriter<'w> + Send + Sync + 'static,
    {
        let level = self.log_level.as_str();
        let printed: Targets = level.parse().map_err(|source| LogError::Level {
            level: level.to_owned(),
            source,
        })?;
        let lines = match self.log_format {
            LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(writer).boxed(),
            LogFormat::Text => fmt::layer().with_ansi(false).with_writer(writer).boxed(),
        };
        // What is logged in a reconcile belongs to its trace, whatever level is printed.
        let is_exported = cfg!(feature = "otlp") && names_a_collector(&Environment::system());
        Ok(Registry::default().with(LogOutput {
            lines,
            printed,
            is_traced: self.debug_trace_bytes > 0 || is_exported,
        }))
    }
}

/// Whether spans may be exported, so that log lines are wanted in the trace.
fn names_a_collector(environment: &Environment) -> bool {
    COLLECTORS.iter().any(|name| environment.variable(name).is_some())
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::trace::{Trace, TraceEvent, in_reconcile};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(words: &[&str]) -> String {
        let lines = Lines::default();
        let flags = Flags::try_parse_from(std::iter::once("m").chain(words.iter().copied())).unwrap();
        let writer = lines.clone();
        let subscriber = flags.subscriber(move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(controller = "shop", "reconciled");
            tracing::debug!("details");
        });
        String::from_utf8(lines.0.lock().clone()).unwrap()
    }

    #[test]
    fn json_lines_have_the_message_and_its_fields_on_top() {
        let text = logged(&["--log-format=json"]);
        let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        assert_eq!(
            (&line["message"], &line["controller"]),
            (&"reconciled".into(), &"shop".into())
        );
        assert_eq!(line["level"], "INFO");
    }

    #[tokio::test]
    async fn what_a_reconcile_logs_is_in_its_trace_whatever_is_printed() {
        let flags = Flags::try_parse_from(["m", "--log-level=error", "--debug-trace-bytes=4096"]).unwrap();
        let (lines, trace) = (Lines::default(), Trace::bounded(4096));
        let writer = lines.clone();
        let _set = tracing::subscriber::set_default(flags.subscriber(move || writer.clone()).unwrap());
        let reconcile = async {
            tracing::debug!(target: "shop", "details");
            tracing::debug!(target: "hyper_util::client::legacy::pool", "pooling idle connection");
        };
        in_reconcile(&trace, reconcile).await;
        let records = trace.records();
        assert_eq!(records.len(), 1, "{records:?}");
        let TraceEvent::Logged(line) = &records[0].event else {
            panic!("{records:?}");
        };
        assert_eq!((line.message.as_str(), lines.0.lock().len()), ("details", 0));
    }

    #[test]
    fn the_level_says_what_is_left_out() {
        assert!(!logged(&[]).contains("details"));
        assert!(logged(&["--log-level=debug"]).contains("details"));
        assert_eq!(logged(&["--log-level=error"]), "");
        assert!(logged(&["--log-level=error,kubewright_runtime=info"]).contains("reconciled"));
        let flags = Flags::try_parse_from(["m", "--log-level=loud=much"]).unwrap();
        assert!(flags.init_logs().unwrap_err().to_string().contains("loud=much"));
    }
}
