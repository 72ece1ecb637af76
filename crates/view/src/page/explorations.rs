//! Reports of explorations, as they were written into the project's `target/explore`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::model::yaml;

/// A report is shorter.
const LONGEST: u64 = 64 << 20;

/// The reports of a folder, the newest first, without what was tried and what happened.
pub(super) fn list(folder: &Path) -> Value {
    let mut reports: Vec<Value> = files(folder)
        .iter()
        .filter_map(|(name, path)| outline(name, path))
        .collect();
    reports.sort_by_key(|report| std::cmp::Reverse(report["at"].as_u64()));
    json!({ "explorations": reports })
}

/// One report. `None`: there is none of that name.
pub(super) fn report(folder: &Path, name: &str) -> Option<Value> {
    // By its name in the folder, so that no name leads elsewhere.
    let (_, path) = files(folder).into_iter().find(|(known, _)| known == name)?;
    let mut report = read(&path)?;
    let stories = report["stories"].as_array_mut().into_iter().flatten();
    for event in stories.filter_map(Value::as_array_mut).flatten() {
        show_difference(&mut event["object"]);
        for read in event["reads"].as_array_mut().into_iter().flatten() {
            show_difference(&mut read["missed"]);
        }
    }
    Some(report)
}

/// What became of an object: in a word, and as the lines that differ.
fn show_difference(object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let mut side = |side| object.remove(side).filter(|object| !object.is_null());
    let (before, after) = (side("before"), side("after"));
    let became = match (&before, &after) {
        (None, _) => "created",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "deleted",
    };
    let text = |object: Option<Value>| object.as_ref().map(yaml::comparable).unwrap_or_default();
    let lines = yaml::compare(&text(before), &text(after));
    object.insert("became".to_owned(), became.into());
    object.insert("lines".to_owned(), json!(lines));
}

/// The files of reports, with their names.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let reports = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    reports
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect()
}

fn outline(name: &str, path: &Path) -> Option<Value> {
    let report = read(path)?;
    let written = fs::metadata(path).and_then(|about| about.modified()).ok();
    let at = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let findings = report["findings"].as_array().map_or(0, Vec::len);
    Some(json!({
        "name": name, "at": at.map(|at| u64::try_from(at.as_millis()).unwrap_or_default()),
        "runs": report["runs"], "seconds": report["seconds"], "findings": findings, "error": report["error"],
    }))
}

fn read(path: &Path) -> Option<Value> {
    let is_fit = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LONGEST);
    let text = is_fit.then(|| fs::read(path).ok()).flatten()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_in_a_report_has_the_lines_that_differ() {
        let map = |colour: &str| json!({ "kind": "ConfigMap", "metadata": { "name": "x", "resourceVersion": colour }, "data": { "colour": colour } });
        let mut changed = json!({ "name": "configmaps/x", "revision": 7, "before": map("red"), "after": map("blue") });
        show_difference(&mut changed);
        assert_eq!(changed["became"], "changed");
        assert!(changed["before"].is_null() && changed["after"].is_null(), "{changed}");
        let lines = changed["lines"].to_string();
        assert!(
            lines.contains("red") && lines.contains("blue") && !lines.contains("resourceVersion"),
            "{lines}"
        );
        let mut created = json!({ "name": "configmaps/x", "revision": 7, "before": null, "after": map("red") });
        show_difference(&mut created);
        assert_eq!(created["became"], "created");
        let mut deleted = json!({ "name": "configmaps/x", "revision": 7, "before": map("red"), "after": null });
        show_difference(&mut deleted);
        assert_eq!(deleted["became"], "deleted");
        // An event that is about no object has none.
        let mut nothing = Value::Null;
        show_difference(&mut nothing);
        assert!(nothing.is_null());
    }

    #[test]
    fn a_report_is_found_by_its_name_and_by_no_path() {
        let folder = std::env::temp_dir().join(format!("kubewright-explorations-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let story = json!([{ "text": "step create" }, { "text": "create", "object": { "before": null, "after": { "kind": "ConfigMap" } } },
            { "text": "had read", "reads": [{ "text": "App", "missed": { "before": { "kind": "App" }, "after": null } }] }]);
        fs::write(
            folder.join("one.json"),
            json!({ "runs": 3, "findings": [{}], "stories": [story] }).to_string(),
        )
        .unwrap();
        let found = report(&folder, "one").unwrap();
        assert_eq!(found["stories"][0][1]["object"]["became"], "created");
        assert_eq!(found["stories"][0][2]["reads"][0]["missed"]["became"], "deleted");
        assert!(report(&folder, "../one").is_none() && report(&folder, "none").is_none());
        let listed = list(&folder);
        assert_eq!(
            (
                &listed["explorations"][0]["name"],
                &listed["explorations"][0]["findings"]
            ),
            (&json!("one"), &json!(1))
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
