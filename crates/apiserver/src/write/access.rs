//! What a write may do beyond its verb: give rights away, create by an update, approve or sign certificates, let policies read params.

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
    /// Whether the author of a policy or of a binding may read its params.
    pub(super) async fn check_params(&self) -> Result<()> {
        access::check_params(self.call, self.resource, &self.object, self.old()).await
    }
}
