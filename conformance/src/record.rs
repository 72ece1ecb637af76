//! Records cases: plays each until two runs in a row have the same transcript, and saves that.

use std::time::SystemTime;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::Request;
use http_body_util::BodyExt;
use serde_json::Value;
use thiserror::Error;

use crate::case::{CaseFile, Variant};
use crate::diff::{Difference, differences};
use crate::normalise::transcript;
use crate::run::play;
use crate::seconds;
use crate::target::{Target, TransportError};
use crate::transcript::{Recording, RecordingError};

/// How often a case is played until two runs in a row agree.
const ATTEMPTS: usize = 8;

/// How many variants of one file are played at once.
const AT_ONCE: usize = 6;

/// The reason why a file was not recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The server does not report its version.
    #[error("the server does not answer /version")]
    Version(#[source] TransportError),
    /// A case cannot be played to its end.
    #[error("{case}: {problem}")]
    Failed {
        /// The case.
        case: String,
        /// The error.
        problem: String,
    },
    /// No two runs in a row agree, so the case depends on something that varies.
    #[error("{case}: its runs differ, for example\n{example}")]
    Unstable {
        /// The case.
        case: String,
        /// One difference between the last two runs.
        example: Difference,
    },
    /// The recording cannot be saved.
    #[error(transparent)]
    Save(#[from] RecordingError),
}

/// The version a server reports, such as `v1.36.3`.
pub async fn server_version(target: &dyn Target) -> Result<String, RecordError> {
    let ask = async {
        let answer = target.send(Request::get("/version").body(Bytes::new())?).await?;
        let body: Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
        Ok(body["gitVersion"].as_str().unwrap_or("unknown").to_owned())
    };
    ask.await.map_err(RecordError::Version)
}

/// Records every variant of a file and writes the recording beside it.
pub async fn record(target: &dyn Target, server: &str, file: &CaseFile) -> Result<(), RecordError> {
    let told = stream::iter(&file.variants).map(|variant| told(target, file, variant));
    // All are played to their ends even if one fails, because each deletes what it created on the server.
    let transcripts: Vec<_> = told.buffer_unordered(AT_ONCE).collect().await;
    let transcripts = transcripts.into_iter().collect::<Result<_, RecordError>>()?;
    let recording = Recording {
        server: server.to_owned(),
        fingerprint: file.fingerprint(),
        transcripts,
    };
    Ok(recording.save(&file.recording())?)
}

async fn told(target: &dyn Target, file: &CaseFile, variant: &Variant) -> Result<(String, Value), RecordError> {
    Ok((variant.name.clone(), agreed(target, file, variant).await?))
}

async fn agreed(target: &dyn Target, file: &CaseFile, variant: &Variant) -> Result<Value, RecordError> {
    let case = file.case_id(variant);
    let mut last: Option<Value> = None;
    let mut example = None;
    for attempt in 0..ATTEMPTS {
        if attempt > 1 {
            seconds::next().await;
        }
        let Some(next) = once(target, file, variant).await? else {
            continue;
        };
        if let Some(last) = &last {
            match differences(last, &next).into_iter().next() {
                None => return Ok(next),
                difference => example = difference,
            }
        }
        last = Some(next);
    }
    Err(match example {
        Some(example) => RecordError::Unstable { case, example },
        None => RecordError::Failed {
            case,
            problem: "every run was spread over two seconds".to_owned(),
        },
    })
}

/// The transcript of one run; `None` if a second ended in its middle.
async fn once(target: &dyn Target, file: &CaseFile, variant: &Variant) -> Result<Option<Value>, RecordError> {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let played = play(target, file, variant, &now.to_string()).await;
    match &played.failure {
        None if seconds::crossed(file, &played.steps) => Ok(None),
        None => Ok(Some(transcript(file, variant, &played))),
        Some(problem) => {
            let seen = played
                .steps
                .last()
                .map(|step| format!("\n  last answer: {step}"))
                .unwrap_or_default();
            Err(RecordError::Failed {
                case: file.case_id(variant),
                problem: format!("{problem}{seen}"),
            })
        }
    }
}
