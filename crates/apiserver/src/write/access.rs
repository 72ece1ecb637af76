//! What a write may do beyond its verb: give rights away, create by an update, approve or sign certificates.

use super::PendingWrite;
use crate::access;
use crate::wire::status::Result;

impl PendingWrite<'_, '_> {
    /// Whether the author of a role or a binding may give what it gives.
    pub(super) async fn check_escalation(&self) -> Result<()> {
        access::check_escalation(self.call, self.resource, &self.object, self.old()).await
    }

    /// Whether an update or a patch may create the object that is not there.
    pub(super) async fn check_create_by_update(&self) -> Result<()> {
        access::check_create_by_update(self.call).await
    }

    /// Whether the author may approve or sign the certificate that is asked for.
    pub(super) async fn check_signer(&self) -> Result<()> {
        access::check_signer(self.call, self.resource, &self.object, self.old()).await
    }
}
