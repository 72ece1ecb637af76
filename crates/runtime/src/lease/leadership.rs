//! How the election stands, for those who only look.

use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The role of this candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Another candidate leads, or none does yet.
    Standby,
    /// We lead.
    Leading,
    /// We led, or could have, and the election is over for us.
    Ended,
}

/// How the election stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What we are.
    pub role: Role,
    /// The identity of this candidate.
    pub identity: String,
    /// Who was last seen to hold the lease.
    pub leader: Option<String>,
    /// How many times the lease changed hands.
    pub transitions: u32,
    /// When we last acquired or renewed the lease.
    pub renewed: Option<Instant>,
}

/// Tells how an election stands. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub(super) status: watch::Receiver<Status>,
    pub(super) lease: String,
    pub(super) lease_duration: Duration,
}

impl Leadership {
    /// How it stands now.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Whether we lead. For writes ask the fence, which knows when the lease may have run out.
    pub fn is_leader(&self) -> bool {
        self.status.borrow().role == Role::Leading
    }

    /// Who was last seen to hold the lease.
    pub fn leader(&self) -> Option<String> {
        self.status.borrow().leader.clone()
    }

    /// Waits until we lead. `false`: the election ended before.
    pub fn elected(&self) -> impl Future<Output = bool> + Send + use<> {
        let mut status = self.status.clone();
        async move {
            let known = status.wait_for(|status| status.role != Role::Standby).await;
            known.is_ok_and(|status| status.role == Role::Leading)
        }
    }

    /// Waits until the election is over for us: the lease is lost or we were asked to stop.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut status = self.status.clone();
        async move {
            // The election is gone: it is over as well.
            let _ = status.wait_for(|status| status.role == Role::Ended).await;
        }
    }

    /// A health check: fails if we believe to lead, but have not renewed the lease for its duration and `tolerance` more. It
    /// cannot happen unless the election's task hangs.
    pub fn check(&self, tolerance: Duration) -> Result<(), String> {
        let status = self.status.borrow();
        let overdue = |renewed: &Instant| renewed.elapsed() > self.lease_duration.saturating_add(tolerance);
        if status.role == Role::Leading && status.renewed.as_ref().is_some_and(overdue) {
            return Err(format!("failed election to renew leadership on lease {}", self.lease));
        }
        Ok(())
    }
}
