//! The shared middle of every write: admit → default → validate → store, for creates and for updates (M1–M13).

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_kinds::strategy::Strategy;
use kubewright_kinds::{Behaviour, Create, Update, certificates, meta, stamps};
use kubewright_schema as schema;
use kubewright_store::{CommitError, Draft, Record, Revision};
use serde_json::Value;

use crate::access;
use crate::admit::{self, Attributes, Operation};
use crate::allocate::Allocation;
use crate::call::{Call, record_value};
use crate::custom::conversion;
use crate::object::{self, meta_number, meta_text, remove_meta, set_meta};
use crate::registry::{BuiltInId, Resource, Subresource};
use crate::status::{MODIFIED, Result, Status};
use crate::subresource::scale;
use crate::verbs::addressed::place_in_namespace;

/// How often a generated name is tried (M2).
const NAME_ATTEMPTS: usize = 8;
/// What etcd takes in one request (H10).
const MAX_OBJECT_BYTES: usize = 1_572_864;

/// What a write came to.
pub(crate) enum Written {
    Created(Arc<Record>),
    Updated(Arc<Record>),
    /// Removing its last finalizer deleted the object (M8); this is its last state.
    Deleted(Value),
    /// A dry run would have created or updated this.
    Dry {
        object: Value,
        created: bool,
    },
}

/// The unconditional and the conditional defaults of a kind.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    if let Some(ty) = resource.ty() {
        schema::default(ty, object);
    }
    match resource.conversion() {
        None => resource.behaviour().default(object),
        // Conditional defaults are written for the stored version; what a served one gets comes from its conversion.
        Some(conversion) => {
            conversion.store(object);
            conversion.serve(object);
        }
    }
}

/// Stores a new object (after decoding, defaulting and managedFields).
pub(crate) async fn create(call: &mut Call<'_>, mut object: Value, dry_run: bool) -> Result<Written> {
    let resource = call.resource().stored();
    let name = meta_text(&object, "name").to_owned();
    if resource
        .custom()
        .is_some_and(|version| version.kind.definition.terminating)
    {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(resource.about(), &name, why));
    }
    let mut attributes = Attributes::new(call, Operation::Create, &name, dry_run);
    meta_text(&object, "generateName").clone_into(&mut attributes.generate_name);
    admit::mutate(&attributes, &mut object, None, &mut call.warnings).await?;
    access::check_escalation(call, resource, &object, None)?;
    dedup_owners(&mut object, &mut call.warnings);
    place_in_namespace(call, &mut object)?;
    let generated = meta_text(&object, "name").is_empty() && !meta_text(&object, "generateName").is_empty();
    let attempts = if generated { NAME_ATTEMPTS } else { 1 };
    let namespace = meta_text(&object, "namespace").to_owned();
    let prefix = meta_text(&object, "generateName").to_owned();
    let mut last = String::new();
    for _ in 0..attempts {
        // Only a name that may be taken needs the object again.
        let mut object = if generated {
            object.clone()
        } else {
            std::mem::take(&mut object)
        };
        if generated {
            let name = generate_name(call, &prefix);
            set_meta(&mut object, "name", name);
        }
        if resource.strategy().names_itself && meta_text(&object, "name").is_empty() {
            set_meta(&mut object, "name", call.server.chance.uuid());
        }
        meta_text(&object, "name").clone_into(&mut last);
        let server = call.server;
        let allocation = server
            .allocate
            .for_create(resource, &mut object, dry_run, &server.chance)?;
        prepare_new(call, resource, &mut object)?;
        access::check_create_by_update(call)?;
        access::check_signer(call, resource, &object, None)?;
        if name.is_empty() {
            last.clone_into(&mut attributes.name);
        }
        admit::validate(&attributes, &object, None, &mut call.warnings).await?;
        prune_admitted(call, resource, &mut object);
        if let Some(written) = commit_new(call, resource, object, allocation, dry_run).await? {
            return Ok(written);
        }
    }
    let about = call.resource().about();
    let mut status = if prefix.is_empty() {
        Status::already_exists(about, &last)
    } else {
        Status::generated_name_exists(about, &last)
    };
    let key = object::key(&namespace, &last);
    if let Some(record) = call.server.store.get(resource.table, &key)
        && !meta_text(
            &object::to_value(resource, &record, record.revision),
            "deletionTimestamp",
        )
        .is_empty()
    {
        status.message = format!("object is being deleted: {}", status.message);
    }
    Err(status)
}

/// What webhooks add to a custom resource beyond its schema is seen by all who look at it, and not stored.
fn prune_admitted(call: &Call<'_>, resource: &Resource, object: &mut Value) {
    if let Some(version) = resource.custom()
        && call.server.webhooks.any()
    {
        version.schema().convert(object);
    }
}

/// Fills in what the server owns and checks everything (`BeforeCreate`).
fn prepare_new(call: &mut Call<'_>, resource: &Resource, object: &mut Value) -> Result<()> {
    let now = call.server.clock.stamp();
    set_meta(object, "uid", call.server.chance.uuid());
    set_meta(object, "creationTimestamp", now.as_str());
    if let Some(generation) = resource.strategy().generation.at_create() {
        set_meta(object, "generation", generation);
    }
    resource.behaviour().prepare_create(Create { object });
    if resource.is(BuiltInId::CertificateSigningRequests) {
        let user = call.user;
        let extra: Vec<_> = user.extra.clone().into_iter().collect();
        certificates::set_requestor(object, &user.name, &user.uid, &user.groups, &extra);
    }
    stamps::stamp(&resource.group, &resource.plural, None, object, None, &now);
    resource.fill_zero(object);
    refuse_other_kinds(resource, object)?;
    let mut errors = Errors::new();
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    meta::validate_create(metadata, resource.namespaced, own_strategy(call), &mut errors);
    let (rules, served) = rules(call, object);
    rules.validate_create(served.as_ref().unwrap_or(object), &mut errors);
    if errors.is_empty() {
        meta::validate_create_generic(metadata, resource.namespaced, &mut errors);
    }
    refuse_errors(resource, object, &errors)?;
    call.warnings.extend(resource.behaviour().warnings(object, None));
    Ok(())
}

/// The strategy of the served version where that has rules of its own, else of the stored one.
fn own_strategy(call: &Call<'_>) -> &'static Strategy {
    let resource = call.resource();
    match resource.conversion().filter(|conversion| conversion.has_own_rules) {
        Some(_) => resource.strategy(),
        None => resource.stored().strategy(),
    }
}

/// Whose rules a written object must satisfy, and its form in which they read it where that is not the stored one.
fn rules<'a>(call: &Call<'a>, object: &Value) -> (&'a dyn Behaviour, Option<Value>) {
    let resource = call.resource();
    match resource.conversion().filter(|conversion| conversion.has_own_rules) {
        None => (resource.stored().behaviour(), None),
        Some(conversion) => {
            let mut served = object.clone();
            conversion.serve(&mut served);
            (resource.behaviour(), Some(served))
        }
    }
}

/// `None` when the name is taken.
async fn commit_new(
    call: &Call<'_>,
    resource: &Resource,
    mut object: Value,
    allocation: Allocation<'_>,
    dry_run: bool,
) -> Result<Option<Written>> {
    let key = object::key(meta_text(&object, "namespace"), meta_text(&object, "name"));
    let store = &call.server.store;
    // A dry run never meets the storage that checks and clears the version.
    if dry_run {
        if store.get(resource.table, &key).is_some() {
            return Ok(None);
        }
        let object = conversion::settled(call.server, resource, || object::as_stored(resource, object.clone())).await?;
        return Ok(Some(Written::Dry { object, created: true }));
    }
    if meta_text(&object, "resourceVersion")
        .parse::<u64>()
        .is_ok_and(|version| version != 0)
    {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message));
    }
    remove_meta(&mut object, "resourceVersion");
    let draft = draft(call, resource, &mut object).await?;
    match store.create(resource.table, &key, draft) {
        Ok(record) => {
            allocation.keep(store, &object, &call.server.clock, &call.server.chance);
            call.server.after_create(resource, &object);
            Ok(Some(Written::Created(record)))
        }
        Err(_) => Ok(None),
    }
}

/// Replaces the object in the path with what `make` makes of it, as often as it takes.
///
/// `make` gets the live object (in the stored version) or, when a missing object may be created, nothing.
pub(crate) async fn update(
    call: &mut Call<'_>,
    dry_run: bool,
    create_missing: bool,
    mut make: impl FnMut(&mut Call<'_>, Option<&Value>) -> Result<Value> + Send,
) -> Result<Written> {
    let resource = call.resource().stored();
    let key = call.key();
    loop {
        let Some(record) = call.server.store.get(resource.table, &key) else {
            if !create_missing {
                return Err(Status::not_found(call.resource().about(), call.target.name));
            }
            let mut object = conversion::settled(call.server, resource, || make(call, None)).await??;
            if let Some(metadata) = object::metadata_mut(&mut object) {
                meta::wipe_system_fields(metadata);
                if !dry_run {
                    metadata.remove("resourceVersion");
                }
            }
            return create(call, object, dry_run).await;
        };
        let server = call.server;
        let old = conversion::settled(server, resource, || record_value(resource, &record, record.revision)).await?;
        let new = conversion::settled(server, resource, || make(call, Some(&old))).await??;
        let noticed = call.warnings.len();
        match replace(call, resource, &key, &record, &old, new, dry_run).await? {
            Some(written) => return Ok(written),
            // Somebody else wrote meanwhile: once more on what is there now, without repeating warnings.
            None => call.warnings.truncate(noticed),
        }
    }
}

/// One attempt to replace `old` by `new`; `None` when the stored object has changed meanwhile.
async fn replace(
    call: &mut Call<'_>,
    resource: &Resource,
    key: &str,
    record: &Arc<Record>,
    old: &Value,
    mut new: Value,
    dry_run: bool,
) -> Result<Option<Written>> {
    let subresource = call.target.subresource;
    let attributes = Attributes::new(call, Operation::Update, call.target.name, dry_run);
    // Only webhooks look at a Scale.
    let scaled = call.scale.take();
    if let Some((wanted, live)) = &scaled {
        let mut wanted = wanted.clone();
        admit::mutate(&attributes, &mut wanted, Some(live), &mut call.warnings).await?;
        scale::check(resource, &wanted)?;
        scale::write_into(resource, &wanted, &mut new)?;
    } else {
        admit::mutate(&attributes, &mut new, Some(old), &mut call.warnings).await?;
    }
    access::check_escalation(call, resource, &new, Some(old))?;
    dedup_owners(&mut new, &mut call.warnings);
    check_version(call, resource, record.revision, &mut new)?;
    let server = call.server;
    let allocation = server
        .allocate
        .for_update(resource, &mut new, old, dry_run, &server.chance)?;
    let old_metadata = old.get("metadata").unwrap_or(&Value::Null);
    if let Some(metadata) = object::metadata_mut(&mut new) {
        meta::keep_generation(metadata, old_metadata);
    }
    resource.behaviour().prepare_update(Update {
        object: &mut new,
        old,
        subresource: subresource.map(Subresource::name),
    });
    if let Some(metadata) = object::metadata_mut(&mut new) {
        if subresource == Some(Subresource::Status) {
            resource.strategy().status_metadata.restore(metadata, old_metadata);
        }
        meta::keep_system_fields(metadata, old_metadata);
        metadata.remove("selfLink");
    }
    if matches!(
        subresource,
        None | Some(Subresource::Scale | Subresource::Resize | Subresource::EphemeralContainers)
    ) && resource.strategy().generation.counts_change(&new, old)
    {
        let next = resource.strategy().generation.after_update(&new, old);
        set_meta(&mut new, "generation", next);
    }
    let now = call.server.clock.stamp();
    stamps::stamp(
        &resource.group,
        &resource.plural,
        subresource.map(Subresource::name),
        &mut new,
        Some(old),
        &now,
    );
    resource.fill_zero(&mut new);
    validate_update(call, resource, &new, old)?;
    access::check_signer(call, resource, &new, Some(old))?;
    if scaled.is_some() {
        let (shown, shown_old) = (scale::of(resource, &new)?, scale::of(resource, old)?);
        admit::validate(&attributes, &shown, Some(&shown_old), &mut call.warnings).await?;
    } else {
        admit::validate(&attributes, &new, Some(old), &mut call.warnings).await?;
    }
    prune_admitted(call, resource, &mut new);
    if dry_run {
        let object = conversion::settled(server, resource, || object::as_stored(resource, new.clone())).await?;
        return Ok(Some(Written::Dry { object, created: false }));
    }
    let ends =
        !meta_text(old, "deletionTimestamp").is_empty() && crate::verbs::delete::is_finished(resource, &new, old);
    if ends {
        return match call.server.store.delete(resource.table, key, record.revision) {
            Ok(_) => {
                allocation.keep(&server.store, &new, &server.clock, &server.chance);
                server.after_delete(resource, &new);
                Ok(Some(Written::Deleted(new)))
            }
            Err(_) => Ok(None),
        };
    }
    kubewright_merge::keep_times_of_a_no_op(old, &mut new);
    if new == *old {
        return Ok(Some(Written::Updated(Arc::clone(record))));
    }
    let draft = draft(call, resource, &mut new).await?;
    // What storage does not tell apart is no change either.
    if draft.body == record.body {
        return Ok(Some(Written::Updated(Arc::clone(record))));
    }
    match call.server.store.update(resource.table, key, record.revision, draft) {
        Ok(written) => {
            allocation.keep(&server.store, &new, &server.clock, &server.chance);
            server.after_update(resource, &new);
            Ok(Some(Written::Updated(written)))
        }
        Err(CommitError::Gone | CommitError::Changed(_) | CommitError::Exists(_)) => Ok(None),
    }
}

fn validate_update(call: &mut Call<'_>, resource: &Resource, new: &Value, old: &Value) -> Result<()> {
    let subresource = call.target.subresource.map(Subresource::name);
    refuse_other_kinds(resource, new)?;
    let mut errors = Errors::new();
    let (metadata, before) = (&new["metadata"], &old["metadata"]);
    meta::validate_update(
        metadata,
        before,
        resource.namespaced,
        own_strategy(call),
        subresource,
        &mut errors,
    );
    let ((rules, served), (_, before)) = (rules(call, new), rules(call, old));
    let (checked, before) = (served.as_ref().unwrap_or(new), before.as_ref().unwrap_or(old));
    let mut tolerated = Vec::new();
    match resource.custom() {
        Some(version) => tolerated = version.validate_change(checked, before, subresource, &mut errors),
        None => rules.validate_update(checked, before, subresource, &mut errors),
    }
    // What is tolerated is told with a refusal too.
    call.warnings.extend(tolerated);
    refuse_errors(resource, new, &errors)?;
    call.warnings.extend(match call.target.subresource {
        Some(Subresource::Status) => resource.behaviour().status_warnings(new),
        _ => resource.behaviour().warnings(new, Some(old)),
    });
    Ok(())
}

/// A resourceVersion in the request makes the write conditional (M9, E5, W6).
fn check_version(call: &Call<'_>, resource: &Resource, stored: Revision, new: &mut Value) -> Result<()> {
    let wanted = meta_text(new, "resourceVersion").to_owned();
    let current = stored.to_string();
    if wanted.is_empty() || wanted == "0" {
        if !resource.strategy().unconditional_update {
            let path = PathRef::root("metadata");
            let error = FieldError::invalid(
                &path.child("resourceVersion"),
                wanted_zero(),
                "must be specified for an update",
            );
            return Err(Status::invalid(
                &resource.group,
                &resource.plural,
                call.target.name,
                &vec![error],
            ));
        }
        set_meta(new, "resourceVersion", current);
        return Ok(());
    }
    if let Err(error) = wanted.parse::<u64>() {
        let why = if *error.kind() == std::num::IntErrorKind::PosOverflow {
            "value out of range"
        } else {
            "invalid syntax"
        };
        let message = format!("strconv.ParseUint: parsing {}: {why}", kubewright_codec::quote(&wanted));
        return Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message));
    }
    if wanted != current {
        return Err(Status::conflict(call.resource().about(), call.target.name, MODIFIED));
    }
    Ok(())
}

/// Upstream shows the missing version as the number it parsed.
fn wanted_zero() -> Value {
    Value::from(0)
}

/// A custom resource that says it is of another kind is refused under that name.
fn refuse_other_kinds(resource: &Resource, object: &Value) -> Result<()> {
    let errors = resource
        .custom()
        .map(|version| version.check_type(object))
        .unwrap_or_default();
    if errors.is_empty() {
        return Ok(());
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    Err(Status::invalid(group, text("kind"), meta_text(object, "name"), &errors))
}

fn refuse_errors(resource: &Resource, object: &Value, errors: &Errors) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        &resource.group,
        &resource.kind,
        meta_text(object, "name"),
        errors,
    ))
}

/// What storage gets. An object that only its owners' records make too large loses those (M13); an applied one, whose
/// meaning they are, is refused.
async fn draft(call: &Call<'_>, resource: &Resource, object: &mut Value) -> Result<Draft> {
    let draft = conversion::settled(call.server, resource, || object::to_draft(resource, object)).await?;
    if draft.body.len() <= MAX_OBJECT_BYTES {
        return Ok(draft);
    }
    if !call
        .header(http::header::CONTENT_TYPE)
        .starts_with("application/apply-patch")
    {
        remove_meta(object, "managedFields");
        let draft = conversion::settled(call.server, resource, || object::to_draft(resource, object)).await?;
        if draft.body.len() <= MAX_OBJECT_BYTES {
            return Ok(draft);
        }
    }
    let message = "etcdserver: request is too large";
    Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message))
}

fn generate_name(call: &Call<'_>, base: &str) -> String {
    const LONGEST_BASE: usize = 58;
    let mut end = base.len().min(LONGEST_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{}", &base[..end], call.server.chance.name_suffix())
}

/// Owners given twice count once, with a warning (M13).
pub(crate) fn dedup_owners(object: &mut Value, warnings: &mut Vec<String>) {
    let Some(Value::Array(owners)) = object.pointer_mut("/metadata/ownerReferences") else {
        return;
    };
    let mut seen: HashSet<String> = HashSet::with_capacity(owners.len());
    let mut duplicates = Vec::new();
    owners.retain(|owner| {
        let first = seen.insert(owner.to_string());
        if !first {
            duplicates.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        }
        first
    });
    if !duplicates.is_empty() {
        warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and \
             may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            duplicates.join(", ")
        ));
    }
}

/// The generation a deletion gives (M7).
pub(crate) fn bump_generation(object: &mut Value) {
    if let Some(generation) = meta_number(object, "generation").filter(|generation| *generation > 0) {
        set_meta(object, "generation", generation.wrapping_add(1));
    }
}
