//! The prepare stage: what the server owns is filled in, what the client may not write is restored (upstream's
//! `PrepareForCreate` and `PrepareForUpdate`).

use kubewright_kinds::{Create, Update, certificates, meta, timestamps};
use serde_json::Value;

use super::PendingWrite;
use crate::object::{self, meta_number, set_meta};
use crate::registry::{BuiltInId, Subresource};

impl PendingWrite<'_, '_> {
    pub(super) fn prepare_create(&mut self) {
        let (server, resource, object) = (self.call.server, self.resource, &mut self.object);
        let now = server.clock.stamp();
        set_meta(object, "uid", server.random.uuid());
        set_meta(object, "creationTimestamp", now.as_str());
        if let Some(generation) = resource.strategy().generation.at_create() {
            set_meta(object, "generation", generation);
        }
        resource.behaviour().prepare_create(Create { object });
        if resource.is(BuiltInId::CertificateSigningRequests) {
            let user = self.call.user;
            let extra: Vec<_> = user.extra.clone().into_iter().collect();
            certificates::set_requestor(object, &user.name, &user.uid, &user.groups, &extra);
        }
        timestamps::set_times(&resource.group, &resource.plural, None, object, None, &now);
        resource.fill_zero(object);
    }

    pub(super) fn prepare_update(&mut self) {
        let Some(live) = &self.live else { return };
        let (resource, new, old) = (self.resource, &mut self.object, &live.object);
        let subresource = self.call.target.subresource;
        let old_metadata = old.get("metadata").unwrap_or(&Value::Null);
        if let Some(metadata) = object::metadata_mut(new) {
            meta::keep_generation(metadata, old_metadata);
        }
        resource.behaviour().prepare_update(Update {
            object: new,
            old,
            subresource: subresource.map(Subresource::name),
        });
        if let Some(metadata) = object::metadata_mut(new) {
            if subresource == Some(Subresource::Status) {
                resource.strategy().status_metadata.restore(metadata, old_metadata);
            }
            meta::keep_system_fields(metadata, old_metadata);
            metadata.remove("selfLink");
        }
        let generation = &resource.strategy().generation;
        if matches!(
            subresource,
            None | Some(Subresource::Scale | Subresource::Resize | Subresource::EphemeralContainers)
        ) && generation.counts_change(new, old)
        {
            let next = generation.after_update(new, old);
            set_meta(new, "generation", next);
        }
        let now = self.call.server.clock.stamp();
        let part = subresource.map(Subresource::name);
        timestamps::set_times(&resource.group, &resource.plural, part, new, Some(old), &now);
        resource.fill_zero(new);
    }
}

/// The generation a deletion gives (M7).
pub(crate) fn bump_generation(object: &mut Value) {
    if let Some(generation) = meta_number(object, "generation").filter(|generation| *generation > 0) {
        set_meta(object, "generation", generation.wrapping_add(1));
    }
}
