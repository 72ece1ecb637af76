//! A step that users take while the operator's webhooks are down.

use super::compare;
use super::run::Run;
use crate::traffic::WebhookTrouble;

impl Run<'_> {
    /// Has users act while webhooks do not answer, for a while. Whether the step goes on: what is refused must leave no trace, and there
    /// is nothing more to see of it.
    pub(super) async fn take_step_without_webhooks(&mut self) -> bool {
        let (before, began) = (self.state(), self.cluster().revision());
        let gate = self.env.traffic().webhooks().clone();
        gate.trouble(WebhookTrouble::Down);
        if self.act().await.is_ok() {
            return true;
        }
        gate.end_trouble();
        self.rest().await;
        self.give_up();
        // What the step itself wrote before it was refused stays, with all that comes of it.
        if gate.is_hit() && !self.has_change_of_the_test(began) {
            self.note_reached();
            for difference in compare::states(self.step(), &before, &self.state()) {
                self.problem(format!("refused, and {}", difference.name), difference.details);
            }
        }
        false
    }
}
