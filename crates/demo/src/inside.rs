//! The page that shows what happens inside: that of `kubewright dev`, of the demo's operator and cluster.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_cluster::embedded::Embedded;
use kubewright_cluster::progress::Progress;
use kubewright_controllers::Controllers;
use kubewright_view::{LiveCluster, LiveOperator, LiveSettings, LiveView, Model, SharedModel, StoryLine};

use super::line::{Content, ObjectChange};

/// As much is kept of what objects were.
const HISTORY_BYTES: usize = 64 << 20;

/// What the page shows, before it is served: the story begins earlier.
pub(super) fn model() -> SharedModel {
    SharedModel::new(Model::new(HISTORY_BYTES))
}

/// Tells a page what is printed; what it shows by itself, such as reconciles, is left out.
pub(super) fn tell(model: &SharedModel, content: &Content) {
    let line = match content {
        Content::Chapter { title, words } => return model.begin_chapter(title, words),
        Content::Command(line) => StoryLine::Command(line.clone()),
        Content::Fact { subject, text } => StoryLine::Words(format!("{subject}: {text}")),
        Content::Object(change) => StoryLine::Object {
            kind: change.kind.clone(),
            namespace: change.namespace.clone(),
            name: change.name.clone(),
            words: happened(change),
        },
        Content::Condition(change) => StoryLine::Object {
            kind: change.kind.clone(),
            namespace: change.namespace.clone(),
            name: change.name.clone(),
            words: format!(
                "{} {}: {} is {}",
                change.kind, change.name, change.condition, change.status
            ),
        },
        Content::Denied { message, .. } => StoryLine::Refused(message.clone()),
        Content::Warning(text) => StoryLine::Words(text.clone()),
        Content::Reconcile(_)
        | Content::Summary(_)
        | Content::Inside { .. }
        | Content::Serving { .. }
        | Content::End { .. } => return,
    };
    model.tell_story(line);
}

fn happened(change: &ObjectChange) -> String {
    let ObjectChange { kind, name, detail, .. } = change;
    let what = change.change.as_str();
    match &**detail {
        "" => format!("{kind} {name} {what}"),
        // `ready on node-1` says it all.
        detail if detail.starts_with(what) => format!("{kind} {name} {detail}"),
        detail => format!("{kind} {name} {what}: {detail}"),
    }
}

/// Serves it on a free port of this machine. `debug` is where the operator says what it does; a fork of the cluster has the same controllers, and is
/// said on the page that asked for it: it is no part of the story.
pub(super) async fn show(
    model: SharedModel,
    embedded: &Embedded,
    controllers: &Controllers,
    debug: SocketAddr,
) -> io::Result<LiveView> {
    let settings = LiveSettings {
        title: "kubewright demo".to_owned(),
        port: 0,
        operator: LiveOperator::At(Arc::new(debug)),
        cluster: LiveCluster::Here {
            server: embedded.server().clone(),
            controllers: Box::new(controllers.clone()),
        },
        explorations: None,
    };
    LiveView::start(model, settings, &Progress::written_to(Box::new(io::sink()))).await
}
