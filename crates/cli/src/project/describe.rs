//! Asking a program what it is.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use kubewright_description::{Description, VERSION};
use serde_json::Value;

use super::{Error, Project};

/// A program that runs instead of answering is stopped after that.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a program of the project says of itself.
pub(super) fn describe(project: &Project, binary: &Path) -> Result<Description, Error> {
    let answer = ask(project, binary)?;
    let description = read(project, binary, &answer)?;
    if description.name == project.name() {
        Ok(description)
    } else {
        Err(Error::Name {
            found: description.name,
            name: project.name().to_owned(),
        })
    }
}

/// What it wrote.
#[derive(Default)]
struct DescribeOutput {
    text: Vec<u8>,
    said: Vec<u8>,
    /// What went wrong, if something did.
    failure: Option<String>,
}

fn ask(project: &Project, binary: &Path) -> Result<DescribeOutput, Error> {
    let failed = |source| Error::Run {
        binary: binary.to_owned(),
        source,
    };
    let mut child = Command::new(binary)
        .arg("describe")
        .current_dir(project.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (sender, receiver) = mpsc::channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(move || all(stderr));
    std::thread::spawn(move || sender.send(all(stdout)));
    let Ok(text) = receiver.recv_timeout(PATIENCE) else {
        // It has not understood the word and runs: nothing is lost by ending it.
        let _ = child.kill();
        let _ = child.wait();
        return Ok(DescribeOutput {
            failure: Some(format!("it was still running after {} seconds", PATIENCE.as_secs())),
            ..DescribeOutput::default()
        });
    };
    let status = child.wait().map_err(failed)?;
    Ok(DescribeOutput {
        text,
        said: errors.join().unwrap_or_default(),
        failure: (!status.success()).then(|| format!("it ended with {status}")),
    })
}

fn all(stream: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // What was read before an error is all there is.
        let _ = stream.read_to_end(&mut bytes);
    }
    bytes
}

fn read(project: &Project, binary: &Path, answer: &DescribeOutput) -> Result<Description, Error> {
    let silent = |what: &str| {
        let said = String::from_utf8_lossy(&answer.said);
        let said = said.trim();
        Error::Silent {
            binary: binary.to_owned(),
            what: what.to_owned(),
            crate_name: project.file().crate_name(),
            said: if said.is_empty() {
                String::new()
            } else {
                format!("; it said: {said}")
            },
        }
    };
    if let Some(failure) = &answer.failure {
        return Err(silent(failure));
    }
    let value: Value = serde_json::from_slice(&answer.text).map_err(|_| silent("its answer is not JSON"))?;
    match value["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => serde_json::from_value(value).map_err(Error::Shape),
        Some(found) => Err(Error::Version {
            found,
            known: VERSION.into(),
        }),
        None => Err(silent("its answer has no version")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        Project {
            root: "/".into(),
            file: kubewright_scaffold::Project::parse("projectName: shop\nversion: \"3\"\n").unwrap(),
        }
    }

    fn answered(text: &str) -> Result<Description, String> {
        let answer = DescribeOutput {
            text: text.as_bytes().to_vec(),
            said: b"a word\n".to_vec(),
            failure: None,
        };
        read(&project(), Path::new("/shop"), &answer).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_is_a_description() {
        let text = serde_json::to_string(&kubewright_runtime::operator::Operator::new("shop").describe()).unwrap();
        assert_eq!(answered(&text).unwrap().name, "shop");
    }

    #[test]
    fn what_is_no_answer_says_what_to_do() {
        let error = answered("hello").unwrap_err();
        assert!(
            error.contains("shop::operator().main()") && error.contains("it said: a word"),
            "{error}"
        );
        assert!(answered("{}").unwrap_err().contains("no version"));
        assert!(
            answered(r#"{"version":2}"#)
                .unwrap_err()
                .contains("install a newer kubewright")
        );
        assert!(answered(r#"{"version":0}"#).unwrap_err().contains("Cargo.toml"));
        assert!(answered(r#"{"version":1}"#).unwrap_err().contains("one version"));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_or_is_not_there_is_an_error() {
        let error = describe(&project(), Path::new("/no/such/program")).unwrap_err();
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        let error = describe(&project(), Path::new("/bin/false")).unwrap_err();
        assert!(error.to_string().contains("does not say what it is"), "{error}");
    }
}
