//! A step that users edit, or that makes an object as if it had been edited already.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::Run;
use crate::explore::spec_edit::{Change, SpecEdit};
use crate::explore::world;
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
            let Some(name) = self.cluster.objects().get_key_value(&edit.object) else {
                return;
            };
            let (name, stored) = (name.0.clone(), name.1.clone());
            let Some(object) = world::read(&self.server, &name, &stored).await else {
                return;
            };
            let before = before.get_or_insert_with(|| object.clone());
            let mut changed = object.clone();
            match change {
                Change::Undo => restore(before, &mut changed),
                change => change.apply(&mut changed),
            }
            match world::replace(&self.server, &name, &stored, &changed).await {
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
