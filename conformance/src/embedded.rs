//! The embedded server as a target: in-process, on virtual time.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Body, Options, User};

use crate::corpus::Corpus;
use crate::decisions::Decision;
use crate::replay::{Outcome, Settings, replay};
use crate::target::{Compaction, Connection, OwnCredentials, ResponseFuture, StreamingBody, Target, UpgradeFuture};

/// An embedded server.
pub struct Embedded(ApiServer);

impl Embedded {
    /// A fresh server whose chances are always the same, so that a replay is too.
    pub fn start() -> Arc<dyn Target> {
        Arc::new(Embedded(ApiServer::new(Options::default().seed(36))))
    }
}

impl Embedded {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        let own = request.extensions().get::<OwnCredentials>().is_some();
        self.0.handle_as((!own).then(administrator).as_ref(), request).await
    }
}

fn streaming(body: Body) -> StreamingBody {
    body.map_err(|never: Infallible| match never {}).boxed_unsync()
}

impl Target for Embedded {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture<'_> {
        Box::pin(async move { Ok(self.answer(request).await.map(streaming)) })
    }

    fn upgrade(&self, request: Request<Bytes>) -> UpgradeFuture<'_> {
        Box::pin(async move {
            let response = self.answer(request).await;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                return Ok((response.map(streaming), None));
            }
            let (head, body) = response.into_parts();
            let connection = body
                .into_connection()
                .map(|connection| Box::new(connection) as Box<dyn Connection>);
            Ok((Response::from_parts(head, streaming(Body::empty())), connection))
        })
    }

    fn compact(&self) -> Compaction<'_> {
        Box::pin(async move {
            self.0.compact();
            Ok(())
        })
    }
}

/// Who the recorded administrator is: `upstream/start` gives the bearer of the token this name, uid and group.
fn administrator() -> User {
    User {
        uid: "admin".to_owned(),
        ..User::admin()
    }
}

/// How many cases that call webhooks are in flight: so few that none waits for its turn longer than a webhook may take.
const CALLING_AT_ONCE: usize = 8;

/// Replays a corpus against the embedded server on a paused clock, where waiting costs nothing. Only the cases that call
/// webhooks take their time: a paused clock would run away while a socket is waited for.
pub fn replay_embedded(corpus: &Corpus, decisions: &[Decision], whole: bool) -> std::io::Result<Outcome> {
    let (calling, quiet) = corpus.split();
    let mut cases = Vec::new();
    for (corpus, paused, at_once) in [(quiet, true, 64), (calling, false, CALLING_AT_ONCE)] {
        let settings = Settings {
            run: "replay".to_owned(),
            at_once,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(paused)
            .build()?;
        cases.append(&mut runtime.block_on(replay(Embedded::start, &corpus, &settings)));
    }
    Ok(Outcome::of(cases, decisions, whole))
}
