//! A view in the terminal whose program panics when it is asked to end: on its main thread, or on the one that draws.

use std::sync::Arc;

use kubewright_apiserver::{ApiServer, Options};
use kubewright_system::signals::Signals;
use kubewright_view::{ClientCluster, Model, SharedModel, TerminalSource, TerminalView};

#[tokio::main]
async fn main() {
    let is_drawing = std::env::args().nth(1).is_some_and(|thread| thread == "drawing");
    let mut signals = Signals::listen().unwrap();
    let source = TerminalSource {
        title: "a view that panics".to_owned(),
        link: String::new(),
        model: SharedModel::new(Model::new(1 << 20)),
        cluster: Arc::new(ClientCluster::read_only(ApiServer::new(Options::new()).client())),
    };
    let mut asked = signals.clone();
    // Looked at by the thread that draws.
    let leave = async move {
        if !is_drawing {
            std::future::pending::<()>().await;
        }
        asked.more_than(0).await;
        panic!("something unforeseen while drawing");
    };
    let _view = TerminalView::start(source, leave).unwrap();
    signals.more_than(0).await;
    assert!(is_drawing, "something unforeseen");
    signals.more_than(1).await;
}
