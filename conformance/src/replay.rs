//! Replays recorded cases against a target, many at a time, and compares each with its recording.

use std::fmt;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::Value;

use crate::case::{CaseFile, Variant};
use crate::corpus::Corpus;
use crate::decisions::Decision;
use crate::diff::{Difference, differences};
use crate::normalise::transcript;
use crate::run::play;
use crate::seconds;
use crate::target::Target;
use crate::transcript::Recording;

/// How often a case is played on a real clock until a run has no end of a second in its middle.
const ATTEMPTS: usize = 5;

/// How many differences of one case are shown.
const SHOWN: usize = 12;

/// One replayed case.
#[derive(Debug)]
pub struct Replayed {
    /// Its id, variant included.
    pub case: String,
    /// The behaviours it covers.
    pub covers: Vec<String>,
    /// The sentence it proves.
    pub title: String,
    /// How it compares with the recording.
    pub comparison: Comparison,
}

/// How a replay compares with the recording.
#[derive(Debug)]
pub enum Comparison {
    /// Nothing differs.
    Equal,
    /// It differs, and only where `differences.yaml` says so; the reasons.
    Decided(Vec<String>),
    /// It differs.
    Different {
        /// The differences.
        differences: Vec<Difference>,
        /// Why the replay did not reach its end, if it did not.
        failure: Option<String>,
    },
    /// There is no recording to compare with.
    Unrecorded(String),
}

/// The result of replaying the corpus.
#[derive(Debug)]
pub struct Outcome {
    /// Every case, ordered by id.
    pub cases: Vec<Replayed>,
    /// Decisions that cover no difference, and have to be removed.
    pub idle_decisions: Vec<Decision>,
}

impl Outcome {
    /// How many cases are equal to their recording.
    pub fn equal(&self) -> usize {
        self.cases
            .iter()
            .filter(|case| matches!(case.comparison, Comparison::Equal))
            .count()
    }

    /// Whether every case is equal or differs by decision, and every decision is in use.
    pub fn passes(&self) -> bool {
        self.idle_decisions.is_empty()
            && self
                .cases
                .iter()
                .all(|case| matches!(case.comparison, Comparison::Equal | Comparison::Decided(_)))
    }
}

/// The settings of a replay.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A name that is different for every run on a server.
    pub run: String,
    /// How many cases run at once.
    pub at_once: usize,
}

/// Replays the corpus. `another` starts a server for each case that would disturb others on the shared one.
pub async fn replay(another: impl Fn() -> Arc<dyn Target>, corpus: &Corpus, settings: &Settings) -> Vec<Replayed> {
    let shared = another();
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    let mut index = 0;
    for file in &corpus.files {
        let recording = Recording::load(file).map(Arc::new).map_err(|error| error.to_string());
        for variant in &file.variants {
            let (case, run) = ((Arc::clone(file), variant.clone()), settings.run.clone());
            if file.needs_own_server() {
                alone.push((index, one(another(), case, recording.clone(), run)));
            } else {
                together.push((index, one(Arc::clone(&shared), case, recording.clone(), run)));
            }
            index += 1;
        }
    }
    let indexed = |(index, case): (usize, _)| async move { (index, case.await) };
    let mut judged: Vec<_> = stream::iter(together.into_iter().map(indexed))
        .buffer_unordered(settings.at_once)
        .collect()
        .await;
    for (index, case) in alone {
        judged.push((index, case.await));
    }
    judged.sort_by_key(|(index, _)| *index);
    judged.into_iter().map(|(_, case)| case).collect()
}

impl Outcome {
    /// Applies the decisions to replayed cases. If all cases were played, every decision has to cover a difference.
    pub fn of(mut cases: Vec<Replayed>, decisions: &[Decision], whole: bool) -> Self {
        cases.sort_by(|one, other| one.case.cmp(&other.case));
        let mut used = vec![false; decisions.len()];
        let cases = cases
            .into_iter()
            .map(|case| decide(case, decisions, &mut used))
            .collect();
        let idle = decisions
            .iter()
            .zip(used)
            .filter(|(_, used)| whole && !used)
            .map(|(decision, _)| decision.clone());
        Outcome {
            cases,
            idle_decisions: idle.collect(),
        }
    }
}

async fn one(
    target: Arc<dyn Target>,
    (file, variant): (Arc<CaseFile>, Variant),
    recording: Result<Arc<Recording>, String>,
    run: String,
) -> Replayed {
    let case = file.case_id(&variant);
    let (covers, title) = (file.covers.clone(), file.title.clone());
    let comparison = match recording {
        Err(problem) => Comparison::Unrecorded(problem),
        Ok(recording) => match recording.transcripts.get(&variant.name) {
            None => Comparison::Unrecorded(format!(
                "{} has no transcript of this variant",
                file.recording().display()
            )),
            Some(expected) => {
                let expected = expected.clone();
                // In a task of its own, a panic of the server fails this case and not the whole replay.
                let compared = tokio::spawn(async move { compare(&*target, &file, &variant, &expected, &run).await });
                compared.await.unwrap_or_else(|error| Comparison::Different {
                    differences: Vec::new(),
                    failure: Some(format!("the server panicked: {error}")),
                })
            }
        },
    };
    Replayed {
        case,
        covers,
        title,
        comparison,
    }
}

async fn compare(target: &dyn Target, file: &CaseFile, variant: &Variant, expected: &Value, run: &str) -> Comparison {
    let mut played = play(target, file, variant, run).await;
    for attempt in 1..ATTEMPTS {
        if !seconds::crossed(file, &played.steps) {
            break;
        }
        seconds::next().await;
        played = play(target, file, variant, &format!("{run}-{attempt}")).await;
    }
    let actual = transcript(file, variant, &played);
    let differences = differences(expected, &actual);
    if differences.is_empty() && played.failure.is_none() {
        Comparison::Equal
    } else {
        Comparison::Different {
            differences,
            failure: played.failure,
        }
    }
}

/// Removes the differences that are decided. A case that has no other differences is [`Comparison::Decided`].
fn decide(mut case: Replayed, decisions: &[Decision], used: &mut [bool]) -> Replayed {
    if let Comparison::Different { differences, failure } = &mut case.comparison {
        let mut reasons: Vec<String> = Vec::new();
        differences.retain(|difference| {
            let decided = decisions
                .iter()
                .position(|decision| decision.explains(&case.case, difference));
            if let Some(index) = decided {
                used[index] = true;
                if !reasons.contains(&decisions[index].reason) {
                    reasons.push(decisions[index].reason.clone());
                }
            }
            decided.is_none()
        });
        if differences.is_empty() && failure.is_none() {
            case.comparison = Comparison::Decided(reasons);
        }
    }
    case
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.comparison {
            Comparison::Equal => write!(f, "equal      {}", self.case),
            Comparison::Decided(reasons) => write!(f, "decided    {} ({})", self.case, reasons.join("; ")),
            Comparison::Unrecorded(problem) => write!(f, "unrecorded {}: {problem}", self.case),
            Comparison::Different { differences, failure } => {
                write!(f, "different  {} [{}]", self.case, self.covers.join(" "))?;
                for difference in differences.iter().take(SHOWN) {
                    write!(f, "\n{difference}")?;
                }
                if differences.len() > SHOWN {
                    write!(f, "\n    … and {} more", differences.len() - SHOWN)?;
                }
                if let Some(failure) = failure {
                    write!(f, "\n    not played to its end: {failure}")?;
                }
                Ok(())
            }
        }
    }
}
