//! Runs in which users edit what a step made, and the runs that they are compared with: the step makes it so from the beginning.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::compare::{self, Difference};
use super::observation::Observation;
use super::plan::{Disturbance, Plan};
use super::run::{Run, RunRequest};
use super::scenario::Scenario;
use super::search::References;
use super::spec_edit::{Change, SpecEdit};
use super::world;
use crate::traffic::Rewrite;

/// Creates the edited object as it is after the edits. The flag tells whether it was created.
pub(super) fn rewrite(edit: &SpecEdit, namespace: &str) -> (Rewrite, Arc<AtomicBool>) {
    let (edit, namespace) = (edit.clone(), namespace.to_owned());
    let done = Arc::new(AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    let rewrite = move |request: &crate::traffic::ApiRequest, object: &mut Value| {
        let resource = format!("{}.{}", request.resource, request.group);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let is_home = request.namespace.is_empty() || namespace == request.namespace;
        let name = if is_home {
            name.to_owned()
        } else {
            format!("{}:{name}", request.namespace)
        };
        let is_it = resource == edit.object.resource && name == edit.object.name;
        // What comes after its creation are edits of the step's own.
        if is_it && !is_done.swap(true, Ordering::Relaxed) {
            edit.apply_all(object);
        }
    };
    (Arc::new(rewrite), done)
}

impl Run<'_> {
    /// Makes the changes one after another; the cluster settles after each.
    pub(super) async fn edit_spec(&mut self, edit: &SpecEdit) {
        let mut before = None;
        for (at, change) in edit.changes.iter().enumerate() {
            let Some(name) = self.cluster().objects().get_key_value(&edit.object) else {
                return;
            };
            let (name, stored) = (name.0.clone(), name.1.clone());
            let Some(object) = world::read(self.server(), &name, &stored).await else {
                return;
            };
            let before = before.get_or_insert_with(|| object.clone());
            let mut changed = object.clone();
            match change {
                Change::Undo => restore(before, &mut changed),
                change => change.apply(&mut changed),
            }
            match world::replace(self.server(), &name, &stored, &changed).await {
                Some(answer) => {
                    let is_changed = answer["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"];
                    self.note_edit(is_changed);
                }
                None if *change == Change::Undo => {}
                None => self.note_refusal(at),
            }
            self.rest().await;
        }
    }
}

/// What a user sees of an object becomes what it was.
fn restore(before: &Value, object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    let is_kept = |name: &str| ["apiVersion", "kind", "metadata", "status"].contains(&name);
    members.retain(|name, _| is_kept(name));
    for (name, value) in before.as_object().into_iter().flatten() {
        if !is_kept(name) {
            members.insert(name.clone(), value.clone());
        }
    }
}

impl References {
    /// Runs an edit, and says how it differs from a run in which the object was created so.
    pub(super) fn try_edit(
        &self,
        scenario: &Scenario,
        plan: &Plan,
        edit: &SpecEdit,
        step: usize,
    ) -> Option<(Observation, Vec<Difference>)> {
        let restarted = self.restarted.get(&step)?;
        let from = self.whole.checkpoints.get(step).map(|checkpoint| (step, checkpoint));
        let run = |plan: &Plan, reference: Option<&Observation>| {
            let request = RunRequest {
                scenario,
                from,
                plan: Some(plan),
                reference,
                keep_checkpoints: false,
            };
            request.run()
        };
        let created_so = Plan {
            disturbance: Disturbance::CreatedSo(edit.clone()),
            ..plan.clone()
        };
        let created = (!edit.ends_as_it_was()).then(|| run(&created_so, None));
        let created = created.as_ref();
        let expected = created.map_or(Some(restarted), |created| {
            Some(created).filter(|run| is_measure(run, step))
        });
        let run = run(plan, expected);
        let measure = match run.refused_edit {
            // What the server refuses changes nothing. After other changes, what remains of a sequence has no measure.
            Some(0) if edit.changes.len() == 1 => Some(restarted),
            Some(_) if !edit.ends_as_it_was() => None,
            _ => expected,
        };
        let known = |problem: &Difference| {
            let runs = [Some(restarted), created].into_iter().flatten();
            runs.flat_map(|run| &run.problems)
                .any(|known| known.name == problem.name)
        };
        let mut differences: Vec<Difference> = run.problems.iter().filter(|problem| !known(problem)).cloned().collect();
        if let Some(measure) = measure.filter(|_| differences.is_empty()) {
            differences = compare::differences(measure, &run, &scenario.accepted);
        }
        Some((run, differences))
    }
}

/// Whether others can be measured by a run that created an object so: it was created, and the operator could do what it says.
/// Where the API refuses what the operator makes of it, an edit leaves what was made before, and a creation leaves nothing.
fn is_measure(run: &Observation, step: usize) -> bool {
    let is_refused = |code: u16| (400..500).contains(&code) && code != 404 && code != 409;
    let is_at_rest = run.after(step).is_some_and(|boundary| boundary.failing.is_empty());
    let mut codes = run.writes.iter().filter_map(|write| write.code);
    run.reached && run.problems.is_empty() && is_at_rest && !codes.any(is_refused)
}
