//! A step that users take while the operator's webhooks are down.

use super::compare;
use super::run::Run;
use crate::traffic::WebhookTrouble;

impl Run<'_> {
    /// Has users act while no webhook answers. What is refused leaves no trace; what is not refused goes on as ever. Whether the step
    /// goes on.
    pub(super) async fn take_step_without_webhooks(&mut self) -> bool {
        let (before, began) = (self.state(), self.cluster().revision());
        let gate = self.env.traffic().webhooks().clone();
        gate.begin_trouble(WebhookTrouble::Down);
        let done = self.act().await;
        gate.end_trouble();
        self.rest().await;
        if !gate.is_hit() || done.is_ok() {
            if gate.is_hit() {
                self.note_reached();
            }
            return true;
        }
        self.give_up();
        // What the step itself wrote before it was refused stays, with all that comes of it.
        if !self.has_change_of_the_test(began) {
            self.note_reached();
            let step = self.step();
            for difference in compare::states(step, &before, &self.state()) {
                self.problem(format!("refused, and {}", difference.name), difference.details);
            }
        }
        false
    }
}
