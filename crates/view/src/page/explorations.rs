//! Reports of explorations, as they were written into the project's `target/explore`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

/// A report is shorter.
const LONGEST: u64 = 64 << 20;

/// The reports of a folder, the newest first, without what was tried.
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
    read(&path)
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
