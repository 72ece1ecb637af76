//! The outcome of an exploration as data.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::report::{self, Summary};
use super::search::{Finding, Search};
use super::story_event::StoryEvent;
use super::tried::{Outcome, Tried};

/// An exploration that has ended.
pub(super) struct Ended<'a> {
    pub(super) name: &'a str,
    pub(super) search: &'a Search,
    pub(super) findings: &'a [Finding],
    pub(super) summary: &'a Summary,
    pub(super) took: Duration,
    /// What is told of it, if something was found.
    pub(super) report: Option<&'a str>,
}

impl Ended<'_> {
    pub(super) fn json(&self) -> Value {
        let by_class: serde_json::Map<String, Value> = self
            .summary
            .runs
            .iter()
            .map(|(class, count)| (class.to_string(), json!(count)))
            .collect();
        // Findings of one run share its story.
        let mut stories: Vec<&Arc<[StoryEvent]>> = Vec::new();
        let mut findings = Vec::new();
        for finding in self.findings {
            let known = stories.iter().position(|story| Arc::ptr_eq(story, &finding.story));
            let played = known.unwrap_or_else(|| {
                stories.push(&finding.story);
                stories.len() - 1
            });
            findings.push(self.finding(finding, played));
        }
        let told = |story: &&Arc<[StoryEvent]>| story.iter().map(StoryEvent::json).collect::<Value>();
        json!({
            "name": self.name,
            "seed": self.summary.seed(),
            "steps": self.search.step_names,
            "runs": self.summary.runs(),
            "runsByClass": by_class,
            "seconds": self.took.as_secs_f64(),
            "summary": self.summary.to_string(),
            "report": self.report,
            "accepted": self.summary.accepted,
            "disappeared": self.summary.disappeared,
            "findings": findings,
            "stories": stories.iter().map(told).collect::<Vec<_>>(),
            "tried": self.search.tried.iter().map(tried).collect::<Vec<_>>(),
        })
    }

    /// A finding; `played` is the place of its story, event by event, among all.
    fn finding(&self, finding: &Finding, played: usize) -> Value {
        let difference = &finding.difference;
        json!({
            "difference": difference.name,
            "step": self.search.step_names.get(difference.step),
            "details": difference.details,
            "plan": finding.plan.as_ref().map(ToString::to_string),
            "otherPlans": finding.others,
            "parted": finding.parted,
            "story": report::story(self.search, finding),
            "played": played,
        })
    }
}

fn tried(tried: &Tried) -> Value {
    let mut value = json!({
        "plan": tried.plan.to_string(),
        "class": tried.class().to_string(),
        "step": tried.plan.step,
        "place": tried.place(),
        "fault": tried.fault(),
        "outcome": tried.outcome.word(),
    });
    if let Outcome::Different(names) = &tried.outcome {
        value["differences"] = json!(names);
    }
    value
}
