//! What an exploration tells: a summary, and a story for each finding.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::class::Class;
use super::search::{Finding, Search};

/// What makes two runs differ that should be the same.
pub(super) const CHANCE: &str =
    "the order of a hash map, another thread, the machine's clock or random numbers of the operator's own";

/// How many findings are told.
pub(super) const MOST_FINDINGS: usize = 5;

/// What an exploration has tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub(super) runs: BTreeMap<Class, usize>,
    pub(super) unreached: usize,
    pub(super) skipped: usize,
    pub(super) untried_pairs: usize,
    pub(super) beyond: usize,
    pub(super) unread_rules: usize,
    pub(super) seed: u64,
    pub(super) accepted: Vec<String>,
    /// What is accepted and was not seen.
    pub(super) disappeared: Vec<String>,
}

impl Summary {
    /// How many disturbed runs there were.
    pub fn runs(&self) -> usize {
        self.runs.values().sum()
    }

    /// How many of a class.
    pub fn runs_of(&self, class: Class) -> usize {
        self.runs.get(&class).copied().unwrap_or_default()
    }

    /// What is [accepted](super::Exploration::accept) and no run has shown: each as its name and its reason, `NAME: REASON`.
    pub fn disappeared(&self) -> &[String] {
        &self.disappeared
    }

    /// The seed that repeats all of them.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

/// `31 runs (2 restart, 10 crash, …), seed 0`
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes: Vec<String> = self
            .runs
            .iter()
            .map(|(class, count)| format!("{count} {class}"))
            .collect();
        write!(f, "{} runs ({}), seed {}", self.runs(), classes.join(", "), self.seed)?;
        if self.unreached > 0 {
            write!(f, "; {} never came to the write of their plan", self.unreached)?;
        }
        if self.skipped > 0 {
            write!(f, "; {} plans not tried for lack of time", self.skipped)?;
        }
        if self.untried_pairs > 0 {
            write!(f, "; {} pairs not tried", self.untried_pairs)?;
        }
        if self.beyond > 0 {
            write!(f, "; {} edits not tried, as the schema has too many", self.beyond)?;
        }
        if self.unread_rules > 0 {
            write!(f, "; {} CEL rules not understood", self.unread_rules)?;
        }
        for accepted in &self.accepted {
            write!(f, "\n  accepted: {accepted}")?;
        }
        for disappeared in &self.disappeared {
            write!(f, "\n  accepted, and not seen any more: {disappeared}")?;
        }
        Ok(())
    }
}

/// The report of what was found.
pub(super) fn text(search: &Search, findings: &[Finding], summary: &Summary) -> String {
    let mut text = format!("explore found {} in {summary}", count(findings.len()));
    for (at, finding) in findings.iter().take(MOST_FINDINGS).enumerate() {
        let _ = write!(text, "\n\n{}. {}", at + 1, story(search, finding));
    }
    if findings.len() > MOST_FINDINGS {
        let _ = write!(text, "\n\n… {} more:", findings.len() - MOST_FINDINGS);
        for finding in &findings[MOST_FINDINGS..] {
            let _ = write!(text, "\n  {}", finding.difference.name);
            if let Some(plan) = &finding.plan {
                let _ = write!(text, ": {plan}");
            }
        }
    }
    text
}

fn count(findings: usize) -> String {
    match findings {
        1 => "1 difference".to_owned(),
        many => format!("{many} differences"),
    }
}

/// One finding: what happened, in order, and what came of it.
pub(super) fn story(search: &Search, finding: &Finding) -> String {
    let difference = &finding.difference;
    let step = |step: usize| search.step_names.get(step).map_or("?", String::as_str);
    let mut text = difference.name.clone();
    if finding.plan.is_none() {
        text.push_str(" (without any disturbance)");
    }
    if let Some(parted) = &finding.parted {
        let _ = write!(text, "\n   two runs of this plan differ: {CHANCE}?");
        for line in parted {
            let _ = write!(text, "\n     {line}");
        }
    }
    let _ = write!(text, "\n   after step {}", step(difference.step));
    for detail in &difference.details {
        let _ = write!(text, "\n     {detail}");
    }
    text.push_str("\n   what happened:");
    for line in &*finding.story {
        let _ = write!(text, "\n     {line}");
    }
    if finding.story.is_empty() {
        text.push_str("\n     the operator wrote nothing");
    }
    if let Some(plan) = &finding.plan {
        if finding.others > 0 {
            let _ = write!(text, "\n   {} other plans show the same", finding.others);
        }
        let _ = write!(text, "\n   again: .replay({:?})", plan.to_string());
    }
    text
}
