//! Running a manager: start its groups, wait for the end, stop them.

use std::collections::BTreeSet;

use super::groups::Groups;
use super::setup::Setup;
use super::{Manager, ManagerError};
use crate::stop::Stop;

impl Manager {
    /// Runs until asked to stop, or until something fails. The first failure is returned.
    pub async fn run(self, kube: kube::Client, stop: Stop) -> Result<(), ManagerError> {
        self.check()?;
        let graceful_shutdown = self.graceful_shutdown;
        let mut groups = Groups::start(Setup::new(self, kube)?).await?;
        let ended = groups.wait(&stop).await;
        let is_lease_lost = matches!(ended, Err(ManagerError::Lease(_)));
        let stopped = groups.stop(graceful_shutdown, is_lease_lost).await;
        ended.and(stopped)
    }

    fn check(&self) -> Result<(), ManagerError> {
        self.webhooks.check()?;
        let mut names = BTreeSet::new();
        for (controller, _) in &self.controllers {
            if !names.insert(controller.name()) {
                return Err(ManagerError::SameName(controller.name().to_owned()));
            }
            if !controller.has_reconciler() {
                return Err(ManagerError::NoReconciler(controller.name().to_owned()));
            }
        }
        Ok(())
    }
}
