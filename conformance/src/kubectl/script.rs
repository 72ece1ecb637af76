//! A script of kubectl commands and the transcript beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// A parsed file of `kubectl/`.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its file's name without `.yaml`.
    pub name: String,
    /// The sentence it proves.
    pub title: String,
    /// Behaviour ids of `BEHAVIOURS.md`.
    pub covers: Vec<String>,
    /// Files of the folder in which the commands run. `${…}` in them is replaced when a command starts.
    pub files: BTreeMap<String, String>,
    /// The answers of the script's webhooks, by webhook name, as in a case.
    pub webhooks: Value,
    /// The commands, in order.
    pub steps: Vec<KubectlStep>,
    path: PathBuf,
    source: String,
}

/// One command.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KubectlStep {
    /// The command line after `kubectl`, quoted as for a shell; or the name of a command in the background to end.
    #[serde(default)]
    pub run: String,
    /// The name under which the command runs in the background of later steps, which begin once it has printed `lines` lines.
    pub background: Option<String>,
    /// The background command to end once it has printed `lines` lines. Without `lines`, the step waits until it ends by itself.
    pub finish: Option<String>,
    /// How many lines of standard output to wait for.
    pub lines: Option<usize>,
    /// The standard input of the command.
    #[serde(default)]
    pub stdin: String,
    /// The sed program that stands for the user's editor.
    pub editor: Option<String>,
    /// The variable whose value becomes the standard output.
    pub capture: Option<String>,
    /// The command is repeated until its standard output contains this: the real server does some things a little later.
    pub until: Option<String>,
    /// Whether the step waits afterwards, because the write takes effect a little later on the real server.
    #[serde(default)]
    pub settle: bool,
    /// Whether the command is left out of the transcript.
    #[serde(default)]
    pub quiet: bool,
}

/// The normalised output of a script's commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// [`Script::fingerprint`] of the text that was recorded.
    pub fingerprint: String,
    /// The output of every command that is not quiet.
    pub commands: Vec<Printed>,
}

/// The output of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The command line.
    pub command: String,
    /// The exit code; none for a command that was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// The reason why a script or its transcript cannot be used.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// It cannot be read or written.
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, #[source] io::Error),
    /// It is not YAML of the expected form.
    #[error("{path}: {1}", path = .0.display())]
    Form(PathBuf, yaml_serde::Error),
    /// It was changed since it was recorded.
    #[error("{} was recorded from another text of the script: record it again", .0.display())]
    Stale(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    title: String,
    covers: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    webhooks: Value,
    steps: Vec<KubectlStep>,
}

impl Script {
    /// Every script of a folder whose name contains the filter, ordered by name.
    pub fn load_all(folder: &Path, filter: Option<&str>) -> Result<Vec<Script>, ScriptError> {
        let unreadable = |error| ScriptError::File(folder.to_owned(), error);
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let wanted = filter.is_none_or(|filter| name.contains(filter));
            let is_script = path.extension().is_some_and(|extension| extension == "yaml") && !name.contains('.');
            if wanted && is_script {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| Script::load(path)).collect()
    }

    /// Reads one script.
    pub fn load(path: &Path) -> Result<Script, ScriptError> {
        let source = fs::read_to_string(path).map_err(|error| ScriptError::File(path.to_owned(), error))?;
        let form: Form = yaml_serde::from_str(&source).map_err(|error| ScriptError::Form(path.to_owned(), error))?;
        Ok(Script {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            title: form.title,
            covers: form.covers,
            files: form.files,
            webhooks: form.webhooks,
            steps: form.steps,
            path: path.to_owned(),
            source,
        })
    }

    /// A hash of the text, by which a transcript of an older text is recognised.
    pub fn fingerprint(&self) -> String {
        let hash = self.source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// The path of its transcript.
    pub fn transcript(&self) -> PathBuf {
        self.path.with_extension("recorded.yaml")
    }
}

impl Transcript {
    /// Reads the transcript of a script. Fails if the script was changed since.
    pub fn load(script: &Script) -> Result<Transcript, ScriptError> {
        let path = script.transcript();
        let text = fs::read_to_string(&path).map_err(|error| ScriptError::File(path.clone(), error))?;
        let transcript: Transcript =
            yaml_serde::from_str(&text).map_err(|error| ScriptError::Form(path.clone(), error))?;
        if transcript.fingerprint == script.fingerprint() {
            Ok(transcript)
        } else {
            Err(ScriptError::Stale(path))
        }
    }

    /// Writes the transcript beside its script.
    pub fn save(&self, script: &Script) -> Result<(), ScriptError> {
        let path = script.transcript();
        let text = yaml_serde::to_string(self).map_err(|error| ScriptError::Form(path.clone(), error))?;
        let note = "# Recorded from the real server by `record-kubectl`; never edited by hand.\n";
        fs::write(&path, note.to_owned() + &text).map_err(|error| ScriptError::File(path, error))
    }
}
