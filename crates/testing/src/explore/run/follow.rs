//! Following the cluster: every revision is seen, and what must hold at each is held against it.

use std::collections::BTreeMap;

use super::Run;
use crate::explore::class::Class;
use crate::explore::cluster::Followed;
use crate::explore::observation::ClusterChange;
use crate::explore::truth;

impl Run<'_> {
    /// Goes on to the newest revision, and holds the invariants against each on the way.
    pub(super) fn follow(&mut self) {
        let scenario = self.request.scenario;
        let newest = self.server.revision();
        // It is looked much more often than something is written.
        if newest == self.followed && self.learned == self.journal().len() {
            return;
        }
        self.followed = newest;
        let mut broken: BTreeMap<&str, u64> = BTreeMap::new();
        let mut written: Vec<Followed> = Vec::new();
        let (changes, ledger) = (&mut self.changes, &mut self.ledger);
        self.cluster.follow(&self.server, |cluster, followed| {
            changes.push(ClusterChange::of(cluster.revision(), followed));
            if let Some(after) = &followed.after {
                if followed.before.is_none() {
                    ledger.learn_created(&followed.name, after);
                }
                written.push(followed.clone());
            }
            for invariant in &scenario.invariants {
                if !(invariant.holds)(cluster) {
                    broken.entry(&invariant.name).or_insert_with(|| cluster.revision());
                }
            }
        });
        let (ledger, cluster) = (&mut self.ledger, &self.cluster);
        let journal = self.env.traffic().journal();
        if let Some(journal) = journal {
            self.learned = journal.read(|writes| {
                ledger.learn(&writes[self.learned.min(writes.len())..], cluster);
                // The last ones may be unanswered yet.
                writes
                    .iter()
                    .position(|write| write.code.is_none())
                    .unwrap_or(writes.len())
            });
        }
        // Looked at for those alone whose status is the operator's: the others' need not be decoded. A clock that is wrong writes wrong
        // times, which is the plan's doing.
        let is_clock_right = !matches!(self.request.plan, Some(plan) if plan.class() == Class::Clock);
        written.retain(|followed| is_clock_right && self.ledger.has_status_of_the_operator(&followed.name));
        for Followed { name, before, after } in written {
            let found = after.map(|after| truth::transitions(before.as_deref(), &after));
            if let Some(found) = found.filter(|found| !found.is_empty()) {
                self.problem(format!("untrue conditions of {name}"), found);
            }
        }
        for (name, revision) in broken {
            self.problem(
                format!("invariant broken: {name}"),
                vec![format!("at revision {revision}")],
            );
        }
    }
}
