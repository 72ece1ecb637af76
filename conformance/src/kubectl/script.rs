//! A script of kubectl commands and the transcript beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// A file under `kubectl/`, read.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its file's name without `.yaml`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Behaviour ids of `BEHAVIOURS.md`.
    pub covers: Vec<String>,
    /// Files that lie in the folder where the commands run; `${…}` in them is filled in when a command starts.
    pub files: BTreeMap<String, String>,
    /// Name → answers of the script's webhooks, as in a case.
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
    /// Runs while later steps do, under this name; `lines` says what it must have printed before they begin.
    pub background: Option<String>,
    /// Ends this command of the background once it printed `lines` lines, or by itself if `lines` is left out.
    pub finish: Option<String>,
    /// How many lines of standard output to wait for.
    pub lines: Option<usize>,
    /// What the command reads.
    #[serde(default)]
    pub stdin: String,
    /// The sed program that stands for the user's editor.
    pub editor: Option<String>,
    /// The standard output becomes `${this}`.
    pub capture: Option<String>,
    /// Repeated until the standard output contains this: the real server does some things a little later.
    pub until: Option<String>,
    /// What it writes takes effect a little later on the real server.
    #[serde(default)]
    pub settle: bool,
    /// Not part of the transcript: only the outcome of what follows is compared.
    #[serde(default)]
    pub quiet: bool,
}

/// What the commands of a script printed, normalised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// Of the script as it was when this was recorded.
    pub fingerprint: String,
    /// One for every command that is not quiet.
    pub commands: Vec<Printed>,
}

/// What one command printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The command line.
    pub command: String,
    /// The exit code; none for a command that was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What went to standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What went to standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// What is wrong with a script or its transcript.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// It cannot be read or written.
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, #[source] io::Error),
    /// It does not have the form of a script.
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

    /// Changes whenever the file does.
    pub fn fingerprint(&self) -> String {
        let hash = self.source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// Where its transcript is kept.
    pub fn transcript(&self) -> PathBuf {
        self.path.with_extension("recorded.yaml")
    }
}

impl Transcript {
    /// The transcript of a script as it stands.
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

    /// Writes it beside its script.
    pub fn save(&self, script: &Script) -> Result<(), ScriptError> {
        let path = script.transcript();
        let text = yaml_serde::to_string(self).map_err(|error| ScriptError::Form(path.clone(), error))?;
        let note = "# Recorded from the real server by `record-kubectl`; never edited by hand.\n";
        fs::write(&path, note.to_owned() + &text).map_err(|error| ScriptError::File(path, error))
    }
}
