//! The embedded server as a target: in-process, on virtual time.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};

use crate::corpus::Corpus;
use crate::decisions::Decision;
use crate::replay::{Outcome, Settings, replay};
use crate::target::{Answer, Compaction, Target};

/// An embedded server.
pub struct Embedded(ApiServer);

impl Embedded {
    /// A fresh server whose chances are always the same, so that a replay is too.
    pub fn start() -> Arc<dyn Target> {
        Arc::new(Embedded(ApiServer::new(Options::default().seed(36))))
    }
}

impl Target for Embedded {
    fn send(&self, request: Request<Bytes>) -> Answer<'_> {
        Box::pin(async move {
            let response = self.0.handle(request).await;
            Ok(response.map(|body| body.map_err(|never: Infallible| match never {}).boxed_unsync()))
        })
    }

    fn compact(&self) -> Compaction<'_> {
        Box::pin(async move {
            self.0.compact();
            Ok(())
        })
    }
}

/// Replays a corpus against the embedded server, on a paused clock: waiting costs nothing.
pub fn replay_embedded(corpus: &Corpus, decisions: &[Decision], whole: bool) -> std::io::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    let settings = Settings {
        whole,
        run: "replay".to_owned(),
        at_once: 64,
    };
    Ok(runtime.block_on(replay(Embedded::start, corpus, decisions, &settings)))
}
