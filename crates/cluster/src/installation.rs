//! The objects that `kubewright run` applies to a cluster, applies again when they change, and deletes in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;

use serde_json::Value;

use crate::bundle::Bundle;
use crate::definitions::labelled;
use crate::delete::DeletionTarget;
use crate::delete::wait_for_deletions;
use crate::inventory::{is_member, keep_membership};
use crate::local_extension::LocalExtension;
use crate::progress::Progress;
use crate::{ApplyOutcome, Cluster, Reference};

/// The annotation of what is there for a run alone: webhook configurations, whose calls would fail without the run, how the
/// cluster reaches an aggregated API on this machine, and policies, which are not yet what others agreed to.
const MADE_FOR_RUN: &str = "kubewright.dev/made-for-run";

/// How long a definition that is being deleted may take to go.
const GONE_WITHIN: Duration = Duration::from_mins(1);

/// What a run has applied to the cluster.
#[derive(Default)]
pub struct Installation {
    /// What was applied, as it was rendered.
    applied: BTreeMap<Reference, Value>,
    /// What may have been created for the run, and is deleted when it ends. Noted before it is created, because the response may be
    /// lost.
    made: BTreeSet<Reference>,
}

/// Which objects of an installation a run applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Whether the API server is ours and gets everything, the operator's rights included.
    pub is_embedded: bool,
    /// Whether the operator serves its webhooks.
    pub has_webhooks: bool,
    /// Where its aggregated API is served, if it is.
    pub extension: Option<&'a LocalExtension>,
}

/// What applying an installation changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct InstallationChanges {
    /// One line for each object that changed.
    pub lines: Vec<String>,
    /// How many objects are as they were.
    pub unchanged: usize,
}

impl InstallationChanges {
    /// How much changed.
    pub fn summary(&self) -> String {
        match (self.lines.len(), self.unchanged) {
            (changed, 0) => crate::objects_text(changed as u64),
            (0, unchanged) => format!("{} as before", crate::objects_text(unchanged as u64)),
            (changed, unchanged) => format!("{changed} changed, {unchanged} as before"),
        }
    }
}

impl Scope<'_> {
    /// The objects of an installation that belong to a run. The manager itself runs here.
    fn objects(self, project: &str, bundle: &Bundle) -> BTreeMap<Reference, Value> {
        let definitions = bundle
            .definitions
            .iter()
            .map(|definition| labelled(definition, project));
        let others = bundle.objects.iter().cloned();
        let named = definitions
            .chain(others)
            .filter_map(|object| Some((Reference::of(&object)?, object)));
        let mut objects: BTreeMap<Reference, Value> = named.filter(|(reference, _)| self.has(reference)).collect();
        if let Some(extension) = self.extension {
            let api_services = objects.iter_mut().filter(|(reference, _)| reference.is_api_service());
            api_services.for_each(|(_, object)| extension.redirect(object));
            let service = extension
                .object()
                .and_then(|object| Some((Reference::of(&object)?, object)));
            objects.extend(service);
        }
        objects
    }

    fn has(self, reference: &Reference) -> bool {
        if reference.is_webhooks() {
            return self.has_webhooks;
        }
        if reference.is_api_service() {
            return self.extension.is_some();
        }
        reference.is_definition() || reference.is_policy() || self.is_embedded && !reference.is("apps", "Deployment")
    }
}

impl Installation {
    /// Whether nothing was applied yet.
    pub fn is_empty(&self) -> bool {
        self.applied.is_empty()
    }

    /// Whether this installation is the one that was applied last.
    pub fn is_same(&self, project: &str, bundle: &Bundle, scope: Scope<'_>) -> bool {
        self.applied == scope.objects(project, bundle)
    }

    /// Applies the objects that are new or were rendered differently the last time, and deletes those that are no longer rendered.
    pub async fn apply(
        &mut self,
        cluster: &Cluster,
        project: &str,
        bundle: &Bundle,
        scope: Scope<'_>,
        progress: &Progress,
    ) -> Result<InstallationChanges, Box<dyn Error>> {
        let wanted = scope.objects(project, bundle);
        let mut changes = InstallationChanges::default();
        let differing = wanted
            .iter()
            .filter(|(reference, object)| self.applied.get(reference) != Some(object));
        let mut objects = Vec::new();
        for (reference, object) in differing {
            match self.prepared(cluster, reference, object, scope).await {
                Ok(Some(object)) => objects.push(object),
                Ok(None) => progress.note(format!(
                    "{reference} stays as it is, and so does who answers for it: it was there before this run"
                )),
                // Kinds of other operators are not served here.
                Err(crate::Error::NoKind { .. }) if scope.is_embedded => {
                    progress.note(format!(
                        "{reference} is left out: the embedded API server has no such kind"
                    ));
                }
                Err(error) => return Err(format!("{reference}: {error}").into()),
            }
        }
        let going = cluster.being_deleted(&objects).await?;
        wait_for_deletions(cluster, &going, GONE_WITHIN, progress).await?;
        let made = objects.iter().filter(|object| is_made_for_run(object));
        self.made.extend(made.filter_map(Reference::of));
        let report = cluster.apply_all(&in_order(objects, bundle), false, |_| {}).await?;
        for applied in report.whole()? {
            match applied.outcome {
                ApplyOutcome::Created => changes.lines.push(format!("{} created", applied.reference)),
                ApplyOutcome::Configured => changes.lines.push(format!("{} configured", applied.reference)),
                ApplyOutcome::Unchanged | ApplyOutcome::Untried => changes.unchanged += 1,
            }
        }
        for reference in self.applied.keys().filter(|reference| !wanted.contains_key(reference)) {
            changes.lines.push(delete_unrendered(cluster, reference, scope).await?);
        }
        self.applied = wanted;
        Ok(changes)
    }

    /// The object as it is sent; `None` if it is somebody else's and not this run's to change. In a cluster that others use, what is
    /// only there for a run goes with it, and webhook configurations among that hold nobody up.
    async fn prepared(
        &self,
        cluster: &Cluster,
        reference: &Reference,
        object: &Value,
        scope: Scope<'_>,
    ) -> Result<Option<Value>, crate::Error> {
        cluster.kind(reference).await?;
        let mut object = object.clone();
        if scope.is_embedded {
            return Ok(Some(object));
        }
        let live = cluster.get(reference).await?;
        if let Some(live) = &live {
            keep_membership(live, &mut object);
        }
        let leads_here = !reference.is_webhooks() && !reference.is_definition() && !reference.is_policy();
        let is_ours = !reference.is_definition() && live.is_none_or(|live| is_made_for_run(&live));
        if leads_here && !is_ours {
            return Ok(None);
        }
        if is_ours && let Some(metadata) = object["metadata"].as_object_mut() {
            let annotations = metadata
                .entry("annotations")
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
            annotations[MADE_FOR_RUN] = "true".into();
            let webhooks = object
                .get_mut("webhooks")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten();
            for webhook in webhooks.filter_map(Value::as_object_mut) {
                webhook.insert("failurePolicy".to_owned(), "Ignore".into());
            }
        }
        Ok(Some(object))
    }

    /// Deletes what was created for the run alone.
    pub async fn clean_up(&self, cluster: &Cluster, progress: &Progress) {
        // By group, and the core's comes last: an APIService goes before the Service that it names.
        for reference in &self.made {
            match delete_made(cluster, reference).await {
                Ok(true) => progress.note(format!("{reference} deleted: it was there for this run")),
                Ok(false) => {}
                Err(error) => progress.warn(format!("{reference} stays: {error}")),
            }
        }
    }

    /// What [`clean_up`](Self::clean_up) deletes.
    pub fn made(&self) -> impl Iterator<Item = &Reference> {
        self.made.iter()
    }
}

fn is_made_for_run(object: &Value) -> bool {
    object["metadata"]["annotations"].get(MADE_FOR_RUN).is_some()
}

/// Deletes what was made for a run, unless a deploy has taken it over since; whether it was there.
async fn delete_made(cluster: &Cluster, reference: &Reference) -> Result<bool, crate::Error> {
    let live = cluster.get(reference).await?.filter(is_made_for_run);
    match live.as_ref().and_then(DeletionTarget::of) {
        Some(target) => cluster.delete(&target, false).await,
        None => Ok(false),
    }
}

/// In the order in which they are rendered, which is the one a cluster takes them in.
fn in_order(objects: Vec<Value>, bundle: &Bundle) -> Vec<Value> {
    let order: BTreeMap<Reference, usize> = bundle
        .all()
        .filter_map(Reference::of)
        .enumerate()
        .map(|(at, reference)| (reference, at))
        .collect();
    let mut objects = objects;
    objects.sort_by_key(|object| Reference::of(object).and_then(|reference| order.get(&reference).copied()));
    objects
}

/// Deletes what is no longer rendered. Definitions stay, since users' objects would go with them, and so does what was deployed:
/// the manager in the cluster still answers it.
async fn delete_unrendered(cluster: &Cluster, reference: &Reference, scope: Scope<'_>) -> Result<String, crate::Error> {
    if reference.is_definition() || reference.is_namespace() {
        return Ok(format!("{reference} is no longer rendered and stays"));
    }
    let live = cluster.get(reference).await?;
    if !scope.is_embedded && live.as_ref().is_some_and(is_member) {
        return Ok(format!(
            "{reference} is no longer rendered and stays until the next deploy"
        ));
    }
    if let Some(target) = live.as_ref().and_then(DeletionTarget::of) {
        cluster.delete(&target, false).await?;
    }
    Ok(format!("{reference} deleted"))
}
