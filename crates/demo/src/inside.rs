//! The page that shows what happens inside: that of `kubewright dev`, of the demo's operator and cluster.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_cluster::embedded::Embedded;
use kubewright_runtime::stop::Stopper;
use kubewright_view::{ClientCluster, Model, Page, PageContent, SharedModel, follow_operator, follow_server};
use tokio::task::JoinHandle;

/// As much is kept of what objects were.
const HISTORY_BYTES: usize = 64 << 20;

/// The page, as long as it is served.
pub(super) struct InsidePage {
    page: Page,
    stopper: Stopper,
    sources: Vec<JoinHandle<()>>,
}

impl InsidePage {
    /// Serves it on a free port of this machine. `debug` is where the operator says what it does.
    pub(super) async fn start(embedded: &Embedded, debug: SocketAddr) -> io::Result<Self> {
        let model = SharedModel::new(Model::new(HISTORY_BYTES));
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
