//! A folder with a definition and an object of it, and the command run in it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;

use crate::support::kubewright;

pub(super) const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  names: {kind: CronTab, plural: crontabs}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: string}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - rule: self.minReplicas <= self.replicas
              messageExpression: \"'not enough'\"
            properties:
              minReplicas: {type: integer}
              replicas: {type: integer}
              names:
                type: array
                maxItems: 10
                items:
                  type: string
                  maxLength: 20
                  x-kubernetes-validations:
                  - rule: self.startsWith('a')
";

pub(super) const OBJECT: &str = "\
apiVersion: stable.example.com/v1
kind: CronTab
metadata: {name: nightly}
spec: {minReplicas: 1, replicas: 3, names: [a, ab]}
";

/// A folder with a CRD and an object, and the command run in it.
pub(super) struct CelFolder {
    folder: TempDir,
}

pub(super) struct Outcome {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl CelFolder {
    pub(super) fn new() -> CelFolder {
        let place = CelFolder {
            folder: tempfile::tempdir().unwrap(),
        };
        place.write("crd.yaml", CRD);
        place.write("object.yaml", OBJECT);
        place
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn run_with(&self, arguments: &[&str], input: &str) -> Outcome {
        let mut child = kubewright()
            .arg("cel")
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, "")
    }

    /// What a successful command prints.
    pub(super) fn answer(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        outcome.stdout
    }

    /// What a refused command prints; it answers nothing.
    pub(super) fn refusal(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let outcome = self.run(arguments);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        (outcome.code, outcome.stderr)
    }
}
