//! The stages of a create, in their order.

use serde_json::Value;

use super::addressed::place_in_namespace;
use super::defaults::dedup_owners;
use super::{PendingWrite, Written};
use crate::object::{self, meta_text, set_meta};
use crate::registry::Resource;
use crate::request::call::Call;
use crate::wire::status::{Result, Status};

/// How often a generated name is tried (M2).
const NAME_ATTEMPTS: usize = 8;

/// Stores a new object (after decoding, defaulting and managedFields).
pub(crate) async fn create(call: &mut Call<'_>, object: Value, dry_run: bool) -> Result<Written> {
    let resource = call.resource().stored();
    let name = meta_text(&object, "name").to_owned();
    if resource
        .custom()
        .is_some_and(|version| version.kind.definition.terminating)
    {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(resource.about(), &name, why));
    }
    let mut write = PendingWrite::create(call, object, &name, dry_run);
    meta_text(&write.object, "generateName").clone_into(&mut write.attributes.generate_name);
    write.admit_mutating().await?;
    write.check_escalation().await?;
    dedup_owners(&mut write.object, &mut write.call.warnings);
    place_in_namespace(write.call, &mut write.object)?;
    let prefix = meta_text(&write.object, "generateName").to_owned();
    let generated = meta_text(&write.object, "name").is_empty() && !prefix.is_empty();
    let attempts = if generated { NAME_ATTEMPTS } else { 1 };
    let namespace = meta_text(&write.object, "namespace").to_owned();
    let mut last = String::new();
    for _ in 0..attempts {
        // Only a name that may be taken needs the object again.
        let unnamed = generated.then(|| write.object.clone());
        if generated {
            let name = generate_name(write.call, &prefix);
            set_meta(&mut write.object, "name", name);
        }
        if resource.strategy().names_itself && meta_text(&write.object, "name").is_empty() {
            let uid = write.call.server.random.uuid();
            set_meta(&mut write.object, "name", uid);
        }
        meta_text(&write.object, "name").clone_into(&mut last);
        let allocation = write.allocate()?;
        write.prepare_create();
        write.validate_create()?;
        write.check_params().await?;
        write.check_create_by_update().await?;
        write.check_signer().await?;
        if name.is_empty() {
            last.clone_into(&mut write.attributes.name);
        }
        write.admit_validating().await?;
        if let Some(written) = write.store_new(allocation).await? {
            return Ok(written);
        }
        if let Some(unnamed) = unnamed {
            write.object = unnamed;
        }
    }
    let key = object::key(&namespace, &last);
    Err(taken(write.call, resource, &key, &last, !prefix.is_empty()))
}

/// The refusal of a name that another object has.
fn taken(call: &Call<'_>, resource: &Resource, key: &str, name: &str, generated: bool) -> Box<Status> {
    let about = call.resource().about();
    let mut status = if generated {
        Status::generated_name_exists(about, name)
    } else {
        Status::already_exists(about, name)
    };
    let is_deleted = call.server.store.get(resource.table, key).is_some_and(|record| {
        let object = object::to_value(resource, &record, record.revision);
        !meta_text(&object, "deletionTimestamp").is_empty()
    });
    if is_deleted {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

fn generate_name(call: &Call<'_>, base: &str) -> String {
    const LONGEST_BASE: usize = 58;
    let mut end = base.len().min(LONGEST_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{}", &base[..end], call.server.random.name_suffix())
}
