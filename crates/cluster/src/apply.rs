//! Applying objects in order: namespaces, then definitions until they are established, then everything else.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::definitions::wait_until_established;
use super::delete::DeletionTarget;
use super::error::status;
use super::{Cluster, Error, Reference, prepare};

/// A cluster may need that long to tell of a kind that was just defined.
const DISCOVERED_WITHIN: Duration = Duration::from_secs(15);
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// It was not there.
    Created,
    /// It was there and changed.
    Configured,
    /// It was there as it is applied.
    Unchanged,
    /// It cannot be tried before what it needs is really there.
    Untried,
}

/// An object that was applied.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Which object.
    pub reference: Reference,
    /// What became of it.
    pub outcome: ApplyOutcome,
    /// What was there before.
    pub before: Option<Value>,
    /// As the server has it now.
    pub object: Value,
}

/// What became of all of them.
#[derive(Debug, Default)]
pub struct Report {
    /// The objects that the cluster took.
    pub applied: Vec<Applied>,
    /// The objects that it refused, and why.
    pub refused: Vec<(Reference, Error)>,
}

/// Some objects were refused.
#[derive(Debug, thiserror::Error)]
#[error("{}", refusals(.0))]
pub struct Refused(Vec<(Reference, Error)>);

fn refusals(refused: &[(Reference, Error)]) -> String {
    let lines: Vec<String> = refused
        .iter()
        .map(|(reference, error)| format!("{reference}: {error}"))
        .collect();
    match lines.as_slice() {
        [line] => line.clone(),
        lines => format!("{} objects were refused\n  {}", lines.len(), lines.join("\n  ")),
    }
}

impl Report {
    /// What was applied, if nothing was refused.
    pub fn whole(self) -> Result<Vec<Applied>, Refused> {
        if self.refused.is_empty() {
            Ok(self.applied)
        } else {
            Err(Refused(self.refused))
        }
    }
}

impl Cluster {
    /// The namespaces and definitions among objects that are in the cluster but about to go.
    pub async fn being_deleted(&self, objects: &[Value]) -> Result<Vec<DeletionTarget>, Error> {
        let mut going = Vec::new();
        let lasting = objects.iter().filter_map(Reference::of);
        for reference in lasting.filter(|reference| reference.is_definition() || reference.is_namespace()) {
            let live = self.get(&reference).await?.filter(is_going);
            going.extend(live.as_ref().and_then(DeletionTarget::of));
        }
        Ok(going)
    }

    /// Applies objects and tells of each. What is refused is named; the rest is applied all the same, unless it is a namespace
    /// or a definition that others need.
    pub async fn apply_all(
        &self,
        objects: &[Value],
        dry_run: bool,
        mut told: impl FnMut(&Applied),
    ) -> Result<Report, Error> {
        let mut waves: [Vec<(Reference, &Value)>; 3] = Default::default();
        for (at, object) in objects.iter().enumerate() {
            let reference = Reference::of(object).ok_or(Error::Nameless(at + 1))?;
            let wave = if reference.is_namespace() {
                0
            } else if reference.is_definition() {
                1
            } else {
                2
            };
            waves[wave].push((reference, object));
        }
        let mut report = Report::default();
        for (wave, objects) in waves.into_iter().enumerate() {
            for (reference, object) in objects {
                match self.apply_one(&reference, object, dry_run, &report).await {
                    Ok(applied) => {
                        told(&applied);
                        report.applied.push(applied);
                    }
                    Err(error) => report.refused.push((reference, error)),
                }
            }
            if wave == 1 && !dry_run {
                let definitions = report
                    .applied
                    .iter()
                    .filter(|applied| applied.reference.is_definition());
                for definition in definitions {
                    if let Err(error) = wait_until_established(self, &definition.reference).await {
                        report.refused.push((definition.reference.clone(), error));
                    }
                }
            }
            if wave < 2 && !report.refused.is_empty() {
                return Ok(report);
            }
        }
        Ok(report)
    }

    /// Applies one object, after others.
    async fn apply_one(
        &self,
        reference: &Reference,
        object: &Value,
        dry_run: bool,
        earlier: &Report,
    ) -> Result<Applied, Error> {
        if dry_run && earlier.will_make_room_for(reference) {
            return Ok(Applied {
                reference: reference.clone(),
                outcome: ApplyOutcome::Untried,
                before: None,
                object: object.clone(),
            });
        }
        self.wait_for_kind(reference, earlier).await?;
        let mut tries = 0;
        loop {
            tries += 1;
            let before = self.get(reference).await?;
            match self.apply_over(reference, object, before.as_ref(), dry_run).await {
                Ok(after) if reference.is_definition() && !dry_run && is_going(&after) => {
                    return Err(Error::BeingDeleted);
                }
                Ok(after) => {
                    return Ok(Applied {
                        reference: reference.clone(),
                        outcome: outcome(before.as_ref(), &after),
                        before,
                        object: after,
                    });
                }
                Err(error) if tries < TRIES && is_passing(&error) => sleep(PAUSE * tries as u32).await,
                Err(error) => return Err(error),
            }
        }
    }

    async fn apply_over(
        &self,
        reference: &Reference,
        object: &Value,
        before: Option<&Value>,
        dry_run: bool,
    ) -> Result<Value, Error> {
        if let Some(patch) = before.and_then(|before| prepare::patch(reference, before, object)) {
            if dry_run {
                // Both steps together cannot be tried.
                return Ok(object.clone());
            }
            self.patch(reference, &patch).await?;
        }
        self.apply(reference, object, dry_run).await
    }

    /// A kind that was defined a moment ago may not be known everywhere yet.
    async fn wait_for_kind(&self, reference: &Reference, earlier: &Report) -> Result<(), Error> {
        let (group, _) = reference.group_version();
        let is_new = earlier
            .applied
            .iter()
            .any(|applied| applied.reference.is_definition() && applied.object["spec"]["group"] == group);
        let deadline = Instant::now() + DISCOVERED_WITHIN;
        loop {
            match self.kind(reference).await {
                Err(Error::NoKind { .. }) if is_new && Instant::now() < deadline => sleep(PAUSE).await,
                done => return done.map(drop),
            }
        }
    }
}

impl Report {
    /// Whether an object can only be tried once what was tried before it is really there.
    fn will_make_room_for(&self, reference: &Reference) -> bool {
        let (group, _) = reference.group_version();
        self.applied.iter().any(|applied| {
            applied.outcome == ApplyOutcome::Created
                && (applied.reference.is_namespace() && reference.namespace.as_deref() == Some(&applied.reference.name)
                    || applied.reference.is_definition()
                        && applied.object["spec"]["group"] == group
                        && applied.object["spec"]["names"]["kind"] == reference.kind.as_str())
        })
    }
}

fn is_going(live: &Value) -> bool {
    live["metadata"]["deletionTimestamp"].is_string()
}

/// Whether trying again may help.
fn is_passing(error: &Error) -> bool {
    status(error).is_some_and(|status| {
        // The test of a patch that failed: the object was changed meanwhile.
        matches!(status.code, 409 | 429 | 503 | 504) || status.message.contains("/metadata/resourceVersion")
    })
}

fn outcome(before: Option<&Value>, after: &Value) -> ApplyOutcome {
    match before {
        None => ApplyOutcome::Created,
        // By content: what is only tried keeps its version, and controllers may write a status between the two.
        Some(before) if bare(before) == bare(after) => ApplyOutcome::Unchanged,
        Some(_) => ApplyOutcome::Configured,
    }
}

/// An object without what every write changes, and without what others say of it.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(members) = object.as_object_mut() {
        members.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !matches!(field.as_str(), "managedFields" | "resourceVersion" | "generation"));
    }
    object
}
