//! Building programs of a project with cargo: the operator, and tests that a command runs.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kubewright_cluster::progress::Progress;
use kubewright_controllers::process::ProcessGuard;
use serde_json::Value;

use super::diagnostics::Diagnostics;
use super::{Error, Project};
use crate::colours::Colours;

/// A program that is there already and takes the place of the one that would be built.
const BINARY: &str = "KUBEWRIGHT_OPERATOR_BINARY";

/// Builds the operator's program; where it is. With a guard, cargo leads a group of processes of its own that ends with this program:
/// signals do not reach it.
pub(super) fn build(project: &Project, guard: Option<&ProcessGuard>, progress: &Progress) -> Result<PathBuf, Error> {
    if let Some(binary) = std::env::var_os(BINARY).filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(binary));
    }
    let built = run(project, "the operator", "bin", &BUILD, guard, progress)?;
    choose(project, built)
}

/// Builds a test; where its program is.
pub(super) fn build_test(project: &Project, test: &str, progress: &Progress) -> Result<PathBuf, Error> {
    let file = format!("tests/{test}.rs");
    let wanted = ["test", "--no-run", "--test", test];
    let built = run(project, &file, "test", &wanted, None, progress)?;
    let built = built.into_iter().find(|program| program.name == test);
    built.map(|program| program.executable).ok_or(Error::NoTest(file))
}

/// What cargo is asked for: the programs, with the features that `cargo test` builds them with.
///
/// Cargo adds the features of `[dev-dependencies]` as soon as a target is asked for that may use them. Without `--examples` the
/// packages below the testing feature would be compiled a second time, once for the tests and once for the manifests.
const BUILD: [&str; 3] = ["build", "--bins", "--examples"];

/// Builds something of the project and tells so; the programs of a kind that cargo made.
fn run(
    project: &Project,
    what: &str,
    kind: &str,
    arguments: &[&str],
    guard: Option<&ProcessGuard>,
    progress: &Progress,
) -> Result<Vec<Binary>, Error> {
    let step = progress.noisy_step(format!("Building {what}"));
    let built = run_cargo(project, kind, arguments, guard);
    match &built {
        Ok(Ok(_)) => step.done(),
        Ok(Err(_)) | Err(_) => step.failed(),
    }
    built?.map_err(|errors| Error::Build {
        what: what.to_owned(),
        errors,
    })
}

/// Runs cargo, whose diagnostics go where ours go; the programs it made, or the errors of the compiler.
fn run_cargo(
    project: &Project,
    kind: &str,
    arguments: &[&str],
    guard: Option<&ProcessGuard>,
) -> Result<Result<Vec<Binary>, String>, Error> {
    let mut diagnostics = Diagnostics::new(Colours::of(&std::io::stderr()).are_on());
    let mut command = Command::new("cargo");
    command
        .args(arguments)
        .arg(diagnostics.message_format())
        .current_dir(project.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    #[cfg(unix)]
    if guard.is_some() {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    let mut child = command.spawn().map_err(Error::NoCargo)?;
    let group = child.id();
    if let Some(guard) = guard {
        guard.add(group);
    }
    let mut binaries = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let lines = BufReader::new(stdout).split(b'\n').map_while(Result::ok);
        for message in lines.filter_map(|line| message(&line)) {
            binaries.extend(Binary::of(&message, kind));
            diagnostics.take(&message, &mut std::io::stderr());
        }
    }
    let status = child.wait().map_err(Error::NoCargo);
    if let Some(guard) = guard {
        guard.remove(group);
    }
    let status = status?;
    Ok(if status.success() {
        Ok(binaries)
    } else {
        Err(diagnostics.into_errors())
    })
}

/// A message of cargo. Build scripts may print what is not JSON, nor even text.
fn message(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok()
}

/// A program that cargo made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Binary {
    name: String,
    manifest: PathBuf,
    executable: PathBuf,
}

impl Binary {
    /// Reads it from a message of cargo, if the message has one of that kind.
    fn of(message: &Value, wanted: &str) -> Option<Binary> {
        let kinds = message["target"]["kind"].as_array()?;
        if message["reason"] != "compiler-artifact" || !kinds.iter().any(|kind| kind == wanted) {
            return None;
        }
        Some(Binary {
            name: message["target"]["name"].as_str()?.to_owned(),
            manifest: message["manifest_path"].as_str()?.into(),
            executable: message["executable"].as_str()?.into(),
        })
    }
}

/// The operator's program: that of the project's own package, called as the project if there are several.
fn choose(project: &Project, mut binaries: Vec<Binary>) -> Result<PathBuf, Error> {
    let manifest = project.root().join("Cargo.toml");
    let is_own = |binary: &Binary| is_same(&binary.manifest, &manifest);
    if binaries.iter().any(is_own) {
        binaries.retain(is_own);
    }
    let named = binaries.iter().find(|binary| binary.name == project.name());
    match (named, binaries.as_slice()) {
        (Some(binary), _) | (None, [binary]) => Ok(binary.executable.clone()),
        (None, []) => Err(Error::NoBinary {
            crate_name: project.file().crate_name(),
        }),
        (None, several) => Err(Error::SeveralBinaries {
            name: project.name().to_owned(),
            found: several.iter().map(|binary| binary.name.clone()).collect(),
        }),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || one
            .canonicalize()
            .ok()
            .zip(other.canonicalize().ok())
            .is_some_and(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        Project {
            root: "/projects/shop".into(),
            file: kubewright_scaffold::Project::parse("projectName: shop\nversion: \"3\"\n").unwrap(),
        }
    }

    fn binary(name: &str, manifest: &str) -> Binary {
        let executable = format!("/target/debug/{name}");
        let message = serde_json::json!({
            "reason": "compiler-artifact", "target": { "kind": ["bin"], "name": name },
            "manifest_path": manifest, "executable": executable,
        });
        Binary::of(&message, "bin").unwrap()
    }

    #[test]
    fn the_program_of_the_project_is_chosen_among_others() {
        let own = "/projects/shop/Cargo.toml";
        let chosen = |binaries| choose(&project(), binaries).map(|path| path.display().to_string());
        assert_eq!(chosen(vec![binary("manager", own)]).unwrap(), "/target/debug/manager");
        let other = binary("tool", "/projects/tool/Cargo.toml");
        assert_eq!(
            chosen(vec![other.clone(), binary("manager", own)]).unwrap(),
            "/target/debug/manager"
        );
        assert_eq!(
            chosen(vec![binary("seed", own), binary("shop", own)]).unwrap(),
            "/target/debug/shop"
        );
        assert_eq!(chosen(vec![other]).unwrap(), "/target/debug/tool");
    }

    #[test]
    fn no_program_and_too_many_are_errors_that_say_what_to_do() {
        let error = choose(&project(), Vec::new()).unwrap_err().to_string();
        assert!(
            error.contains("src/main.rs") && error.contains("shop::operator().main()"),
            "{error}"
        );
        let own = "/projects/shop/Cargo.toml";
        let error = choose(&project(), vec![binary("a", own), binary("b", own)]).unwrap_err();
        assert!(error.to_string().contains("(a, b), and none is called shop"), "{error}");
    }

    #[test]
    fn what_is_no_message_of_a_program_is_passed_over() {
        for line in [
            &b"warning: hello"[..],
            b"\xff\xfe",
            b"{}",
            br#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"shop"},"executable":null}"#,
        ] {
            assert_eq!(message(line).and_then(|message| Binary::of(&message, "bin")), None);
        }
    }
}
