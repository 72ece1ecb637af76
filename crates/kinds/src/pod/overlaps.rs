//! Warnings about files of one volume that would hide each other.

use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::warnings::ENOUGH;
use crate::rules::access::{at, is_empty, list_at, str_at};

/// Paths are compared pairwise; more than this many in one volume are not.
const COMPARED: usize = 1000;

struct File<'a> {
    path: &'a str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        if self.source.is_empty() {
            quote(self.path)
        } else {
            format!("{} ({})", quote(self.path), self.source)
        }
    }
}

/// Adds a warning for each pair of overlapping files.
pub(crate) fn warn(spec: &Value, found: &mut Vec<String>) {
    for volume in list_at(spec, &["volumes"]) {
        let name = quote(str_at(volume, &["name"]));
        for (kind, title, name_field) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let Some(source) = at(volume, &[kind]) else { continue };
            let description = match name_field {
                "" => title.to_owned(),
                field => format!("{title} {}", quote(str_at(source, &[field]))),
            };
            let files = list_at(source, &["items"])
                .iter()
                .map(|item| file(str_at(item, &["path"]), String::new()));
            report(files.collect(), &mut Vec::new(), &name, &description, found);
        }
        let mut known = Vec::new();
        for source in list_at(volume, &["projected", "sources"]) {
            if is_empty(source) {
                found.push(format!("volume {name} (Projected) has no sources provided"));
            } else {
                report(projected(source), &mut known, &name, "Projected", found);
            }
        }
    }
}

fn file(path: &str, source: String) -> File<'_> {
    File {
        path: path.trim_end_matches('/'),
        source,
    }
}

fn projected(source: &Value) -> Vec<File<'_>> {
    for (kind, title) in [
        ("configMap", "ConfigMap"),
        ("secret", "Secret"),
        ("downwardAPI", "DownwardAPI"),
    ] {
        let Some(of_kind) = at(source, &[kind]).filter(|of_kind| at(of_kind, &["items"]).is_some()) else {
            continue;
        };
        let title = match kind {
            "downwardAPI" => title.to_owned(),
            _ => format!("{title} {}", quote(str_at(of_kind, &["name"]))),
        };
        let items = list_at(of_kind, &["items"]).iter();
        return items.map(|item| file(str_at(item, &["path"]), title.clone())).collect();
    }
    let token = at(source, &["serviceAccountToken"]);
    token
        .map(|token| file(str_at(token, &["path"]), "ServiceAccountToken".to_owned()))
        .into_iter()
        .collect()
}

fn report<'a>(
    files: Vec<File<'a>>,
    known: &mut Vec<File<'a>>,
    volume: &str,
    description: &str,
    found: &mut Vec<String>,
) {
    for file in files.into_iter().filter(|file| !file.path.is_empty()) {
        if known.len() >= COMPARED || found.len() >= ENOUGH {
            return;
        }
        for other in known
            .iter()
            .filter(|other| covers(other.path, file.path) || covers(file.path, other.path))
        {
            let pair = format!("{} with {}", file.shown(), other.shown());
            found.push(format!("volume {volume} ({description}): overlapping paths: {pair}"));
        }
        known.push(file);
    }
}

/// Whether `path` is `directory` or below it.
fn covers(directory: &str, path: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
