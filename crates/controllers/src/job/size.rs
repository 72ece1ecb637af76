//! How many Pods of a Job are made or deleted, and which. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

use super::backoff;
use super::member::JobPod;
use super::plan::{NewPod, Planner};
use super::policies::{self, FailureAction};
use crate::support::pods;

/// So many Pods are made or deleted at once, at most.
const MOST_AT_ONCE: i32 = 500;

impl Planner<'_> {
    /// Makes or deletes Pods so that as many are active as wanted.
    pub(super) fn manage(&mut self) {
        let active = i32::try_from(self.active().len()).unwrap_or(i32::MAX);
        let parallelism = self.spec.parallelism.unwrap_or(1);
        let wanted = match self.spec.completions {
            _ if self.is_suspended() => 0,
            None if self.succeeded > 0 => active,
            None => parallelism,
            Some(completions) => (completions - self.succeeded).min(parallelism).max(0),
        };
        let too_many = usize::try_from((active - wanted).clamp(0, MOST_AT_ONCE)).unwrap_or(0);
        self.plan.remove = self.for_removal(too_many);
        if !self.plan.remove.is_empty() || self.is_suspended() {
            return;
        }
        let terminating = if self.replaces_only_failed() {
            self.terminating()
        } else {
            0
        };
        let missing = (wanted - terminating - active).min(MOST_AT_ONCE);
        if missing <= 0 {
            return;
        }
        if self.spec.backoff_limit_per_index.is_some() {
            return self.make_by_index(missing);
        }
        let pause = self.plan.backoff.left(self.now);
        if !pause.is_zero() {
            return self.wake_after(pause);
        }
        let new = |index| NewPod { index, failures: None };
        self.plan.create = if self.is_indexed() {
            self.free_indexes(missing)
                .into_iter()
                .map(|index| new(Some(index)))
                .collect()
        } else {
            (0..missing).map(|_| new(None)).collect()
        };
    }

    /// Makes Pods of those indexes that do not pause; each pauses by itself.
    fn make_by_index(&mut self, missing: i32) {
        let mut shortest: Option<Duration> = None;
        for index in self.free_indexes(missing) {
            let last = self.last_failed.get(&index);
            let pause = last.map_or(Duration::ZERO, |last| {
                backoff::left(last.all_failures().saturating_add(1), last.ended(), self.now)
            });
            if pause.is_zero() {
                let failures = Some(self.inherited(last));
                let index = Some(index);
                self.plan.create.push(NewPod { index, failures });
            } else {
                shortest = Some(shortest.map_or(pause, |shortest| shortest.min(pause)));
            }
        }
        if let (true, Some(pause)) = (self.plan.create.is_empty(), shortest) {
            self.wake_after(pause);
        }
    }

    /// The failures that the successor of a Pod carries on.
    fn inherited(&self, last: Option<&JobPod<'_>>) -> (i32, i32) {
        let Some(last) = last else {
            return (0, 0);
        };
        let (counted, ignored) = last.failures();
        match policies::failure_action(self.spec.pod_failure_policy.as_ref(), last.pod) {
            FailureAction::Ignore => (counted, ignored.saturating_add(1)),
            _ => (counted.saturating_add(1), ignored),
        }
    }

    /// The Pods in the order of their deletion: those whose index is out of range or taken twice, then those in early
    /// phases.
    fn for_removal(&self, count: usize) -> Vec<String> {
        let mut left: Vec<RankedPod<'_>> = Vec::new();
        let mut gone: Vec<String> = Vec::new();
        if self.is_indexed() {
            let active = self.active();
            let (useful, useless): (Vec<_>, Vec<_>) = active
                .into_iter()
                .partition(|member| member.index.is_some_and(|index| index < self.completions()));
            gone.extend(useless.iter().map(|member| member.name.to_owned()));
            for index in useful.iter().filter_map(|member| member.index).collect::<BTreeSet<_>>() {
                let same = useful.iter().filter(|member| member.index == Some(index));
                let mut same: Vec<_> = same.map(|member| RankedPod(member.pod)).collect();
                pods::rank_for_deletion(&mut same, &[], self.now);
                left.extend(same.pop());
                gone.extend(same.iter().filter_map(RankedPod::name));
            }
        } else {
            left = self.active().iter().map(|member| RankedPod(member.pod)).collect();
        }
        let more = count.saturating_sub(gone.len());
        if more > 0 {
            pods::rank_for_deletion(&mut left, &[], self.now);
        }
        gone.extend(left.iter().take(more).filter_map(RankedPod::name));
        gone.truncate(usize::try_from(MOST_AT_ONCE).unwrap_or(usize::MAX));
        gone
    }

    /// The lowest indexes that are neither completed, nor active, nor failed.
    fn free_indexes(&self, count: i32) -> Vec<i32> {
        let mut taken = self.done.clone();
        taken.extend(self.active().iter().filter_map(|member| member.index));
        taken.extend(self.given_up.iter().flatten());
        if self.replaces_only_failed() {
            let going = self.members.iter().filter(|member| pods::is_terminating(member.pod));
            taken.extend(going.filter_map(|member| member.index));
        }
        (0..self.completions())
            .filter(|index| !taken.contains(index))
            .take(usize::try_from(count).unwrap_or(0))
            .collect()
    }
}

struct RankedPod<'a>(&'a Pod);

impl RankedPod<'_> {
    fn name(&self) -> Option<String> {
        self.0.metadata.name.clone()
    }
}

impl AsRef<Pod> for RankedPod<'_> {
    fn as_ref(&self) -> &Pod {
        self.0
    }
}
