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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::compare::Difference;
    use super::super::story_event::StoryEventKind;
    use super::*;

    #[test]
    fn findings_of_one_run_share_its_story() {
        let told = |text: &str| -> Arc<[StoryEvent]> { vec![StoryEvent::new(1, StoryEventKind::Write, text)].into() };
        let (one, other) = (told("create configmaps/x"), told("delete configmaps/x"));
        let finding = |name: &str, story: &Arc<[StoryEvent]>| Finding {
            plan: None,
            difference: Difference::new(0, name, Vec::new()),
            story: Arc::clone(story),
            others: 0,
            parted: None,
        };
        let findings = [finding("a", &one), finding("b", &other), finding("c", &one)];
        let summary = Summary {
            runs: BTreeMap::new(),
            unreached: 0,
            skipped: 0,
            untried_pairs: 0,
            beyond: 0,
            unread_rules: 0,
            seed: 0,
            accepted: Vec::new(),
            disappeared: Vec::new(),
        };
        let ended = Ended {
            name: "shared",
            search: &Search::default(),
            findings: &findings,
            summary: &summary,
            took: Duration::ZERO,
            report: None,
        };
        let json = ended.json();
        let played: Vec<&Value> = json["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["played"])
            .collect();
        assert_eq!(played, [0, 1, 0]);
        assert_eq!(json["stories"].as_array().unwrap().len(), 2);
        assert_eq!(
            json["stories"][1][0],
            json!({ "is": "write", "depth": 1, "text": "delete configmaps/x" })
        );
    }
}
