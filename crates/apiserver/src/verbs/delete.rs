//! `delete`: at once, gracefully, or when the finalizers are gone (D1–D5).

use http::StatusCode;
use jiff::Timestamp;
use kubewright_kinds::pod::deletion;
use kubewright_kinds::strategy::Propagation as DefaultPropagation;
use kubewright_store::{CommitError, Record, RecordDraft};
use kubewright_structural::crd;
use kubewright_system::clock;
use serde_json::{Value, json};

use crate::admit::{self, Attributes, Operation};
use crate::custom::conversion::with_conversions;
use crate::object::{self, finalizers, meta_number, meta_text, set_meta};
use crate::registry::{BuiltInId, Resource, Subresource};
use crate::request::call::{Call, record_value};
use crate::request::delete_options::{DeleteOptions, Propagation};
use crate::server::Server;
use crate::wire::respond::{Reply, text_of};
use crate::wire::status::{GroupResource, Result, Status};
use crate::write::bump_generation;
use crate::write::effects::is_definition;

pub(crate) async fn delete(call: &mut Call<'_>) -> Result<Reply> {
    let options = DeleteOptions::parse(call)?;
    warn_of_orphans(call, &options);
    let (namespace, name) = (call.target.namespace, call.target.name);
    let outcome = delete_one(call, namespace, name, &options).await?;
    let code = if !outcome.gone && options.orphan_dependents == Some(false) {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    Ok(Reply::new(code, text_of(&outcome.answer(call.resource()))))
}

/// Warns a client that deletes Jobs without a propagation policy: their Pods stay.
pub(crate) fn warn_of_orphans(call: &mut Call<'_>, options: &DeleteOptions) {
    let resource = call.resource();
    if resource.is(BuiltInId::Jobs) && options.propagation.is_none() && options.orphan_dependents.is_none() {
        call.warnings.push(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
             them or set propagationPolicy=Orphan to suppress this warning"
                .into(),
        );
    }
}

/// What a deletion came to.
pub(crate) struct Deletion {
    /// The object: its last state, or what waits for its finalizers.
    pub(crate) object: Value,
    /// Whether it is gone, or was only marked.
    pub(crate) gone: bool,
}

impl Deletion {
    /// The object itself for the kinds that answer so, a Status for the others (D3). What only waits is always shown.
    fn answer(&self, resource: &Resource) -> Value {
        if !self.gone || resource.strategy().returns_deleted {
            let mut object = self.object.clone();
            resource.to_served(&mut object);
            return object;
        }
        let mut details = json!({
            "name": meta_text(&self.object, "name"),
            "kind": &*resource.plural,
            "uid": meta_text(&self.object, "uid"),
        });
        if !resource.group.is_empty() {
            details["group"] = (*resource.group).into();
        }
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
    }
}

/// Deletes one object of the path's resource, as often as it takes to win against other writers.
pub(crate) async fn delete_one(
    call: &mut Call<'_>,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
) -> Result<Deletion> {
    let resource = call.resource().stored();
    let key = object::key(namespace, name);
    // An eviction is admitted as what it is, and the objects of a collection without their names.
    let is_eviction = call.target.subresource == Some(Subresource::Eviction);
    let attributes = Attributes::new(call, Operation::Delete, call.target.name, options.dry_run);
    let attributes = attributes.with_deletion(options);
    loop {
        let record = call
            .server
            .store
            .get(resource.table, &key)
            .ok_or_else(|| Status::not_found(call.resource().about(), name))?;
        let server = call.server;
        let live = with_conversions(server, resource, |cache| {
            record_value(resource, &record, record.revision, cache)
        });
        let live = live.await?;
        check_preconditions(resource, &live, options)?;
        let plan = plan(server, resource, &live, options);
        let asks = !is_eviction && !matches!(plan, Plan::Pending);
        if asks {
            admit(call, &attributes, &live, options, &plan).await?;
        }
        let (marked, remove) = match plan {
            Plan::Pending => {
                return Ok(Deletion {
                    object: live,
                    gone: false,
                });
            }
            Plan::Remove => (None, true),
            Plan::Mark(marked) => (Some(marked), false),
            Plan::MarkAndRemove(marked) => (Some(marked), true),
        };
        if options.dry_run {
            return Ok(Deletion {
                object: marked.unwrap_or(live),
                gone: remove,
            });
        }
        if let Some(mirror) = server.mirror_of(resource) {
            match marked.filter(|marked| !remove && *marked != live && mirror.keeps_marks()) {
                Some(marked) => {
                    if let Some(written) = mirror.update(server, resource, &record, &marked).await? {
                        let mut object = marked;
                        set_meta(&mut object, "resourceVersion", written.revision.to_string());
                        return Ok(Deletion { object, gone: false });
                    }
                }
                None => {
                    if mirror.delete(server, resource, &record).await? {
                        return Ok(Deletion {
                            object: live,
                            gone: true,
                        });
                    }
                }
            }
            // The row has changed meanwhile, and the table with it.
            continue;
        }
        let marked = match marked.filter(|marked| *marked != live) {
            Some(marked) => {
                let draft = with_conversions(server, resource, |cache| object::to_draft(resource, &marked, cache));
                let draft = draft.await?;
                Some((marked, draft))
            }
            None => None,
        };
        // Admission webhooks are asked about the mark and, once that is stored, about the removal.
        let in_steps = asks && remove && marked.is_some() && server.has_dynamic_admission();
        let Some(outcome) = commit(server, resource, &record, live, marked, remove && !in_steps) else {
            continue;
        };
        if !in_steps {
            return Ok(outcome);
        }
        admit(call, &attributes, &outcome.object, options, &Plan::Remove).await?;
        let marked = server.store.get(resource.table, &key);
        let Some(marked) = marked.filter(|marked| meta_text(&outcome.object, "uid") == &*marked.uid) else {
            return Ok(Deletion { gone: true, ..outcome });
        };
        if let Some(outcome) = commit(server, resource, &marked, outcome.object, None, true) {
            return Ok(outcome);
        }
    }
}

/// Asks admission plugins and webhooks about the deletion of an object.
async fn admit(
    call: &mut Call<'_>,
    attributes: &Attributes<'_>,
    live: &Value,
    options: &DeleteOptions,
    plan: &Plan,
) -> Result<()> {
    let mut options = options.clone();
    if call.resource().is(BuiltInId::Namespaces) && options.uid.is_none() {
        options.uid = Some(meta_text(live, "uid").to_owned());
    }
    if call.resource().strategy().graceful_deletion {
        let state = match plan {
            Plan::Mark(marked) | Plan::MarkAndRemove(marked) => marked,
            Plan::Pending | Plan::Remove => live,
        };
        let period = meta_number(state, "deletionGracePeriodSeconds");
        options.grace_period_seconds = period.or(options.grace_period_seconds);
    }
    let attributes = attributes.with_deletion(&options);
    admit::mutate(&attributes, &mut Value::Null, Some(live), &mut call.warnings).await?;
    admit::validate(&attributes, &Value::Null, Some(live), &mut call.warnings).await
}

/// Deletes an object for the server's own reasons, as often as it takes.
pub(crate) fn delete_for_the_server(server: &Server, resource: &Resource, key: &str, options: &DeleteOptions) {
    while let Some(record) = server.store.get(resource.table, key) {
        // Only metadata is looked at and changed: the object stays in the version it was stored in.
        let live = object::to_value(resource, &record, record.revision);
        let (marked, remove) = match plan(server, resource, &live, options) {
            Plan::Pending => break,
            Plan::Remove => (None, true),
            Plan::Mark(marked) => (Some(marked), false),
            Plan::MarkAndRemove(marked) => (Some(marked), true),
        };
        let marked = marked.filter(|marked| *marked != live).map(|marked| {
            let draft = object::redraft(resource, &record, &marked);
            (marked, draft)
        });
        if commit(server, resource, &record, live, marked, remove).is_some() {
            break;
        }
    }
}

/// What to do with an object that is to be deleted.
enum Plan {
    /// It is being deleted already, and this request changes nothing.
    Pending,
    /// Mark it, and let its finalizers or its grace period run.
    Mark(Value),
    /// Mark it and remove it: a grace period of zero.
    MarkAndRemove(Value),
    Remove,
}

fn plan(server: &Server, resource: &Resource, live: &Value, options: &DeleteOptions) -> Plan {
    let now = server.clock.now();
    if resource.is(BuiltInId::Namespaces) {
        return plan_namespace(live, now, options);
    }
    if is_definition(resource) && meta_text(live, "deletionTimestamp").is_empty() {
        let mut marked = live.clone();
        crd::prepare_delete(&mut marked, &clock::stamp(now));
        return Plan::Mark(marked);
    }
    let mut marked = live.clone();
    let grace = if resource.strategy().graceful_deletion {
        match graceful(&mut marked, now, options) {
            Grace::Pending => return Plan::Pending,
            Grace::Seconds(seconds) => Some(seconds),
            Grace::None => None,
        }
    } else {
        None
    };
    let wanted = wanted_finalizers(resource, live, options);
    if wanted.iter().map(String::as_str).ne(finalizers(live)) {
        set_finalizers(&mut marked, &wanted);
    }
    match grace {
        Some(seconds) if seconds > 0 || !wanted.is_empty() => Plan::Mark(marked),
        Some(_) => Plan::MarkAndRemove(marked),
        None if wanted.is_empty() => Plan::Remove,
        None => {
            mark(&mut marked, now);
            Plan::Mark(marked)
        }
    }
}

/// A Namespace is marked first and removed only when its finalizers in spec and metadata are gone (D8).
fn plan_namespace(live: &Value, now: Timestamp, options: &DeleteOptions) -> Plan {
    let content = live
        .pointer("/spec/finalizers")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    if meta_text(live, "deletionTimestamp").is_empty() {
        let mut marked = live.clone();
        set_meta(&mut marked, "deletionTimestamp", clock::stamp(now));
        marked["status"]["phase"] = "Terminating".into();
        let mut wanted: Vec<String> = finalizers(live).into_iter().map(str::to_owned).collect();
        match options.propagation {
            Some(Propagation::Orphan) if !wanted.iter().any(|f| f == "orphan") => wanted.push("orphan".into()),
            Some(Propagation::Foreground) if !wanted.iter().any(|f| f == "foregroundDeletion") => {
                wanted.push("foregroundDeletion".into());
            }
            _ => {}
        }
        if wanted.len() != finalizers(live).len() {
            set_finalizers(&mut marked, &wanted);
        }
        return if content || !wanted.is_empty() {
            Plan::Mark(marked)
        } else {
            Plan::Remove
        };
    }
    if content || !finalizers(live).is_empty() {
        Plan::Pending
    } else {
        Plan::Remove
    }
}

enum Grace {
    None,
    Pending,
    Seconds(i64),
}

/// Gives a pod its grace period, or shortens the one it has (D4).
fn graceful(pod: &mut Value, now: Timestamp, options: &DeleteOptions) -> Grace {
    let requested = options
        .grace_period_seconds
        .map(|seconds| if seconds < 0 { 1 } else { seconds });
    if !meta_text(pod, "deletionTimestamp").is_empty() {
        let running = match meta_number(pod, "deletionGracePeriodSeconds") {
            None | Some(0) => return Grace::None,
            Some(seconds) if seconds < 0 => 1,
            Some(seconds) => seconds,
        };
        let Some(mut period) = requested.filter(|period| *period < running) else {
            return Grace::Pending;
        };
        let until: Timestamp = meta_text(pod, "deletionTimestamp").parse().unwrap_or(now);
        let mut until = until
            .saturating_add(jiff::SignedDuration::from_secs(period - running))
            .unwrap_or(until);
        if until < now {
            until = now;
            period = period.min(1);
        }
        set_meta(pod, "deletionTimestamp", clock::stamp(until));
        set_meta(pod, "deletionGracePeriodSeconds", period);
        return Grace::Seconds(period);
    }
    let period = deletion::grace_period(pod, requested);
    let until = now
        .saturating_add(jiff::SignedDuration::from_secs(period))
        .unwrap_or(now);
    set_meta(pod, "deletionTimestamp", clock::stamp(until));
    set_meta(pod, "deletionGracePeriodSeconds", period);
    bump_generation(pod);
    Grace::Seconds(period)
}

/// The finalizers that the garbage collector is to see (D2): an explicit wish beats the object's, which beats the
/// kind's default.
fn wanted_finalizers(resource: &Resource, live: &Value, options: &DeleteOptions) -> Vec<String> {
    let had = finalizers(live);
    if resource.strategy().default_propagation == DefaultPropagation::Unsupported {
        return had.into_iter().map(str::to_owned).collect();
    }
    let has = |name: &str| had.contains(&name);
    let (orphan, foreground) = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => (orphan, false),
        (None, Some(Propagation::Orphan)) => (true, false),
        (None, Some(Propagation::Foreground)) => (false, true),
        (None, Some(Propagation::Background)) => (false, false),
        (None, None) if has("orphan") || has("foregroundDeletion") => (has("orphan"), has("foregroundDeletion")),
        (None, None) => (
            resource.strategy().default_propagation == DefaultPropagation::Orphan,
            false,
        ),
    };
    let mut wanted: Vec<String> = had
        .iter()
        .filter(|name| !matches!(**name, "orphan" | "foregroundDeletion"))
        .map(|f| (*f).to_owned())
        .collect();
    if orphan {
        wanted.push("orphan".into());
    }
    if foreground {
        wanted.push("foregroundDeletion".into());
    }
    // The same finalizers in another order, or more often, are the same finalizers.
    if wanted.iter().all(|name| has(name)) && had.iter().all(|name| wanted.iter().any(|wanted| wanted == name)) {
        return had.into_iter().map(str::to_owned).collect();
    }
    wanted
}

fn set_finalizers(object: &mut Value, wanted: &[String]) {
    if wanted.is_empty() {
        object::remove_meta(object, "finalizers");
    } else {
        set_meta(object, "finalizers", Value::from(wanted.to_vec()));
    }
}

/// Marks an object that waits for its finalizers (D5).
fn mark(object: &mut Value, now: Timestamp) {
    let until: Option<Timestamp> = meta_text(object, "deletionTimestamp").parse().ok();
    if until.is_none() {
        bump_generation(object);
    }
    if until.is_none_or(|until| until > now) {
        set_meta(object, "deletionTimestamp", clock::stamp(now));
    }
    set_meta(object, "deletionGracePeriodSeconds", 0);
}

/// Writes the marked object, if there is one, and removes it, if that is the plan. `None` when the object was changed meanwhile.
fn commit(
    server: &Server,
    resource: &Resource,
    record: &Record,
    live: Value,
    marked: Option<(Value, RecordDraft)>,
    remove: bool,
) -> Option<Deletion> {
    let (store, key) = (&server.store, &record.key);
    let mut revision = record.revision;
    let mut object = live;
    if let Some((marked, draft)) = marked {
        revision = store.update(resource.table, key, revision, draft).ok()?.revision;
        object = marked;
        set_meta(&mut object, "resourceVersion", revision.to_string());
        if !remove {
            server.after_update(resource, &object);
        }
    }
    if !remove {
        return Some(Deletion { object, gone: false });
    }
    match store.delete(resource.table, key, revision) {
        Ok(deleted) => {
            server.after_delete(resource, &object);
            set_meta(&mut object, "resourceVersion", deleted.revision.to_string());
            Some(Deletion { object, gone: true })
        }
        Err(CommitError::Gone | CommitError::Changed(_) | CommitError::Exists(_)) => None,
    }
}

pub(crate) fn check_preconditions(resource: &Resource, live: &Value, options: &DeleteOptions) -> Result<()> {
    // Upstream names the kind here where other conflicts name the resource.
    let about = GroupResource {
        group: &resource.group,
        resource: &resource.kind,
    };
    let name = meta_text(live, "name");
    let (uid, version) = (meta_text(live, "uid"), meta_text(live, "resourceVersion"));
    if resource.is(BuiltInId::Namespaces) {
        return check_namespace_preconditions(resource, name, (uid, version), options);
    }
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict(about, name, &why));
    }
    if let Some(wanted) = options.resource_version.as_deref().filter(|wanted| *wanted != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        );
        return Err(Status::conflict(about, name, &why));
    }
    Ok(())
}

/// A Namespace is checked by a storage of its own, with words of its own.
fn check_namespace_preconditions(
    resource: &Resource,
    name: &str,
    (uid, version): (&str, &str),
    options: &DeleteOptions,
) -> Result<()> {
    let fields = [
        ("UID", &options.uid, uid),
        ("ResourceVersion", &options.resource_version, version),
    ];
    for (field, wanted, found) in fields {
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
            let why =
                format!("Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}");
            return Err(Status::conflict(resource.about(), name, &why));
        }
    }
    Ok(())
}
