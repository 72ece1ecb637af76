//! Log lines as records: a layer for a subscriber, and a subscriber of nothing else for programs that have none.

use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Event, Level, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::record::{LogLevel, LogLine, TraceEvent};
use super::scope;

/// Lines of these modules say what the trace has already, or what happens below it.
const LEFT_OUT: [&str; 8] = [
    "kubewright_runtime",
    "hyper",
    "hyper_util",
    "h2",
    "tower",
    "rustls",
    "kube",
    "kube_client",
];

/// Records the lines that are logged in a reconcile into the trace of its manager, down to the level `DEBUG`.
///
/// A program without a subscriber needs nothing; one that has its own adds this layer to it.
///
/// ```
/// use kubewright_runtime::trace::LogLayer;
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let subscriber = tracing_subscriber::Registry::default().with(LogLayer::new());
/// # let _ = subscriber;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LogLayer(());

impl LogLayer {
    /// The layer. It finds the trace by the reconcile in which a line is logged.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let module = metadata.target().split("::").next().unwrap_or_default();
        let level = match *metadata.level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            Level::DEBUG => LogLevel::Debug,
            Level::TRACE => return,
        };
        if LEFT_OUT.contains(&module) {
            return;
        }
        scope::with(|scope| {
            scope.trace.record(|| {
                let mut words = Words::default();
                event.record(&mut words);
                TraceEvent::Logged(LogLine {
                    level,
                    target: metadata.target().into(),
                    message: words.text(),
                })
            });
        });
    }
}

/// Whether lines that are logged here go nowhere.
pub(super) fn nobody_listens() -> bool {
    tracing::dispatcher::get_default(|dispatch| dispatch.is::<NoSubscriber>() || dispatch.is::<Recorder>())
}

type Recorder = tracing_subscriber::layer::Layered<LogLayer, Registry>;

/// A subscriber that only records. There is one for all, since it finds the trace by the reconcile.
pub(super) fn recorder() -> Dispatch {
    static RECORDER: OnceLock<Dispatch> = OnceLock::new();
    let make = || Dispatch::new(Registry::default().with(LogLayer::new()));
    RECORDER.get_or_init(make).clone()
}

/// The message of a line and its fields.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Words {
    fn text(mut self) -> String {
        self.message.push_str(&self.fields);
        self.message
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            let _ = write!(self.fields, " {}={value}", field.name());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}
