//! Cluster roles made of others, kept as upstream's controller-manager keeps them (Z4, Z5). A kube-apiserver alone does not:
//! this is a switch.

use kubewright_access::{RbacResource, aggregated};
use serde_json::Value;

use crate::object::{self, meta_text};
use crate::registry::BuiltInId;
use crate::server::Server;
use crate::write::managed_fields::FieldWriter;

/// The field manager of upstream's controller.
const MANAGER: &str = "clusterrole-aggregation-controller";
/// Roles may gather roles that gather roles; what is deeper than this goes in circles.
const MOST_ROUNDS: usize = 16;

impl Server {
    /// Brings the rules of all roles that gather those of others up to date, if this server does that.
    pub(crate) fn aggregate_roles(&self) {
        if !self.access.aggregates {
            return;
        }
        for _ in 0..MOST_ROUNDS {
            if !self.aggregate_once() {
                return;
            }
        }
    }

    /// Returns whether a role is another one now.
    fn aggregate_once(&self) -> bool {
        let resource = BuiltInId::ClusterRoles.resource();
        let snapshot = self.store.snapshot(resource.table);
        let records: Vec<_> = snapshot.records(None, None).cloned().collect();
        let roles: Vec<Value> = records
            .iter()
            .map(|record| object::to_value(resource, record, record.revision))
            .collect();
        let mut changed = false;
        for (record, role) in records.iter().zip(&roles) {
            let Some(gathered) = aggregated(role, &roles.iter()) else {
                continue;
            };
            let gathered = Value::Array(gathered.iter().map(kubewright_access::Rule::to_value).collect());
            if role.get("rules").filter(|own| !own.is_null()) == Some(&gathered) {
                continue;
            }
            let mut new = role.clone();
            new["rules"] = gathered;
            let writer = FieldWriter {
                resource,
                subresource: None,
                manager: MANAGER,
                time: &self.clock.stamp(),
            };
            let new = writer.update_built_in(Some(role), new);
            let draft = object::to_built_in_draft(resource, &new);
            // A concurrent write of the role aggregates it again.
            if self
                .store
                .update(resource.table, &record.key, record.revision, draft)
                .is_ok()
            {
                self.refresh_authorizer(resource, RbacResource::ClusterRoles, meta_text(&new, "name"));
                changed = true;
            }
        }
        changed
    }
}
