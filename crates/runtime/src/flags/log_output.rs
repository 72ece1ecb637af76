//! Where log lines go: to a writer as the flags choose them, and those of reconciles into their trace.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Filter, Layer};

use crate::trace::{LogLayer, is_recorded};

/// Prints lines and records them. One layer for both: a filter for each of two layers would look up every span whenever a reconcile goes on,
/// which takes more time than all the rest of the trace.
pub(super) struct LogOutput<L> {
    pub(super) lines: L,
    pub(super) printed: Targets,
    /// Whether what is logged in a reconcile belongs to its trace, whatever is printed.
    pub(super) is_traced: bool,
}

impl<L> LogOutput<L> {
    fn prints(&self, metadata: &Metadata<'_>) -> bool {
        self.printed.would_enable(metadata.target(), metadata.level())
    }

    fn records(&self, metadata: &Metadata<'_>) -> bool {
        self.is_traced && is_recorded(metadata)
    }
}

/// Spans that are not printed do not exist: only lines are recorded.
impl<S: Subscriber, L: Layer<S>> Layer<S> for LogOutput<L> {
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        self.lines.on_register_dispatch(subscriber);
    }

    fn on_layer(&mut self, subscriber: &mut S) {
        self.lines.on_layer(subscriber);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.prints(metadata) || self.records(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.prints(metadata) || self.records(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let printed = Filter::<S>::max_level_hint(&self.printed)?;
        Some(if self.is_traced {
            printed.max(LevelFilter::DEBUG)
        } else {
            printed
        })
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if !self.is_traced || self.prints(event.metadata()) {
            self.lines.on_event(event, context.clone());
        }
        if self.is_traced {
            LogLayer::new().on_event(event, context);
        }
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.lines.on_new_span(attributes, id, context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.lines.on_record(id, values, context);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        self.lines.on_follows_from(id, follows, context);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.lines.on_enter(id, context);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.lines.on_exit(id, context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.lines.on_close(id, context);
    }

    fn on_id_change(&self, old: &Id, new: &Id, context: Context<'_, S>) {
        self.lines.on_id_change(old, new, context);
    }
}
