//! What a failing test prints: short, and enough.

mod events;
mod line;
mod owners;
mod reconciles;
pub(crate) mod source;

use std::fmt::Write as _;

use kubewright_codec::yaml;
use kubewright_runtime::object::{Kind, ObjectKey};
use serde_json::Value;

use self::owners::Tree;
use crate::TestEnv;
use crate::traffic::Refusal;

pub(crate) use line::line;

/// More lines of an object than this are only counted.
const MOST_LINES: usize = 60;

/// What was found of an object that is not as expected.
pub(crate) struct Observation {
    pub(crate) expected: Option<String>,
    pub(crate) mismatch: Vec<String>,
    pub(crate) object: Option<Value>,
    pub(crate) trouble: Option<String>,
}

/// Why a wait for an object failed.
pub(crate) struct Report<'a> {
    pub(crate) env: &'a TestEnv,
    pub(crate) kind: &'a Kind,
    pub(crate) key: &'a ObjectKey,
    pub(crate) why: String,
    pub(crate) observation: Observation,
}

impl Report<'_> {
    pub(crate) async fn text(self) -> String {
        let Report {
            env,
            kind,
            key,
            why,
            observation,
        } = self;
        let mut text = format!("{why}\n");
        if let Some(expected) = &observation.expected {
            section(&mut text, "expected", std::slice::from_ref(expected));
        }
        section(&mut text, "but", &observation.mismatch);
        if let Some(object) = &observation.object {
            section(&mut text, "object", &as_yaml(object));
        } else {
            let problem = observation.trouble.unwrap_or_else(|| "there is none".to_owned());
            section(&mut text, "object", &[problem]);
        }
        let tree = match &observation.object {
            Some(object) => owners::tree(env, object).await,
            None => Tree::default(),
        };
        section(&mut text, "events", &events::about(env, kind, key, &tree.owned).await);
        section(&mut text, "owners", &tree.lines);
        section(&mut text, "manager", &manager(env, Some(key)));
        text.trim_end().to_owned()
    }
}

/// Why a wait for objects of a kind failed.
pub(crate) fn of_list(env: &TestEnv, why: &str, expected: &str, objects: &[Value]) -> String {
    let mut text = format!("{why}\n");
    section(&mut text, "expected", &[expected.to_owned()]);
    let mut named: Vec<String> = objects.iter().map(line).collect();
    if named.is_empty() {
        named.push("there are none".to_owned());
    }
    section(&mut text, "objects", &named);
    section(&mut text, "manager", &manager(env, None));
    text.trim_end().to_owned()
}

/// Why a wait for a number failed.
pub(crate) fn of_value(env: &TestEnv, why: &str, expected: &str) -> String {
    let mut text = format!("{why}\n");
    section(&mut text, "expected", &[expected.to_owned()]);
    section(&mut text, "manager", &manager(env, None));
    text.trim_end().to_owned()
}

/// What the manager did: how often it reconciled and failed, and the last reconciles of one object, or the last failures of any, with
/// what they did.
pub(crate) fn manager(env: &TestEnv, key: Option<&ObjectKey>) -> Vec<String> {
    let trace = env.trace();
    let (records, now) = (trace.records(), trace.elapsed());
    let lines = env.with_manager(|manager| {
        let mut lines = Vec::new();
        for (name, stats) in &manager.stats {
            let snapshot = stats.snapshot();
            let mut line = format!("{name}: {} reconciles", snapshot.total());
            if snapshot.errors > 0 {
                let _ = write!(line, ", {} failed", snapshot.errors);
            }
            if snapshot.active > 0 {
                let _ = write!(line, ", {} under way", snapshot.active);
            }
            lines.push(line);
            lines.extend(reconciles::last(&records, name, key, now));
        }
        lines.extend(manager.delayed().iter().map(ToString::to_string));
        lines.extend(manager.troubles());
        lines
    });
    lines.unwrap_or_default()
}

/// What the manager may not do, and the lines that would allow it.
pub(crate) fn refused(refusals: &[Refusal]) -> String {
    let mut text = "the manager's role does not allow what it does\n".to_owned();
    let said: Vec<_> = refusals.iter().map(|refusal| refusal.message.clone()).collect();
    section(&mut text, "refused", &said);
    let mut lines: Vec<_> = refusals.iter().map(|refusal| refusal.rbac.clone()).collect();
    lines.dedup();
    section(&mut text, "add to the reconciler", &lines);
    text.trim_end().to_owned()
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "  {title}:");
    for line in lines.iter().flat_map(|line| line.lines()) {
        let _ = writeln!(text, "    {line}");
    }
}

/// An object as lines of YAML, without managedFields; a long one is cut.
fn as_yaml(object: &Value) -> Vec<String> {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    let text = yaml::encode(&object);
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("… {more} more lines"));
    }
    lines
}
