//! What must hold in every run, whatever the reference did.

use super::{REST, Run};
use crate::explore::compare;
use crate::explore::observation::Boundary;
use crate::explore::plan::ObjectName;
use crate::explore::rest;
use crate::explore::truth;
use crate::explore::world;

impl Run<'_> {
    pub(super) fn check_foreign(&mut self) {
        self.follow();
        let Some((name, made)) = self.foreign.clone() else {
            return;
        };
        match self.cluster.objects().get(&name).map(|object| world::essence(object)) {
            None => self.problem(
                format!("deleted foreign {name}"),
                vec!["it has another owner".to_owned()],
            ),
            Some(now) if now != made => {
                self.problem(format!("took over foreign {name}"), compare::fields(&made, &now));
            }
            Some(_) => {}
        }
    }

    /// A manager that starts on what has settled has nothing to do.
    pub(super) fn check_restart(&mut self) {
        self.check_nothing_changed(0);
    }

    /// What is reconciled once more stays as it is. Everything that is cached is told again to those who watch it, as a resync does.
    pub(super) async fn check_again(&mut self) {
        let before = self.journal().len();
        self.env.with_manager(|manager| {
            for informer in manager.client.cache().informers() {
                informer.store().resync();
            }
        });
        self.settle(None).await;
        self.check_nothing_changed(before);
    }

    fn check_nothing_changed(&mut self, before: usize) {
        let changed: Vec<String> = self.journal().read(|writes| {
            let changed = writes.iter().skip(before).filter(|write| write.effective);
            changed.map(|write| write.address.to_string()).collect()
        });
        if !changed.is_empty() {
            self.problem("reconciling again changes something", changed);
        }
    }

    /// A status says which generation it is of.
    pub(super) fn check_generations(&mut self) {
        let objects = self.cluster.objects().iter();
        let untrue: Vec<(ObjectName, Vec<String>)> = objects
            .filter(|(name, _)| self.ledger.has_status_of_the_operator(name))
            .map(|(name, object)| (name.clone(), truth::generations(object)))
            .filter(|(_, found)| !found.is_empty())
            .collect();
        for (name, found) in untrue {
            self.problem(format!("not observed: {name}"), found);
        }
    }

    /// While nothing happens, nothing is written, or not much and not more and more.
    pub(super) async fn check_rest(&mut self, boundary: &mut Boundary, reference: Option<&Boundary>) {
        // A minute without writes is enough.
        if boundary.at_rest.is_empty() {
            return;
        }
        let before = self.journal().len();
        self.pass(REST).await;
        self.settle(None).await;
        let first = std::mem::take(&mut boundary.at_rest);
        let second = self
            .journal()
            .read(|writes| rest::count(writes.get(before..).unwrap_or_default()));
        for (name, detail) in rest::problems(&first, &second, reference.map(|reference| &reference.at_rest)) {
            self.problem(name, vec![detail]);
        }
        // What comes every two minutes falls into one of the two here, and into the other in another run.
        boundary.at_rest = rest::either(first, &second);
    }
}
