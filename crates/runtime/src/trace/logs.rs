//! Log lines as records: a layer for a subscriber, and a subscriber of nothing else for programs that have none.

use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, NoSubscriber};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::raw::{RawEvent, RawLine};
use super::record::LogLevel;
use super::scope;

/// Lines of these modules say what the trace has already, or what happens below it.
const LEFT_OUT: [&str; 8] = [
    env!("CARGO_CRATE_NAME"),
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
        if is_recorded(event.metadata()) {
            record(event);
        }
    }
}

/// Whether lines of this origin are recorded. Everything else need not be made for this layer.
pub(crate) fn is_recorded(metadata: &Metadata<'_>) -> bool {
    // By a character, which is found much faster than a text.
    let module = metadata.target().split(':').next().unwrap_or_default();
    metadata.is_event() && *metadata.level() <= Level::DEBUG && !LEFT_OUT.contains(&module)
}

fn record(event: &Event<'_>) {
    let metadata = event.metadata();
    let level = match *metadata.level() {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        Level::DEBUG | Level::TRACE => LogLevel::Debug,
    };
    scope::with(|scope| {
        scope.trace.record(|| {
            let mut words = Words::default();
            event.record(&mut words);
            RawEvent::Logged(RawLine {
                level,
                target: metadata.target(),
                message: words.text().into(),
            })
        });
    });
}

/// Whether lines that are logged here go nowhere.
pub(super) fn nobody_listens() -> bool {
    tracing::dispatcher::get_default(|dispatch| dispatch.is::<NoSubscriber>() || dispatch.is::<Recorder>())
}

/// A subscriber that only records. Whatever is not recorded is switched off where it stands: libraries log much more on the way of a
/// request than a reconciler does.
struct Recorder;

impl Subscriber for Recorder {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_recorded(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_recorded(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        record(event);
    }

    /// Never called, since no span is enabled.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// There is one for all, since it finds the trace by the reconcile.
pub(super) fn recorder() -> Dispatch {
    static RECORDER: OnceLock<Dispatch> = OnceLock::new();
    RECORDER.get_or_init(|| Dispatch::new(Recorder)).clone()
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
