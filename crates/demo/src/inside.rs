//! The page that shows what happens inside: that of `kubewright dev`, of the demo's operator and cluster.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_cluster::embedded::Embedded;
use kubewright_runtime::stop::Stopper;
use kubewright_view::{
    ClientCluster, Model, Page, PageContent, SharedModel, StoryLine, follow_operator, follow_server,
};
use tokio::task::JoinHandle;

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

/// The page, as long as it is served.
pub(super) struct InsidePage {
    page: Page,
    stopper: Stopper,
    sources: Vec<JoinHandle<()>>,
}

impl InsidePage {
    /// Serves it on a free port of this machine. `debug` is where the operator says what it does.
    pub(super) async fn start(model: SharedModel, embedded: &Embedded, debug: SocketAddr) -> io::Result<Self> {
        let content = PageContent {
            title: "kubewright demo".to_owned(),
            model: model.clone(),
            cluster: Arc::new(ClientCluster::read_only(embedded.client()).with_writes(true)),
            explorations: None,
        };
        let page = Page::start(0, content).await?;
        let (stopper, stop) = Stopper::new();
        let sources = vec![
            tokio::spawn(follow_server(embedded.server().clone(), model.clone(), stop.clone())),
            tokio::spawn(follow_operator(Arc::new(debug), model, stop)),
        ];
        Ok(InsidePage { page, stopper, sources })
    }

    /// Where it is, with the token that lets one in.
    pub(super) fn link(&self) -> &str {
        self.page.link()
    }

    /// Ends it.
    pub(super) async fn stop(self) {
        self.stopper.stop();
        self.page.stop().await;
        for source in self.sources {
            // One that failed has nothing more to do either.
            let _ = source.await;
        }
    }
}
