//! What the manager asked of the server, written down for `kubewright rbac check`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};

use crate::traffic::{ApiRequest, Outcomes};

/// Writes one file into the folder that `KUBEWRIGHT_AUDIT` names, if it names one: one line per thing that was asked.
pub(crate) fn write(operator: &str, test: &str, questions: &[(ApiRequest, Outcomes)]) -> io::Result<()> {
    match std::env::var_os("KUBEWRIGHT_AUDIT") {
        Some(folder) if !folder.is_empty() => write_into(Path::new(&folder), operator, test, questions).map(drop),
        _ => Ok(()),
    }
}

fn write_into(folder: &Path, operator: &str, test: &str, questions: &[(ApiRequest, Outcomes)]) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    std::fs::create_dir_all(folder)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{operator}-{}-{number}.jsonl", std::process::id()));
    let mut lines = Vec::new();
    for (api_request, outcomes) in questions {
        for (allowed, count) in [(true, outcomes.allowed), (false, outcomes.refused)] {
            if count > 0 {
                writeln!(lines, "{}", line(operator, test, api_request, allowed, count))?;
            }
        }
    }
    std::fs::write(&path, lines)?;
    Ok(path)
}

fn line(operator: &str, test: &str, api_request: &ApiRequest, allowed: bool, count: u64) -> Value {
    let mut line = Map::new();
    line.insert("version".to_owned(), 1.into());
    let mut say = |name: &str, value: &str, always: bool| {
        if always || !value.is_empty() {
            line.insert(name.to_owned(), value.into());
        }
    };
    say("operator", operator, true);
    say("test", test, true);
    say("verb", &api_request.verb, true);
    if api_request.url.is_empty() {
        say("group", &api_request.group, true);
        say("resource", &api_request.resource, true);
        say("namespace", &api_request.namespace, false);
        say("name", &api_request.name, false);
    } else {
        say("url", &api_request.url, true);
    }
    line.insert("allowed".to_owned(), allowed.into());
    line.insert("count".to_owned(), count.into());
    line.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_question_is_a_line_with_its_answer() {
        let folder = tempfile::tempdir().unwrap();
        let api_request = |method: &str, uri: &str| ApiRequest::of(&method.parse().unwrap(), &uri.parse().unwrap());
        let questions = [
            (
                api_request("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/status"),
                Outcomes { allowed: 2, refused: 1 },
            ),
            (api_request("GET", "/metrics"), Outcomes { allowed: 1, refused: 0 }),
        ];
        let path = write_into(folder.path(), "shop", "a_test", &questions).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let status = |allowed: bool, count: u64| {
            json!({
                "version": 1, "operator": "shop", "test": "a_test", "verb": "patch", "group": "apps",
                "resource": "deployments/status", "namespace": "shop", "name": "web", "allowed": allowed, "count": count,
            })
        };
        let metrics = json!({
            "version": 1, "operator": "shop", "test": "a_test", "verb": "get", "url": "/metrics", "allowed": true, "count": 1,
        });
        assert_eq!(lines, [status(true, 2), status(false, 1), metrics]);
    }
}
