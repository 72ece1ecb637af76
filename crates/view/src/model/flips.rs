//! Fields that go back and forth between two values: two managers that each write what they want.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use kubewright_runtime::trace::FieldChange;
use serde_json::Value;

/// A field that came back to what it was so often in a row is fought for.
const TIMES: u32 = 4;
/// More fields are not looked after at once.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Flips {
    fields: HashMap<String, BTreeMap<String, Field>>,
    count: usize,
}

#[derive(Debug)]
struct Field {
    /// The value before the last change.
    before: String,
    /// How often in a row it went back.
    times: u32,
    /// Who wrote it.
    managers: BTreeSet<String>,
}

/// A field that is fought for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flip {
    pub(super) path: String,
    values: [String; 2],
    managers: Vec<String>,
}

/// `1 and 2 (kubectl, shop)`
impl fmt::Display for Flip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {}", self.values[0], self.values[1])?;
        if self.managers.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.managers.join(", "))
        }
    }
}

impl Flips {
    /// Takes the changes of an object; the first field that is fought for.
    pub(super) fn take(&mut self, uid: &str, changes: &[FieldChange], before: &Value, after: &Value) -> Option<Flip> {
        let writer = writer(before, after);
        let mut found = None;
        for change in changes {
            if self.count >= MOST && !self.fields.contains_key(uid) {
                return found;
            }
            let fields = self.fields.entry(uid.to_owned()).or_default();
            let count = &mut self.count;
            let field = fields.entry(change.path.clone()).or_insert_with(|| {
                *count += 1;
                Field {
                    before: String::new(),
                    times: 0,
                    managers: BTreeSet::new(),
                }
            });
            if field.before == change.after {
                field.times += 1;
            } else {
                field.times = 0;
                field.managers.clear();
            }
            field.before.clone_from(&change.before);
            field.managers.extend(writer.map(str::to_owned));
            if field.times >= TIMES && found.is_none() {
                let mut values = [change.before.clone(), change.after.clone()];
                values.sort();
                found = Some(Flip {
                    path: change.path.clone(),
                    values,
                    managers: field.managers.iter().cloned().collect(),
                });
            }
        }
        found
    }

    pub(super) fn forget(&mut self, uid: &str) {
        if let Some(fields) = self.fields.remove(uid) {
            self.count -= fields.len();
        }
    }
}

/// The manager whose entry in managedFields is another than before.
fn writer<'a>(before: &Value, after: &'a Value) -> Option<&'a str> {
    let entries = |object: &'a Value| object["metadata"]["managedFields"].as_array();
    let known = before["metadata"]["managedFields"].as_array();
    let mut written = entries(after)?
        .iter()
        .filter(|entry| !known.is_some_and(|known| known.contains(entry)));
    written.next()?["manager"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(replicas: u32, manager: &str) -> Value {
        json!({
            "metadata": { "managedFields": [{ "manager": manager, "fieldsV1": {} }] },
            "spec": { "replicas": replicas },
        })
    }

    /// What is found after each of these values, written by two managers in turn.
    fn found(values: &[u32]) -> Vec<Option<String>> {
        let mut flips = Flips::default();
        let managers = ["hpa", "shop"];
        let steps = values.windows(2).enumerate();
        steps
            .map(|(at, pair)| {
                let (before, after) = (
                    object(pair[0], managers[at % 2]),
                    object(pair[1], managers[(at + 1) % 2]),
                );
                let changes = FieldChange::between(&before, &after);
                flips
                    .take("u", &changes, &before, &after)
                    .map(|flip| format!("{}: {flip}", flip.path))
            })
            .collect()
    }

    #[test]
    fn a_field_that_goes_back_and_forth_is_told_with_who_writes_it() {
        let told = found(&[1, 2, 1, 2, 1, 2]);
        assert_eq!(told[..4], [None, None, None, None]);
        assert_eq!(told[4].as_deref(), Some("spec.replicas: 1 and 2 (hpa, shop)"));
    }

    #[test]
    fn a_field_that_goes_on_is_not() {
        assert_eq!(found(&[1, 2, 3, 4, 5, 6, 7, 8]), vec![None; 7]);
        // It came back once, as after an undo.
        assert_eq!(found(&[1, 2, 1, 3, 4, 3, 5]), vec![None; 6]);
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let mut flips = Flips::default();
        let (before, after) = (object(1, "a"), object(2, "b"));
        flips.take("u", &FieldChange::between(&before, &after), &before, &after);
        assert_eq!(flips.count, 1);
        flips.forget("u");
        assert_eq!((flips.count, flips.fields.len()), (0, 0));
    }
}
