//! The election of a manager, in a task of its own.

use std::future::Future;

use tokio::task::JoinSet;

use crate::lease::{Election, Leadership, Lost};
use crate::stop::Stopper;

pub(super) struct ElectionTask {
    task: JoinSet<Result<(), Lost>>,
    leadership: Leadership,
    stopper: Stopper,
}

impl ElectionTask {
    pub(super) fn start(election: Election) -> Self {
        let leadership = election.leadership();
        let (stopper, stop) = Stopper::new();
        let mut task = JoinSet::new();
        task.spawn(election.run(stop));
        ElectionTask {
            task,
            leadership,
            stopper,
        }
    }

    /// Gives the lease back, if it is ours.
    pub(super) async fn finish(mut self) {
        self.stopper.stop();
        while self.task.join_next().await.is_some() {}
    }
}

/// Waits until we lead; at once without election, and never if the election ends before.
pub(super) fn elected(electing: Option<&ElectionTask>) -> impl Future<Output = ()> + Send + use<> {
    let elected = electing.map(|electing| electing.leadership.elected());
    async move {
        if let Some(elected) = elected
            && !elected.await
        {
            std::future::pending::<()>().await;
        }
    }
}

/// Waits until the lease is lost; forever without election.
pub(super) async fn lost(electing: Option<&mut ElectionTask>) -> Lost {
    if let Some(electing) = electing
        && electing.task.join_next().await.is_some()
    {
        return Lost;
    }
    std::future::pending().await
}
