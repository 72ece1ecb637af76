//! Connections that are used for something else once a request upgraded them.

use std::sync::Arc;

use http::Response;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;

use crate::stream::Upgrade;
use crate::wire::body::Body;

/// What a connection is used for once it stops being HTTP. A connection that was upgraded answers no more requests.
#[derive(Clone, Default)]
pub(super) struct Upgraded(Arc<Mutex<Option<(OnUpgrade, Upgrade)>>>);

impl Upgraded {
    /// Keeps what an answer upgrades its connection to, if it does.
    pub(super) fn keep(&self, connection: OnUpgrade, response: &mut Response<Body>) {
        if let Some(upgrade) = response.body_mut().take_upgrade() {
            *self.0.lock() = Some((connection, upgrade));
        }
    }

    /// Goes on with a connection that was upgraded, until either side ends it.
    pub(super) async fn run(&self) {
        let upgraded = self.0.lock().take();
        if let Some((connection, upgrade)) = upgraded
            && let Ok(connection) = connection.await
        {
            upgrade.run(TokioIo::new(connection)).await;
        }
    }
}
