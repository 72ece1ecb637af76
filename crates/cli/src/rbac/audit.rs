//! Audits as files of JSON lines: those a `TestEnv` writes, and the audit log of a kube-apiserver.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubewright_manifests::rules::check::Request;
use serde_json::Value;

/// Names the folder into which a `TestEnv` writes.
pub(super) const VARIABLE: &str = "KUBEWRIGHT_AUDIT";

/// Whose requests are looked for.
#[derive(Clone, Copy)]
pub(super) struct RequestFilter<'a> {
    /// The operator's name, in what a `TestEnv` writes.
    pub(super) operator: &'a str,
    /// The user it is on a cluster.
    pub(super) account: &'a str,
}

/// Why an audit cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuditError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not an audit log: line {line} is not JSON", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error("line {line} of {} is of version {version}, which this kubewright does not know: use one version of it for both", path.display())]
    Version { path: PathBuf, line: usize, version: u64 },
}

/// The requests in a file, or in all files of a folder that end in `.jsonl`.
pub(super) fn read(path: &Path, wanted: &RequestFilter<'_>) -> Result<Vec<Request>, AuditError> {
    let failed = |source| AuditError::Read {
        path: path.to_owned(),
        source,
    };
    if !path.is_dir() {
        return lines(path, &fs::read(path).map_err(failed)?, wanted);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let mut requests = Vec::new();
    for file in files {
        requests.extend(read(&file, wanted)?);
    }
    Ok(requests)
}

fn lines(path: &Path, bytes: &[u8], wanted: &RequestFilter<'_>) -> Result<Vec<Request>, AuditError> {
    let mut requests = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event: Value = serde_json::from_slice(line).map_err(|source| AuditError::Line {
            path: path.to_owned(),
            line: at + 1,
            source,
        })?;
        if event["apiVersion"]
            .as_str()
            .is_some_and(|version| version.starts_with("audit.k8s.io/"))
        {
            requests.extend(of_cluster(&event, wanted));
            continue;
        }
        match event["version"].as_u64() {
            Some(1) | None => requests.extend(of_test(&event, wanted)),
            Some(version) => {
                return Err(AuditError::Version {
                    path: path.to_owned(),
                    line: at + 1,
                    version,
                });
            }
        }
    }
    Ok(requests)
}

/// What a `TestEnv` wrote.
fn of_test(event: &Value, wanted: &RequestFilter<'_>) -> Option<Request> {
    if event["operator"] != wanted.operator {
        return None;
    }
    let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let whole = text("resource");
    let (resource, subresource) = whole.split_once('/').unwrap_or((&whole, ""));
    Some(Request {
        user: wanted.account.to_owned(),
        verb: text("verb"),
        group: text("group"),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: text("namespace"),
        name: text("name"),
        path: text("url"),
        allowed: event["allowed"].as_bool()?,
    })
}

/// What a kube-apiserver wrote: a request, and what else it needed a right for.
fn of_cluster(event: &Value, wanted: &RequestFilter<'_>) -> Vec<Request> {
    let Some(request) = request_of_cluster(event, wanted) else {
        return Vec::new();
    };
    // An apply or an update that created its object needs the right to create, too.
    let is_creation = event["responseStatus"]["code"] == 201 && matches!(request.verb.as_str(), "patch" | "update");
    let creation = is_creation.then(|| Request {
        verb: "create".to_owned(),
        ..request.clone()
    });
    [request].into_iter().chain(creation).collect()
}

fn request_of_cluster(event: &Value, wanted: &RequestFilter<'_>) -> Option<Request> {
    let user = event["impersonatedUser"]["username"]
        .as_str()
        .or_else(|| event["user"]["username"].as_str())?;
    let decision = event["annotations"]["authorization.k8s.io/decision"].as_str()?;
    if user != wanted.account {
        return None;
    }
    let text = |field: &str| event["objectRef"][field].as_str().unwrap_or_default().to_owned();
    let path = event["requestURI"].as_str().unwrap_or_default();
    Some(Request {
        user: user.to_owned(),
        verb: event["verb"].as_str().unwrap_or_default().to_owned(),
        group: text("apiGroup"),
        resource: text("resource"),
        subresource: text("subresource"),
        namespace: text("namespace"),
        name: text("name"),
        path: path.split('?').next().unwrap_or_default().to_owned(),
        allowed: decision == "allow",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: RequestFilter<'static> = RequestFilter {
        operator: "shop",
        account: "system:serviceaccount:shop-system:shop-controller-manager",
    };

    fn read_lines(text: &str) -> Result<Vec<Request>, AuditError> {
        lines(Path::new("audit.jsonl"), text.as_bytes(), &WANTED)
    }

    #[test]
    fn both_forms_are_read_and_others_requests_are_not() {
        let text = r#"{"version":1,"operator":"shop","test":"t","verb":"patch","group":"apps","resource":"deployments/status","namespace":"a","name":"web","allowed":false,"count":3}
{"version":1,"operator":"bank","verb":"get","group":"","resource":"secrets","allowed":true,"count":1}
{"version":1,"operator":"shop","verb":"get","url":"/metrics","allowed":true,"count":1}

{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"list","requestURI":"/api/v1/pods?limit=500","user":{"username":"system:serviceaccount:shop-system:shop-controller-manager"},"objectRef":{"resource":"pods","apiVersion":"v1"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"list","user":{"username":"jane"},"objectRef":{"resource":"pods"},"annotations":{"authorization.k8s.io/decision":"allow"}}
"#;
        let requests = read_lines(text).unwrap();
        let told: Vec<_> = requests
            .iter()
            .map(|request| {
                (
                    request.verb.as_str(),
                    request.resource.as_str(),
                    request.subresource.as_str(),
                    request.allowed,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("patch", "deployments", "status", false),
                ("get", "", "", true),
                ("list", "pods", "", false)
            ]
        );
        assert_eq!(requests[1].path, "/metrics");
    }

    #[test]
    fn an_apply_that_made_its_object_is_a_creation_too() {
        let applied = |code: u16| {
            format!(
                r#"{{"apiVersion":"audit.k8s.io/v1","verb":"patch","user":{{"username":"{}"}},"objectRef":{{"resource":"configmaps","namespace":"a","name":"b"}},"responseStatus":{{"code":{code}}},"annotations":{{"authorization.k8s.io/decision":"allow"}}}}"#,
                WANTED.account
            )
        };
        let verbs = |code| -> Vec<String> {
            let requests = read_lines(&applied(code)).unwrap().into_iter();
            requests.map(|request| request.verb).collect()
        };
        assert_eq!(verbs(201), ["patch", "create"]);
        assert_eq!(verbs(200), ["patch"]);
    }

    #[test]
    fn what_is_no_audit_is_an_error_with_its_line() {
        let error = read_lines("{}\nhello\n").unwrap_err().to_string();
        assert_eq!(error, "audit.jsonl is not an audit log: line 2 is not JSON");
        let error = read_lines(r#"{"version":7,"operator":"shop"}"#)
            .unwrap_err()
            .to_string();
        assert!(error.contains("version 7"), "{error}");
        assert!(read(Path::new("/no/such/file"), &WANTED).is_err());
    }
}
