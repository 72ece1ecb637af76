//! The recorded transcripts of one case file, kept beside it. They are written by the recorder and never by hand.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::case::CaseFile;
use crate::print;

/// The transcripts of every case of a file on the real server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The version of the server that was recorded.
    pub server: String,
    /// [`CaseFile::fingerprint`] of the text that was recorded.
    pub fingerprint: String,
    /// The steps, by the name of the variant.
    pub transcripts: BTreeMap<String, Value>,
}

/// The reason why a case has no usable recording.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// It was never recorded.
    #[error("{} is missing: record the case (conformance/README.md)", .0.display())]
    Missing(PathBuf),
    /// The case file was changed since.
    #[error("{} was recorded from another text of the case: record it again", .0.display())]
    Stale(PathBuf),
    /// It is damaged.
    #[error("{path} is not a recording: {1}", path = .0.display())]
    Form(PathBuf, serde_json::Error),
    /// It cannot be written.
    #[error("{} cannot be written", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

impl Recording {
    /// The recording of a case file.
    pub fn load(file: &CaseFile) -> Result<Self, RecordingError> {
        let path = file.recording();
        let text = fs::read_to_string(&path).map_err(|_| RecordingError::Missing(path.clone()))?;
        let recording: Self = serde_json::from_str(&text).map_err(|error| RecordingError::Form(path.clone(), error))?;
        if recording.fingerprint == file.fingerprint() {
            Ok(recording)
        } else {
            Err(RecordingError::Stale(path))
        }
    }

    /// Writes it where [`Recording::load`] finds it.
    pub fn save(&self, path: &Path) -> Result<(), RecordingError> {
        let value = json!({"server": self.server, "fingerprint": self.fingerprint, "transcripts": self.transcripts});
        fs::write(path, print::readable(&value) + "\n").map_err(|error| RecordingError::Write(path.to_owned(), error))
    }
}
