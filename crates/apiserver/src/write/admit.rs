//! The admit stages: plugins and webhooks change the object before it is prepared, and may refuse what will be stored.

use super::{PendingWrite, scale};
use crate::admit;
use crate::wire::status::Result;

impl PendingWrite<'_, '_> {
    /// Lets plugins and webhooks change the object, or the Scale that was sent in its place.
    pub(super) async fn admit_mutating(&mut self) -> Result<()> {
        let warnings = &mut self.call.warnings;
        if let Some(sent) = &mut self.scale {
            admit::mutate(&self.attributes, &mut sent.wanted, Some(&sent.live), warnings).await?;
            scale::check(self.resource, &sent.wanted)?;
            return scale::write_into(self.resource, &sent.wanted, &mut self.object);
        }
        let old = self.live.as_ref().map(|live| &live.object);
        admit::mutate(&self.attributes, &mut self.object, old, warnings).await
    }

    /// Lets plugins and webhooks refuse what will be stored.
    pub(super) async fn admit_validating(&mut self) -> Result<()> {
        let warnings = &mut self.call.warnings;
        let old = self.live.as_ref().map(|live| &live.object);
        if let (Some(_), Some(old)) = (&self.scale, old) {
            let (shown, shown_old) = (scale::of(self.resource, &self.object)?, scale::of(self.resource, old)?);
            admit::validate(&self.attributes, &shown, Some(&shown_old), warnings).await?;
        } else {
            admit::validate(&self.attributes, &self.object, old, warnings).await?;
            admit::charge(&self.attributes, &self.object, old)?;
        }
        // What webhooks add to a custom resource beyond its schema is seen by all webhooks, and not stored.
        if let Some(version) = self.resource.custom()
            && admit::others_may_mutate(&self.attributes)
        {
            version.prune_admitted(&mut self.object);
        }
        Ok(())
    }
}
